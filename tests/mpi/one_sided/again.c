/*
 * A put that was moved is remembered by its types and counts: the next one like it looks nothing up, which shows in the
 * locks that it does without, and must not be taken for another one. A tool below sees what MPI has to put.
 */
#include "tests/mpi/one_sided/window.h"
#include "tests/mpi/support/count_calls.h"
#include "tests/mpi/support/handles.h"
#include "tests/mpi/support/harness.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

/* The window ends within a page, so that MPIs that do not look can write a little beyond it. */
enum { SHORT = 64, LONG = 512, SPAN = 2 * LONG - 1, ROOM = 2 * SPAN + 12, WARM = 40, OFTEN = 100, MOVED = 0, LEFT = 1 };

static double *out, *memory;
static MPI_Win win;

/* ---- locks ------------------------------------------------------------------------------------------------------- */

static _Thread_local long locks;

/* Stands in front of the system's. */
__attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    static int (*_Atomic next)(pthread_mutex_t *);

    if (!next)
        next = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
    locks++;
    return next(mutex);
}

static int put_at(const double *from, MPI_Datatype type, int target, MPI_Aint at)
{
    int rc = MPI_Put(from, 1, type, target, at, 1, type, win);

    MPI_Win_flush(target, win);
    return rc;
}

static long locks_of_mpi(MPI_Datatype type)
{
    long before = locks;

    for (int i = 0; i < OFTEN; i++) {
        PMPI_Put(out, 0, type, 1, 0, 0, type, win);
        PMPI_Win_flush(1, win);
    }
    return locks - before;
}

static long locks_of_puts(MPI_Datatype type)
{
    long before;

    for (int i = 0; i < WARM; i++)
        put_at(out, type, 1, 0);
    CHECK(count_put_objects == MOVED, "a put was not moved");
    before = locks;
    for (int i = 0; i < OFTEN; i++)
        put_at(out, type, 1, 0);
    return locks - before;
}

/* ---- contents ---------------------------------------------------------------------------------------------------- */

/* Puts every other one of `n` elements, and gets all of the target's memory back by the MPI's own call. */
static void check_put(MPI_Datatype type, int n, int target, MPI_Aint at, const char *text)
{
    static double next = 1, got[ROOM];
    const double *from = out + (int)next % 3;
    bool right = true;

    for (int i = 0; i < ROOM; i++)
        out[i] = next++;
    put_at(from, type, target, at);
    PMPI_Get(got, ROOM, MPI_DOUBLE, target, 0, ROOM, MPI_DOUBLE, win);
    PMPI_Win_flush(target, win);
    for (int i = 0; i < n; i++)
        right = right && got[at + 2 * i] == from[2 * i];
    CHECK(right && got[at + 2 * n] != from[2 * n], "%s", text);
}

static void check_like(MPI_Datatype few, MPI_Datatype many)
{
    for (int i = 0; i < WARM; i++) {
        check_put(many, LONG, 1, i % 5, "a put like another one at another place");
        check_put(few, SHORT, 1, i % 5, "a put of a shorter type");
        check_put(many, LONG, 0, i % 5, "a put to another rank");
    }
}

/* What goes beyond the window is for MPI to report, or not. */
static void check_beyond(MPI_Datatype many)
{
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    put_at(out, many, 1, ROOM - SPAN);
    CHECK(count_put_objects == MOVED, "a put to the end of the window was not moved");
    put_at(out, many, 1, ROOM - SPAN + 1);
    CHECK(count_put_objects == LEFT, "a put beyond the window was moved");
}

static void check_new_type(MPI_Datatype *old)
{
    MPI_Datatype handle = *old, again;

    MPI_Type_free(old);
    again = every_other_with_handle(handle, SHORT);
    if (again == MPI_DATATYPE_NULL) {
        printf("no handle was reused\n");
        return;
    }
    for (int i = 0; i < WARM; i++)
        check_put(again, SHORT, 1, i % 5, "a put of a new type with the handle of another");
    CHECK(count_put_objects == MOVED, "a put of a new type with the handle of another was left to MPI");
    MPI_Type_free(&again);
}

/* Contiguous puts are always left to MPI. */
static void check_contiguous(void)
{
    MPI_Datatype type;

    MPI_Type_contiguous(SHORT, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < WARM; i++)
        put_at(out, type, 1, 0);
    CHECK(count_put_objects == LEFT, "a contiguous put was moved");
    check_new_type(&type);
}

static void origin(void)
{
    MPI_Datatype few = every_other(SHORT), many = every_other(LONG);
    long ours = locks_of_puts(many), theirs = locks_of_mpi(many);

    CHECK(ours < theirs + OFTEN / 4, "%d puts that were moved before took %ld locks, MPI's part %ld", OFTEN, ours,
          theirs);
    check_like(few, many);
    check_beyond(many);
    check_new_type(&many);
    check_contiguous();
    MPI_Type_free(&few);
}

static void check_all(void)
{
    out = calloc(ROOM, sizeof *out);
    window_run(ROOM * sizeof *memory, sizeof *memory, &memory, &win, origin);
    free(out);
}

int main(int argc, char **argv)
{
    return test_run(&argc, &argv, check_all);
}
