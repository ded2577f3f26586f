/*
 * The tables of a model: what is measured, under which name it stands in a file, and how tables are made.
 * `packwright measure` fills them, runtime/engine/model/model.c asks them.
 */
#ifndef PW_RUNTIME_MODEL_TABLES_H
#define PW_RUNTIME_MODEL_TABLES_H

#include "base/status.h"
#include "runtime/engine/model/model.h"

/*
 * X(symbol, name, axes, meaning). Axes: 0, a single time; 1, by bytes; 2, by bytes and length of the contiguous blocks.
 * The order within a group is that of the enum that chooses in it: kinds of calls, or directions of a copy. Messages
 * between ranks come first, to the last of native.device.
 */
#define PW_MODEL_TABLES(X)                                                                                          \
    X(SEND_HOST, "send.host.blocking", 1, "contiguous host memory, half a round trip of Send and Recv")             \
    X(SEND_HOST_NB, "send.host.nonblocking", 1, "the same, one of 8 messages in flight each way")                   \
    X(SEND_HOST_COLL, "send.host.collective", 1, "the same, a block of an Alltoall")                                \
    X(SEND_HOST_NEIGHBOUR, "send.host.neighbour", 1, "the same, one of the two blocks of a Neighbor_alltoallw")     \
    X(SEND_DEVICE, "send.device.blocking", 1, "contiguous GPU memory, half a round trip of Send and Recv")          \
    X(SEND_DEVICE_NB, "send.device.nonblocking", 1, "the same, one of 8 messages in flight each way")               \
    X(SEND_DEVICE_COLL, "send.device.collective", 1, "the same, a block of an Alltoall")                            \
    X(SEND_DEVICE_NEIGHBOUR, "send.device.neighbour", 1, "the same, one of the two blocks of a Neighbor_alltoallw") \
    X(NATIVE_HOST, "native.host.blocking", 2,                                                                       \
      "typed host memory left to MPI, blocks every 2 lengths, half a round trip")                                   \
    X(NATIVE_HOST_NB, "native.host.nonblocking", 2, "the same, one of 8 messages in flight each way")               \
    X(NATIVE_HOST_COLL, "native.host.collective", 2, "the same, a block of an Alltoall")                            \
    X(NATIVE_HOST_NEIGHBOUR, "native.host.neighbour", 2, "the same, one of the two blocks of a Neighbor_alltoallw") \
    X(NATIVE_HOST_FAR, "native.host.blocking.far", 2, "typed host memory left to MPI, blocks every 16 lengths")     \
    X(NATIVE_HOST_FAR_NB, "native.host.nonblocking.far", 2, "the same, one of 8 messages in flight each way")       \
    X(NATIVE_HOST_FAR_COLL, "native.host.collective.far", 2, "the same, a block of an Alltoall")                    \
    X(NATIVE_HOST_FAR_NEIGHBOUR, "native.host.neighbour.far", 2,                                                    \
      "the same, one of the two blocks of a Neighbor_alltoallw")                                                    \
    X(PACKED_HOST, "packed.host.blocking", 2, "typed host memory packed at both ends, blocks every 2 lengths")      \
    X(PACKED_HOST_NB, "packed.host.nonblocking", 2, "the same, one of 8 messages in flight each way")               \
    X(PACKED_HOST_COLL, "packed.host.collective", 2, "the same, a block of an Alltoall")                            \
    X(PACKED_HOST_NEIGHBOUR, "packed.host.neighbour", 2, "the same, one of the two blocks of a Neighbor_alltoallw") \
    X(PACKED_HOST_FAR, "packed.host.blocking.far", 2, "the same as these four, blocks every 16 lengths")            \
    X(PACKED_HOST_FAR_NB, "packed.host.nonblocking.far", 2, "the same, one of 8 messages in flight each way")       \
    X(PACKED_HOST_FAR_COLL, "packed.host.collective.far", 2, "the same, a block of an Alltoall")                    \
    X(PACKED_HOST_FAR_NEIGHBOUR, "packed.host.neighbour.far", 2,                                                    \
      "the same, one of the two blocks of a Neighbor_alltoallw")                                                    \
    X(PIPELINE_HOST, "pipeline.host.blocking", 2, "typed host memory, kernels in MPI's pipeline, every 2 lengths")  \
    X(PIPELINE_HOST_FAR, "pipeline.host.blocking.far", 2, "the same, blocks every 16 lengths")                      \
    X(REMOTE_READ, "remote.read", 2,                                                                                \
      "typed host memory, one block each way, read by the receiver over a network, blocks every 2 lengths")         \
    X(REMOTE_LEFT, "remote.left", 2, "the same, left to MPI")                                                       \
    X(STORES_HOST, "stores.host", 0, "a store to a line of a 32 KiB message that the other rank has read")          \
    X(NATIVE_DEVICE, "native.device.blocking", 2,                                                                   \
      "typed GPU memory left to MPI, blocks every 2 lengths, half a round trip")                                    \
    X(NATIVE_DEVICE_NB, "native.device.nonblocking", 2, "the same, one of 8 messages in flight each way")           \
    X(NATIVE_DEVICE_COLL, "native.device.collective", 2, "the same, a block of an Alltoall")                        \
    X(NATIVE_DEVICE_NEIGHBOUR, "native.device.neighbour", 2,                                                        \
      "the same, one of the two blocks of a Neighbor_alltoallw")                                                    \
    X(COPY_D2H, "copy.d2h", 1, "GPU memory to pinned host memory, synchronised")                                    \
    X(COPY_H2D, "copy.h2d", 1, "pinned host memory to GPU memory, synchronised")                                    \
    X(COPY_D2D, "copy.d2d", 1, "GPU memory to GPU memory, synchronised")                                            \
    X(LAUNCH, "launch", 0, "a kernel that moves 64 bytes, launched and waited for")                                 \
    X(PACK_HOST_NEAR, "pack.host.near", 2, "CPU kernel, host memory; blocks every 2 lengths")                       \
    X(PACK_HOST_FAR, "pack.host.far", 2, "the same; blocks every 16 lengths")                                       \
    X(UNPACK_HOST_NEAR, "unpack.host.near", 2, "CPU kernel, host memory; blocks every 2 lengths")                   \
    X(UNPACK_HOST_FAR, "unpack.host.far", 2, "the same; blocks every 16 lengths")                                   \
    X(PACK_DEVICE_NEAR, "pack.device.near", 2, "GPU kernel to GPU memory; blocks every 2 lengths")                  \
    X(PACK_DEVICE_FAR, "pack.device.far", 2, "the same; blocks every 16 lengths")                                   \
    X(UNPACK_DEVICE_NEAR, "unpack.device.near", 2, "GPU kernel from GPU memory; blocks every 2 lengths")            \
    X(UNPACK_DEVICE_FAR, "unpack.device.far", 2, "the same; blocks every 16 lengths")                               \
    X(PACK_MAPPED_NEAR, "pack.mapped.near", 2, "GPU kernel to mapped host memory; blocks every 2 lengths")          \
    X(PACK_MAPPED_FAR, "pack.mapped.far", 2, "the same; blocks every 16 lengths")                                   \
    X(UNPACK_MAPPED_NEAR, "unpack.mapped.near", 2, "GPU kernel from mapped host memory; blocks every 2 lengths")    \
    X(UNPACK_MAPPED_FAR, "unpack.mapped.far", 2, "the same; blocks every 16 lengths")                               \
    X(PACK_STAGED_NEAR, "pack.staged.near", 2,                                                                      \
      "GPU kernel to GPU memory, copy to pinned memory; blocks every 2 lengths")                                    \
    X(PACK_STAGED_FAR, "pack.staged.far", 2, "the same; blocks every 16 lengths")                                   \
    X(UNPACK_STAGED_NEAR, "unpack.staged.near", 2, "copy from pinned memory, GPU kernel; blocks every 2 lengths")   \
    X(UNPACK_STAGED_FAR, "unpack.staged.far", 2, "the same; blocks every 16 lengths")                               \
    X(PACK_PIPELINED_NEAR, "pack.pipelined.near", 2, "as staged, in chunks; blocks every 2 lengths")                \
    X(PACK_PIPELINED_FAR, "pack.pipelined.far", 2, "the same; blocks every 16 lengths")                             \
    X(UNPACK_PIPELINED_NEAR, "unpack.pipelined.near", 2, "as staged, in chunks; blocks every 2 lengths")            \
    X(UNPACK_PIPELINED_FAR, "unpack.pipelined.far", 2, "the same; blocks every 16 lengths")                         \
    X(DIRECT_DEVICE_NEAR, "direct.device.near", 2,                                                                  \
      "GPU kernel from typed memory of another GPU to the same type in its own; blocks every 2 lengths")            \
    X(DIRECT_DEVICE_FAR, "direct.device.far", 2, "the same; blocks every 16 lengths")

typedef enum pw_model_table_id {
#define X(symbol, name, axes, meaning) PW_TABLE_##symbol,
    PW_MODEL_TABLES(X)
#undef X
        PW_TABLE_COUNT
} pw_model_table_id;

/* The kinds of calls that have tables are the first ones of pw_call_kind. */
enum { PW_MODEL_KINDS = PW_CALL_NEIGHBOUR + 1 };

enum { PW_MODEL_MAX_POINTS = 64 }; /* the most points of an axis */

/* A message of so few bytes that takes longer than this cannot have been measured properly. */
enum { PW_MODEL_SHORT = 256, PW_MODEL_SHORT_MOST_NS = 1000000 };

typedef struct pw_model_table {
    int nx, ny; /* points of each axis; nx 0: the table was not measured. An axis that the table does not have has 1 */
    const double *x;    /* in bytes, ascending */
    const double *y;    /* block lengths, ascending */
    const double *t;    /* nanoseconds, nx rows of ny; NaN: not measured */
    const double *logs; /* the logarithms (base 2) of x, y and t, one after the other */
} pw_model_table;

/* Where the numbers of a model come from. */
typedef struct pw_model_origin {
    char mpi[32];         /* "mpich", "openmpi"; "" when messages were not measured */
    char mpi_version[96]; /* as the MPI reports it */
    char network[64];     /* the transports of remote.read, as runtime/exchange/net has them; "": it was not measured */
    char cpu[48], gpu[96]; /* such as "znver4" and "NVIDIA H100 80GB HBM3"; gpu is "" if there is none */
    char date[32];         /* the day of the last measurement, ISO 8601 */
} pw_model_origin;

struct pw_model {
    pw_model_origin origin;
    pw_model_table tables[PW_TABLE_COUNT];
};

typedef struct pw_model_table_info {
    const char *name, *meaning;
    int axes;
} pw_model_table_info;

const pw_model_table_info *pw_model_table_describe(pw_model_table_id id);
/* Returns the table of this name. PW_TABLE_COUNT: there is none. */
pw_model_table_id pw_model_table_named(const char *name);

/* Makes a model without tables, which answers with defaults. NULL: out of memory. */
pw_model *pw_model_create(void);
void pw_model_destroy(pw_model *m); /* NULL is allowed */

/*
 * Replaces a table by a copy of these numbers. PW_ERR_INVALID, described in `diag`: the number of points does not fit
 * the axes, an axis does not ascend, a time is neither NaN nor finite and positive, or times are absurd. `x` or `y` may
 * be NULL if the table has no such axis.
 */
pw_status pw_model_set(pw_model *m, pw_model_table_id id, const double *x, int nx, const double *y, int ny,
                       const double *t, pw_diag *diag);
/* Removes a table, if it is there. */
void pw_model_drop(pw_model *m, pw_model_table_id id);
/* Removes the tables of messages between ranks. */
void pw_model_drop_messages(pw_model *m);
/* Copies all tables that `from` has, and what network they are of. */
pw_status pw_model_take(pw_model *m, const pw_model *from, pw_diag *diag);

static inline bool pw_model_has(const pw_model *m, pw_model_table_id id)
{
    return m->tables[id].nx > 0;
}

/* Interpolates; the table must have been measured. A coordinate for an axis that the table does not have is ignored.
 * NaN: some of the points needed were not measured. */
double pw_model_table_at(const pw_model_table *t, double x, double y);

#endif
