/* Sides with one type: a single block, equal blocks, and the v-forms. */
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/collective/block_staging.h"
#include "runtime/mpi/strategy/operand.h"
#include "runtime/mpi/types/registry.h"

#include <limits.h>

/* How blocks become runs. */
typedef struct manner {
    bool apart;    /* each block is a run of its own */
    int64_t grain; /* in the staging buffer a block begins at a multiple of so many objects */
} manner;

/* The sums over a side: its runs, their objects, and the displacement of the first object, in objects. */
typedef struct survey {
    int64_t runs, total, first;
} survey;

/* The memory for the runs, used when a second survey lists them. */
typedef struct listing {
    pw_run *run;
    char *buf;
    int64_t size, extent;
    void *displs; /* displacements of the stand-in; NULL if blocks are equal */
    bool wide;
} listing;

static int64_t displacement(const pw_side *side, int i)
{
    return side->form == PW_SIDE_VARYING ? pw_displ_at(side->displs, i) : i * side->count;
}

static void list_displ(const listing *l, int i, int64_t at)
{
    if (l->displs && l->wide)
        ((MPI_Aint *)l->displs)[i] = (MPI_Aint)at;
    else if (l->displs)
        ((int *)l->displs)[i] = (int)at;
}

static void list_run(const listing *l, int64_t k, int64_t displ, int64_t at, unsigned use)
{
    l->run[k] = (pw_run){.buffer = {.base = l->buf + displ * l->extent}, .at = at * l->size, .use = use};
}

static bool walk_one(const pw_side *side, survey *s, const listing *l)
{
    unsigned use = pw_side_use(side, 0);

    *s = (survey){.runs = use && side->count > 0, .total = side->count};
    if (l && s->runs) {
        list_run(l, 0, 0, 0, use);
        l->run->buffer.count = s->total;
        l->run->buffer.bytes = s->total * l->size;
    }
    return true;
}

/*
 * Joins blocks into runs, unless they are to be apart: a block that continues the one before it in memory, in the
 * staging buffer and in use belongs to its run. `l` NULL: runs are only counted. Returns false if there are too many
 * objects to count.
 */
static bool walk(const pw_side *side, manner how, survey *s, const listing *l)
{
    int64_t end = 0, end_at = -1;
    unsigned last = 0;

    if (side->form == PW_SIDE_ONE && side->blocks == 1)
        return walk_one(side, s, l);
    *s = (survey){.runs = 0};
    for (int i = 0; i < side->blocks; i++) {
        int64_t count = pw_side_count(side, i), displ = displacement(side, i), at;
        unsigned use = pw_side_use(side, i);

        if (__builtin_add_overflow(s->total, how.grain - 1, &at) ||
            __builtin_add_overflow(at -= at % how.grain, count, &s->total))
            return false;
        if (l)
            list_displ(l, i, at);
        if (count == 0 || !use)
            continue;
        if (how.apart || end_at != at || end != displ || last != use) {
            if (s->runs == 0)
                s->first = displ;
            if (l)
                list_run(l, s->runs, displ, at, use);
            s->runs++;
        }
        if (l) {
            l->run[s->runs - 1].buffer.count += count;
            l->run[s->runs - 1].buffer.bytes += count * l->size;
        }
        end = displ + count;
        end_at = s->total;
        last = use;
    }
    return true;
}

/* Equal blocks that are all used alike form one run. */
static bool join_blocks(const pw_side *side, manner how, pw_side *joined)
{
    *joined = *side;
    if (how.apart || side->form != PW_SIDE_EQUAL || side->own >= 0 || side->absent)
        return true;
    joined->form = PW_SIDE_ONE;
    joined->blocks = 1;
    return !__builtin_mul_overflow(side->count, (MPI_Count)side->blocks, &joined->count);
}

/* Takes memory for the runs, and for the displacements behind them. */
static bool take_arrays(pw_block_staging *b, const pw_side *side, const survey *s)
{
    int64_t runs = s->runs > 1 ? s->runs * (int64_t)sizeof(pw_run) : 0, displs = 0;

    if (side->form == PW_SIDE_VARYING)
        displs = side->blocks * (int64_t)(side->displs.wide ? sizeof(MPI_Aint) : sizeof(int));
    if (runs + displs == 0)
        return true;
    b->array_bytes = runs + displs;
    b->arrays = pw_pool_take(b->array_bytes);
    b->many = runs ? b->arrays : NULL;
    return b->arrays;
}

/* Lists the runs, and turns the side into its stand-in. */
static void fill(pw_block_staging *b, pw_side *side, const pw_side *joined, manner how, listing *l,
                 MPI_Datatype dense_type)
{
    pw_run *runs = pw_block_staging_runs(b);
    survey s;

    l->run = runs;
    walk(joined, how, &s, l);
    b->runs = s.runs;
    b->is_apart = how.apart;
    for (int64_t i = 0; i < s.runs; i++) {
        runs[i].buffer.layout = b->whole.buffer.layout;
        runs[i].buffer.offset = b->whole.buffer.offset;
        runs[i].buffer.place = b->whole.buffer.place;
    }
    b->is_whole = !how.apart && s.runs == 1 && runs[0].at == 0 && runs[0].buffer.bytes == b->whole.buffer.bytes;
    side->buf = b->whole.data;
    side->type = dense_type;
    if (l->displs)
        side->displs.at = l->displs;
}

/* Returns whether a staging buffer could be made for the type and the blocks, wherever they lie. */
static bool is_possible(const pw_entry *entry, const pw_side *side, manner how, pw_side *joined, survey *s)
{
    return entry && (entry->layout || entry->dense) && !(side->buf == MPI_BOTTOM && entry->touches_origin) &&
           join_blocks(side, how, joined) && walk(joined, how, s, NULL) && s->runs > 0;
}

/* Sets blocks that are exchanged apart, where the staging buffer has room between them, so that each can be unpacked as
 * it comes. */
static manner set_apart(const pw_side *side, int64_t size, pw_side *joined, survey *s)
{
    bool has_room = side->form == PW_SIDE_VARYING && PW_EXPECTED_ALIGN % size == 0;
    manner how = {.apart = true, .grain = has_room ? PW_EXPECTED_ALIGN / size : 1};

    join_blocks(side, how, joined);
    if (!walk(joined, how, s, NULL) || (!side->displs.wide && s->total > INT_MAX)) {
        how.grain = 1;
        walk(joined, how, s, NULL);
    }
    return how;
}

/*
 * Where MPI computes with elements, it gets objects of the program's type: the staging buffer itself if the type is
 * dense, else a mirror, a copy in host memory with the same layout, whose gaps are zeroes and are not copied back.
 */
static pw_status open_operand(pw_block_staging *b, pw_side *side, const pw_message *m)
{
    pw_status status = b->needed ? pw_operand_stage(&b->whole, m) : PW_ERR_UNSUPPORTED;
    int64_t lo = m->entry->offset;

    if (status != PW_OK)
        return status;
    if (m->entry->layout) {
        if (!pw_layout_bounds(m->entry->layout, m->buffer.count, &lo, &b->array_bytes))
            return PW_ERR_OVERFLOW;
        b->arrays = pw_pool_take(b->array_bytes);
        if (!b->arrays)
            return PW_ERR_NOMEM;
        memset(b->arrays, 0, (size_t)b->array_bytes);
        b->mirror = (char *)b->arrays - lo;
    }
    b->is_whole = true;
    b->one.use = side->use;
    side->buf = b->mirror ? b->mirror : (char *)b->whole.data - lo;
    return PW_OK;
}

pw_status pw_block_staging_open_uniform(pw_block_staging *b, pw_side *side)
{
    const pw_entry *entry = pw_registry_find(side->type);
    pw_message m = {.kind = side->kind,
                    .role = pw_use_role(side->use),
                    .entry = entry,
                    .channel = side->use == PW_USE_READ ? side->channel : 0,
                    .once = side->once};
    listing l = {.buf = side->buf, .wide = side->displs.wide};
    manner how = {.grain = 1};
    pw_side joined;
    pw_status status;
    MPI_Datatype dense_type;
    survey s;

    if (!is_possible(entry, side, how, &joined, &s))
        return PW_ERR_UNSUPPORTED;
    l.size = entry->size;
    l.extent = entry->layout ? entry->layout->extent : entry->size;
    m.buffer.base = l.buf + s.first * l.extent;
    m.buffer.count = s.total;
    if (!pw_message_describe(&m))
        return PW_ERR_UNSUPPORTED;
    if (pw_block_staging_may_expect(side, m.buffer.place.kind == PW_PLACE_DEVICE)) {
        how = set_apart(side, l.size, &joined, &s);
        m.buffer.bytes = m.cost_bytes = s.total * l.size;
        m.buffer.count = s.total;
    }
    if (m.buffer.place.kind == PW_PLACE_HOST)
        m.cost_bytes = pw_cost_bytes(m.kind, m.buffer.bytes, side->blocks);
    b->needed = pw_mirror_is_needed(&m);
    if (side->computes)
        return open_operand(b, side, &m);
    if (side->form == PW_SIDE_VARYING && !l.wide && s.total > INT_MAX)
        return PW_ERR_OVERFLOW;
    status = pw_operand_stage(&b->whole, &m);
    if (status != PW_OK)
        return status;
    if (!take_arrays(b, side, &s) || !pw_dense_type_get(l.size, &dense_type))
        return PW_ERR_NOMEM;
    if (side->form == PW_SIDE_VARYING)
        l.displs = b->many ? (void *)(b->many + s.runs) : b->arrays;
    fill(b, side, &joined, how, &l, dense_type);
    return PW_OK;
}
