/*
 * What messages are guessed to cost, by each strategy, from facts (runtime/choice/facts.h): the defaults, or what
 * `packwright measure` has found on this machine.
 *
 * All times are nanoseconds, all sizes bytes. Knows nothing of MPI and of CUDA. A model is constant once made, and may
 * be asked by any number of threads; asking has no side effects.
 */
#ifndef PW_RUNTIME_MODEL_H
#define PW_RUNTIME_MODEL_H

#include "base/direction.h"
#include "runtime/choice/facts.h"

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

/* What the cost of moving a non-contiguous message depends on. */
typedef struct pw_model_shape {
    int64_t bytes; /* of the whole message, > 0 */
    int64_t block; /* mean length of its contiguous blocks, > 0 */
    double spread; /* distance from block to block in lengths of a block, from one beginning to the next, at least 2 */
} pw_model_shape;

/* Where the facts of a model come from. */
typedef struct pw_model_origin {
    char mpi[32];          /* "mpich", "openmpi"; "": any */
    char mpi_version[96];  /* as the MPI reports it */
    char network[64];      /* the transports that the facts about reading are of; "": these were not measured */
    char cpu[48], gpu[96]; /* such as "znver4" and "NVIDIA H100 80GB HBM3"; gpu is "" if there is none */
    char date[32];         /* the day of the last measurement, ISO 8601 */
    bool old;              /* the file has tables of an earlier Packwright, which are not read */
} pw_model_origin;

/* Plain data. */
typedef struct pw_model {
    pw_facts facts;
    uint32_t measured; /* bit 1 << pw_fact: this fact was measured */
    pw_model_origin origin;
} pw_model;

static inline bool pw_model_has(const pw_model *m, pw_fact fact)
{
    return m->measured >> fact & 1;
}

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

/* The cost of a message that is left to MPI, and of one whose pieces kernels move in the MPI's own pipeline
 * (runtime/mpi/strategy/pipeline.h), which is expected to take as long. */
double pw_model_cost_native(const pw_model *m, const pw_model_query *q);
/* The cost of a message that the receiver copies from the sender's own memory at once; in GPU memory by one kernel of
 * the receiver's GPU. */
double pw_model_cost_direct(const pw_model *m, const pw_model_query *q);
/* The cost of a message that is packed and goes to MPI as the packed copy, by the strategy that packs to this memory
 * (the column `packed` of base/strategy_table.h). HOST is for buffers in host memory, the others are for buffers in GPU
 * memory. */
double pw_model_cost(const pw_model *m, pw_model_memory packed, const pw_model_query *q);
/* The part of that cost which is the rank's own work and can be timed: packing or unpacking with its copies. */
double pw_model_own(const pw_model *m, pw_model_memory packed, const pw_model_query *q, pw_direction direction);

/* The part of the MPI's time that reading a block over a network takes, in pieces of `block` bytes; INFINITY: it is not
 * to be read. Transports over which it was not measured have defaults. */
double pw_model_remote_part(const pw_model *m, const char *transports, int64_t bytes, int64_t block);
/* The least bytes of a block that may gain by being read. INT64_MAX: none gains. */
int64_t pw_model_remote_least(const pw_model *m, const char *transports);

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
