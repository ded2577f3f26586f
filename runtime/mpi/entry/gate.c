/*
 * The gate of all wrappers: the state of the runtime (cold, open, inert) and, for each thread, whether it is in a call.
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
_Thread_local bool pw_gate_inside;
_Thread_local unsigned pw_gate_judged;
/* Until the next functions are known, no call may go past the gate (pw_deferred_start). */
_Atomic int64_t pw_gate_unfinished = PW_GATE_DEFERRED;

/* With PACKWRIGHT_DISABLE and PACKWRIGHT_STATS (or _TRACE) both set, the gate opens although nothing is accelerated:
 * the collective that merges the ranks' statistics in MPI_Finalize must find this rank present. */
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

bool pw_gate_enter_slow(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (pw_gate_inside || pw_gate_is_inert())
        return false;
    pw_gate_inside = true;
    pthread_once(&once, start);
    if (atomic_load_explicit(&pw_gate_now, memory_order_acquire) != PW_GATE_OPEN)
        pw_gate_leave();
    return pw_gate_inside;
}

void pw_gate_flush_slow(void)
{
    bool within;

    if (pw_gate_enter_again(&within))
        pw_gate_leave_again(within, false);
}

int pw_gate_missing(const char *symbol)
{
    pw_log(PW_LOG_ERROR, "%s was called, but the MPI of this process does not have it", symbol);
    return pw_mpi_error(PW_ERR_NOT_FOUND);
}
