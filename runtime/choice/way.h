/*
 * The ways of a message, as far as they are chosen: whether a way can carry it, and what it is guessed to cost. Both
 * are pure functions of facts (facts.h) and of *conditions*, a record of what is true of the message that the caller
 * has filled in. Nothing here calls the system, allocates, counts, or looks at peers.
 *
 * A cost is the time from the sender's buffer to the receiver's in nanoseconds, and assumes that both ends go the same
 * way: a rank does not know its peer's choice. Costs can be compared if kind, place and shape are equal.
 */
#ifndef PW_RUNTIME_CHOICE_WAY_H
#define PW_RUNTIME_CHOICE_WAY_H

#include "base/direction.h"
#include "base/strategy_table.h"
#include "runtime/choice/facts.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- what is true of a message ----------------------------------------------------------------------------------- */

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

/* Whether MPI passes the blocks on to a window or a file. */
static inline bool pw_call_is_passed_on(pw_call_kind kind)
{
    return kind > PW_CALL_NEIGHBOUR;
}

/* Where the packed copy of a message lies (the column `packed` of base/strategy_table.h). */
typedef enum pw_packed_place {
    PW_PACKED_HOST,   /* ordinary host memory, moved by the CPU */
    PW_PACKED_DEVICE, /* memory of a GPU, moved by its kernels */
    PW_PACKED_MAPPED, /* pinned host memory that the GPU's kernels write and read */
    PW_PACKED_STAGED  /* pinned host memory, by way of a packed copy in GPU memory */
} pw_packed_place;

/* What the cost of moving a non-contiguous message depends on. */
typedef struct pw_cost_shape {
    int64_t bytes; /* of the whole message, > 0 */
    int64_t block; /* mean length of its contiguous blocks, > 0 */
    double spread; /* distance from block to block in lengths of a block, from one beginning to the next, at least 2 */
} pw_cost_shape;

/* Returns the shape of `blocks` contiguous blocks with `bytes` bytes in all, of objects that stretch over `extent`
 * bytes (with any sign) in all. Blocks and bytes are positive. */
pw_cost_shape pw_cost_shape_of(int64_t bytes, int64_t blocks, int64_t extent);

/* X(name, meaning): PW_IF_<name> says of a message that ... */
#define PW_CONDITIONS(X)                                                           \
    X(ON_DEVICE, "it lies in GPU memory")                                          \
    X(LAYOUT, "it has gaps, or an order of its own")                               \
    X(BETWEEN_TWO, "a call between two processes sends or receives it")            \
    X(ONE_WAY, "the call does not both read and write it")                         \
    X(TO_ONESELF, "this process sends it to itself, and both buffers are known")   \
    X(FOLLOWED, "this process sends it to itself, by calls that are followed")     \
    X(ONE_BLOCK, "all of it is one contiguous block, in typemap order")            \
    X(SENT_DENSE, "it is one block, and the MPI sends it as such")                 \
    X(NOT_TAKEN, "it lies in memory that the MPI does not take")                   \
    X(BYTES, "the MPI may get it as contiguous bytes")                             \
    X(SHORT, "it is not too long to be packed")                                    \
    X(CUT_THERE, "packed, it may be cut for a receiver that does not stage it")    \
    X(CUT_HERE, "its sender may have packed it, so that it comes in cut pieces")   \
    X(IN_PIECES, "kernels can move its pieces for the MPI")                        \
    X(SHOWN, "its receiver may move it from the sender's own memory")              \
    X(FAR, "its receiver may read it over a network")                              \
    X(ODD, "its pieces have odd lengths, at which single bytes cross a GPU's bus") \
    X(SHARED, "receivers unpack from the sender's packed copy")                    \
    X(CACHED, "the packed copy that is passed on stays in a cache")                \
    X(OPENED, "GPUs of peers read the memory of this rank's GPU, so a longer one is packed there")

enum pw_condition_bit {
#define X(name, meaning) PW_IF_BIT_##name,
    PW_CONDITIONS(X)
#undef X
        PW_CONDITION_BITS
};

enum pw_condition {
#define X(name, meaning) PW_IF_##name = 1 << PW_IF_BIT_##name,
    PW_CONDITIONS(X)
#undef X
};

/* The least bytes of a message that is packed in the memory of an opened GPU. */
enum { PW_OPENED_LEAST = 128 << 10 };

typedef struct pw_conditions {
    unsigned set; /* of PW_IF_... */
    pw_call_kind kind;
    pw_cost_shape shape;
    double far_part; /* FAR: the part of the MPI's time that reading takes; INFINITY: it is not to be read */
    const struct pw_conditions *to; /* TO_ONESELF: the buffer that receives it; its LAYOUT and shape count */
} pw_conditions;

/* ---- ways -------------------------------------------------------------------------------------------------------- */

typedef struct pw_way {
    unsigned needs, bars; /* the conditions that must hold, and those that must not */
    double (*cost)(const pw_facts *f, const pw_conditions *c); /* NULL: a GPU packs and unpacks */
} pw_way;

/* The way that leaves the message to the MPI: the first one, as sites want it (site.h). */
static const pw_strategy_id pw_way_left = (pw_strategy_id)0;

/* By pw_strategy_id. */
extern const pw_way pw_ways[PW_STRATEGY_COUNT];

/* Whether a way can carry a message of which these conditions hold. */
static inline bool pw_way_can(int way, unsigned set)
{
    return (set & (pw_ways[way].needs | pw_ways[way].bars)) == pw_ways[way].needs;
}

/* Returns the cost of a way. Below 0: it cannot carry the message, or has no part in choices. */
double pw_way_cost(int way, const pw_facts *f, const pw_conditions *c);
/* Returns the part of that cost which is this rank's own packing or unpacking, with its copies, by a way that packs. */
double pw_way_own_cost(int way, const pw_facts *f, const pw_conditions *c, pw_direction direction);

/* Returns what the first message by a way costs once more, for memory that later ones find. */
double pw_way_first_cost(int way, const pw_facts *f, const pw_conditions *c);

/* Returns the cheapest way that can carry the message and is not in the set `refused` (bit 1 << way), or `forced` if
 * that can; the first way if none can. */
int pw_way_choose(const pw_facts *f, const pw_conditions *c, unsigned refused, int forced);
/* Returns the way of a message that leaves no choice. Below 0: there is a choice. */
int pw_way_certain(unsigned set, unsigned refused, bool is_forced);
/* The ways that a trial compares, in the same order for all messages that may meet in a call; the first one leaves
 * the message to the MPI. Returns how many. */
int pw_way_rivals(unsigned set, const uint8_t **ways);

/* The bytes by which a message of `blocks` > 0 blocks is looked up, `bytes` > 0 in all: what MPIs do depends on the
 * length of each block, so collectives are looked up as two of their blocks, and neighbourhoods as one. */
static inline int64_t pw_cost_bytes(pw_call_kind kind, int64_t bytes, int64_t blocks)
{
    int64_t known = kind == PW_CALL_NEIGHBOUR ? 1 : 2, cost_bytes;

    if (blocks <= known)
        return bytes;
    cost_bytes = bytes / blocks * known;
    return cost_bytes > 0 ? cost_bytes : 1;
}

#endif
