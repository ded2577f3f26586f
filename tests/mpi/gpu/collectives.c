/*
 * Collectives with random types, as tests/mpi/collective/collectives.c tries them, with buffers in GPU memory, in host
 * memory, or one of both; the oracle is the MPI below on host memory.
 *
 * usage: collectives <driver, or -> ranks|between|neighbours [trials of each call [first seed [only this seed]]]. Exits
 * 77, for "skipped", without a GPU.
 */
#include "tests/mpi/collective/data.h"
#include "tests/mpi/collective/groups.h"
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

enum { SKIPPED = 77, SLABS = 2, SLAB = 96 << 20 };

/* A trial has two sides at most. */
static gpu_memory slabs[SLABS];
static bool taken[SLABS];

static void *take(size_t bytes)
{
    for (int i = 0; i < SLABS && bytes <= SLAB; i++)
        if (!taken[i]) {
            taken[i] = true;
            return slabs[i].at;
        }
    fprintf(stderr, "no slab for %zu bytes\n", bytes);
    abort();
}

static void give(void *memory)
{
    taken[memory != slabs[0].at] = false;
}

static bool is_ours(const void *p)
{
    return p == slabs[0].at || p == slabs[1].at;
}

static void copy(void *to, const void *from, size_t bytes)
{
    if (is_ours(to))
        gpu_write(&(gpu_memory){.kind = GPU_DEVICE, .at = to}, 0, from, bytes);
    else
        gpu_read(&(gpu_memory){.kind = GPU_DEVICE, .at = (unsigned char *)from}, 0, to, bytes);
}

int main(int argc, char **argv)
{
    static const data_kind device = {.take = take, .give = give, .copy = copy};
    bool has_gpu = gpu_start_as_told(argc, argv);
    int rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (!has_gpu) {
        MPI_Finalize();
        return SKIPPED;
    }
    for (int i = 0; i < SLABS; i++)
        slabs[i] = gpu_memory_make(GPU_DEVICE, SLAB);
    data_other_kind = &device;
    groups_make(argc > 2 ? argv[2] : "ranks");
    groups_try(argc > 3 ? atoi(argv[3]) : 10, argc > 4 ? strtoull(argv[4], NULL, 0) : 200000,
               argc > 5 ? strtoull(argv[5], NULL, 0) : 0);
    groups_free();
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
