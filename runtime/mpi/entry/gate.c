/*
 * The gate of all wrappers: the state of the runtime (cold, open, inert) and, for each thread, the call that it is
 * in. A thread's mark holds its own address on the stack, so a call that was left by longjmp is noticed by the next
 * one.
 */
#include "runtime/mpi/entry/gate.h"

#include "base/env.h"
#include "base/events.h"
#include "base/log.h"
#include "runtime/engine/layout/layout.h"
#include "runtime/mpi/entry/locate.h"
#include "runtime/mpi/errors.h"

#include "next.h"

#include <pthread.h>

_Atomic pw_gate_state pw_gate_now = PW_GATE_COLD;
_Thread_local uintptr_t pw_gate_inside;
_Thread_local int pw_gate_holds;
_Thread_local unsigned pw_gate_judged;
_Atomic unsigned pw_gate_deaths;
/* Until the next functions are known, no call may go past the gate (pw_deferred_start). */
_Atomic int64_t pw_gate_unfinished = PW_GATE_DEFERRED;

/*
 * With PACKWRIGHT_DISABLE and PACKWRIGHT_STATS (or _TRACE) both set, the gate opens although nothing is accelerated:
 * the collective that merges the ranks' statistics in MPI_Finalize must find this rank present.
 */
static pw_gate_state decide_state(void)
{
    if (pw_env_bool(PW_ENV_DISABLE) && !pw_layout_use_is_reported())
        return PW_GATE_INERT;
    return pw_locate_check() ? PW_GATE_OPEN : PW_GATE_INERT;
}

static void start(void)
{
    pw_gate_state state;

    pw_locate_mpi();
    pw_next_load(pw_locate_next);
    state = decide_state();
    pw_event_leave(state == PW_GATE_OPEN ? PW_EVENT_STARTED : PW_EVENT_OFF);
    pw_parts_start(state == PW_GATE_OPEN);
    atomic_store_explicit(&pw_gate_now, state, memory_order_release);
}

bool pw_gate_enter_slow(uintptr_t mark)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if ((pw_gate_inside && pw_gate_is_inside(mark)) ||
        atomic_load_explicit(&pw_gate_now, memory_order_acquire) == PW_GATE_INERT)
        return false;
    pw_gate_inside = mark;
    pthread_once(&once, start);
    if (atomic_load_explicit(&pw_gate_now, memory_order_acquire) != PW_GATE_OPEN)
        pw_gate_leave();
    return pw_gate_inside;
}

/* Apart from its caller, so that the mark is gone when MPI is called. */
__attribute__((noinline)) void pw_gate_flush_slow(void)
{
    pw_gate_mark mark;
    bool within;

    if (pw_gate_enter_again(&mark, &within))
        pw_gate_leave_again(within);
}

/* ---- calls that were left ---------------------------------------------------------------------------------------- */

typedef struct stack {
    uintptr_t low, high; /* [low, high); both 0 if the system does not tell */
} stack;

/* Returns the stack that this thread was made with. */
static const stack *own_stack(void)
{
    static _Thread_local stack own;
    pthread_attr_t attributes;
    size_t bytes;
    void *low;

    if (own.low || pthread_getattr_np(pthread_self(), &attributes) != 0)
        return &own;
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0)
        own = (stack){(uintptr_t)low, (uintptr_t)low + bytes};
    pthread_attr_destroy(&attributes);
    return &own;
}

static bool is_on(const stack *s, uintptr_t address)
{
    return s->low <= address && address < s->high;
}

/* Returns whether the mark holds its own address. A function that has begun since may have overwritten the memory. */
__attribute__((noinline, no_sanitize("address"))) static bool is_whole(uintptr_t mark)
{
    return ((const pw_gate_mark *)mark)->itself == mark;
}

/* The mark of a call within another lies below the other's mark on the stack, and leaves that as it was. */
bool pw_gate_is_inside(uintptr_t mark)
{
    uintptr_t outer = pw_gate_inside;
    const stack *own = own_stack();

    if (!is_on(own, outer) || !is_on(own, mark) || (mark < outer && is_whole(outer)))
        return true;
    pw_parts_abandon_call();
    pw_gate_leave();
    return false;
}

int pw_gate_missing(const char *symbol)
{
    pw_log(PW_LOG_ERROR, "%s was called, but the MPI of this process does not have it", symbol);
    return pw_mpi_error(PW_ERR_NOT_FOUND);
}
