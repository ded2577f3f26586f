#include "tests/mpi/one_sided/window.h"

#include <stdlib.h>
#include <string.h>

const char *window_kind(win_kind kind)
{
    static const char *const names[WIN_KINDS] = {"created", "allocated", "shared", "dynamic"};

    return names[kind];
}

const char *ending_name(ending e)
{
    static const char *const names[ENDINGS] = {"fence",   "complete",        "unlock",      "unlock_all",
                                               "flush",   "flush_all",       "flush_local", "flush_local_all",
                                               "request", "request, flushed"};

    return names[e];
}

/* Collective. */
static bool can_share(int nranks)
{
    MPI_Comm node;
    int n;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &n);
    MPI_Comm_free(&node);
    return n == nranks;
}

/* Where ranks are on several nodes, an allocated window takes the place of the shared one. */
window window_create(win_kind kind, int nranks)
{
    window w = {.kind = kind == SHARED && !can_share(nranks) ? ALLOCATED : kind,
                .bases = calloc((size_t)nranks, sizeof *w.bases)};
    MPI_Aint base = 0;

    switch (w.kind) {
    case CREATED:
        w.memory = malloc(WINDOW_BYTES);
        MPI_Win_create(w.memory, WINDOW_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w.win);
        break;
    case ALLOCATED: MPI_Win_allocate(WINDOW_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w.memory, &w.win); break;
    case SHARED: MPI_Win_allocate_shared(WINDOW_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w.memory, &w.win); break;
    default:
        w.memory = malloc(WINDOW_BYTES);
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w.win);
        MPI_Win_attach(w.win, w.memory, WINDOW_BYTES);
        MPI_Get_address(w.memory, &base);
    }
    MPI_Allgather(&base, 1, MPI_AINT, w.bases, 1, MPI_AINT, MPI_COMM_WORLD);
    return w;
}

void window_free(window *w)
{
    if (w->kind == DYNAMIC)
        MPI_Win_detach(w->win, w->memory);
    MPI_Win_free(&w->win);
    if (w->kind == CREATED || w->kind == DYNAMIC)
        free(w->memory);
    free(w->bases);
}

void epoch_begin(const epoch *e)
{
    MPI_Win win = e->w->win;
    MPI_Group all, one;

    switch (e->ending) {
    case FENCE: MPI_Win_fence(0, win); break;
    case PSCW:
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Group_incl(all, 1, &e->origin, &one);
        MPI_Win_post(one, 0, win);
        MPI_Group_free(&one);
        MPI_Group_incl(all, 1, &e->target, &one);
        MPI_Win_start(one, 0, win);
        MPI_Group_free(&one);
        MPI_Group_free(&all);
        break;
    case LOCK: MPI_Win_lock(MPI_LOCK_SHARED, e->target, 0, win); break;
    default: MPI_Win_lock_all(0, win);
    }
}

void epoch_complete(epoch *e)
{
    MPI_Status statuses[SLOTS];
    MPI_Win win = e->w->win;

    switch (e->ending) {
    case FENCE: MPI_Win_fence(0, win); break;
    case PSCW: MPI_Win_complete(win); break;
    case LOCK: MPI_Win_unlock(e->target, win); break;
    case LOCK_ALL: MPI_Win_unlock_all(win); break;
    case FLUSH:
    case REQUEST_FLUSHED: MPI_Win_flush(e->target, win); break;
    case FLUSH_ALL: MPI_Win_flush_all(win); break;
    case FLUSH_LOCAL: MPI_Win_flush_local(e->target, win); break;
    case FLUSH_LOCAL_ALL: MPI_Win_flush_local_all(win); break;
    default: MPI_Waitall(e->ops, e->requests, statuses);
    }
}

void epoch_end(epoch *e)
{
    if (e->ending == REQUEST_FLUSHED)
        for (int op = 0; op < e->ops; op++)
            MPI_Wait(&e->requests[op], MPI_STATUS_IGNORE);
    if (e->ending == PSCW)
        MPI_Win_wait(e->w->win);
    if (e->ending > LOCK_ALL)
        MPI_Win_unlock_all(e->w->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

void window_run(MPI_Aint bytes, int unit, double **memory, MPI_Win *win, void (*origin)(void))
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, memory, win);
    memset(*memory, 0, (size_t)bytes);
    MPI_Win_lock_all(0, *win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        origin();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(*win);
    MPI_Win_free(win);
}
