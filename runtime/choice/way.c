/*
 * Purpose: what each way of a message needs and costs. Data: constant tables. Invariant: every function is pure, and
 * calls nothing outside of this folder but arithmetic (the rule "pure" of tests/floors/check.py).
 */
#include "runtime/choice/way.h"

#include <math.h>

enum {
    SHARED_LEAST = 16 << 10, /* shorter messages in GPU memory are copied by MPI (runtime/mpi/strategy/gpu.c) */
    BY_ENGINE = 64 << 10,    /* longer copies to and from the host are done by copy engines, not by the front end */
    GRANULE = 64,            /* DRAM of a GPU, and a link to another one, move granules of so many bytes */
    WORD = 8                 /* blocks begin anywhere in a granule, at multiples of so many bytes */
};

#define PACKED(symbol, name, packed, help) [PW_STRATEGY_##symbol] = PW_PACKED_##packed,
static const uint8_t packed_places[] = {PW_STRATEGIES(PACKED)};

const pw_facts pw_facts_default = PW_FACTS_DEFAULT;

const struct pw_fact_info pw_fact_infos[PW_FACT_COUNT] = {
#define X(name, value, unit, meaning) {#name, unit, meaning},
    PW_FACTS(X)
#undef X
};

static int64_t at_least_one(int64_t v)
{
    return v > 0 ? v : 1;
}

pw_cost_shape pw_cost_shape_of(int64_t bytes, int64_t blocks, int64_t extent)
{
    int64_t block = at_least_one(bytes / at_least_one(blocks));
    double spread = fabs((double)extent) / (double)at_least_one(bytes);

    return (pw_cost_shape){bytes, block, fmax(spread, 2)};
}

static int64_t blocks_of(pw_cost_shape s)
{
    return (s.bytes + s.block - 1) / at_least_one(s.block);
}

static pw_cost_shape dense_shape(const pw_conditions *c)
{
    return (pw_cost_shape){.bytes = c->shape.bytes, .block = c->shape.bytes, .spread = 2};
}

/* ---- in host memory ---------------------------------------------------------------------------------------------- */

/* One pass over the blocks of a message. */
static double pass(double block, double byte, pw_cost_shape s)
{
    return block * (double)blocks_of(s) + byte * (double)s.bytes;
}

/* One kernel, which packs, unpacks or copies. */
static double by_cpu(const pw_facts *f, pw_cost_shape s)
{
    return pass(f->moved, f->copied, s);
}

/* A message of one block, which the MPI copies twice. */
static double send_dense(const pw_facts *f, int64_t bytes)
{
    return f->message + 2 * f->copied * (double)bytes;
}

/* ---- kernels and copies of GPUs ---------------------------------------------------------------------------------- */

/* Returns the bytes of all granules that hold a part of a block, on average over where blocks begin, and at most those
 * from the first block to the last. */
static double touched(pw_cost_shape s)
{
    double bytes = (double)s.bytes;
    double alone = bytes / (double)s.block * (double)(s.block + GRANULE - WORD);

    return fmin(alone, s.spread * bytes);
}

static double traffic(const pw_facts *f, pw_direction direction, pw_cost_shape s)
{
    double granules = touched(s), bytes = granules + (double)s.bytes;

    /* Granules that are written in part are read first. */
    if (direction == PW_UNPACK && s.block % GRANULE)
        bytes += granules;
    return bytes / f->gpu_memory;
}

/* Pages of the GPU memory of two processes that lie out of the reach of its TLB are waited for. On an H200, columns of
 * doubles in 512 MiB took 140 us more than packed ones, and in 128 MiB as long. */
static double wait_for_pages(pw_cost_shape s)
{
    enum { PAGE = 2 << 20, REACH = 128 };
    double blocks = (double)s.bytes / (double)s.block;
    double pages = fmin(blocks * (double)((s.block + PAGE - 1) / PAGE), ceil(s.spread * (double)s.bytes / PAGE));

    return pages > REACH ? 550 * pages : 0;
}

/* The kernel of a receiver that moves a message from the memory of another GPU. Whole granules cross the link, whatever
 * is read of them. */
static double across(const pw_facts *f, pw_cost_shape s)
{
    return f->peer_launch + touched(s) / f->peer_bytes + wait_for_pages(s);
}

static double copy_to_host(const pw_facts *f, int64_t bytes)
{
    return f->host_copy + (double)bytes / f->host_link;
}

/*
 * What a copy adds to a kernel in the same stream: the time for its bytes, and part of a launch, as seen on an H100. A
 * copy after the kernel adds nearly half a launch, since it waits for the kernel's end; one before it adds a third; and
 * a copy engine adds more than half a launch to either.
 */
static double copy_beside(const pw_facts *f, pw_direction direction, int64_t bytes)
{
    double launches = (direction == PW_PACK ? 0.4 : 0.3) + (bytes > BY_ENGINE ? 0.6 : 0);

    return (double)bytes / f->host_link + launches * f->launch;
}

static double to_device(const pw_facts *f, pw_direction direction, pw_cost_shape s)
{
    return f->launch + traffic(f, direction, s);
}

static double to_mapped(const pw_facts *f, pw_direction direction, pw_cost_shape s)
{
    return f->launch + (direction == PW_PACK ? 0 : f->mapped_read) +
           fmax(traffic(f, direction, s), (double)s.bytes / f->mapped);
}

static double staged(const pw_facts *f, pw_direction direction, pw_cost_shape s)
{
    return to_device(f, direction, s) + copy_beside(f, direction, s.bytes);
}

static double move(const pw_facts *f, pw_packed_place packed, pw_direction direction, const pw_conditions *c)
{
    switch (packed) {
    case PW_PACKED_DEVICE: return to_device(f, direction, c->shape);
    case PW_PACKED_MAPPED: return to_mapped(f, direction, c->shape);
    case PW_PACKED_STAGED: return staged(f, direction, c->shape);
    default: return by_cpu(f, c->shape);
    }
}

/* ---- what a rank does itself ------------------------------------------------------------------------------------- */

static bool is(const pw_conditions *c, unsigned condition)
{
    return c->set & condition;
}

/* Whether a message that is packed stays in the sender's GPU memory, from where the receiver's GPU unpacks it. */
static bool stays_in_gpu(pw_packed_place packed, const pw_conditions *c)
{
    return is(c, PW_IF_OPENED) && packed > PW_PACKED_DEVICE && c->shape.bytes >= PW_OPENED_LEAST;
}

/* Unpacking waits for the link or for the receiver's memory. */
static double own_in_gpu(const pw_facts *f, const pw_conditions *c, pw_direction direction)
{
    double moved = is(c, PW_IF_LAYOUT) ? to_device(f, direction, c->shape)
                                       : f->device_copy + (double)c->shape.bytes / (f->gpu_memory / 2);

    return direction == PW_PACK ? moved : fmax(moved, across(f, dense_shape(c)));
}

static double own_words(pw_packed_place packed, const pw_facts *f, const pw_conditions *c, pw_direction direction)
{
    if (stays_in_gpu(packed, c))
        return own_in_gpu(f, c, direction);
    if (is(c, PW_IF_LAYOUT) || packed == PW_PACKED_HOST)
        return move(f, packed, direction, c);
    return packed == PW_PACKED_DEVICE ? 0 : copy_to_host(f, c->shape.bytes);
}

/* The facts are those of whole words. Pieces of odd lengths cross the bus by single bytes at their ends (1 MiB in
 * pieces of 27 bytes takes 260 us instead of 36), so the estimate for mapped memory is above that of staged. */
double pw_way_own_cost(int way, const pw_facts *f, const pw_conditions *c, pw_direction direction)
{
    pw_packed_place packed = (pw_packed_place)packed_places[way];
    double words = own_words(packed, f, c, direction), staged;

    if (packed != PW_PACKED_MAPPED || !is(c, PW_IF_ODD))
        return words;
    staged = own_words(PW_PACKED_STAGED, f, c, direction);
    return words > staged ? words : 1.1 * staged;
}

/* ---- native ------------------------------------------------------------------------------------------------------ */

/*
 * An MPI that takes GPU memory opens the sender's memory and copies once: between two H200s Open MPI needs 10 us and
 * 380 bytes a nanosecond. The bandwidth here is that of PCI Express 5, since not all GPUs of a node are linked by
 * NVLink.
 */
static double send_device(int64_t bytes)
{
    return 10e3 + (double)bytes / 50;
}

/* Most MPIs move such a message block by block. */
static double native_device(int64_t bytes, int64_t blocks)
{
    return 20e3 + 1500 * (double)blocks + (double)bytes / 12;
}

/* In host memory the MPI walks over the blocks at both ends, which work at a time in a long message; or once, to a file
 * or a window. */
static double native_to_another(const pw_facts *f, const pw_conditions *c)
{
    int64_t bytes = c->shape.bytes;
    double walks = (double)bytes > f->pipelined ? 1 : 2;

    if (is(c, PW_IF_ON_DEVICE))
        return is(c, PW_IF_LAYOUT) ? native_device(bytes, blocks_of(c->shape)) : send_device(bytes);
    if (!is(c, PW_IF_LAYOUT))
        return send_dense(f, bytes);
    if (pw_call_is_passed_on(c->kind))
        return pass(f->passed, f->copied, c->shape);
    return f->message + walks * pass(f->walked, f->copied, c->shape);
}

/* Half of what the MPI needs for a message that has this layout on both sides. */
static double walk(const pw_facts *f, const pw_conditions *c)
{
    return is(c, PW_IF_LAYOUT) ? native_to_another(f, c) / 2 : 0;
}

static double native_cost(const pw_facts *f, const pw_conditions *c)
{
    return is(c, PW_IF_TO_ONESELF) ? walk(f, c) + walk(f, c->to) : native_to_another(f, c);
}

/* ---- packed ------------------------------------------------------------------------------------------------------ */

static double move_of(const pw_facts *f, const pw_conditions *c)
{
    return is(c, PW_IF_LAYOUT) ? by_cpu(f, c->shape) : 0;
}

/* The MPI copies the packed bytes twice, unless the receiver unpacks from the sender's packed copy; or once, to a file
 * or a window. */
static double packed_cost(const pw_facts *f, const pw_conditions *c)
{
    double copies = is(c, PW_IF_SHARED) ? 0 : 2, stored = is(c, PW_IF_CACHED) ? 0 : f->stored, packed;

    if (is(c, PW_IF_TO_ONESELF))
        return move_of(f, c) + send_dense(f, c->shape.bytes) + move_of(f, c->to);
    packed = pw_call_is_passed_on(c->kind)
                 ? f->staged + pass(f->moved, f->copied + stored, c->shape)
                 : f->message + f->staged + 2 * by_cpu(f, c->shape) + copies * f->copied * (double)c->shape.bytes;
    return is(c, PW_IF_SENT_DENSE) ? fmax(packed, native_cost(f, c)) : packed;
}

/* ---- other ways in host memory ----------------------------------------------------------------------------------- */

/* This way saves the copy of packed and the walk of native, so it must come out cheaper than these. */
static double contiguous_cost(const pw_facts *f, const pw_conditions *c)
{
    return fmin(send_dense(f, c->shape.bytes), 0.95 * fmin(native_cost(f, c), packed_cost(f, c)));
}

/* One pass waits for the memory of the slower side only. */
static double joined_cost(const pw_facts *f, const pw_conditions *c)
{
    return fmax(move_of(f, c), move_of(f, c->to));
}

static double remote_cost(const pw_facts *f, const pw_conditions *c)
{
    return native_cost(f, c) * c->far_part;
}

/* ---- GPU memory -------------------------------------------------------------------------------------------------- */

/* The cost of a packed message from pinned memory to pinned memory. If the receiver's GPU reads the sender's memory,
 * MPI copies nothing, and the message takes no longer than the shortest one. */
static double pinned_send(const pw_facts *f, const pw_conditions *c)
{
    return send_dense(f, is(c, PW_IF_SHARED) && c->shape.bytes > SHARED_LEAST ? SHARED_LEAST : c->shape.bytes);
}

static double direct_cost(const pw_facts *f, const pw_conditions *c)
{
    if (is(c, PW_IF_ON_DEVICE))
        return pinned_send(f, c) + across(f, is(c, PW_IF_LAYOUT) ? c->shape : dense_shape(c));
    return f->message + f->staged + by_cpu(f, c->shape);
}

static double by_gpu(int way, const pw_facts *f, const pw_conditions *c)
{
    double send = packed_places[way] == PW_PACKED_DEVICE ? send_device(c->shape.bytes) : pinned_send(f, c);

    return pw_way_own_cost(way, f, c, PW_PACK) + send + pw_way_own_cost(way, f, c, PW_UNPACK);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

enum {
    BY_CPU = PW_IF_LAYOUT | PW_IF_BYTES | PW_IF_SHORT,
    BY_GPU = PW_IF_ON_DEVICE | PW_IF_LAYOUT | PW_IF_BYTES | PW_IF_SHORT
};

const pw_way pw_ways[PW_STRATEGY_COUNT] = {
    [PW_STRATEGY_NATIVE] = {.bars = PW_IF_NOT_TAKEN | PW_IF_FOLLOWED, .cost = native_cost},
    [PW_STRATEGY_PACKED] = {.needs = BY_CPU, .bars = PW_IF_ON_DEVICE, .cost = packed_cost},
    [PW_STRATEGY_CONTIGUOUS] = {.needs = PW_IF_ONE_BLOCK | PW_IF_BETWEEN_TWO | PW_IF_BYTES,
                                .bars = PW_IF_SENT_DENSE,
                                .cost = contiguous_cost},
    [PW_STRATEGY_JOINED] = {.needs = PW_IF_TO_ONESELF, .cost = joined_cost},
    [PW_STRATEGY_PIPELINE] = {.needs = PW_IF_IN_PIECES | PW_IF_LAYOUT | PW_IF_BETWEEN_TWO | PW_IF_ONE_WAY,
                              .bars = PW_IF_ON_DEVICE | PW_IF_CUT_THERE,
                              .cost = native_cost},
    [PW_STRATEGY_DIRECT] = {.needs = PW_IF_SHOWN, .cost = direct_cost},
    [PW_STRATEGY_REMOTE] = {.needs = PW_IF_FAR, .bars = PW_IF_ON_DEVICE, .cost = remote_cost},
    [PW_STRATEGY_DEVICE] = {.needs = BY_GPU, .bars = PW_IF_NOT_TAKEN},
    [PW_STRATEGY_ONE_SHOT] = {.needs = BY_GPU},
    [PW_STRATEGY_STAGED] = {.needs = BY_GPU & ~PW_IF_LAYOUT},
};

_Static_assert(PW_STRATEGY_NATIVE == 0, "the first way can carry every message");

double pw_way_cost(int way, const pw_facts *f, const pw_conditions *c)
{
    if (!pw_way_can(way, c->set))
        return -1;
    return pw_ways[way].cost ? pw_ways[way].cost(f, c) : by_gpu(way, f, c);
}

/* Only this way packs into ordinary host memory. What pinned and GPU memory cost at first is left out. */
double pw_way_first_cost(int way, const pw_facts *f, const pw_conditions *c)
{
    return way == PW_STRATEGY_PACKED ? f->fresh * (double)c->shape.bytes : 0;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static bool is_open(int way, unsigned set, unsigned refused)
{
    return !(refused >> way & 1) && pw_way_can(way, set);
}

int pw_way_choose(const pw_facts *f, const pw_conditions *c, unsigned refused, int forced)
{
    double least = INFINITY;
    int best = 0;

    if (forced >= 0 && forced < PW_STRATEGY_COUNT && is_open(forced, c->set, refused))
        return forced;
    for (int way = 0; way < PW_STRATEGY_COUNT; way++) {
        double cost = is_open(way, c->set, refused) ? pw_way_cost(way, f, c) : INFINITY;

        if (cost >= 0 && cost < least) {
            best = way;
            least = cost;
        }
    }
    return best;
}

int pw_way_certain(unsigned set, unsigned refused, bool is_forced)
{
    if ((set & (PW_IF_CUT_HERE | PW_IF_TO_ONESELF)) == PW_IF_CUT_HERE && is_open(PW_STRATEGY_PACKED, set, refused))
        return PW_STRATEGY_PACKED;
    return !is_forced && is_open(PW_STRATEGY_CONTIGUOUS, set, refused) ? PW_STRATEGY_CONTIGUOUS : -1;
}

/* `contiguous` is missing: it gives MPI the same bytes as native does. */
static const uint8_t on_host[] = {PW_STRATEGY_NATIVE, PW_STRATEGY_PACKED, PW_STRATEGY_DIRECT, PW_STRATEGY_JOINED,
                                  PW_STRATEGY_PIPELINE};
/* What a message to oneself takes in place of each way of `on_host`: joined where others are packed. The last two let
 * it be joined and packed while the others of its collective, which take neither of those ways, do as usual. */
static const uint8_t to_oneself[] = {PW_STRATEGY_NATIVE, PW_STRATEGY_JOINED, PW_STRATEGY_DIRECT, PW_STRATEGY_JOINED,
                                     PW_STRATEGY_PACKED};
static const uint8_t on_device[] = {PW_STRATEGY_NATIVE, PW_STRATEGY_DIRECT, PW_STRATEGY_DEVICE, PW_STRATEGY_ONE_SHOT,
                                    PW_STRATEGY_STAGED};

int pw_way_rivals(unsigned set, const uint8_t **ways)
{
    *ways = set & PW_IF_ON_DEVICE ? on_device : set & PW_IF_TO_ONESELF ? to_oneself : on_host;
    return set & PW_IF_ON_DEVICE ? sizeof on_device : sizeof on_host;
}
