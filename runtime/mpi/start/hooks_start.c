/*
 * The hooks of MPI's start and end. The runtime itself starts in the first wrapped call, whatever it is
 * (runtime/mpi/entry/gate.c). When the last user of MPI goes, which is the world model or a session, the runtime
 * reports its statistics and releases everything.
 */
#include "base/env.h"
#include "base/events.h"
#include "base/log.h"
#include "runtime/engine/layout/layout.h"
#include "runtime/exchange/segment.h"
#include "runtime/mpi/collective/remote.h"
#include "runtime/mpi/requests/pending.h"
#include "runtime/mpi/start/parts.h"
#include "runtime/mpi/stats/stats.h"
#include "runtime/mpi/strategy/strategy.h"

#include "hooks.h"
#include "next.h"

#include <stdatomic.h>

/* Initialisations that are not yet finalised; that of the world counts as one. */
static _Atomic int users;

static void world_started(void)
{
    int rank;

    atomic_fetch_add(&users, 1);
    if (PMPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS)
        return;
    pw_log_set_rank(rank);
    if (rank == 0) {
        if (!pw_env_is_set(PW_ENV_RUN))
            pw_env_check();
        pw_stats_check_files();
    }
    pw_strategy_share_trials();
    pw_remote_look_for_gpus();
}

pw_verdict pw_hook_Init(int *argc, char ***argv, int *rc)
{
    *rc = pw_next.MPI_Init(argc, argv);
    if (*rc == MPI_SUCCESS)
        world_started();
    return PW_DONE;
}

pw_verdict pw_hook_Init_thread(int *argc, char ***argv, int required, int *provided, int *rc)
{
    *rc = pw_next.MPI_Init_thread(argc, argv, required, provided);
    if (*rc == MPI_SUCCESS)
        world_started();
    return PW_DONE;
}

/* Returns whether no other user of MPI is left, as far as is known: an initialisation through PMPI_ was not counted. */
static bool is_last_user(void)
{
    return atomic_load(&users) <= 1;
}

static void user_gone(bool last)
{
    if (atomic_load(&users) > 0)
        atomic_fetch_sub(&users, 1);
    if (last)
        pw_parts_close();
}

/* ---- the hooks of the end ---------------------------------------------------------------------------------------- */

pw_verdict pw_hook_Finalize(int *rc)
{
    bool last = is_last_user();

    if (!pw_mpi_has_world())
        return PW_PASS;
    pw_pending_sweep(true, MPI_COMM_NULL);
    if (pw_layout_use_is_reported())
        pw_stats_report_world();
    if (last)
        pw_parts_leave();
    *rc = pw_next.MPI_Finalize();
    if (*rc == MPI_SUCCESS)
        user_gone(last);
    return PW_DONE;
}

pw_verdict pw_hook_Abort(MPI_Comm comm, int code, int *rc)
{
    (void)comm, (void)code, (void)rc;
    pw_event_leave(PW_EVENT_ABORTED);
    return PW_PASS;
}

#if PW_MPI_HAS(4, 0)

pw_verdict pw_hook_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session, int *rc)
{
    *rc = pw_next.MPI_Session_init(info, errhandler, session);
    if (*rc == MPI_SUCCESS && atomic_fetch_add(&users, 1) == 0)
        pw_segment_open(); /* the end of earlier sessions may have closed it */
    return PW_DONE;
}

pw_verdict pw_hook_Session_finalize(MPI_Session *session, int *rc)
{
    bool last = is_last_user();

    /* Operations of other ranks may need more than that this rank waits for its own. */
    pw_pending_sweep(last, MPI_COMM_NULL);
    if (last && pw_layout_use_is_reported())
        pw_stats_report_process();
    if (last)
        pw_parts_leave();
    *rc = pw_next.MPI_Session_finalize(session);
    if (*rc == MPI_SUCCESS)
        user_gone(last);
    return PW_DONE;
}

#endif
