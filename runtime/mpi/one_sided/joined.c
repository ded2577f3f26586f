/*
 * Puts and gets without a copy in between: where this process has mapped the target's memory, one kernel moves the data
 * from the user's memory to the user's (runtime/engine/move). MPI gets the same call with counts of zero first. So it
 * checks the arguments and the epoch, takes a lock that it has put off, and makes the request, which is complete. The
 * data is then in place before the call returns, and so before any call that completes it.
 */
#include "base/lock.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/engine/memory/thread_end.h"
#include "runtime/engine/memory/view.h"
#include "runtime/engine/move/move.h"
#include "runtime/mpi/one_sided/internal.h"
#include "runtime/mpi/one_sided/is_native.h"
#include "runtime/mpi/strategy/judge.h"
#include "runtime/mpi/types/registry.h"

#include <stdatomic.h>

/* From an address to the lowest byte that objects touch, and how many bytes from there they may touch. */
typedef struct span {
    int64_t lo, bytes;
} span;

/* Describes objects in host memory. Returns false if their type is not one that is handled. */
static bool describe(void *base, int64_t count, MPI_Datatype type, pw_message *m, span *where)
{
    *m = (pw_message){
        .kind = PW_CALL_ONE_SIDED, .entry = pw_registry_find(type), .buffer = {.base = base, .count = count}};
    return !m->entry->gpu_only && pw_message_find(m) && m->buffer.place.kind == PW_PLACE_HOST &&
           pw_view_bounds(&m->buffer, &where->lo, &where->bytes);
}

/* Returns whether all objects lie in `bytes` bytes, from displacement `at` on. */
static bool lies_within(span s, int64_t at, int64_t bytes)
{
    return at >= 0 && at <= bytes && !__builtin_add_overflow(at, s.lo, &at) && at >= 0 && at <= bytes &&
           s.bytes <= bytes - at;
}

/* Describes the target's side. False: this process does not reach it, or it exceeds the window, as MPI may report. */
static bool describe_target(const pw_transfer *t, pw_message *m, span *where)
{
    pw_window_memory memory;
    int64_t at;

    return pw_mapped_find(t->win, t->rank, &memory) && !__builtin_mul_overflow((int64_t)t->disp, memory.unit, &at) &&
           at >= 0 && at <= memory.bytes && describe(memory.base + at, t->count, t->type, m, where) &&
           lies_within(*where, at, memory.bytes);
}

/* ---- transfers that came before ---------------------------------------------------------------------------------- */

/* Each thread remembers some that were moved, so that the next one like it needs a few comparisons. */
enum { PAST_BITS = 5 /* log2 of the transfers that a thread remembers */ };

typedef struct past_transfer {
    pw_transfer as;       /* the one that was moved */
    unsigned epoch, life; /* of MPI */
    pw_site *site;
    span own, other;
    pw_move *move; /* open, with the addresses of that time; NULL: nothing is remembered here */
} past_transfer;

static _Thread_local past_transfer past_transfers[1 << PAST_BITS];

static past_transfer *past_slot(const pw_transfer *t)
{
    return &past_transfers[pw_handle_hash(pw_type_key(t->origin) + 2 * pw_type_key(t->type) + t->gets) >>
                           (64 - PAST_BITS)];
}

/* Layouts end with the life of MPI that they were made in. Threads may end later, and then have nothing to release. */
static struct {
    pthread_mutex_t lock; /* held while a layout of this life is released */
    unsigned now;
} lives = {.lock = PTHREAD_MUTEX_INITIALIZER};

void pw_past_leave(void)
{
    PW_HOLD(&lives.lock);

    lives.now++;
}

static void forget(past_transfer *past)
{
    PW_HOLD(&lives.lock);

    if (past->move && past->life == lives.now)
        pw_move_close(past->move);
    if (past->move)
        pw_pool_give(past->move, sizeof *past->move);
    *past = (past_transfer){.life = lives.now};
}

static void forget_all(void)
{
    for (int i = 0; i < 1 << PAST_BITS; i++)
        forget(&past_transfers[i]);
}

/* Remembers a transfer with its open move. Returns false if the move stays the caller's. */
static bool remember(past_transfer now, const pw_move *move)
{
    past_transfer *past = past_slot(&now.as);

    if (!pw_thread_end_call(forget_all) || !(now.move = pw_pool_take(sizeof *move)))
        return false;
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
static bool is_again(const pw_transfer *t, const past_transfer *past, pw_move *out)
{
    uintptr_t own = (uintptr_t)t->buf + (uintptr_t)past->own.lo, other;
    pw_window_memory memory;
    int64_t at;

    if (!past->move || past->as.origin != t->origin || past->as.type != t->type || past->as.gets != t->gets ||
        past->as.origin_count != t->origin_count || past->as.count != t->count || past->epoch != pw_epoch_now() ||
        !pw_memory_is_known_host((void *)own) || t->buf == MPI_BOTTOM)
        return false;
    if (!pw_mapped_find(t->win, t->rank, &memory) || __builtin_mul_overflow((int64_t)t->disp, memory.unit, &at) ||
        !lies_within(past->other, at, memory.bytes))
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
    const past_transfer *past = past_slot(t);
    pw_again again = is_again(t, past, move) ? pw_message_joins_again(past->site) : PW_AGAIN_UNKNOWN;

    if (again == PW_AGAIN_JOINED && move->joined.layout)
        pw_layout_ref(move->joined.layout);
    return again;
}

/* Remembers a transfer that MPI gets as it is, unless its origin may be in GPU memory. No site: MPI always gets it. */
static void leave(const pw_transfer *t, const past_transfer *now)
{
    pw_recall call = {.key = pw_transfer_key(t->gets, t->origin_count, t->origin, t->type),
                      .from = pw_recall_from(t->buf, now->own.lo),
                      .least = (uint64_t)t->count,
                      .epoch = now->epoch,
                      .by = now->site};

    if (pw_memory_is_known_host((const char *)t->buf + now->own.lo))
        pw_recall_keep(pw_left[PW_LEFT_TRANSFERS], call, t->buf);
}

/* ---- one transfer ------------------------------------------------------------------------------------------------ */

/* Decides who carries out a transfer, and opens the move if that is this process. *lasts: the same holds for the next
 * one like it, as `now` then says; one that is not moved is left to MPI as it is, and no origin is staged. */
static bool open_move(const pw_transfer *t, pw_move *move, past_transfer *now, bool *lasts)
{
    const pw_entry *own = pw_registry_find(t->origin), *other = pw_registry_find(t->type);
    pw_message mine, theirs, *from = t->gets ? &theirs : &mine, *to = t->gets ? &mine : &theirs;
    bool joins;

    /* A type that is only noted (runtime/mpi/types) is not known to be contiguous. */
    *lasts = own->dense && other->dense;
    if (*lasts)
        now->own.lo = own->lowest;
    if (!(own->layout || other->layout) || !describe_target(t, &theirs, &now->other) ||
        !describe(t->buf, t->origin_count, t->origin, &mine, &now->own) ||
        !pw_move_is_possible(&from->buffer, &to->buffer))
        return false;
    from->variant = (uint8_t)(2 * t->gets);
    joins = pw_message_is_joined(from, to, &now->site);
    *lasts = now->site && (joins || (other->layout && !pw_strategy_is_forced()));
    if (joins && !pw_move_open(move, &from->buffer, &to->buffer)) {
        pw_judge_spoil();
        return *lasts = false;
    }
    if (joins)
        pw_message_count_joined(from, to);
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
    past_transfer now = {.as = *t, .epoch = pw_settled_now()};
    pw_move move;
    bool lasts, moved = open_move(t, &move, &now, &lasts);

    if (!moved) {
        if (lasts)
            leave(t, &now);
        return PW_PASS;
    }
    *rc = carry_out(t, &move);
    if (!(lasts && remember(now, &move)))
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
