/*
 * A block staging: a staging buffer that is one contiguous stand-in for all blocks of a collective's buffer.
 *
 * One strategy takes the staging buffer of a whole side at once. The staging buffer is packed and unpacked in runs:
 * objects of one type that follow each other both in the user's memory and in the staging buffer. Memory that no block
 * names is not written: gaps between blocks, blocks of neighbours that do not exist, the block contributed in place.
 *
 * Each run is a staging, the part of the side's that has its buffer and data. A strategy must therefore keep in `own`
 * only what is valid for every part of the staging buffer.
 */
#ifndef PW_RUNTIME_BLOCK_STAGING_H
#define PW_RUNTIME_BLOCK_STAGING_H

#include "runtime/mpi/collective/collective.h"
#include "runtime/mpi/strategy/staging.h"

typedef struct pw_run {
    pw_staging part; /* layout NULL: the run is dense */
    unsigned use;
    bool by_cpu; /* the CPU moves it without a strategy: it is dense, in host memory or staged for GPU memory */
    bool owner;  /* the run holds a reference of its own to the buffer's layout */
} pw_run;

/* Plain data: may be moved. */
typedef struct pw_block_staging {
    pw_staging whole;
    int64_t runs;
    bool computes; /* MPI computes with what is staged: there are no runs, but `one.use` */
    bool is_apart; /* each run is one block, which is as long as what its sender has staged: it may be expected */
    bool needed;   /* MPI cannot touch some of the blocks, so they must be staged; also set when staging fails */
    pw_run *many;  /* lies in `arrays`; NULL: there is one run, `one` */
    pw_run one;
    void *arrays; /* the runs and the stand-in's arrays, which MPI may read until completion; or the mirror's memory */
    int64_t array_bytes;
    void *mirror; /* objects of the program's type in host memory, with which MPI computes; NULL: there are none */
} pw_block_staging;

/* Stages a side that pw_collective_check has found sound, and turns the side into its stand-in. If staging does not
 * pay, the side stays as it is and the staging buffer is empty; closing it then does nothing. Fails only if MPI must
 * not get the buffer. */
pw_status pw_block_staging_open(pw_block_staging *b, pw_side *side);

static inline bool pw_block_staging_is_open(const pw_block_staging *b)
{
    return pw_staging_is_open(&b->whole);
}

/* Lets blocks that are exchanged be unpacked as they come; to be called before MPI is. Does nothing for others. */
void pw_block_staging_expect(pw_block_staging *b);
/* Pack the blocks that MPI reads, and unpack those that MPI has written. Both do nothing on an empty staging buffer. */
pw_status pw_block_staging_pack(pw_block_staging *b);
pw_status pw_block_staging_unpack(pw_block_staging *b);
/* Releases the staging buffer. A second call does nothing. */
void pw_block_staging_close(pw_block_staging *b);

/* ---- block_staging_open.c ---------------------------------------------------------------------------------------- */

/* Opens the staging of a side with blocks. Sets `needed`. On failure the side stays as it is, and the caller closes
 * what is open. */
pw_status pw_block_staging_open_blocks(pw_block_staging *b, pw_side *side);

static inline pw_run *pw_block_staging_runs(pw_block_staging *b)
{
    return b->many ? b->many : &b->one;
}

#endif
