/*
 * Start and end of MPI. The runtime itself starts with the first wrapped call (runtime/mpi/entry/gate.c); here are the
 * log's rank, and the end: when the last of the world model and the sessions goes, the statistics are told and
 * everything is released.
 */
#include "base/env.h"
#include "base/log.h"
#include "runtime/engine/gpu/device.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/engine/node/segment.h"
#include "runtime/mpi/collective/communicator.h"
#include "runtime/mpi/collective/twin.h"
#include "runtime/mpi/entry/ending.h"
#include "runtime/mpi/entry/locate.h"
#include "runtime/mpi/requests/pending.h"
#include "runtime/mpi/stats/stats.h"
#include "runtime/mpi/stats/trace.h"
#include "runtime/mpi/types/registry.h"

#include "hooks.h"
#include "next.h"

#include <stdatomic.h>

/* Initialisations not yet finalised: the world counts as one. */
static _Atomic int users;

static void world_started(void)
{
    int rank;

    atomic_fetch_add(&users, 1);
    if (PMPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS)
        return;
    pw_log_set_rank(rank);
    if (rank == 0)
        pw_env_check_unknown();
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

/* An initialisation through PMPI_ was not counted, so "last" is at most one. */
static bool is_last_user(void)
{
    return atomic_load(&users) <= 1;
}

static void report_process(void)
{
    if (pw_env_bool(PW_ENV_STATS))
        pw_stats_report_process();
    if (pw_trace_is_on())
        pw_trace_write_process();
}

/* What we have of MPI's, while it works. */
static void release_types(void)
{
    pw_twin_leave();
    pw_communicator_leave();
    pw_registry_leave();
}

static void user_gone(bool last)
{
    if (atomic_load(&users) > 0)
        atomic_fetch_sub(&users, 1);
    if (!last)
        return;
    pw_pending_close();
    pw_trace_close();
    pw_registry_close();
    pw_pool_trim();
    pw_segment_close();
    pw_gpu_close();
}

/* ---- an end that no hook announces ----------------------------------------------------------------------------- */

/* Under the registry's learning lock, and once MPI ends, by the one thread that ends it. */
static bool watching;
/* The hook of MPI_Finalize is at work and needs no notice. */
static _Atomic bool in_finalize;

/* Which ranks come this way is not known, so reports are of this process alone. */
static int world_ends(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    watching = false;
    if (atomic_load(&in_finalize) || !is_last_user())
        return MPI_SUCCESS;
    pw_pending_sweep(true);
    report_process();
    release_types();
    user_gone(true);
    return MPI_SUCCESS;
}

void pw_ending_watch(void)
{
    int keyval, initialised = 0, finalised = 0;

    if (watching)
        return;
    PMPI_Initialized(&initialised);
    PMPI_Finalized(&finalised);
    if (!initialised || finalised || PMPI_Comm_create_keyval(pw_mpi_copy_nothing, world_ends, &keyval, NULL))
        return;
    watching = PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL) == MPI_SUCCESS;
    PMPI_Comm_free_keyval(&keyval); /* lives on with the attribute */
}

/* ---- the hooks of the end ---------------------------------------------------------------------------------------- */

pw_verdict pw_hook_Finalize(int *rc)
{
    int finalised = 0, initialised = 0;
    bool last = is_last_user();

    PMPI_Initialized(&initialised);
    PMPI_Finalized(&finalised);
    if (!initialised || finalised)
        return PW_PASS;
    pw_pending_sweep(true);
    if (pw_env_bool(PW_ENV_STATS))
        pw_stats_report_world();
    if (pw_trace_is_on())
        pw_trace_write_world();
    if (last)
        release_types();
    atomic_store(&in_finalize, true);
    *rc = pw_next.MPI_Finalize();
    atomic_store(&in_finalize, false);
    if (*rc == MPI_SUCCESS)
        user_gone(last);
    return PW_DONE;
}

#if PW_MPI_HAS(4, 0)

bool pw_ending_is_seen(void)
{
    return true;
}

/* The end of the sessions before has closed the segment, which the start of the process has opened. */
static void session_started(void)
{
    if (atomic_fetch_add(&users, 1) == 0)
        pw_segment_open();
}

pw_verdict pw_hook_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session, int *rc)
{
    *rc = pw_next.MPI_Session_init(info, errhandler, session);
    if (*rc == MPI_SUCCESS)
        session_started();
    return PW_DONE;
}

pw_verdict pw_hook_Session_finalize(MPI_Session *session, int *rc)
{
    bool last = is_last_user();

    pw_pending_sweep(last); /* what others have under way may need more than this rank's waiting */
    if (last) {
        report_process();
        release_types();
    }
    *rc = pw_next.MPI_Session_finalize(session);
    if (*rc == MPI_SUCCESS)
        user_gone(last);
    return PW_DONE;
}

#else

bool pw_ending_is_seen(void)
{
    int initialised = 0, finalised = 0;

    if (!pw_locate_next("MPI_Session_finalize"))
        return true;
    PMPI_Initialized(&initialised);
    PMPI_Finalized(&finalised);
    return initialised && !finalised;
}

#endif
