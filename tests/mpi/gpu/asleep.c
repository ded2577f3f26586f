/*
 * A CUDA driver that is in the process, but that nobody has initialised: libraries of networks map it under programs
 * that never use a GPU. Then it is not asked about buffers; and once the program initialises it, it is.
 *
 * usage: asleep <driver, or ->. Exits 77, for "skipped", without a GPU.
 */
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

#include <sys/mman.h>

enum { SKIPPED = 77, BLOCKS = 300, STRIDE = 4, BYTES = BLOCKS * STRIDE * 8, MESSAGES = 50, APART = 4 << 20 };

static MPI_Datatype column;
static unsigned char packed[BLOCKS * 8];

static long questions(void)
{
    return gpu_calls("cuPointerGetAttributes");
}

static bool is_column(const unsigned char *from)
{
    for (size_t i = 0; i < BLOCKS; i++)
        if (memcmp(packed + i * 8, from + i * STRIDE * 8, 8) != 0)
            return false;
    return true;
}

static void fill(unsigned char *at)
{
    for (int i = 0; i < BYTES; i++)
        at[i] = (unsigned char)(i * 13 % 251);
}

static void send_to_self(void *from)
{
    memset(packed, 0, sizeof packed);
    MPI_Sendrecv(from, 1, column, 0, 5, packed, sizeof packed, MPI_BYTE, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

/* Each message comes from memory that was never seen before. */
static void check_asleep(void)
{
    unsigned char *all = mmap(NULL, (size_t)MESSAGES * APART, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    CHECK(all != MAP_FAILED, "no addresses");
    for (size_t i = 0; i < MESSAGES; i++) {
        fill(all + i * APART);
        send_to_self(all + i * APART);
        CHECK(is_column(all + i * APART), "message %zu: wrong bytes", i);
    }
    CHECK(questions() == 0, "a driver that sleeps was asked about buffers %ld times", questions());
    munmap(all, (size_t)MESSAGES * APART);
}

static void check_awake(const char *path)
{
    static unsigned char host[BYTES];
    gpu_memory device;

    if (!gpu_start(path))
        return;
    device = gpu_memory_make(GPU_DEVICE, BYTES);
    fill(host);
    gpu_write(&device, 0, host, BYTES);
    send_to_self(device.at);
    CHECK(is_column(host), "from GPU memory: wrong bytes");
    CHECK(!gpu_is_fake() || questions() > 0, "the driver was not asked about GPU memory");
    gpu_memory_free(&device);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 && strcmp(argv[1], "-") != 0 ? argv[1] : NULL;

    int rc;

    if (!gpu_map(path)) {
        printf("SKIPPED: there is no CUDA driver\n");
        return SKIPPED;
    }
    MPI_Init(&argc, &argv);
    MPI_Type_vector(BLOCKS, 8, STRIDE * 8, MPI_BYTE, &column);
    MPI_Type_commit(&column);
    check_asleep();
    check_awake(path);
    MPI_Type_free(&column);
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
