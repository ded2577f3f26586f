#include "runtime/gate.h"

#include "base/env.h"
#include "base/log.h"
#include "runtime/errors.h"
#include "runtime/locate.h"
#include "runtime/node/segment.h"
#include "runtime/one_sided/rma.h"
#include "runtime/registry.h"
#include "runtime/requests/pending.h"
#include "runtime/stats/trace.h"
#include "runtime/strategy/strategy.h"

#include "next.h"

#include <pthread.h>

_Atomic pw_gate_state pw_gate_now = PW_GATE_COLD;
_Thread_local bool pw_gate_inside;

/*
 * With PACKWRIGHT_DISABLE and PACKWRIGHT_STATS (or _TRACE) both set, the gate opens over a registry that stays closed:
 * nothing is accelerated, but the collective that merges what the ranks tell at MPI_Finalize finds this one present.
 */
static pw_gate_state decide_state(void)
{
    bool disabled = pw_env_bool(PW_ENV_DISABLE);

    if (disabled && !pw_env_bool(PW_ENV_STATS) && !pw_trace_is_on())
        return PW_GATE_INERT;
    if (!pw_locate_check())
        return PW_GATE_INERT;
    if (!disabled && pw_registry_start() != PW_OK) {
        pw_log(PW_LOG_WARN, "out of memory at start: datatypes are left to MPI");
        return PW_GATE_INERT;
    }
    return PW_GATE_OPEN;
}

static void start(void)
{
    pw_gate_state state;

    pw_locate_mpi();
    pw_next_load(pw_locate_next);
    state = decide_state();
    if (state == PW_GATE_OPEN) {
        pw_strategy_start();
        if (pw_env_bool(PW_ENV_SHARED) && !pw_env_bool(PW_ENV_DISABLE))
            pw_segment_open();
    }
    pw_pending_start();
    pw_rma_start();
    atomic_store_explicit(&pw_gate_now, state, memory_order_release);
}

bool pw_gate_enter_slow(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (pw_gate_inside || atomic_load_explicit(&pw_gate_now, memory_order_acquire) == PW_GATE_INERT)
        return false;
    pw_gate_inside = true;
    pthread_once(&once, start);
    pw_gate_inside = atomic_load_explicit(&pw_gate_now, memory_order_acquire) == PW_GATE_OPEN;
    return pw_gate_inside;
}

int pw_gate_missing(const char *symbol)
{
    pw_log(PW_LOG_ERROR, "%s was called, but the MPI of this process does not have it", symbol);
    return pw_mpi_error(PW_ERR_NOT_FOUND);
}
