/*
 * Random operations of all sorts against a shadow model, in several threads: messages in all modes, persistent ones,
 * every way of completing them, exchanges and collectives, with types that are made and freed while messages are under
 * way.
 *
 *     stress STEPS [THREADS [SEED]]
 *
 * Each step starts a message, completes some, or is a blocking call; about half as many operations complete on each
 * rank.
 */
#include "stress.h"

#include <pthread.h>

void stress_fail(lane *l, const char *what, const slot *s)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    if (l->failures++ < 5)
        fprintf(stderr, "rank %d, lane %d, step %ld: %s%s, tag %d, count %d\n", l->rank, l->id, l->step, what,
                s && s->as_packed ? ", as MPI_PACKED" : "", s ? s->tag : -1, s ? s->count : 0);
    pthread_mutex_unlock(&lock);
}

static void run(lane *l, long steps)
{
    for (l->step = 0; l->step < steps; l->step++) {
        int what = stress_draw(l, 10);

        if (what < 5)
            stress_start_message(l);
        else if (what < 6)
            stress_channel(l);
        else if (what < 9)
            stress_complete(l, false);
        else
            stress_blocking(l);
    }
    stress_complete(l, true);
    stress_close_channels(l);
    for (int i = 0; i < LANE_TYPES; i++)
        if (l->types[i] != MPI_DATATYPE_NULL)
            MPI_Type_free(&l->types[i]);
}

static long steps;

static void *run_lane(void *arg)
{
    run(arg, steps);
    return NULL;
}

static void open_lane(lane *l, int id, uint64_t seed)
{
    *l = (lane){.id = id, .schedule = seed * 1000003 + (uint64_t)id + 1};
    MPI_Comm_dup(MPI_COMM_WORLD, &l->comm);
    MPI_Comm_rank(l->comm, &l->rank);
    MPI_Comm_size(l->comm, &l->ranks);
    l->own = seed * 7919 + (uint64_t)(id * 64 + l->rank) + 17;
    for (int i = 0; i < LANE_TYPES; i++)
        l->types[i] = MPI_DATATYPE_NULL;
    for (int i = 0; i < LANE_REQUESTS; i++)
        l->requests[i] = MPI_REQUEST_NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 2 ? atoi(argv[2]) : 1, provided, rc;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
    lane *lanes = calloc((size_t)threads, sizeof *lanes);
    pthread_t *ids = calloc((size_t)threads, sizeof *ids);
    long operations = 0;

    steps = argc > 1 ? atol(argv[1]) : 1000;
    MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    if (threads > 1 && provided < MPI_THREAD_MULTIPLE)
        threads = 1;
    for (int i = 0; i < threads; i++)
        open_lane(&lanes[i], i, seed);
    for (int i = 1; i < threads; i++)
        pthread_create(&ids[i], NULL, run_lane, &lanes[i]);
    run_lane(&lanes[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(ids[i], NULL);
    for (int i = 0; i < threads; i++) {
        test_failures += lanes[i].failures;
        operations += lanes[i].operations;
        MPI_Comm_free(&lanes[i].comm);
    }
    if (lanes[0].rank == 0)
        printf("%ld operations of rank 0, seed %llu\n", operations, (unsigned long long)seed);
    rc = test_result();
    MPI_Finalize();
    free(lanes);
    free(ids);
    return rc;
}
