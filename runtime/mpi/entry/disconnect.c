/*
 * Lets a rank that waits in MPI_Finalize go on answering other ranks, on MPICH 3.4 to 4.1 over UCX (ch4:ucx). There,
 * MPI_Finalize first ends the connections to all ranks of the world, by ucp_disconnect_nb; a connection over TCP ends
 * when the other rank has acknowledged what was sent to it. Then MPI_Finalize waits in a barrier of the launcher. A
 * rank acknowledges only while it calls UCX, and in that barrier it does not. So if one rank gets to the barrier before
 * another rank begins to disconnect from it, the other one waits forever. That happens natively, too, where ranks on
 * several nodes come to MPI_Finalize one after another, as after an MPI_Gather.
 *
 * From the first disconnect until MPICH destroys its workers (UCX's word for a set of connections), a thread makes
 * progress on them. MPICH declares that the threads of the process take turns in calling UCX. So the calls that MPICH
 * makes meanwhile are redirected here, and take the thread's lock. The order and the effect of MPICH's calls stay as
 * they are, no other rank needs to have this library, and no message is sent that was not sent without it.
 *
 * MPICH 4.2 has its barrier before it disconnects, and does not wait for ranks that have ended. Within a node UCX uses
 * shared memory, which waits for nobody, so the thread is not started where all ranks are on one node and the user
 * leaves the choice of transports to UCX.
 */
#include "base/env.h"
#include "base/launch.h"
#include "base/log.h"
#include "base/thread.h"
#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/entry/linkage.h"
#include "runtime/mpi/entry/locate.h"
#include "runtime/mpi/entry/version.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FIRST_VERSION = 3004, LAST_VERSION = 4001, MOST_WORKERS = 64, UCS_ERR_UNSUPPORTED = -22 };

/* How long the thread sleeps where nothing is to do: a rank that disconnects late waits that much longer. */
static const struct timespec nap = {.tv_nsec = 500 * 1000};

/* What MPICH calls from the first disconnect on, as ucp/api/ucp.h declares it in all versions. */
typedef struct calls {
    unsigned (*progress)(void *worker);
    void (*release)(void *request);
    void (*destroy)(void *worker);
} calls;

/* The singleton, guarded by its lock. MPI_Finalize runs in one thread, so only the answering thread competes with it.
 */
static struct {
    pthread_mutex_t lock; /* recursive, since UCX calls MPICH back, which then releases a request */
    bool tried;           /* the first disconnect is over */
    bool answers;         /* the thread runs */
    bool ends;            /* … and is to end */
    pthread_t thread;
    calls next;
    pw_linkage caller; /* whose calls are redirected */
    void *workers[MOST_WORKERS];
    int nworkers;
} state = {.lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP};

/* ---- the thread -------------------------------------------------------------------------------------------------- */

static void *answer(void *arg)
{
    bool ends;

    do {
        nanosleep(&nap, NULL);
        pthread_mutex_lock(&state.lock);
        ends = state.ends;
        for (int i = 0; i < state.nworkers && !ends; i++)
            while (state.next.progress(state.workers[i]) > 0)
                ;
        pthread_mutex_unlock(&state.lock);
    } while (!ends);
    return arg;
}

/* ---- MPICH's calls while the thread runs ------------------------------------------------------------------------ */

static bool redirect(const calls *to);

/* Before the barrier MPICH makes progress on each worker at least once, which is how the thread learns of them. */
static unsigned progress(void *worker)
{
    unsigned n;
    int i = 0;

    pthread_mutex_lock(&state.lock);
    while (i < state.nworkers && state.workers[i] != worker)
        i++;
    if (i == state.nworkers && i < MOST_WORKERS)
        state.workers[state.nworkers++] = worker;
    n = state.next.progress(worker);
    pthread_mutex_unlock(&state.lock);
    return n;
}

static void release(void *request)
{
    pthread_mutex_lock(&state.lock);
    state.next.release(request);
    pthread_mutex_unlock(&state.lock);
}

/* MPICH is behind the barrier: ends the thread, and leaves the rest to MPICH. */
static void destroy(void *worker)
{
    if (state.answers) {
        pthread_mutex_lock(&state.lock);
        state.ends = true;
        pthread_mutex_unlock(&state.lock);
        pthread_join(state.thread, NULL);
        state.tried = state.answers = false;
        state.nworkers = 0;
        redirect(&state.next);
    }
    state.next.destroy(worker);
}

static void *choose(void *arg, const char *name)
{
    const calls *to = arg;

    return !strcmp(name, "ucp_worker_progress")   ? (void *)(uintptr_t)to->progress
           : !strcmp(name, "ucp_request_release") ? (void *)(uintptr_t)to->release
           : !strcmp(name, "ucp_worker_destroy")  ? (void *)(uintptr_t)to->destroy
                                                  : NULL;
}

static bool redirect(const calls *to)
{
    return pw_linkage_redirect(&state.caller, choose, (void *)(uintptr_t)to) > 0;
}

/* ---- the first disconnect ---------------------------------------------------------------------------------------- */

/* Finds the object whose calls are to be redirected. */
static bool find_caller(const char *path)
{
    bool found = false;
    size_t n;
    pw_linkage *list = pw_linkage_list(&n, NULL);

    for (size_t i = 0; i < n && !found; i++)
        if ((found = !strcmp(list[i].path, path)))
            state.caller = list[i];
    free(list);
    return found;
}

static bool needs_answers(void)
{
    int version = atomic_load(&pw_gate_now) == PW_GATE_OPEN ? pw_version_behind(PW_VERSION_MPICH) : 0;
    bool by_shared_memory = pw_launch_is_on_one_node() && !pw_env_foreign("UCX_TLS");

    return version >= FIRST_VERSION && version <= LAST_VERSION && !by_shared_memory;
}

/* `path`: of the MPI that disconnects. If its calls cannot be redirected, MPI ends as it would natively. */
static void start_answering(const char *path)
{
    static const calls ours = {progress, release, destroy};

    state.next = (calls){
        (unsigned (*)(void *))(uintptr_t)pw_locate_behind(path, "ucp_worker_progress"),
        (void (*)(void *))(uintptr_t)pw_locate_behind(path, "ucp_request_release"),
        (void (*)(void *))(uintptr_t)pw_locate_behind(path, "ucp_worker_destroy"),
    };
    state.ends = false;
    state.answers = state.next.progress && state.next.release && state.next.destroy && find_caller(path) &&
                    redirect(&ours) && pw_thread_start(&state.thread, 0, answer, NULL) == 0;
    if (!state.answers)
        pw_log(PW_LOG_INFO, "the calls of %s to UCX cannot be redirected: MPI_Finalize may wait forever", path);
}

void *ucp_disconnect_nb(void *endpoint);

/* The result is a request, a status as a pointer, or NULL for "done". */
__attribute__((visibility("default"))) void *ucp_disconnect_nb(void *endpoint)
{
    void *code = __builtin_return_address(0), *result = (void *)(intptr_t)UCS_ERR_UNSUPPORTED;
    void *(*next)(void *) = NULL;
    Dl_info info;

    if (dladdr(code, &info) && info.dli_fname)
        next = (void *(*)(void *))(uintptr_t)pw_locate_behind(info.dli_fname, "ucp_disconnect_nb");
    if (!next || next == ucp_disconnect_nb)
        return result;
    if (!state.tried && needs_answers())
        start_answering(info.dli_fname);
    state.tried = true;
    pthread_mutex_lock(&state.lock);
    result = next(endpoint);
    pthread_mutex_unlock(&state.lock);
    return result;
}
