/*
 * Puts and gets without a copy in between: where this process has mapped the target's memory, one kernel moves the data
 * from the user's memory to the user's (runtime/engine/move). MPI gets the same call with counts of zero first. So it
 * checks the arguments and the epoch, takes a lock that it has put off, and makes the request, which is complete. The
 * data is then in place before the call returns, and so before any call that completes it.
 */
#include "runtime/engine/move/move.h"
#include "runtime/mpi/one_sided/internal.h"
#include "runtime/mpi/one_sided/mapped.h"
#include "runtime/mpi/one_sided/settled.h"
#include "runtime/mpi/strategy/judge.h"
#include "runtime/mpi/types/predefined.h"
#include "runtime/mpi/types/registry.h"

#include <stdatomic.h>

_Thread_local pw_settled_transfer pw_settled_transfers[1 << PW_SETTLED_TRANSFER_BITS];

/* Describes objects in host memory. Returns false if their type is not one that is handled. */
static bool describe(void *base, int64_t count, MPI_Datatype type, pw_message *m)
{
    const pw_entry *entry = pw_registry_find(type);
    pw_buffer *b = &m->buffer;
    int64_t size;

    if (!entry || entry->gpu_only || count <= 0)
        return false;
    size = pw_entry_is_left(entry) ? pw_predefined_size(type) : entry->size;
    *m = (pw_message){.kind = PW_CALL_ONE_SIDED, .entry = entry, .buffer = {.base = base, .count = count}};
    if (size <= 0 || __builtin_mul_overflow(count, size, &b->bytes))
        return false;
    b->layout = entry->layout;
    b->offset = pw_entry_is_left(entry) ? 0 : entry->offset;
    b->place = pw_memory_place_of((char *)base + (b->layout ? b->layout->nest->lo : b->offset));
    m->cost_bytes = b->bytes;
    return b->place.kind == PW_PLACE_HOST && !(base == MPI_BOTTOM && (!b->layout || entry->touches_origin));
}

static bool span_of(const pw_buffer *b, pw_span *out)
{
    *out = (pw_span){b->offset, b->bytes};
    return !b->layout || pw_layout_bounds(b->layout, b->count, &out->lo, &out->bytes);
}

/* Returns whether all objects lie in `bytes` bytes, from displacement `at` on. */
static bool lies_within(pw_span s, int64_t at, int64_t bytes)
{
    return at >= 0 && at <= bytes && !__builtin_add_overflow(at, s.lo, &at) && at >= 0 && at <= bytes &&
           s.bytes <= bytes - at;
}

/* Describes the target's side. Returns false if this process does not reach it, or it goes beyond the window, which MPI
 * reports or not. */
static bool describe_target(const pw_transfer *t, pw_message *m)
{
    pw_window_memory memory;
    pw_span span;
    int64_t at;

    return pw_mapped_find(t->win, t->rank, &memory) && !__builtin_mul_overflow((int64_t)t->disp, memory.unit, &at) &&
           at >= 0 && at <= memory.bytes && describe(memory.base + at, t->count, t->type, m) &&
           span_of(&m->buffer, &span) && lies_within(span, at, memory.bytes);
}

/* A put or get as a message from one side to the other. */
typedef struct pair {
    pw_message own, other;
    pw_message *from, *to;
} pair;

static void name_sides(const pw_transfer *t, pair *p)
{
    p->from = t->gets ? &p->other : &p->own;
    p->to = t->gets ? &p->own : &p->other;
    p->from->variant = (uint8_t)(2 * t->gets);
}

/* Remembers a transfer that is left to MPI by `site`, if it cannot be staged either. `deaths`: the number from before
 * the types were looked up. */
static void settle(const pw_transfer *t, const pw_entry *own, const pw_entry *other, pw_site *site, unsigned deaths)
{
    uint64_t origin = pw_type_key(t->origin), target = pw_type_key(t->type);
    int64_t lowest = pw_entry_is_left(own) ? 0 : own->lowest;

    if (!other->layout || pw_strategy_is_forced() || !pw_memory_is_known_host((const char *)t->buf + lowest))
        return;
    *pw_settled_transfer_slot(t->gets, origin, target) = (pw_settled_transfer){.origin = origin,
                                                                               .target = target,
                                                                               .origin_count = t->origin_count,
                                                                               .target_count = t->count,
                                                                               .lowest = lowest,
                                                                               .site = site,
                                                                               .deaths = deaths,
                                                                               .gets = t->gets};
}

/* The quick check that the MPI moves the data: both sides are contiguous, or it was so before. */
static bool is_left(const pw_transfer *t)
{
    unsigned deaths = pw_gate_deaths_now();
    const pw_entry *own = pw_registry_find(t->origin), *other = pw_registry_find(t->type);
    pair p = {.own = {.entry = own, .kind = PW_CALL_ONE_SIDED}, .other = {.entry = other, .kind = PW_CALL_ONE_SIDED}};
    pw_site *site;

    if (!own || !other || !(own->layout || other->layout))
        return true;
    name_sides(t, &p);
    if (__builtin_mul_overflow((int64_t)(own->layout ? t->origin_count : t->count), (own->layout ? own : other)->size,
                               &p.from->cost_bytes))
        return false;
    site = pw_message_left_again(p.from, p.to);
    if (site)
        settle(t, own, other, site, deaths);
    return site != NULL;
}

/* ---- transfers that were moved before ---------------------------------------------------------------------------- */

/* Takes the place in which a transfer like this one is remembered. NULL: there is none, or another thread has it. */
static pw_past_place *take_place(const pw_transfer *t, pw_window_memory *memory)
{
    pw_past_place *places = pw_mapped_find(t->win, t->rank, memory), *place;
    uint64_t key = pw_type_key(t->origin) + 2 * pw_type_key(t->type) + t->gets;

    if (!places)
        return NULL;
    place = &places[pw_handle_hash(key) >> (64 - PW_PAST_BITS)];
    return atomic_exchange_explicit(&place->taken, true, memory_order_acquire) ? NULL : place;
}

static void leave_place(pw_past_place *place)
{
    atomic_store_explicit(&place->taken, false, memory_order_release);
}

static bool is_like(const pw_past_move *past, const pw_transfer *t)
{
    return past->origin == pw_type_key(t->origin) && past->target == pw_type_key(t->type) && past->gets == t->gets &&
           past->origin_count == (int64_t)t->origin_count && past->target_count == (int64_t)t->count;
}

/* Remembers a transfer that is moved, by `site`, if it has come before. `deaths`: as in settle. */
static void remember(const pw_transfer *t, const pair *p, pw_site *site, unsigned deaths)
{
    pw_window_memory memory;
    pw_past_place *place = take_place(t, &memory);
    pw_past_move *past = place ? &place->past : NULL;

    if (!place)
        return;
    if (!is_like(past, t) || past->deaths != deaths) {
        pw_move_close(&past->move);
        *past = (pw_past_move){.origin = pw_type_key(t->origin),
                               .target = pw_type_key(t->type),
                               .origin_count = t->origin_count,
                               .target_count = t->count,
                               .gets = t->gets,
                               .deaths = deaths};
    } else if (!past->site && span_of(&p->own.buffer, &past->own) && span_of(&p->other.buffer, &past->other) &&
               pw_move_open(&past->move, &p->from->buffer, &p->to->buffer)) {
        past->site = site;
    }
    leave_place(place);
}

static bool are_apart(uintptr_t a, int64_t a_bytes, uintptr_t b, int64_t b_bytes)
{
    return a <= b ? b - a >= (uintptr_t)a_bytes : a - b >= (uintptr_t)b_bytes;
}

/* Finds the move of a transfer like a remembered one. Returns false unless all that the long way looks at is the same
 * but for the addresses. */
static bool is_again(const pw_transfer *t, const pw_past_move *past, const pw_window_memory *memory, pw_move *out)
{
    uintptr_t own = (uintptr_t)t->buf + (uintptr_t)past->own.lo, other;
    int64_t at;

    if (!past->site || !is_like(past, t) || __builtin_mul_overflow((int64_t)t->disp, memory->unit, &at) ||
        !lies_within(past->other, at, memory->bytes) || t->buf == MPI_BOTTOM)
        return false;
    other = (uintptr_t)memory->base + (uintptr_t)at;
    if (!are_apart(own, past->own.bytes, other + (uintptr_t)past->other.lo, past->other.bytes) ||
        !pw_memory_is_known_host((const char *)own) || !pw_settled_holds(past->deaths))
        return false;
    *out = past->move;
    (t->gets ? &out->to : &out->from)->base = t->buf;
    (t->gets ? &out->from : &out->to)->base = (void *)other;
    return true;
}

/* The types keep the layouts of both sides alive during the call. */
static pw_again open_again(const pw_transfer *t, pw_move *move)
{
    pw_window_memory memory;
    pw_past_place *place = take_place(t, &memory);
    pw_again again = PW_AGAIN_UNKNOWN;

    if (!place)
        return again;
    if (is_again(t, &place->past, &memory, move))
        again = pw_message_joins_again(place->past.site);
    if (again == PW_AGAIN_JOINED && move->joined.layout)
        pw_layout_ref(move->joined.layout);
    leave_place(place);
    return again;
}

static bool open_move(const pw_transfer *t, pw_move *move)
{
    unsigned deaths = pw_gate_deaths_now();
    pw_site *site;
    pair p;

    if (is_left(t) || !describe_target(t, &p.other) || !describe(t->buf, t->origin_count, t->origin, &p.own))
        return false;
    name_sides(t, &p);
    if (!pw_move_is_possible(&p.from->buffer, &p.to->buffer) || !pw_message_is_joined(p.from, p.to, &site))
        return false;
    if (!pw_move_open(move, &p.from->buffer, &p.to->buffer)) {
        pw_judge_spoil();
        return false;
    }
    pw_message_count_joined(p.from, p.to);
    if (site)
        remember(t, &p, site, deaths);
    return true;
}

static int call_with_nothing(const pw_transfer *t)
{
    pw_transfer nothing = *t;

    nothing.origin_count = nothing.count = 0;
    return nothing.next(&nothing);
}

static int carry_out(const pw_transfer *t, pw_move *move)
{
    int rc = call_with_nothing(t);

    if (rc != MPI_SUCCESS)
        return rc;
    atomic_thread_fence(memory_order_seq_cst); /* MPI's fences in synchronising calls may be for its own accesses */
    rc = pw_win_fail(t->win, pw_move_finish(move));
    atomic_thread_fence(memory_order_seq_cst);
    return rc;
}

pw_verdict pw_transfer_move(const pw_transfer *t, int *rc)
{
    pw_move move;

    if (!open_move(t, &move))
        return PW_PASS;
    *rc = carry_out(t, &move);
    pw_move_close(&move);
    return PW_DONE;
}

pw_again pw_transfer_move_again(const pw_transfer *t, int *rc)
{
    pw_move move;
    pw_again again = open_again(t, &move);

    if (again != PW_AGAIN_JOINED)
        return again;
    *rc = carry_out(t, &move);
    pw_layout_unref(move.joined.layout);
    return again;
}
