/*
 * The measured model: what the parts of a transfer cost on this system, and what each strategy costs as their sum.
 *
 * A model is a set of tables (tables.h) that `packwright measure` fills: times by message size, and by object
 * size and block length. Between measured points it interpolates as TEMPI does (section 6.3): linearly in the
 * logarithms of sizes and times, for two dimensions one after the other. It extrapolates nothing: beyond the ends the
 * nearest point decides. Smaller messages take the time of the smallest one, larger ones the rate of the largest one,
 * shorter and longer blocks the time of the nearest length. A table without points answers with a guess: for
 * host memory that of runtime/choice/guess.h, for GPU memory figures of an H100 (docs/model.md).
 *
 * All times are nanoseconds, all sizes bytes. Knows nothing of MPI and of CUDA. A model is constant once made, and may
 * be asked by any number of threads.
 */
#ifndef PW_RUNTIME_MODEL_H
#define PW_RUNTIME_MODEL_H

#include "base/direction.h"

#include <stdbool.h>
#include <stdint.h>

/* The kinds of MPI calls. An MPI is not equally good at all of them. */
typedef enum pw_call_kind {
    PW_CALL_BLOCKING,    /* point to point */
    PW_CALL_NONBLOCKING, /* point to point with a request, persistent ones included */
    PW_CALL_COLLECTIVE,
    PW_CALL_NEIGHBOUR, /* a collective of neighbourhoods */
    PW_CALL_ONE_SIDED,
    PW_CALL_IO,
    PW_CALL_KINDS
} pw_call_kind;

/* Where the packed copy of a message lies, or where the message itself does. */
typedef enum pw_model_memory {
    PW_MODEL_HOST,      /* ordinary host memory, moved by the CPU */
    PW_MODEL_DEVICE,    /* memory of a GPU, moved by its kernels */
    PW_MODEL_MAPPED,    /* pinned host memory that the GPU's kernels write and read */
    PW_MODEL_STAGED,    /* pinned host memory, by way of a packed copy in GPU memory */
    PW_MODEL_PIPELINED, /* as STAGED, in chunks: the GPU packs one chunk while it copies the one before */
    PW_MODEL_MEMORIES
} pw_model_memory;

/* Copies by the GPU's engines or by the driver, of contiguous bytes or of rows (cuMemcpy2D); host memory is pinned. */
typedef enum pw_model_copy_way { PW_MODEL_D2H, PW_MODEL_H2D, PW_MODEL_D2D, PW_MODEL_COPY_WAYS } pw_model_copy_way;

/* How far apart blocks lie, from one beginning to the next, in lengths of a block: the two distances that are measured.
 */
enum { PW_MODEL_NEAR = 2, PW_MODEL_FAR = 16 };

/* What the cost of moving a non-contiguous message depends on. */
typedef struct pw_model_shape {
    int64_t bytes; /* of the whole message, > 0 */
    int64_t block; /* mean length of its contiguous blocks, > 0 */
    double spread; /* distance from block to block in lengths of a block, at least PW_MODEL_NEAR */
} pw_model_shape;

typedef struct pw_model pw_model;

/*
 * Returns the model of this process: that of the file which pw_model_start has found, else the defaults. Never NULL;
 * constant after start.
 */
const pw_model *pw_model_now(void);

/* Returns the model that was measured over these transports (pw_net_transports), of this process's and that of ranks on
 * different nodes; this process's if neither was. */
const pw_model *pw_model_over(const char *transports);

/* Reads PACKWRIGHT_MODEL, and the file for this MPI ("mpich", "openmpi"). A file that cannot be used leads to one
 * warning and the defaults. A missing file leads to a warning only if PACKWRIGHT_MODEL names it. Called once, before
 * threads ask. */
void pw_model_start(const char *mpi);

/* Returns the shape of `blocks` contiguous blocks with `bytes` bytes in all, of objects that stretch over `extent`
 * bytes (with any sign) in all. Blocks and bytes are positive. */
pw_model_shape pw_model_shape_of(int64_t bytes, int64_t blocks, int64_t extent);

/* ---- parts --------------------------------------------------------------------------------------------------- */

/* The time to pack or unpack: by a CPU kernel (HOST), or by a GPU kernel between device memory and a packed copy there
 * or in pinned memory, launch and synchronisation included. PIPELINED has the chunks of runtime/engine/gpu. */
double pw_model_move(const pw_model *m, pw_model_memory packed, pw_direction direction, pw_model_shape shape);

/* The time of a contiguous message, one way, from memory of one kind to the same on another rank. Mapped memory is host
 * memory. A kind of call that was not measured takes as long as a blocking one. */
double pw_model_send(const pw_model *m, pw_model_memory from, pw_call_kind kind, int64_t bytes);

/* The time of a typed message left to the MPI, one way, in host memory, or in device memory for an MPI that takes it. A
 * kind of call that was not measured is guessed in host memory, and takes in device memory as long as a blocking one.
 */
double pw_model_native(const pw_model *m, pw_model_memory memory, pw_call_kind kind, pw_model_shape shape);

/* The time of one copy of contiguous bytes, synchronised. */
double pw_model_copy(const pw_model *m, pw_model_copy_way way, int64_t bytes);

/* The time of the one kernel of a receiver that moves a typed message from the memory of another GPU to that of its
 * own, launch and wait included. Both sides have the message's shape. */
double pw_model_move_across(const pw_model *m, pw_model_shape shape);
/* Whether that was measured on this machine. */
bool pw_model_has_across(const pw_model *m);

/* The time of an empty kernel, launched and waited for: the part of pw_model_move that a chunk in a stream does not pay
 * again. */
double pw_model_launch(const pw_model *m);

/* ---- blocks that the receiver reads over a network ------------------------------------------------------------- */

/* Whether reading was measured over these transports. */
bool pw_model_is_of(const pw_model *m, const char *transports);
/* The part of the MPI's time that reading a block takes, in pieces of `block` bytes; INFINITY: it is not to be read.
 * Transports over which it was not measured have defaults. */
double pw_model_remote_part(const pw_model *m, const char *transports, int64_t bytes, int64_t block);
/* The least bytes of a block that may gain by being read. INT64_MAX: none gains. */
int64_t pw_model_remote_least(const pw_model *m, const char *transports);

/* ---- whole strategies ----------------------------------------------------------------------------------------- */

/*
 * A message for which costs are asked. A cost is the time from the sender's buffer to the receiver's, and assumes that
 * both ends use the same strategy: a rank does not know its peer's choice. Costs of strategies can be compared if kind,
 * memory and shape are equal.
 */
typedef struct pw_model_query {
    pw_call_kind kind;
    pw_model_memory memory; /* where the user's buffer lies: HOST or DEVICE */
    pw_model_shape shape;
    int64_t chunk;   /* bytes of a chunk, for PIPELINED */
    bool contiguous; /* there is nothing to pack: copies instead of kernels */
    bool shared;     /* receivers unpack from the sender's memory (runtime/exchange/sharing.h) */
    bool opened; /* in GPU memory: GPUs of peers are known to read memory of this rank's GPU. The sender then packs a
                    longer message to its own GPU's memory, and the receiver's GPU unpacks from there */
} pw_model_query;

/* The least bytes of such a longer message. It equals PW_GPU_LAZY_LEAST, which the model may not include. */
enum { PW_MODEL_OPENED_LEAST = 128 << 10 };

/* The cost of a message that is left to MPI. */
double pw_model_cost_native(const pw_model *m, const pw_model_query *q);
/* The cost of a message whose pieces kernels move in the MPI's own pipeline (runtime/mpi/strategy/pipeline.h). */
double pw_model_cost_pipeline(const pw_model *m, const pw_model_query *q);
/* The cost of a message that the receiver copies from the sender's own memory at once. */
double pw_model_cost_direct(const pw_model *m, const pw_model_query *q);
/* The cost of a message in GPU memory that the receiver's GPU moves from the sender's own memory by one kernel; and the
 * part of it that the kernel takes. */
double pw_model_cost_across(const pw_model *m, const pw_model_query *q);
double pw_model_own_across(const pw_model *m, const pw_model_query *q);
/* The cost of a message that is packed and goes to MPI as the packed copy, by the strategy that packs to this memory
 * (the column `packed` of base/strategy_table.h). HOST is for buffers in host memory, the others are for buffers in GPU
 * memory. */
double pw_model_cost(const pw_model *m, pw_model_memory packed, const pw_model_query *q);
/* The part of that cost which is the rank's own work and can be timed: packing or unpacking with its copies. */
double pw_model_own(const pw_model *m, pw_model_memory packed, const pw_model_query *q, pw_direction direction);

/*
 * The bytes by which a message of `blocks` > 0 blocks is looked up, `bytes` > 0 in all: what MPIs do depends on the
 * length of each block, so collectives are looked up as two of their blocks, and neighbourhoods as one.
 */
static inline int64_t pw_cost_bytes(pw_call_kind kind, int64_t bytes, int64_t blocks)
{
    int64_t known = kind == PW_CALL_NEIGHBOUR ? 1 : 2, cost_bytes;

    if (blocks <= known)
        return bytes;
    cost_bytes = bytes / blocks * known;
    return cost_bytes > 0 ? cost_bytes : 1;
}

#endif
