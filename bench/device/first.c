/*
 * The first seconds of a process with a GPU: MPI_Pack of a transposed matrix in GPU memory, again and again, while
 * kernels are fetched and compiled. Tells how long a call takes in each interval, and how many calls take more than a
 * millisecond. Run it with an empty cache and a warm one, on one core (taskset -c 0) and on several.
 *
 * usage: device_first_<mpi> [-n rows of doubles] [-t seconds] [-d driver]
 */
#include "base/samples.h"
#include "bench/clock.h"
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

#include <unistd.h>

enum { SKIPPED = 77, MAX_SAMPLES = 200000, INTERVALS = 8 };

typedef struct tally {
    int n, slow;
    double worst;
} tally;

static double samples[MAX_SAMPLES];

/* Columns of a square matrix, one after the other. */
static MPI_Datatype transposed(int n)
{
    MPI_Datatype column, resized, type;

    MPI_Type_vector(n, 1, n, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &resized);
    MPI_Type_contiguous(n, resized, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&column);
    MPI_Type_free(&resized);
    return type;
}

/* Calls until the clock says `until`. */
static tally run(const gpu_memory *matrix, const gpu_memory *packed, MPI_Datatype type, double until)
{
    tally t = {0};

    for (double begin = bench_now(); begin < until; begin = bench_now()) {
        int at = 0;
        double us;

        MPI_Pack(matrix->at, 1, type, packed->at, (int)packed->bytes, &at, MPI_COMM_SELF);
        us = (bench_now() - begin) / 1e3;
        if (t.n < MAX_SAMPLES)
            samples[t.n++] = us;
        t.slow += us > 1000;
        t.worst = us > t.worst ? us : t.worst;
    }
    return t;
}

static void measure(int n, double seconds)
{
    size_t bytes = (size_t)n * (size_t)n * sizeof(double);
    gpu_memory matrix = gpu_memory_make(GPU_DEVICE, bytes), packed = gpu_memory_make(GPU_DEVICE, bytes);
    MPI_Datatype type = transposed(n);
    double begin = bench_now();

    for (int i = 1; i <= INTERVALS; i++) {
        double until = seconds / (1 << (INTERVALS - i)); /* each interval ends at twice the time of the one before */
        tally t = run(&matrix, &packed, type, begin + until * 1e9);

        printf("until %8.3f s: %6d calls, median %9.1f µs, worst %9.1f µs, %d above 1 ms\n", until, t.n,
               t.n ? pw_samples_median(samples, t.n) : 0, t.worst, t.slow);
    }
    MPI_Type_free(&type);
    gpu_memory_free(&matrix);
    gpu_memory_free(&packed);
}

int main(int argc, char **argv)
{
    const char *driver = NULL;
    double seconds = 8;
    int option, n = 1024;

    while ((option = getopt(argc, argv, "n:t:d:")) >= 0) {
        if (option == 'n')
            n = atoi(optarg);
        else if (option == 't')
            seconds = atof(optarg);
        else if (option == 'd')
            driver = optarg;
        else
            return 2;
    }
    MPI_Init(&argc, &argv);
    if (!gpu_start(driver)) {
        MPI_Finalize();
        return SKIPPED;
    }
    gpu_set_current(gpu_primary(0));
    measure(n, seconds);
    MPI_Finalize();
    return 0;
}
