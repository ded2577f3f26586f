/*
 * A row of the layout suite: a datatype (or several, packed one after another), the memory it lives in, and
 * the loops a programmer would write for it. Each layout is described once, in a layouts_*.c: a spec, cheap
 * and registered for every parameter set, and a build function that makes the row when its turn comes.
 *
 * This is a program, not a library: what cannot go on (no memory) ends it with a message, and MPI's own
 * errors are fatal through the default error handler.
 */
#ifndef PW_BENCH_ROW_H
#define PW_BENCH_ROW_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_LINE = 64, BENCH_MAX_PARTS = 26, BENCH_MAX_SEGMENTS = 16, BENCH_MAX_ARGS = 12, BENCH_PARAMS_TEXT = 56 };

typedef struct bench_row bench_row;
typedef struct bench_spec bench_spec;

typedef void bench_build_fn(const bench_spec *spec, bench_row *row);

/* `packed` holds the whole row; it is only read by an unpack. */
typedef void bench_hand_fn(const void *args, void *packed);

struct bench_spec {
    const char *name; /* of the layout: results are grouped by it */
    char params[BENCH_PARAMS_TEXT];
    bench_build_fn *build;
    int64_t args[BENCH_MAX_ARGS];
    int64_t memory; /* bytes that the arrays take, roughly */
};

/* One call of MPI_Pack. A base of NULL is MPI_BOTTOM: the type holds absolute addresses. MPICH's MPI_Pack refuses a
 * null buffer, so for those rows `native_type` is the same type relative to `native_base`. */
typedef struct bench_part {
    MPI_Datatype type, native_type;
    char *base, *native_base;
    int count;
    int64_t size; /* packed bytes of all `count` objects */
} bench_part;

/* Memory of a row: an array with BENCH_LINE guard bytes before and at least as many behind, whole lines. */
typedef struct bench_segment {
    char *base;
    int64_t bytes;
} bench_segment;

struct bench_row {
    const bench_spec *spec;
    int nparts, nsegments;
    bench_part parts[BENCH_MAX_PARTS];
    bench_segment segments[BENCH_MAX_SEGMENTS];
    bench_hand_fn *hand_pack, *hand_unpack;
    void *hand_args;  /* owned */
    int64_t size;     /* packed bytes of all parts */
    double commit_ns; /* that MPI_Type_commit took, summed over the parts */
};

/* ---- for layouts_*.c ---------------------------------------------------------------------------- */

/* An array of the row, aligned to a cache line; freed with the row. */
void *bench_array(bench_row *row, int64_t bytes);
/* Zeroed memory for the arguments of the hand-written loops; one block a row, freed with it. */
void *bench_hand(bench_row *row, bench_hand_fn *pack, bench_hand_fn *unpack, size_t bytes);
/* Commits `type` and makes `count` objects of it at `base` the next part. Takes the type over. */
void bench_part_add(bench_row *row, MPI_Datatype type, int count, void *base);
/* The same for a struct over separately allocated arrays: member i is one `types[i]` at address addrs[i].
 * The member types stay the caller's. */
void bench_part_add_absolute(bench_row *row, int n, void *const *addrs, const MPI_Datatype *types);

/* Constructors that free their child unless it is a named type, so that types nest in one expression. */
MPI_Datatype bench_contiguous(int count, MPI_Datatype child);
MPI_Datatype bench_vector(int count, int blocklen, int stride, MPI_Datatype child);
MPI_Datatype bench_hvector(int count, int blocklen, MPI_Aint stride, MPI_Datatype child);
MPI_Datatype bench_resized(MPI_Aint lb, MPI_Aint extent, MPI_Datatype child);
MPI_Datatype bench_subarray(int ndims, const int *sizes, const int *subsizes, const int *starts, int order,
                            MPI_Datatype child);
MPI_Datatype bench_indexed_block(int n, int blocklen, const int *displs, MPI_Datatype child);

/* n indices in increasing order, without repetition, out of [0, length), the same for the same arguments and
 * seed. malloc'ed; the caller frees. */
int *bench_random_indices(int n, int length, uint64_t seed);

/* ---- for the harness ---------------------------------------------------------------------------- */

bench_row *bench_row_build(const bench_spec *spec);
void bench_row_free(bench_row *row);

#endif
