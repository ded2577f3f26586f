/*
 * One contiguous stand-in for the blocks of a collective's buffer.
 *
 * The stage of a whole side is taken once, by one strategy. It is packed and unpacked in runs: objects of one type that
 * follow each other in the user's memory and in the stage. What no block names - gaps between blocks, blocks of
 * neighbours that do not exist, the block contributed in place - is not written.
 *
 * For each run the strategy's pack and unpack get a copy of the stage narrowed to the run: layout, buf, count,
 * data and bytes are the run's. So a strategy must not keep in `own` what depends on these, only what serves any part.
 */
#ifndef PW_RUNTIME_BLOCK_STAGE_H
#define PW_RUNTIME_BLOCK_STAGE_H

#include "runtime/engine/layout/layout.h"
#include "runtime/mpi/collective/collective.h"
#include "runtime/mpi/collective/twin.h"

typedef struct pw_run {
    pw_layout *layout; /* NULL: dense */
    int64_t offset;    /* of a dense run's first byte from buf */
    char *buf;
    int64_t count, bytes;
    int64_t at; /* bytes from the beginning of the stage */
    unsigned use;
    bool by_cpu; /* host memory that needs no strategy: dense, or with a stage for GPU memory */
    pw_memory_place place;
    bool owner;      /* of a reference to `layout`, which is not the stage's */
    void *under_way; /* of pw_stage, between beginning and finishing */
    pw_twin twin;
} pw_run;

/* Plain data: may be moved. */
typedef struct pw_block_stage {
    pw_stage whole;
    int64_t runs;
    bool is_whole; /* one run is all there is in the stage */
    bool needed;   /* MPI cannot touch some of the blocks, so they must be staged; set also when that fails */
    pw_run *many;  /* in arrays; NULL: there is one run */
    pw_run one;
    void *arrays; /* runs, and the arrays of the stand-in, which MPI may read until the operation completes */
    int64_t array_bytes;
} pw_block_stage;

/* Stages a side that pw_collective_judge has found sound, and turns it into its stand-in, or leaves it as it is: then
 * the stage is empty, and closing it does nothing. It fails only when MPI must not have the buffer. */
pw_status pw_block_stage_open(pw_block_stage *b, pw_side *side);

static inline bool pw_block_stage_is_open(const pw_block_stage *b)
{
    return pw_stage_is_open(&b->whole);
}

/* The blocks that are read, and those that are written. On an empty stage they do nothing. */
pw_status pw_block_stage_pack(pw_block_stage *b);
pw_status pw_block_stage_unpack(pw_block_stage *b);
/* Once MPI has been called, even if it is still at work: frees the twins that were made for this call only. `again`:
 * the call is persistent. Open MPI looks at its types again in each start, so there such twins are left alive until MPI
 * ends. */
void pw_block_stage_called(pw_block_stage *b, bool again);
/* Calls MPI only if pw_block_stage_called was not. Calling it again does nothing. */
void pw_block_stage_close(pw_block_stage *b);

/* ---- for the two ways of opening --------------------------------------------------------------------------------- */

/* They set `needed`. Other than PW_OK: the side stays as it is, and what is open is for the caller to close. */
pw_status pw_block_stage_open_uniform(pw_block_stage *b, pw_side *side); /* one type */
pw_status pw_block_stage_open_typed(pw_block_stage *b, pw_side *side);   /* a type for each block */

static inline pw_run *pw_block_stage_runs(pw_block_stage *b)
{
    return b->many ? b->many : &b->one;
}

#endif
