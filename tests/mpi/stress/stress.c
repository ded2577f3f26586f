/*
 * Random operations of all families against a shadow model, in several threads: messages in all modes, persistent ones,
 * every way of completing them, collectives, windows, files, communicators that are replaced, and types that are made
 * and freed while all that is under way.
 *
 *     stress STEPS [THREADS [SEED [WITHOUT]]]
 *
 * Each step starts something, completes some, or is a call of all ranks; two steps make about one operation a rank.
 * WITHOUT names families that are left out, by their letters: c(ollectives), w(indows), f(iles), d(uplicates of
 * communicators). Files lie in $TMPDIR.
 */
#include "tests/mpi/stress/stress.h"

#include <pthread.h>
#include <sys/resource.h>

static const char *const family_names[FAMILIES] = {"messages",
                                                   "persistent",
                                                   "blocking",
                                                   "collectives",
                                                   "nonblocking collectives",
                                                   "persistent collectives",
                                                   "one-sided",
                                                   "files",
                                                   "packing",
                                                   "types",
                                                   "communicators"};

static long steps;
static const char *without = "";

void stress_fail(lane *l, const char *what, const slot *s)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    if (l->failures++ < 5)
        fprintf(stderr, "rank %d, lane %d, step %ld: %s%s%s, tag %d, count %d\n", l->rank, l->id, l->step, what,
                s ? " of: " : "", s ? s->what : "", s ? s->tag : -1, s ? s->count : 0);
    pthread_mutex_unlock(&lock);
}

static bool has(char letter)
{
    return !strchr(without, letter);
}

/* Makes a call of all ranks. Random numbers are drawn even for calls that are left out. */
static void together(lane *l)
{
    int what = stress_draw(l, 32);

    if (what < 12 && has('c'))
        stress_collective(l);
    else if (what == 12 && has('d'))
        stress_change_comm(l);
    else if ((what == 13 || what == 14) && has('w'))
        stress_one_sided(l);
    else if ((what == 15 || what == 16) && has('f'))
        stress_file(l);
    else
        stress_blocking(l);
}

static void run(lane *l)
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
            together(l);
    }
    stress_complete(l, true);
    stress_close_channels(l);
    for (int i = 0; i < LANE_TYPES; i++)
        if (l->types[i] != MPI_DATATYPE_NULL)
            MPI_Type_free(&l->types[i]);
}

static void *run_lane(void *arg)
{
    run(arg);
    return NULL;
}

static void open_lane(lane *l, int id, bool alone, uint64_t seed)
{
    *l = (lane){.id = id, .alone = alone, .schedule = seed * 1000003 + (uint64_t)id + 1};
    MPI_Comm_dup(MPI_COMM_WORLD, &l->comm);
    MPI_Comm_rank(l->comm, &l->rank);
    MPI_Comm_size(l->comm, &l->ranks);
    l->own = seed * 7919 + (uint64_t)(id * 64 + l->rank) + 17;
    for (int i = 0; i < LANE_TYPES; i++)
        l->types[i] = MPI_DATATYPE_NULL;
    for (int i = 0; i < LANE_REQUESTS; i++)
        l->requests[i] = MPI_REQUEST_NULL;
    if (has('w'))
        stress_open_window(l);
    if (has('f'))
        stress_open_file(l);
}

static void close_lane(lane *l)
{
    if (has('f'))
        stress_close_file(l);
    if (has('w'))
        stress_close_window(l);
    test_failures += l->failures;
    MPI_Comm_free(&l->comm);
}

/* What all ranks have done, and the memory that the largest has needed. */
static void report(const lane *lanes, int threads, uint64_t seed)
{
    long mine[FAMILIES] = {0}, all[FAMILIES], total = 0, kib;
    struct rusage usage;

    for (int i = 0; i < threads; i++)
        for (int f = 0; f < FAMILIES; f++)
            mine[f] += lanes[i].operations[f];
    getrusage(RUSAGE_SELF, &usage);
    PMPI_Reduce(mine, all, FAMILIES, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    PMPI_Reduce(&usage.ru_maxrss, &kib, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (lanes[0].rank != 0)
        return;
    for (int f = 0; f < FAMILIES; f++)
        total += all[f];
    printf("%ld operations, seed %llu, %ld MiB:", total, (unsigned long long)seed, kib / 1024);
    for (int f = 0; f < FAMILIES; f++)
        printf("%s %ld %s", f ? "," : "", all[f], family_names[f]);
    printf("\n");
}

int main(int argc, char **argv)
{
    int threads = argc > 2 ? atoi(argv[2]) : 1, provided, rc;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
    lane *lanes = calloc((size_t)threads, sizeof *lanes);
    pthread_t *ids = calloc((size_t)threads, sizeof *ids);

    steps = argc > 1 ? atol(argv[1]) : 1000;
    without = argc > 4 ? argv[4] : "";
    MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    if (threads > 1 && provided < MPI_THREAD_MULTIPLE)
        threads = 1;
    for (int i = 0; i < threads; i++)
        open_lane(&lanes[i], i, threads == 1, seed);
    for (int i = 1; i < threads; i++)
        pthread_create(&ids[i], NULL, run_lane, &lanes[i]);
    run_lane(&lanes[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(ids[i], NULL);
    report(lanes, threads, seed);
    for (int i = 0; i < threads; i++)
        close_lane(&lanes[i]);
    rc = test_result();
    MPI_Finalize();
    free(lanes);
    free(ids);
    return rc;
}
