/*
 * The measured model: what the parts of a transfer cost on this system, and from them what each strategy costs.
 *
 * A model is a set of tables (tables.h) that `packwright measure` fills: times by message size, and by object
 * size and block length. Between measured points it interpolates as TEMPI does (section 6.3): linearly in the
 * logarithms of sizes and times, for two dimensions one after the other. Beyond the ends: below the smallest point the
 * time of that point, above the largest the slope of the last two points, but at least none and at most proportional
 * growth in both directions of a surface. A table without points answers with a default compiled in: for host memory
 * the lines of runtime/engine/model/cost.h, for GPU memory figures of an H100 (docs/model.md).
 *
 * All times are nanoseconds, all sizes bytes. Knows nothing of MPI and of CUDA. A model is constant once made, and may
 * be asked by any number of threads.
 */
#ifndef PW_RUNTIME_MODEL_H
#define PW_RUNTIME_MODEL_H

#include "base/direction.h"

#include <stdbool.h>
#include <stdint.h>

/* The kinds of MPI calls, since the MPI below is not equally good at all of them. */
typedef enum pw_call_kind {
    PW_CALL_BLOCKING,    /* point to point */
    PW_CALL_NONBLOCKING, /* point to point with a request, persistent ones included */
    PW_CALL_COLLECTIVE,
    PW_CALL_NEIGHBOUR, /* a collective of neighbourhoods */
    PW_CALL_ONE_SIDED,
    PW_CALL_IO,
    PW_CALL_KINDS
} pw_call_kind;

/* Where the packed copy of a message lies, or the message itself. */
typedef enum pw_model_memory {
    PW_MODEL_HOST,      /* ordinary host memory, moved by the CPU */
    PW_MODEL_DEVICE,    /* memory of a GPU, moved by its kernels */
    PW_MODEL_MAPPED,    /* pinned host memory that the GPU's kernels write and read */
    PW_MODEL_STAGED,    /* pinned host memory, by way of a packed copy in GPU memory */
    PW_MODEL_PIPELINED, /* the same, in chunks, of which one is packed while the one before is copied */
    PW_MODEL_MEMORIES
} pw_model_memory;

/* Copies by the GPU's engines or by the driver, of contiguous bytes or of rows (cuMemcpy2D); host memory is pinned. */
typedef enum pw_model_copy_way { PW_MODEL_D2H, PW_MODEL_H2D, PW_MODEL_D2D, PW_MODEL_COPY_WAYS } pw_model_copy_way;

/* How far apart blocks lie, from one beginning to the next, in lengths of a block: what is measured. */
enum { PW_MODEL_NEAR = 2, PW_MODEL_FAR = 16 };

/* What the cost of moving a non-contiguous message depends on. */
typedef struct pw_model_shape {
    int64_t bytes; /* of the whole message, > 0 */
    int64_t block; /* mean length of its contiguous blocks, > 0 */
    double spread; /* lengths from block to block, at least PW_MODEL_NEAR */
} pw_model_shape;

typedef struct pw_model pw_model;

/*
 * The model of this process: that of the file that pw_model_start found, else the defaults. Never NULL, constant
 * after start.
 */
const pw_model *pw_model_now(void);

/* Reads PACKWRIGHT_MODEL, and the file for this MPI ("mpich", "openmpi"). A file that cannot be used is one warning and
 * the defaults; that there is none is no warning, unless it was named. Once, before threads ask. */
void pw_model_start(const char *mpi);

/* `blocks` contiguous blocks with `bytes` bytes altogether, of objects that stretch over `extent` bytes (with any
 * sign) altogether. Both counts positive. */
pw_model_shape pw_model_shape_of(int64_t bytes, int64_t blocks, int64_t extent);

/* ---- parts --------------------------------------------------------------------------------------------------- */

/* Packing or unpacking: by a CPU kernel (HOST), or by a GPU kernel between device memory and a packed copy there or in
 * pinned memory, launch and synchronisation included. Chunks of PIPELINED are those of runtime/engine/gpu. */
double pw_model_move(const pw_model *m, pw_model_memory packed, pw_direction direction, pw_model_shape shape);

/* A contiguous message from memory of one kind to the same on another rank, one way. Mapped memory is host memory.
 * Calls of kinds that were not measured: as blocking ones. */
double pw_model_send(const pw_model *m, pw_model_memory from, pw_call_kind kind, int64_t bytes);

/* A typed message left to the MPI, one way, in host or device memory (for an MPI that understands it). Kinds that were
 * not measured: for host memory runtime/engine/model/cost.h, for device memory as blocking calls. */
double pw_model_native(const pw_model *m, pw_model_memory memory, pw_call_kind kind, pw_model_shape shape);

/* One copy of contiguous bytes, and one of rows of `block` bytes; synchronised. */
double pw_model_copy(const pw_model *m, pw_model_copy_way way, int64_t bytes);
double pw_model_copy_rows(const pw_model *m, pw_model_copy_way way, pw_model_shape shape);

/* An empty kernel launched and waited for: the part of pw_model_move that a chunk in a stream does not pay again. */
double pw_model_launch(const pw_model *m);

/* ---- whole strategies ----------------------------------------------------------------------------------------- */

/*
 * What a transfer by a strategy takes from the sender's buffer to the receiver's, taking both ends to do the same: a
 * rank does not know its peer's choice. Numbers of different strategies can be compared for equal kind, memory and
 * shape.
 */
typedef struct pw_model_query {
    pw_call_kind kind;
    pw_model_memory memory; /* where the user's buffer lies: HOST or DEVICE */
    pw_model_shape shape;
    int64_t chunk;   /* bytes of a chunk, for PIPELINED */
    bool contiguous; /* nothing to pack: copies instead of kernels */
    bool shared;     /* receivers unpack from the sender's host memory (runtime/engine/node/sharing.h) */
    bool
        apart; /* host memory: this rank is known to share no cache with its peers (runtime/engine/memory/outbound.h) */
} pw_model_query;

/* The message is left to the MPI. */
double pw_model_cost_native(const pw_model *m, const pw_model_query *q);
/* The message is packed, and the copy goes to the MPI: by the strategy that packs to this memory (the column `packed`
 * of base/strategy_table.h). HOST is for buffers in host memory, and the others are for buffers in GPU memory. */
double pw_model_cost(const pw_model *m, pw_model_memory packed, const pw_model_query *q);
/* The part of that cost which is the rank's own work and can be timed: packing (or unpacking) with its copies. */
double pw_model_own(const pw_model *m, pw_model_memory packed, const pw_model_query *q, pw_direction direction);

#endif
