/*
 * Collectives of 2 GiB and more on GPU memory: the bytes of a staging buffer are counted beyond an int, whatever MPI
 * this is, since MPI gets a count of elements.
 *
 * usage: huge <driver, or ->. Exits 77, for "skipped", without a GPU, and where the stand-in would take more memory
 * than there is.
 */
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

#include <unistd.h>

enum { SKIPPED = 77, COUNT = (1 << 28) + 1000, CHUNK = 1 << 20, PRIME = 1000003, GIB_NEEDED = 8 };

static int rank, size;
static gpu_memory memory;
static double *chunk;

static double value(int of, int i)
{
    return (double)(i % PRIME) * (of + 1);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static void fill(int of)
{
    for (int at = 0; at < COUNT; at += CHUNK) {
        int n = least(CHUNK, COUNT - at);

        for (int i = 0; i < n; i++)
            chunk[i] = value(of, at + i);
        gpu_write(&memory, sizeof *chunk * (size_t)at, chunk, sizeof *chunk * (size_t)n);
    }
}

/* Checks that the values of all ranks add up to those of `of`. */
static void check(int of, const char *what)
{
    for (int at = 0; at < COUNT; at += CHUNK) {
        int n = least(CHUNK, COUNT - at), bad = 0;

        gpu_read(&memory, sizeof *chunk * (size_t)at, chunk, sizeof *chunk * (size_t)n);
        for (int i = 0; i < n; i++)
            bad += chunk[i] != value(of, at + i);
        CHECK(bad == 0, "%s: %d of %d elements from %d on", what, bad, n, at);
    }
}

/* MPICH's nonblocking broadcast between several ranks fails at such lengths, even without Packwright (4.0.2). */
static void broadcast(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    bool blocking = false;

#ifdef MPICH_NUMVERSION
    blocking = size > 1;
#endif
    if (blocking)
        MPI_Bcast(memory.at, COUNT, MPI_DOUBLE, size - 1, MPI_COMM_WORLD);
    else
        MPI_Ibcast(memory.at, COUNT, MPI_DOUBLE, size - 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void check_all(void)
{
    fill(rank);
    MPI_Allreduce(MPI_IN_PLACE, memory.at, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    check(size * (size + 1) / 2 - 1, "Allreduce");
    fill(rank);
    broadcast();
    check(size - 1, "Bcast");
}

/* Returns the same answer on all ranks. */
static bool has_room(void)
{
    int room = !gpu_is_fake() || sysconf(_SC_AVPHYS_PAGES) / (1 << 18) >= (long)GIB_NEEDED * size;

    MPI_Allreduce(MPI_IN_PLACE, &room, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return room;
}

int main(int argc, char **argv)
{
    int rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    setenv("FAKE_ARENA_GIB", "3", 1);
    if (!gpu_start_as_told(argc, argv) || !has_room()) {
        if (gpu_is_fake())
            printf("SKIPPED: too little memory\n");
        MPI_Finalize();
        return SKIPPED;
    }
    memory = gpu_memory_make(GPU_DEVICE, sizeof *chunk * COUNT);
    chunk = malloc(sizeof *chunk * CHUNK);
    check_all();
    free(chunk);
    gpu_memory_free(&memory);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
