/*
 * What a message of a row consists of: a type, a count, and memory for as many messages as an exchange has.
 *
 * Rows are those of the layout suite (bench/suite.h) and, before them, families of blocks whose length and number cover
 * the range in which an MPI's own way and packing cross. Of a suite's row that packs several times, the largest part is
 * taken.
 */
#ifndef PW_BENCH_MESSAGES_PARCEL_H
#define PW_BENCH_MESSAGES_PARCEL_H

#include "bench/messages/loops.h"
#include "bench/suite.h"

enum { MSG_IN_FLIGHT = 8 };

typedef struct msg_parcel {
    MPI_Datatype type; /* committed with MPI_Type_commit */
    int count;
    MPI_Datatype spaced; /* the same, objects of which do not overlap one behind the other; may be `type` */
    int spaced_count;
    MPI_Aint step;     /* from one message to the next in a buffer of a collective */
    int64_t bytes;     /* of a message */
    double block;      /* mean length of its contiguous blocks */
    msg_loop loop;     /* of own rows that are not contiguous */
    MPI_Aint lo, span; /* where a message's memory begins, seen from its buffer, and whole lines that it takes */
    MPI_Aint apart;    /* from one message to the next in a buffer of several, but for an Alltoall */
} msg_parcel;

/* The benchmark's own rows. */
void msg_add_own(bench_suite *suite);
/* Builds the row and takes its type. False: it is spread over too much memory. */
bool msg_parcel_make(msg_parcel *p, const bench_spec *spec);
void msg_parcel_free(msg_parcel *p);
/* Does another row of the suite have the same blocks? One row of them is enough. */
bool msg_is_repetition(const bench_spec *spec);

#endif
