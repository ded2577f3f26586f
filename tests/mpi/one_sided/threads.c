/*
 * Several threads with one window: each puts and gets in places of its own and completes by itself, while the others do
 * the same. A thread that has flushed must find its data, even if another thread's flush has fetched it. One thread
 * ends after MPI.
 */
#include "tests/mpi/support/harness.h"

#include <pthread.h>

static pthread_barrier_t with_first; /* the first thread and the main one */

enum { THREADS = 4, DOUBLES = 300, ROUNDS = 150 };

typedef struct worker {
    pthread_t thread;
    int number, rank, nranks, rounds;
    MPI_Win win;
    MPI_Datatype type;
} worker;

static void flush(const worker *w, int how, int target)
{
    switch (how % 4) {
    case 0: MPI_Win_flush(target, w->win); break;
    case 1: MPI_Win_flush_all(w->win); break;
    case 2: MPI_Win_flush_local(target, w->win); break;
    default: MPI_Win_flush_local_all(w->win); break;
    }
}

static void *work(void *arg)
{
    worker *w = arg;
    double *buffer = malloc(sizeof *buffer * 2 * DOUBLES);

    for (int round = 0; round < w->rounds; round++) {
        int target = (w->rank + round) % w->nranks, wrong = 0;
        /* A place that only this thread of this rank uses. */
        MPI_Aint at = (MPI_Aint)(w->rank * THREADS + w->number) * DOUBLES;

        for (int i = 0; i < 2 * DOUBLES; i++)
            buffer[i] = w->rank * 1e6 + w->number * 1e5 + round * 1e2 + i % 100;
        MPI_Put(buffer, 1, w->type, target, at, DOUBLES, MPI_DOUBLE, w->win);
        MPI_Win_flush(target, w->win);
        for (int i = 0; i < 2 * DOUBLES; i++)
            buffer[i] = -1;
        MPI_Get(buffer, 1, w->type, target, at, DOUBLES, MPI_DOUBLE, w->win);
        flush(w, round + w->number, target);
        for (int i = 0; i < DOUBLES; i++)
            wrong +=
                buffer[2 * i] != w->rank * 1e6 + w->number * 1e5 + round * 1e2 + 2 * i % 100 || buffer[2 * i + 1] != -1;
        CHECK(wrong == 0, "thread %d, round %d: %d wrong", w->number, round, wrong);
    }
    free(buffer);
    for (int i = 0; i < 2 && w->number == 0; i++)
        pthread_barrier_wait(&with_first); /* it has worked; MPI has ended */
    return NULL;
}

int main(int argc, char **argv)
{
    worker workers[THREADS];
    int rc, rank, nranks, provided;
    double *memory;
    MPI_Datatype type;
    MPI_Win win;

    pthread_barrier_init(&with_first, NULL, 2);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    MPI_Type_vector(DOUBLES, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Win_allocate((MPI_Aint)sizeof *memory * nranks * THREADS * DOUBLES, sizeof *memory, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.number = i,
                              .rank = rank,
                              .nranks = nranks,
                              .rounds = argc > 1 ? atoi(argv[1]) : ROUNDS,
                              .win = win,
                              .type = type};
        if (provided == MPI_THREAD_MULTIPLE)
            pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 1; i < THREADS && provided == MPI_THREAD_MULTIPLE; i++)
        pthread_join(workers[i].thread, NULL);
    if (provided == MPI_THREAD_MULTIPLE)
        pthread_barrier_wait(&with_first);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Type_free(&type);
    rc = test_result();
    MPI_Finalize();
    if (provided == MPI_THREAD_MULTIPLE) {
        pthread_barrier_wait(&with_first);
        pthread_join(workers[0].thread, NULL);
    }
    return rc;
}
