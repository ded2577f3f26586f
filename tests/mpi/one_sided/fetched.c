/* MPI_Get_accumulate whose origin or result has gaps, in windows that MPI has allocated and in others. */
#include "tests/mpi/support/harness.h"

enum { N = 60 };

static int rank, own[N];

static void check(MPI_Win win, int *target, MPI_Datatype gaps, bool gaps_sent, bool gaps_got, const char *what)
{
    int sent[2 * N], got[2 * N], wrong = 0, step_sent = gaps_sent ? 2 : 1, step_got = gaps_got ? 2 : 1;

    for (int i = 0; i < 2 * N; i++) {
        sent[i] = 1000 + i;
        got[i] = -1;
    }
    for (int i = 0; i < N; i++)
        target[i] = 10 * i;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Get_accumulate(sent, gaps_sent ? 1 : N, gaps_sent ? gaps : MPI_INT, got, gaps_got ? 1 : N,
                           gaps_got ? gaps : MPI_INT, 1, 0, N, MPI_INT, MPI_SUM, win);
        MPI_Win_unlock(1, win);
        for (int i = 0; i < N; i++)
            wrong += got[step_got * i] != 10 * i;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        for (int i = 0; i < N; i++)
            wrong += target[i] != 10 * i + 1000 + step_sent * i;
        MPI_Win_unlock(1, win);
    }
    CHECK(wrong == 0, "%s, origin %s gaps, result %s: %d wrong", what, gaps_sent ? "with" : "without",
          gaps_got ? "with" : "without", wrong);
}

int main(int argc, char **argv)
{
    MPI_Datatype gaps;
    MPI_Win win;
    int *memory, failed;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_vector(N, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    for (int both = 0; both < 4; both++) {
        MPI_Win_allocate(N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        check(win, memory, gaps, both & 1, both & 2, "allocated");
        MPI_Win_free(&win);
        MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        check(win, own, gaps, both & 1, both & 2, "created");
        MPI_Win_free(&win);
    }
    MPI_Type_free(&gaps);
    failed = test_result();
    MPI_Finalize();
    return failed;
}
