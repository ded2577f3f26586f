/*
 * MPI_Buffer_attach of GPU memory: buffered sends work, and MPI_Buffer_detach returns what was attached.
 *
 * usage: buffered <driver, or ->. Exits 77, for "skipped", without a GPU.
 */
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

enum { SKIPPED = 77, COUNT = 100, ROOM = 1 << 14 };

static int attach(bool large, void *buffer)
{
#if MPI_VERSION >= 4
    if (large)
        return MPI_Buffer_attach_c(buffer, ROOM);
#endif
    (void)large;
    return MPI_Buffer_attach(buffer, ROOM);
}

static void *detach(bool large, long *size)
{
    void *buffer = NULL;
    int narrow = -1;

#if MPI_VERSION >= 4
    if (large) {
        MPI_Count wide = -1;

        MPI_Buffer_detach_c(&buffer, &wide);
        *size = (long)wide;
        return buffer;
    }
#endif
    (void)large;
    MPI_Buffer_detach(&buffer, &narrow);
    *size = narrow;
    return buffer;
}

/* Sends a message that stays in the buffer until it is received: from `out`, or if that is NULL from an array on the
 * stack. */
static void exchange(const char *what, const void *out, MPI_Datatype type)
{
    int sent[2 * COUNT], got[2 * COUNT];

    for (int i = 0; i < 2 * COUNT; i++) {
        sent[i] = i;
        got[i] = -1;
    }
    MPI_Bsend(out ? out : sent, 1, type, 0, 1, MPI_COMM_SELF);
    memset(sent, 0, sizeof sent);
    MPI_Recv(got, 1, type, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2 * COUNT; i++)
        CHECK(got[i] == (i % 2 ? -1 : i), "%s: element %d is %d", what, i, got[i]);
}

static void check(const gpu_memory *buffer, const gpu_memory *out, bool large)
{
    int values[2 * COUNT];
    MPI_Datatype type;
    long size;
    void *detached;

    for (int i = 0; i < 2 * COUNT; i++)
        values[i] = i;
    gpu_write(out, 0, values, sizeof values);
    MPI_Type_vector(COUNT, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    CHECK(attach(large, buffer->at) == MPI_SUCCESS, "%s, large %d", gpu_kind_name(buffer->kind), large);
    exchange("from host memory", NULL, type);
    exchange("from GPU memory", out->at, type);
    detached = detach(large, &size);
    CHECK(detached == buffer->at && size == ROOM, "%s, large %d: %p of %ld bytes detached instead of %p",
          gpu_kind_name(buffer->kind), large, detached, size, (void *)buffer->at);
    MPI_Type_free(&type);
}

/* Only one buffer is attached at a time; the first stays. */
static void check_second(const gpu_memory *first, const gpu_memory *second)
{
    static char host[ROOM];
    int ours, native;
    long size;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    attach(false, first->at);
    native = test_class_of(PMPI_Buffer_attach(host, ROOM));
    ours = test_class_of(attach(false, second->at));
    CHECK(ours == native, "a second buffer: class %d, natively %d", ours, native);
    CHECK(detach(false, &size) == first->at, "the first buffer, %ld bytes", size);
}

int main(int argc, char **argv)
{
    gpu_memory buffer, other, out;
    int rc;

    MPI_Init(&argc, &argv);
    if (!gpu_start_as_told(argc, argv)) {
        MPI_Finalize();
        return SKIPPED;
    }
    out = gpu_memory_make(GPU_DEVICE, ROOM);
    for (int kind = 0; kind < GPU_KINDS; kind++) {
        buffer = gpu_memory_make((gpu_kind)kind, ROOM);
        for (int large = 0; large < 2; large++)
            check(&buffer, &out, large);
    }
    buffer = gpu_memory_make(GPU_DEVICE, ROOM);
    other = gpu_memory_make(GPU_DEVICE, ROOM);
    check_second(&buffer, &other);
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
