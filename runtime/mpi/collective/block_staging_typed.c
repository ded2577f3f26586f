/*
 * Sides with a type for each block, the w-forms.
 *
 * Where displacements are addresses (neighbourhoods, and the _c forms), MPI may get any block where it lies, so each
 * block is staged only if that is cheaper for it. Beside staged blocks, MPICH gets blocks that are contiguous except
 * for the extent of their type (strategy/host.c) as bytes in place. Where displacements are ints, in bytes from
 * one buffer, all blocks must lie in the staging buffer, even contiguous ones.
 */
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/collective/block_staging.h"
#include "runtime/mpi/strategy/mpich_split.h"
#include "runtime/mpi/strategy/operand.h"
#include "runtime/mpi/types/registry.h"

#include <limits.h>

enum { FEW = 16 };

/* How MPI gets a block. */
typedef enum handling {
    IN_PLACE,          /* where it lies, with the program's type */
    IN_PLACE_AS_BYTES, /* where it lies, with a type of its bytes */
    IS_STAGED,         /* in the staging buffer, because that is faster or MPI cannot touch the block */
    IS_COPIED,         /* in the staging buffer, though it is contiguous: all blocks must lie in one buffer */
    IS_IMPOSSIBLE      /* not at all: it would have to be staged, and cannot be */
} handling;

static pw_message message_of(const pw_side *side, int i)
{
    return (pw_message){
        .kind = side->kind,
        .role = pw_use_role(side->use),
        .channel = side->use == PW_USE_READ ? side->channel : 0,
        .once = side->once,
        .entry = pw_registry_find(side->types[i]),
        .buffer = {.base = (char *)side->buf + pw_displ_at(side->displs, i), .count = pw_count_at(side->counts, i)}};
}

static bool is_plain(const pw_message *m)
{
    return m->entry->dense && m->buffer.bytes > 0 && m->buffer.base != MPI_BOTTOM &&
           m->buffer.place.kind == PW_PLACE_HOST;
}

/* Open MPI finds out by itself that a block is contiguous. A block that must not be staged must not be passed as bytes
 * either. */
static bool can_pass_bytes(const pw_message *m)
{
    return !PW_MPI_IS_OPEN_MPI && m->buffer.place.kind == PW_PLACE_HOST && pw_message_is_one_block(m) &&
           !(pw_split_conditions(m) & PW_IF_CUT_THERE);
}

/* Decides about a block, and fills *m unless the block has no objects or is not used: MPI gets such blocks where they
 * lie. */
static handling handling_of(const pw_side *side, int i, pw_message *m)
{
    if (pw_count_at(side->counts, i) == 0 || !pw_side_use(side, i))
        return IN_PLACE;
    *m = message_of(side, i);
    if (!m->entry)
        return IS_IMPOSSIBLE;
    if (pw_message_describe(m)) {
        if (!side->displs.wide || pw_mirror_is_needed(m) || !pw_message_is_left(m))
            return IS_STAGED;
        return can_pass_bytes(m) ? IN_PLACE_AS_BYTES : IN_PLACE;
    }
    if (side->displs.wide)
        return IN_PLACE;
    return is_plain(m) ? IS_COPIED : IS_IMPOSSIBLE;
}

/* What was found out about one of the first blocks, kept to save a second look. */
typedef struct known {
    handling how;
    pw_message m;
} known;

/* Returns whether block i is like the one before it, whose message is `m`. Mostly, neighbours get the same number of
 * objects of the same type out of the same memory. */
static bool is_as_before(const pw_side *side, int i, const pw_message *m)
{
    return side->types[i] == side->types[i - 1] && pw_count_at(side->counts, i) == m->buffer.count &&
           pw_side_use(side, i) &&
           pw_memory_is_known_host((char *)side->buf + pw_displ_at(side->displs, i) + m->entry->lowest);
}

/* Finds out about block i. `before`: what is known about the block before it; NULL if that says nothing about other
 * blocks. */
static void find_out(const pw_side *side, int i, const known *before, known *k)
{
    if (!before || !is_as_before(side, i, &before->m)) {
        k->how = handling_of(side, i, &k->m);
        return;
    }
    *k = *before;
    k->m.buffer.base = (char *)side->buf + pw_displ_at(side->displs, i);
}

/* Returns whether what is known about this block holds for the next one, if that is like it. */
static bool is_telling(const known *k)
{
    return k->how == IS_STAGED && k->m.buffer.place.kind == PW_PLACE_HOST;
}

/* The sums over all blocks that lie in the staging buffer. */
typedef struct tally {
    known few[FEW];
    int64_t staged, bytes, pieces; /* pieces: contiguous blocks in memory, by which strategies estimate costs */
    pw_message leading; /* the message of the largest staged block, where blocks that must be staged come first; bytes
                           0: there is none */
} tally;

/* The place of a block in the staging buffer, where the blocks before it end at `at`. Long ones that are exchanged lie
 * so that they can be unpacked as they come. */
static int64_t place_of(const pw_side *side, const pw_message *m, int64_t at)
{
    bool expected =
        m->buffer.bytes >= PW_LEAST_READ && pw_block_staging_may_expect(side, m->buffer.place.kind == PW_PLACE_DEVICE);

    return expected ? (at + PW_EXPECTED_ALIGN - 1) / PW_EXPECTED_ALIGN * PW_EXPECTED_ALIGN : at;
}

static bool leads(const pw_message *m, const pw_message *other)
{
    bool must = pw_mirror_is_needed(m), other_must = pw_mirror_is_needed(other);

    return must != other_must ? must : m->buffer.bytes > other->buffer.bytes;
}

/* Looks at all blocks, also if some cannot be staged. */
static pw_status add_up(const pw_side *side, tally *t, bool *needed)
{
    const known *before = NULL;
    pw_status status = PW_OK;
    known own;

    t->staged = t->bytes = t->pieces = 0;
    t->leading = (pw_message){.buffer = {.bytes = 0}};
    for (int i = 0; i < side->blocks; i++) {
        known *k = i < FEW ? &t->few[i] : &own;
        handling how;

        find_out(side, i, before, k);
        before = is_telling(k) ? k : NULL;
        how = k->how;
        if (how == IS_IMPOSSIBLE)
            status = PW_ERR_UNSUPPORTED;
        if (how != IS_STAGED && how != IS_COPIED)
            continue;
        t->staged++;
        if (__builtin_add_overflow(place_of(side, &k->m, t->bytes), k->m.buffer.bytes, &t->bytes))
            return PW_ERR_OVERFLOW;
        t->pieces += how == IS_STAGED ? k->m.buffer.count * k->m.entry->blocks : 1;
        if (how == IS_STAGED && leads(&k->m, &t->leading))
            t->leading = k->m;
    }
    *needed = pw_mirror_is_needed(&t->leading);
    if (!side->displs.wide && t->bytes > INT_MAX)
        status = PW_ERR_OVERFLOW;
    return t->leading.buffer.bytes > 0 ? status : PW_ERR_UNSUPPORTED;
}

/* Opens one staging buffer for all blocks. In host memory each block has been chosen to be packed if it could lie where
 * it is; otherwise all blocks take the strategy for a message with as many bytes in as many pieces. */
static pw_status take_whole(pw_block_staging *b, const pw_side *side, const tally *t)
{
    pw_message m = t->leading;

    m.buffer.bytes = t->bytes;
    m.cost_bytes = m.buffer.place.kind == PW_PLACE_HOST ? pw_cost_bytes(m.kind, t->bytes, t->staged) : t->bytes;
    m.buffer.count = (t->pieces + m.entry->blocks - 1) / m.entry->blocks;
    if (side->displs.wide && m.buffer.place.kind == PW_PLACE_HOST)
        return pw_message_can(&m, PW_STRATEGY_PACKED) ? pw_staging_open_by(&b->whole, &m, &pw_strategy_packed)
                                                      : PW_ERR_UNSUPPORTED;
    return pw_operand_stage(&b->whole, &m);
}

typedef struct stand_in {
    MPI_Datatype *types;
    void *displs;
} stand_in;

static bool take_arrays(pw_block_staging *b, const pw_side *side, const tally *t, stand_in *s)
{
    int64_t n = side->blocks, runs = t->staged * (int64_t)sizeof(pw_run), types = n * (int64_t)sizeof(MPI_Datatype);

    b->array_bytes = runs + n * (int64_t)sizeof(MPI_Aint) + types;
    b->arrays = pw_pool_take(b->array_bytes);
    if (!b->arrays)
        return false;
    b->many = b->arrays;
    s->displs = (char *)b->arrays + runs;
    s->types = (MPI_Datatype *)((char *)s->displs + n * (int64_t)sizeof(MPI_Aint));
    return true;
}

static void set_displ(const pw_side *side, const stand_in *s, int i, int64_t bytes)
{
    if (side->displs.wide)
        ((MPI_Aint *)s->displs)[i] = (MPI_Aint)bytes;
    else
        ((int *)s->displs)[i] = (int)bytes;
}

/* MPI gets the block in the program's buffer: its displacement is counted from the staging buffer. */
static void keep_block(const pw_block_staging *b, const pw_side *side, const stand_in *s, int i)
{
    int64_t away = (intptr_t)side->buf - (intptr_t)b->whole.data;

    s->types[i] = side->types[i];
    set_displ(side, s, i, side->displs.wide ? away + pw_displ_at(side->displs, i) : 0);
}

/* Leaves a block in place: MPI gets a type of its bytes. */
static bool keep_bytes(pw_block_staging *b, const pw_side *side, const stand_in *s, int i, const pw_message *m)
{
    int64_t away = (intptr_t)m->buffer.base - (intptr_t)b->whole.data;

    if (!pw_dense_type_get(m->buffer.bytes, &s->types[i]))
        return false;
    set_displ(side, s, i, away + m->entry->layout->nest->lo);
    return true;
}

/* Returns whether the strategy of the whole staging buffer, or the CPU, can move this block. A strategy for GPU memory
 * can move every part, even a block that is dense or too short for that strategy alone. Blocks that are staged because
 * MPI cannot touch them get a staging buffer in host memory, which the CPU and every GPU can use. */
static bool can_be_part(const pw_block_staging *b, const pw_message *m, bool *by_cpu)
{
    bool device = m->buffer.place.kind == PW_PLACE_DEVICE,
         among_devices = b->whole.buffer.place.kind == PW_PLACE_DEVICE;

    *by_cpu = !device && (among_devices || !m->entry->layout);
    if (device != among_devices || (device && m->buffer.place.gpu != b->whole.buffer.place.gpu))
        return b->needed;
    return device || *by_cpu || pw_message_can(m, pw_strategy_id_of(b->whole.strategy));
}

/* Adds the run of block i, which lies at `at` in the staging buffer. */
static bool stage_block(pw_block_staging *b, const pw_side *side, const stand_in *s, int i, const pw_message *m,
                        int64_t at)
{
    pw_run *run = &b->many[b->runs];

    *run = (pw_run){.buffer = m->buffer, .at = at, .use = pw_side_use(side, i)};
    if (!can_be_part(b, m, &run->by_cpu) || !pw_dense_type_get(m->entry->size, &s->types[i]))
        return false;
    if (run->buffer.layout && run->buffer.layout != b->whole.buffer.layout) {
        pw_layout_ref(run->buffer.layout);
        run->owner = true;
    }
    b->runs++;
    set_displ(side, s, i, at);
    return true;
}

/* Blocks beyond the first FEW are looked at twice. The second look may decide otherwise, but the staging buffer only
 * has room for the sums of the first look. */
static bool has_room(const pw_block_staging *b, const tally *t, int64_t at, int64_t bytes)
{
    return b->runs < t->staged && bytes <= t->bytes - at;
}

static bool place_blocks(pw_block_staging *b, const pw_side *side, const tally *t, const stand_in *s)
{
    int64_t end = 0;

    for (int i = 0; i < side->blocks; i++) {
        pw_message own;
        const pw_message *m = i < FEW ? &t->few[i].m : &own;
        handling how = i < FEW ? t->few[i].how : handling_of(side, i, &own);
        int64_t at = how == IS_STAGED || how == IS_COPIED ? place_of(side, m, end) : end;

        if (how == IN_PLACE || (how == IN_PLACE_AS_BYTES && !keep_bytes(b, side, s, i, m))) {
            keep_block(b, side, s, i);
        } else if (how == IN_PLACE_AS_BYTES) {
            continue;
        } else if (has_room(b, t, at, m->buffer.bytes) && stage_block(b, side, s, i, m, at)) {
            end = at + m->buffer.bytes;
        } else if (side->displs.wide && !pw_mirror_is_needed(m)) {
            keep_block(b, side, s, i);
        } else {
            return false;
        }
    }
    return b->runs > 0;
}

pw_status pw_block_staging_open_typed(pw_block_staging *b, pw_side *side)
{
    pw_status status;
    stand_in s;
    tally t;

    status = add_up(side, &t, &b->needed);
    if (status == PW_OK)
        status = take_whole(b, side, &t);
    if (status != PW_OK)
        return status;
    if (!take_arrays(b, side, &t, &s) || !place_blocks(b, side, &t, &s))
        return PW_ERR_NOMEM;
    b->is_apart = pw_block_staging_may_expect(side, b->whole.buffer.place.kind == PW_PLACE_DEVICE);
    side->buf = b->whole.data;
    side->types = s.types;
    side->displs.at = s.displs;
    return PW_OK;
}
