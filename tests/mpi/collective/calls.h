/* The collectives that move data, as a table: each in its modes, with and without Packwright, from one set of
 * arguments. */
#ifndef PW_TESTS_INTERPOSER_COLLECTIVE_CALLS_H
#define PW_TESTS_INTERPOSER_COLLECTIVE_CALLS_H

#include <mpi.h>
#include <stdbool.h>

/* One block for all peers; blocks of one count; blocks with counts and displacements; blocks that also have types. */
typedef enum call_form { FORM_NONE, FORM_ONE, FORM_EQUAL, FORM_VARYING, FORM_TYPED } call_form;

enum { CALL_MOST_BLOCKS = 16 };

/* A buffer argument with the fields of all forms. */
typedef struct call_side {
    void *buf;
    int count;
    MPI_Datatype type;
    int counts[CALL_MOST_BLOCKS], displs[CALL_MOST_BLOCKS]; /* v-forms: in extents; w-forms: in bytes */
    MPI_Count wide_counts[CALL_MOST_BLOCKS];
    MPI_Aint wide_displs[CALL_MOST_BLOCKS];
    MPI_Datatype types[CALL_MOST_BLOCKS];
} call_side;

typedef struct call_args {
    call_side send, recv; /* a broadcast uses `send` */
    int root;
    MPI_Comm comm;
} call_args;

typedef enum call_kind { KIND_BCAST, KIND_GATHER, KIND_SCATTER, KIND_ALLGATHER, KIND_ALLTOALL } call_kind;

typedef struct call {
    const char *name;
    call_kind kind;
    bool neighbours;
    call_form send, recv;
    int (*blocking)(const call_args *a, bool native);
    int (*start)(const call_args *a, MPI_Request *request, bool native);
    /* NULL if the MPI has no such call: */
    int (*init)(const call_args *a, MPI_Request *request, bool native);
    int (*large)(const call_args *a, bool native);
    int (*start_large)(const call_args *a, MPI_Request *request, bool native);
    int (*init_large)(const call_args *a, MPI_Request *request, bool native);
} call;

extern const call calls[];
extern const int calls_count;

#endif
