/* A short put follows a get from the same target that is still under way: a local flush must complete both. */
#include "tests/mpi/support/harness.h"

enum { ROUNDS = 50, MOST = 5000 };

typedef struct place {
    MPI_Win win;
    double *memory; /* what the other rank gets; behind it is where that rank puts */
    int rank;
} place;

/* Returns what rank 0 must find in rank 1's window in a round; it differs from round to round. */
static double value(int round, int i)
{
    return 1e6 * (round + 1) + i;
}

static void flush(const place *p, int round)
{
    if (round % 2)
        MPI_Win_flush_local(1, p->win);
    else
        MPI_Win_flush_local_all(p->win);
}

static int get(const place *p, int round, MPI_Datatype type, int n)
{
    static double buffer[2 * MOST];
    double mark = round;
    int wrong = 0;

    for (int i = 0; i < 2 * n; i++)
        buffer[i] = -1;
    MPI_Get(buffer, 1, type, 1, 0, n, MPI_DOUBLE, p->win);
    MPI_Put(&mark, 1, MPI_DOUBLE, 1, MOST, 1, MPI_DOUBLE, p->win);
    flush(p, round);
    for (int i = 0; i < n; i++)
        wrong += buffer[2 * i] != value(round, i) || buffer[2 * i + 1] != -1;
    MPI_Win_flush(1, p->win);
    return wrong;
}

static void exchange(const place *p, int n)
{
    MPI_Datatype type;

    MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < n && p->rank == 1; i++)
            p->memory[i] = value(round, i);
        MPI_Win_sync(p->win);
        MPI_Barrier(MPI_COMM_WORLD);
        if (p->rank == 0) {
            int wrong = get(p, round, type, n);

            CHECK(wrong == 0, "%d doubles, round %d: %d wrong", n, round, wrong);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_sync(p->win);
        CHECK(p->rank != 1 || p->memory[MOST] == round, "%d doubles, round %d: put %g", n, round, p->memory[MOST]);
    }
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    place p;
    int rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    MPI_Alloc_mem((MPI_Aint)sizeof *p.memory * (MOST + 1), MPI_INFO_NULL, &p.memory);
    MPI_Win_create(p.memory, (MPI_Aint)sizeof *p.memory * (MOST + 1), sizeof *p.memory, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &p.win);
    MPI_Win_lock_all(0, p.win);
    for (int n = 5; n <= MOST; n *= 10)
        exchange(&p, n);
    MPI_Win_unlock_all(p.win);
    MPI_Win_free(&p.win);
    MPI_Free_mem(p.memory);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
