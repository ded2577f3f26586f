/*
 * Puts and gets without a copy in between: where this process has mapped the target's memory, one kernel moves the data
 * from the user's memory to the user's (runtime/engine/move). MPI gets the same call with counts of zero first. So it
 * checks the arguments and the epoch, takes a lock that it has put off, and makes the request, which is complete. The
 * data is then in place before the call returns, and so before any call that completes it.
 */
#include "runtime/engine/memory/pool.h"
#include "runtime/engine/memory/thread_end.h"
#include "runtime/engine/memory/view.h"
#include "runtime/mpi/one_sided/internal.h"
#include "runtime/mpi/one_sided/past.h"
#include "runtime/mpi/strategy/judge.h"
#include "runtime/mpi/types/registry.h"

#include <pthread.h>
#include <stdatomic.h>

_Thread_local pw_past_transfer pw_past_transfers[1 << PW_PAST_BITS];

/* Describes objects in host memory. Returns false if their type is not one that is handled. */
static bool describe(void *base, int64_t count, MPI_Datatype type, pw_message *m, pw_span *span)
{
    *m = (pw_message){
        .kind = PW_CALL_ONE_SIDED, .entry = pw_registry_find(type), .buffer = {.base = base, .count = count}};
    return !m->entry->gpu_only && pw_message_find(m) && m->buffer.place.kind == PW_PLACE_HOST &&
           pw_view_bounds(&m->buffer, &span->lo, &span->bytes);
}

/* Returns whether all objects lie in `bytes` bytes, from displacement `at` on. */
static bool lies_within(pw_span s, int64_t at, int64_t bytes)
{
    return at >= 0 && at <= bytes && !__builtin_add_overflow(at, s.lo, &at) && at >= 0 && at <= bytes &&
           s.bytes <= bytes - at;
}

/* Describes the target's side. Returns false if this process does not reach it, or it goes beyond the window, which MPI
 * reports or not. */
static bool describe_target(const pw_transfer *t, pw_message *m, pw_span *span)
{
    pw_window_memory memory;
    int64_t at;

    return pw_mapped_find(t->win, t->rank, &memory) && !__builtin_mul_overflow((int64_t)t->disp, memory.unit, &at) &&
           at >= 0 && at <= memory.bytes && describe(memory.base + at, t->count, t->type, m, span) &&
           lies_within(*span, at, memory.bytes);
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

/* ---- transfers that came before ---------------------------------------------------------------------------------- */

/* Layouts end with the life of MPI that they were made in. Threads may end later, and then have nothing to release. */
static struct {
    pthread_mutex_t lock; /* held while a layout of this life is released */
    unsigned now;
} lives = {.lock = PTHREAD_MUTEX_INITIALIZER};

void pw_past_leave(void)
{
    pthread_mutex_lock(&lives.lock);
    lives.now++;
    pthread_mutex_unlock(&lives.lock);
}

static void forget(pw_past_transfer *past)
{
    unsigned now;

    pthread_mutex_lock(&lives.lock);
    now = lives.now;
    if (past->move && past->life == now)
        pw_move_close(past->move);
    pthread_mutex_unlock(&lives.lock);
    if (past->move)
        pw_pool_give(past->move, sizeof *past->move);
    *past = (pw_past_transfer){.life = now};
}

static void forget_all(void)
{
    for (int i = 0; i < 1 << PW_PAST_BITS; i++)
        forget(&pw_past_transfers[i]);
}

/* Remembers a transfer, with its open move unless that is NULL. Returns false if the move stays the caller's. */
static bool remember(pw_past_transfer now, const pw_move *move)
{
    pw_past_transfer *past = pw_past_slot(now.gets, now.origin, now.target);

    if (!pw_thread_end_call(forget_all) || (move && !(now.move = pw_pool_take(sizeof *move))))
        return false;
    if (move)
        *now.move = *move;
    forget(past);
    now.life = past->life;
    *past = now;
    return true;
}

static bool are_apart(uintptr_t a, int64_t a_bytes, uintptr_t b, int64_t b_bytes)
{
    return a <= b ? b - a >= (uintptr_t)a_bytes : a - b >= (uintptr_t)b_bytes;
}

/* Finds the move of a transfer like a remembered one. Returns false unless all that the long way looks at is the same
 * but for the addresses. */
static bool is_again(const pw_transfer *t, const pw_past_transfer *past, pw_move *out)
{
    uintptr_t own = (uintptr_t)t->buf + (uintptr_t)past->own.lo, other;
    pw_window_memory memory;
    int64_t at;

    if (!past->move || !pw_mapped_find(t->win, t->rank, &memory) ||
        __builtin_mul_overflow((int64_t)t->disp, memory.unit, &at) || !lies_within(past->other, at, memory.bytes) ||
        t->buf == MPI_BOTTOM)
        return false;
    other = (uintptr_t)memory.base + (uintptr_t)at;
    if (!are_apart(own, past->own.bytes, other + (uintptr_t)past->other.lo, past->other.bytes))
        return false;
    *out = *past->move;
    (t->gets ? &out->to : &out->from)->base = t->buf;
    (t->gets ? &out->from : &out->to)->base = (void *)other;
    return true;
}

/* The types keep the layouts of both sides alive during the call. */
static pw_again open_again(const pw_transfer *t, pw_move *move)
{
    const pw_past_transfer *past = pw_past_find(t->gets, t->buf, t->origin_count, t->origin, t->count, t->type);
    pw_again again = past && is_again(t, past, move) ? pw_message_joins_again(past->site) : PW_AGAIN_UNKNOWN;

    if (again == PW_AGAIN_JOINED && move->joined.layout)
        pw_layout_ref(move->joined.layout);
    return again;
}

/* ---- one transfer ------------------------------------------------------------------------------------------------ */

/* Decides who carries out a transfer, and opens the move if that is this process. *lasts: the same holds for the next
 * one like it, as `now` then says. */
static bool open_move(const pw_transfer *t, pw_move *move, pw_past_transfer *now, bool *lasts)
{
    const pw_entry *own = pw_registry_find(t->origin), *other = pw_registry_find(t->type);
    pair p;
    bool joins;

    /* A type that is only noted (runtime/mpi/types) is not known to be contiguous. */
    *lasts = now->whole = own->dense && other->dense;
    if (*lasts)
        now->own.lo = own->lowest;
    if (!(own->layout || other->layout) || !describe_target(t, &p.other, &now->other) ||
        !describe(t->buf, t->origin_count, t->origin, &p.own, &now->own))
        return false;
    name_sides(t, &p);
    if (!pw_move_is_possible(&p.from->buffer, &p.to->buffer))
        return false;
    joins = pw_message_is_joined(p.from, p.to, &now->site);
    now->whole = other->layout && !pw_strategy_is_forced();
    *lasts = now->site;
    if (joins && !pw_move_open(move, &p.from->buffer, &p.to->buffer)) {
        pw_judge_spoil();
        return *lasts = false;
    }
    if (joins)
        pw_message_count_joined(p.from, p.to);
    return joins;
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
    pw_past_transfer now = {.origin = pw_type_key(t->origin),
                            .target = pw_type_key(t->type),
                            .origin_count = t->origin_count,
                            .target_count = t->count,
                            .gets = t->gets,
                            .epoch = pw_settled_now()};
    pw_move move;
    bool lasts, moved = open_move(t, &move, &now, &lasts);

    if (moved)
        *rc = carry_out(t, &move);
    if (!(lasts && remember(now, moved ? &move : NULL)) && moved)
        pw_move_close(&move);
    return moved ? PW_DONE : PW_PASS;
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
