/*
 * What goes wrong with a GPU, and what must not: failures of the driver injected into the stand-in, contexts, memory
 * that changes its kind, and that a steady state allocates nothing. One rank, which sends to itself.
 *
 * usage: faults <driver> [specialised]
 */
#include "tests/mpi/gpu/fake.h"
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

#include <sys/mman.h>

enum { N = 1000, TAG = 3, STRIDE = 16, BYTES = STRIDE * N };

static void (*fail)(const char *, int, int);
static bool specialised; /* types have kernels of their own */

/* The type of all messages: N elements, a stride apart. */
static MPI_Datatype type;
static size_t element_bytes;

static void make_type(MPI_Datatype element)
{
    int bytes;

    MPI_Type_size(element, &bytes);
    element_bytes = (size_t)bytes;
    MPI_Type_create_hvector(N, 1, STRIDE, element, &type);
    MPI_Type_commit(&type);
}

/* Sends elements from device memory to other memory, through MPI. */
static int exchange(const gpu_memory *out, const gpu_memory *in, int seed, bool *right)
{
    static unsigned char from[BYTES], want[BYTES], got[BYTES];
    int rc;

    test_fill(from, BYTES, (unsigned)seed);
    test_fill(want, BYTES, (unsigned)seed + 1);
    gpu_write(out, 0, from, BYTES);
    gpu_write(in, 0, want, BYTES);
    for (int i = 0; i < N; i++)
        memcpy(want + STRIDE * i, from + STRIDE * i, element_bytes);
    rc = MPI_Sendrecv(out->at, 1, type, 0, TAG, in->at, 1, type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    gpu_read(in, 0, got, BYTES);
    *right = memcmp(got, want, BYTES) == 0;
    return rc;
}

static void expect_right(const char *what, const gpu_memory *out, const gpu_memory *in)
{
    bool right;
    int rc = exchange(out, in, (int)strlen(what), &right);

    CHECK(rc == MPI_SUCCESS && right, "%s: rc %d", what, rc);
}

typedef struct failure {
    const char *call;
    int result;
} failure;

static void check_failure(failure f, const gpu_memory *out, const gpu_memory *in)
{
    fail(f.call, 0, f.result);
    expect_right(f.call, out, in);
    fail(f.call, 0, 0);
    expect_right("afterwards", out, in);
}

/* Tier 0 is compiled in the background, and until it comes the driver's copies do its work: kernels can be refused
   only where there are some, copies only where they are not all there is. */
static void await_kernels(const gpu_memory *out, const gpu_memory *in)
{
    double end = MPI_Wtime() + 120;

    while (gpu_calls("cuLaunchKernel") + gpu_calls("cuGraphLaunch") == 0 && MPI_Wtime() < end)
        expect_right("waiting for kernels", out, in);
    CHECK(gpu_calls("cuLaunchKernel") + gpu_calls("cuGraphLaunch") > 0, "no kernel was launched");
}

/* The driver refuses a module when one comes for a new type. */
static void check_refused(failure f, MPI_Datatype element, const gpu_memory *out, const gpu_memory *in)
{
    long before = gpu_calls(f.call);

    MPI_Type_free(&type);
    make_type(element);
    check_failure(f, out, in);
    CHECK(!specialised || gpu_calls(f.call) > before, "%s was not called", f.call);
}

static void check_failures(const gpu_memory *out, const gpu_memory *in)
{
    check_failure((failure){"cuMemAlloc_v2", FAKE_NO_MEMORY}, out, in);
    check_failure((failure){"cuMemHostAlloc", FAKE_NO_MEMORY}, out, in);
    await_kernels(out, in);
    check_failure((failure){"cuGraphLaunch", 801}, out, in);
    check_failure((failure){"cuLaunchKernel", 701}, out, in);
    check_refused((failure){"cuModuleLoadData", 209}, MPI_FLOAT, out, in);
    check_refused((failure){"cuModuleGetFunction", FAKE_NOT_FOUND}, MPI_SHORT, out, in);
    MPI_Type_free(&type);
    make_type(MPI_DOUBLE);
    check_failure((failure){"cuMemcpy2DAsync_v2", FAKE_INVALID}, out, in);
    check_failure((failure){"cuStreamCreate", FAKE_NO_MEMORY}, out, in);
    fail("cuMemAlloc_v2", 0, FAKE_NO_MEMORY);
    fail("cuMemHostAlloc", 0, FAKE_NO_MEMORY);
    expect_right("no memory at all", out, in);
    fail("cuMemAlloc_v2", 0, 0);
    fail("cuMemHostAlloc", 0, 0);
}

static void check_steady(const gpu_memory *out, const gpu_memory *in)
{
    long device, pinned, streams;

    for (int i = 0; i < 3; i++)
        expect_right("warming up", out, in);
    device = gpu_calls("cuMemAlloc_v2");
    pinned = gpu_calls("cuMemHostAlloc");
    streams = gpu_calls("cuStreamCreate") + gpu_calls("cuEventCreate") + gpu_calls("cuModuleLoadData");
    for (int i = 0; i < 50; i++)
        expect_right("steady", out, in);
    CHECK(gpu_calls("cuMemAlloc_v2") == device && gpu_calls("cuMemHostAlloc") == pinned &&
              gpu_calls("cuStreamCreate") + gpu_calls("cuEventCreate") + gpu_calls("cuModuleLoadData") == streams,
          "%ld more allocations of device memory, %ld of pinned memory", gpu_calls("cuMemAlloc_v2") - device,
          gpu_calls("cuMemHostAlloc") - pinned);
}

/* Host memory from which a message was sent is unmapped, and GPU memory appears at its address. */
static void check_reuse(const gpu_memory *in)
{
    gpu_memory host = {.kind = GPU_HOST, .bytes = BYTES}, device;
    void *first = gpu_current();

    host.at = mmap(NULL, FAKE_ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    expect_right("host memory", &host, in);
    expect_right("host memory again", &host, in);
    munmap(host.at, FAKE_ARENA);
    ((void (*)(void *))gpu_symbol("fake_place"))(host.at);
    gpu_set_current(gpu_primary(1));
    device = gpu_memory_make(GPU_DEVICE, BYTES);
    CHECK(device.at == host.at, "the stand-in has its memory elsewhere");
    expect_right("device memory in the place of host memory", &device, in);
    gpu_set_current(first);
}

/* Buffers of another context on the same GPU, and of another GPU, with and without a current context: the current
 * context stays. */
static void check_contexts(const gpu_memory *out, const gpu_memory *in)
{
    void *first = gpu_current(), *second = gpu_primary(1);
    gpu_memory of_own, of_second;

    gpu_new_context(0);
    of_own = gpu_memory_make(GPU_DEVICE, BYTES);

    gpu_set_current(second);
    of_second = gpu_memory_make(GPU_DEVICE, BYTES);
    expect_right("between contexts", &of_own, in);
    CHECK(gpu_current() == second, "another context is current");
    expect_right("between GPUs", &of_second, &of_own);
    CHECK(gpu_current() == second, "another context is current");
    gpu_set_current(NULL);
    expect_right("without a context", out, &of_second);
    CHECK(gpu_current() == NULL, "a context is current");
    gpu_set_current(first);
    expect_right("back", out, in);
}

static void check_lost(const gpu_memory *out, const gpu_memory *in)
{
    bool right;
    int rc;

    fail("cuStreamSynchronize", 0, FAKE_LAUNCH_FAILED);
    fail("cuLaunchKernel", 0, FAKE_LAUNCH_FAILED);
    fail("cuMemcpyAsync", 0, FAKE_LAUNCH_FAILED);
    fail("cuMemcpy2DAsync_v2", 0, FAKE_LAUNCH_FAILED);
    rc = exchange(out, in, 5, &right);
    CHECK(rc != MPI_SUCCESS, "a lost GPU is no error");
    rc = exchange(out, in, 5, &right);
    CHECK(rc != MPI_SUCCESS, "a lost GPU is no error the second time");
}

int main(int argc, char **argv)
{
    gpu_memory out, in;
    int rc;

    MPI_Init(&argc, &argv);
    if (!gpu_start(argc > 1 ? argv[1] : "")) {
        MPI_Finalize();
        return 1;
    }
    specialised = argc > 2;
    fail = (void (*)(const char *, int, int))gpu_symbol("fake_fail");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    make_type(MPI_DOUBLE);
    out = gpu_memory_make(GPU_DEVICE, BYTES);
    in = gpu_memory_make(GPU_DEVICE, BYTES);
    /* Nothing is in the pools yet: the first row finds them empty. */
    check_failures(&out, &in);
    check_steady(&out, &in);
    check_reuse(&in);
    check_contexts(&out, &in);
    check_lost(&out, &in);
    MPI_Type_free(&type);
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
