/*
 * A put that is left to MPI is remembered by its types and counts, and must not be taken for another: not for one of
 * another type, and not for one of a new type with the handle of a type that was freed. A tool below sees what MPI has
 * to put, and makes one of the two ways slow, so that trials choose the other.
 */
#include "tests/mpi/one_sided/window.h"
#include "tests/mpi/support/count_calls.h"
#include "tests/mpi/support/handles.h"
#include "tests/mpi/support/harness.h"

#include <stdlib.h>

/* No multiple of OFTEN lies just before a number of uses at which trials come back. */
enum { SHORT = 8, LONG = 1024, OFTEN = 600, PATIENCE = 20 };

/* The target's objects in a call of the MPI below. */
enum { MOVED, LEFT };

static double *out;
static MPI_Win win;

static int put(MPI_Datatype type)
{
    MPI_Put(out, 1, type, 1, 0, 1, type, win);
    MPI_Win_flush(1, win);
    return count_put_objects;
}

/* Puts until trials have chosen a way, which many puts in succession show. Other programs on this machine may delay
 * that. */
static void settle(MPI_Datatype type, int way)
{
    count_slow_put = way == MOVED ? LEFT : MOVED;
    for (int turn = 0, alike = 0; turn < PATIENCE && alike < OFTEN / 4; turn++)
        for (int i = 0; i < OFTEN; i++)
            alike = put(type) == way ? alike + 1 : 0;
    count_slow_put = -1;
}

static void origin(void)
{
    MPI_Datatype few = every_other(SHORT), many = every_other(LONG), handle = few, again;

    settle(few, LEFT);
    settle(many, MOVED);
    CHECK(put(few) == LEFT, "a put that is slow otherwise was not left to MPI");
    CHECK(put(many) == MOVED, "a put of another type was left to MPI");
    MPI_Type_free(&few);
    again = every_other_with_handle(handle, LONG);
    if (again == MPI_DATATYPE_NULL) {
        printf("no handle was reused\n");
    } else {
        for (int i = 0; i < OFTEN / 4; i++)
            put(again);
        CHECK(put(again) == MOVED, "a put of a type with the handle of another was left to MPI");
        MPI_Type_free(&again);
    }
    MPI_Type_free(&many);
}

static void check_all(void)
{
    double *memory;

    out = calloc(2 * LONG, sizeof *out);
    window_run(2 * LONG * sizeof *memory, 1, &memory, &win, origin);
    free(out);
}

int main(int argc, char **argv)
{
    return test_run(&argc, &argv, check_all);
}
