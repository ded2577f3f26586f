/*
 * Opens the staging of a side: which blocks lie in the staging buffer, where, and what MPI gets in place of the side.
 *
 * Blocks of one type are staged together or not at all. With a type for each block (w-forms) and displacements that are
 * addresses (neighbourhoods, and the _c forms), MPI may get any block where it lies, so each block is staged only if
 * that is cheaper for it. Beside staged blocks, MPICH gets blocks that are contiguous except for the extent of their
 * type (strategy/host.c) as bytes in place. Where displacements are ints, in bytes from one buffer, all blocks must lie
 * in the staging buffer, even contiguous ones.
 */
#include "runtime/engine/gpu/memory.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/engine/memory/view.h"
#include "runtime/mpi/collective/block_staging.h"
#include "runtime/mpi/collective/dense_type.h"
#include "runtime/mpi/strategy/mpich_split.h"
#include "runtime/mpi/strategy/operand.h"
#include "runtime/mpi/types/registry.h"

#include <limits.h>

enum { FEW = 32 /* more than the 26 neighbours of a box */ };

/* How MPI gets a block. */
typedef enum handling {
    IN_PLACE,          /* where it lies, with the program's type; or it moves nothing */
    IN_PLACE_AS_BYTES, /* where it lies, with a type of its bytes */
    IS_STAGED,         /* in the staging buffer, because that is faster or MPI cannot touch the block */
    IS_COPIED,         /* in the staging buffer, though it is contiguous: all blocks must lie in one buffer */
    IS_IMPOSSIBLE      /* not at all: it would have to be staged, and cannot be */
} handling;

/* ---- one block --------------------------------------------------------------------------------------------------- */

static bool is_typed(const pw_side *side)
{
    return side->form == PW_SIDE_TYPED;
}

/* Whether MPI may get single blocks where they lie. */
static bool may_stay(const pw_side *side)
{
    return is_typed(side) && side->displs.wide;
}

/* Open MPI sees by itself that a block is contiguous. What must not be staged must not be passed as bytes either. */
static bool can_pass_bytes(const pw_message *m)
{
    return !PW_MPI_IS_OPEN_MPI && m->buffer.place.kind == PW_PLACE_HOST && pw_message_is_one_block(m) &&
           !(pw_split_conditions(m) & PW_IF_CUT_THERE);
}

static bool is_plain(const pw_message *m)
{
    return m->entry->dense && m->buffer.bytes > 0 && m->buffer.base != MPI_BOTTOM &&
           m->buffer.place.kind == PW_PLACE_HOST;
}

/* Decides about a block, and fills *m; the count is 0 if the block has no objects or is not used. */
static handling handling_of(const pw_side *side, int i, pw_message *m)
{
    m->buffer.count = 0;
    if (pw_side_count(side, i) == 0 || !pw_side_use(side, i))
        return IN_PLACE;
    *m = (pw_message){.kind = side->kind,
                      .role = pw_use_role(side->use),
                      .channel = side->use == PW_USE_READ ? side->channel : 0,
                      .once = side->once,
                      .entry = pw_registry_find(pw_side_type(side, i)),
                      .buffer = {.count = pw_side_count(side, i)}};
    if (!is_typed(side) && side->buf == MPI_BOTTOM && m->entry->touches_origin)
        return IS_IMPOSSIBLE;
    m->buffer.base = pw_side_base(side, i, m->entry);
    if (pw_message_describe(m)) {
        if (!may_stay(side) || pw_mirror_is_needed(m) || !pw_message_is_left(m))
            return IS_STAGED;
        return can_pass_bytes(m) ? IN_PLACE_AS_BYTES : IN_PLACE;
    }
    if (may_stay(side))
        return IN_PLACE;
    return is_typed(side) && is_plain(m) ? IS_COPIED : IS_IMPOSSIBLE;
}

/* What was found out about a block. */
typedef struct known {
    handling how;
    pw_message m;
} known;

/* Whether the memory from `first` on is certainly of the same kind as a buffer: the host's, or the same allocation. */
static bool lies_alike(const pw_buffer *b, const void *first)
{
    unsigned held = pw_buffer_is_on_device(b) ? pw_memory_held(first) : 0;

    return b->place.kind == PW_PLACE_HOST ? pw_memory_is_known_host(first)
                                          : held != 0 && held == pw_memory_held(pw_view_first(b));
}

/* Returns whether what is known about a block with message `m` holds for block i behind it: always with one type for
 * all; else, where neighbours get the same number of objects of the same type out of the same memory. */
static bool is_as_before(const pw_side *side, int i, const pw_message *m)
{
    if (pw_side_count(side, i) == 0 || !pw_side_use(side, i))
        return false;
    return !is_typed(side) ||
           (side->types[i] == side->types[i - 1] && pw_count_at(side->counts, i) == m->buffer.count &&
            lies_alike(&m->buffer, (char *)side->buf + pw_displ_at(side->displs, i) + m->entry->lowest));
}

/* Finds out about block i. `before`: what is known about the block before it, or with one type for all about a staged
 * one; NULL: nothing. */
static void find_out(const pw_side *side, int i, const known *before, known *k)
{
    pw_buffer *b = &k->m.buffer;

    if (!before || !is_as_before(side, i, &before->m)) {
        k->how = handling_of(side, i, &k->m);
        return;
    }
    *k = *before;
    b->base = pw_side_base(side, i, k->m.entry);
    b->count = pw_side_count(side, i);
    if (__builtin_mul_overflow(b->count, k->m.entry->size, &b->bytes))
        k->how = IS_IMPOSSIBLE;
}

/* ---- all blocks -------------------------------------------------------------------------------------------------- */

/* The sums over all blocks that lie in the staging buffer. */
typedef struct tally {
    known few[FEW], *all;          /* of each block: `few`, or memory of the pool if there are more */
    int64_t known_bytes;           /* of that memory */
    const known *leading;          /* the largest staged block, those that must be staged first; NULL: there is none */
    bool needed;                   /* it must be staged */
    int64_t staged, bytes, pieces; /* pieces: contiguous blocks in memory, by which strategies estimate costs */
} tally;

/* The unit of displacements in the staging buffer, in bytes. */
static int64_t unit_of(const pw_side *side, const pw_message *m)
{
    return is_typed(side) ? 1 : m->entry->size;
}

/* The place of a block in the staging buffer, where the blocks before it end at `at`. */
static int64_t place_of(const pw_side *side, int i, const pw_message *m, int64_t at)
{
    return side->form == PW_SIDE_EQUAL ? i * m->buffer.bytes : at;
}

static void lead(tally *t, const known *k)
{
    bool must = pw_mirror_is_needed(&k->m);

    if (t->leading && (must != t->needed ? !must : k->m.buffer.bytes <= t->leading->m.buffer.bytes))
        return;
    t->leading = k;
    t->needed = must;
}

static bool make_room(tally *t, int blocks)
{
    t->known_bytes = blocks * (int64_t)sizeof(known);
    t->all = blocks <= FEW ? t->few : pw_pool_take(t->known_bytes);
    return t->all;
}

/* Looks at all blocks, also if some cannot be staged. `is_joined`: the first is known. */
static pw_status add_up(const pw_side *side, bool is_joined, tally *t, bool *needed)
{
    const known *before = NULL;
    pw_status status = PW_OK;

    *needed = false;
    t->staged = t->bytes = t->pieces = 0;
    t->leading = NULL;
    for (int i = 0; i < side->blocks; i++) {
        known *k = &t->all[i];

        if (!is_joined)
            find_out(side, i, before, k);
        before = k->how == IS_STAGED || is_typed(side) ? k : before;
        if (k->how == IS_IMPOSSIBLE)
            status = PW_ERR_UNSUPPORTED;
        if (k->how == IS_IMPOSSIBLE && !is_typed(side))
            break;
        if (k->how != IS_STAGED && k->how != IS_COPIED)
            continue;
        t->staged++;
        if (__builtin_add_overflow(place_of(side, i, &k->m, t->bytes), k->m.buffer.bytes, &t->bytes))
            return PW_ERR_OVERFLOW;
        t->pieces += k->how == IS_STAGED ? k->m.buffer.count * k->m.entry->blocks : 1;
        if (k->how == IS_STAGED)
            lead(t, k);
    }
    if (!t->leading)
        return PW_ERR_UNSUPPORTED;
    *needed = t->needed;
    if (side->form == PW_SIDE_EQUAL && __builtin_mul_overflow(side->blocks, t->leading->m.buffer.bytes, &t->bytes))
        return PW_ERR_OVERFLOW;
    if (side->form >= PW_SIDE_VARYING && !side->displs.wide && t->bytes / unit_of(side, &t->leading->m) > INT_MAX)
        return PW_ERR_OVERFLOW;
    return status;
}

/* Whether blocks of a side are staged so that each may be unpacked as it comes. `device`: they are in GPU memory. */
static bool may_expect(const pw_side *side, bool device)
{
    return device && side->use == PW_USE_WRITE && side->channel;
}

/* Makes one block of equal ones that are all used alike, and need not be apart. Returns whether it has, and found out
 * about that block. */
static bool join_blocks(pw_side *side, known *k)
{
    pw_buffer *b = &k->m.buffer;
    MPI_Count count;
    int64_t bytes;

    if (side->form != PW_SIDE_EQUAL || side->own >= 0 || side->absent)
        return false;
    k->how = handling_of(side, 0, &k->m);
    if (k->how != IS_STAGED || may_expect(side, pw_buffer_is_on_device(&k->m.buffer)) ||
        __builtin_mul_overflow(b->count, (MPI_Count)side->blocks, &count) ||
        __builtin_mul_overflow(b->bytes, (int64_t)side->blocks, &bytes))
        return false;
    b->count = count;
    b->bytes = bytes;
    side->form = PW_SIDE_ONE;
    side->blocks = 1;
    side->count = count;
    return true;
}

/* Opens one staging buffer for all blocks. Where each block in host memory has been chosen to be packed, all are;
 * otherwise they take the strategy for a message with as many bytes in as many pieces. */
static pw_status take_whole(pw_block_staging *b, const pw_side *side, const tally *t, int64_t blocks)
{
    pw_message m = t->leading->m;
    bool on_host = m.buffer.place.kind == PW_PLACE_HOST;

    m.buffer.bytes = t->bytes;
    m.cost_bytes = on_host ? pw_cost_bytes(m.kind, t->bytes, (int)blocks) : t->bytes;
    m.buffer.count = (t->pieces + m.entry->blocks - 1) / m.entry->blocks;
    if (may_stay(side) && on_host)
        return pw_message_can(&m, PW_STRATEGY_PACKED) ? pw_staging_open_by(&b->whole, &m, &pw_strategy_packed)
                                                      : PW_ERR_UNSUPPORTED;
    return pw_operand_stage(&b->whole, &m);
}

/* ---- the stand-in ------------------------------------------------------------------------------------------------ */

/* The arrays that MPI gets; NULL: it gets none. */
typedef struct stand_in {
    MPI_Datatype *types;
    void *displs;
} stand_in;

static bool take_arrays(pw_block_staging *b, const pw_side *side, const tally *t, stand_in *s)
{
    int64_t runs = t->staged > 1 ? t->staged * (int64_t)sizeof(pw_run) : 0;
    int64_t displs = side->form >= PW_SIDE_VARYING ? side->blocks * (int64_t)sizeof(MPI_Aint) : 0;
    int64_t types = is_typed(side) ? side->blocks * (int64_t)sizeof(MPI_Datatype) : 0;

    *s = (stand_in){.types = NULL};
    if (runs + displs == 0)
        return true;
    b->array_bytes = runs + displs + types;
    b->arrays = pw_pool_take(b->array_bytes);
    if (!b->arrays)
        return false;
    b->many = runs ? b->arrays : NULL;
    s->displs = displs ? (char *)b->arrays + runs : NULL;
    s->types = types ? (MPI_Datatype *)((char *)b->arrays + runs + displs) : NULL;
    return true;
}

static void set_displ(const pw_side *side, const stand_in *s, int i, int64_t displ)
{
    if (s->displs && side->displs.wide)
        ((MPI_Aint *)s->displs)[i] = (MPI_Aint)displ;
    else if (s->displs)
        ((int *)s->displs)[i] = (int)displ;
}

/* MPI gets the block in the program's buffer: its displacement is counted from the staging buffer. */
static void keep_block(const pw_block_staging *b, const pw_side *side, const stand_in *s, int i)
{
    int64_t away = (intptr_t)side->buf - (intptr_t)b->whole.data;

    if (s->types)
        s->types[i] = side->types[i];
    set_displ(side, s, i, may_stay(side) ? away + pw_displ_at(side->displs, i) : 0);
}

/* Leaves a block in place: MPI gets a type of its bytes. */
static bool keep_bytes(pw_block_staging *b, const pw_side *side, const stand_in *s, int i, const pw_message *m)
{
    int64_t away = (intptr_t)m->buffer.base - (intptr_t)b->whole.data;

    if (!pw_dense_type_get(m->buffer.bytes, &s->types[i]))
        return false;
    set_displ(side, s, i, away + m->entry->lowest);
    return true;
}

/* Returns whether the strategy of the whole staging buffer, or the CPU, can move this block. A strategy for GPU memory
 * can move every part, even a block that is dense or too short for that strategy alone. Blocks that are staged because
 * MPI cannot touch them get a staging buffer in host memory, which the CPU and every GPU can use. */
static bool can_be_part(const pw_block_staging *b, const pw_message *m, bool *by_cpu)
{
    bool device = pw_buffer_is_on_device(&m->buffer), among_devices = pw_buffer_is_on_device(&b->whole.buffer);

    *by_cpu = !device && (among_devices || !m->entry->layout);
    if (device != among_devices || (device && m->buffer.place.gpu != b->whole.buffer.place.gpu))
        return b->needed;
    return device || *by_cpu || pw_message_can(m, pw_strategy_id_of(b->whole.strategy));
}

/* Returns whether a block of one type for all continues a run in memory, in the staging buffer and in use. */
static bool continues(const pw_run *run, const pw_message *m, const char *data, unsigned use)
{
    const pw_buffer *b = &run->part.buffer;

    return run->use == use && (char *)run->part.data + b->bytes == data &&
           (char *)b->base + b->count * pw_entry_extent(m->entry) == m->buffer.base;
}

/* Adds block i, which lies at `at` in the staging buffer, to the runs. */
static bool stage_block(pw_block_staging *b, const pw_side *side, const stand_in *s, int i, const pw_message *m,
                        int64_t at)
{
    pw_run *run = &pw_block_staging_runs(b)[b->runs];
    char *data = (char *)b->whole.data + at;
    unsigned use = pw_side_use(side, i);
    bool by_cpu = false;

    if (is_typed(side) && (!can_be_part(b, m, &by_cpu) || !pw_dense_type_get(m->entry->size, &s->types[i])))
        return false;
    set_displ(side, s, i, at / unit_of(side, m));
    if (!is_typed(side) && !b->is_apart && b->runs > 0 && continues(run - 1, m, data, use)) {
        run[-1].part.buffer.count += m->buffer.count;
        run[-1].part.buffer.bytes += m->buffer.bytes;
        return true;
    }
    run->part = b->whole;
    run->part.buffer = m->buffer;
    run->use = use;
    run->by_cpu = by_cpu;
    run->part.data = data;
    run->part.inbound = NULL;
    run->owner = m->buffer.layout && m->buffer.layout != b->whole.buffer.layout;
    if (run->owner)
        pw_layout_ref(m->buffer.layout);
    b->runs++;
    return true;
}

static bool place_blocks(pw_block_staging *b, const pw_side *side, const tally *t, const stand_in *s)
{
    int64_t end = 0;

    for (int i = 0; i < side->blocks; i++) {
        const known *k = &t->all[i];
        const pw_message *m = &k->m;
        int64_t at = k->how == IS_STAGED || k->how == IS_COPIED ? place_of(side, i, m, end) : end;

        if (k->how == IN_PLACE || (k->how == IN_PLACE_AS_BYTES && !keep_bytes(b, side, s, i, m))) {
            keep_block(b, side, s, i);
        } else if (k->how == IN_PLACE_AS_BYTES) {
            continue;
        } else if (stage_block(b, side, s, i, m, at)) {
            end = at + m->buffer.bytes;
        } else if (may_stay(side) && !pw_mirror_is_needed(m)) {
            keep_block(b, side, s, i);
        } else {
            return false;
        }
    }
    return b->runs > 0;
}

/* Where MPI computes with elements, it gets objects of the program's type: the staging buffer itself if the type is
 * dense, else a mirror, a copy in host memory with the same layout, whose gaps are zeroes and are not copied back. */
static pw_status open_operand(pw_block_staging *b, pw_side *side, const pw_message *m)
{
    pw_status status = b->needed ? pw_operand_stage(&b->whole, m) : PW_ERR_UNSUPPORTED;
    int64_t lo = m->entry->lowest;

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
    b->computes = true;
    b->one.use = side->use;
    side->buf = b->mirror ? b->mirror : (char *)b->whole.data - lo;
    return PW_OK;
}

static pw_status open_blocks(pw_block_staging *b, pw_side *side, tally *t)
{
    pw_side joined = *side;
    MPI_Datatype dense = MPI_DATATYPE_NULL;
    stand_in s;
    bool is_joined = join_blocks(&joined, &t->few[0]);
    pw_status status;

    if (!make_room(t, joined.blocks)) {
        b->needed = pw_memory_has_cuda();
        return PW_ERR_NOMEM;
    }
    status = add_up(&joined, is_joined, t, &b->needed);
    if (status == PW_OK && side->computes)
        return open_operand(b, side, &t->leading->m);
    if (status == PW_OK)
        status = take_whole(b, side, t, is_typed(side) ? t->staged : side->blocks);
    if (status != PW_OK)
        return status;
    b->is_apart = may_expect(side, pw_buffer_is_on_device(&b->whole.buffer));
    if (!take_arrays(b, &joined, t, &s) || !place_blocks(b, &joined, t, &s) ||
        (!is_typed(side) && !pw_dense_type_get(t->leading->m.entry->size, &dense)))
        return PW_ERR_NOMEM;
    side->buf = b->whole.data;
    if (is_typed(side))
        side->types = s.types;
    else
        side->type = dense;
    if (s.displs)
        side->displs.at = s.displs;
    return PW_OK;
}

pw_status pw_block_staging_open_blocks(pw_block_staging *b, pw_side *side)
{
    tally t;
    pw_status status = open_blocks(b, side, &t);

    if (t.all != t.few)
        pw_pool_give(t.all, t.known_bytes);
    return status;
}
