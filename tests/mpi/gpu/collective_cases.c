/*
 * Collectives on GPU memory in unusual cases: blocks of one call in several memories, buffers that are
 * named by their end, no memory for staging, a lost GPU. MPI, which cannot touch GPU memory, must not get any, and
 * after an error data is as before. One rank, with the stand-in for the driver.
 *
 * usage: collective_cases <driver>
 */
#include "tests/mpi/gpu/fake.h"
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"
#include "tests/support/address_space.h"

#include <sys/resource.h>

static void (*fail)(const char *, int, int);

/* ---- blocks in several memories ---------------------------------------------------------------------------------- */

enum { BLOCKS = 24, SMALL = 4096, ELEMENTS = 100, SHAPES = 3 };

enum { HOST, FIRST_GPU, SECOND_GPU, PLACES };

typedef struct block {
    const gpu_memory *out, *in;
    int shape; /* of the type: with gaps, contiguous, of pairs with a hole */
} block;

static MPI_Datatype shapes[SHAPES];
static MPI_Comm graph; /* has edges from this rank to itself */

static gpu_memory memory_in(int place, size_t bytes)
{
    void *first = gpu_current();
    gpu_memory m;

    gpu_set_current(gpu_primary(place == SECOND_GPU));
    m = gpu_memory_make(place == HOST ? GPU_HOST : GPU_DEVICE, bytes);
    gpu_set_current(first);
    return m;
}

static void make_shapes(void)
{
    MPI_Type_vector(ELEMENTS, 1, 2, MPI_DOUBLE, &shapes[0]);
    MPI_Type_contiguous(ELEMENTS, MPI_DOUBLE, &shapes[1]);
    MPI_Type_contiguous(ELEMENTS / 2, MPI_DOUBLE_INT, &shapes[2]);
    for (int i = 0; i < SHAPES; i++)
        MPI_Type_commit(&shapes[i]);
    graph = test_graph_to(MPI_COMM_SELF, 0, BLOCKS);
}

/* Exchanges the first n blocks; the others have no objects. */
static void exchange(const block *blocks, int n, unsigned seed, bool nonblocking, const char *what)
{
    static unsigned char from[BLOCKS][SMALL], want[BLOCKS][SMALL], got[SMALL];
    MPI_Aint outs[BLOCKS], ins[BLOCKS];
    MPI_Datatype types[BLOCKS];
    MPI_Request request;
    int counts[BLOCKS];

    for (int i = 0; i < BLOCKS; i++) {
        const block *b = &blocks[i];

        test_fill(from[i], SMALL, seed + 2 * (unsigned)i);
        test_fill(want[i], SMALL, seed + 2 * (unsigned)i + 1);
        gpu_write(b->out, 0, from[i], SMALL);
        gpu_write(b->in, 0, want[i], SMALL);
        types[i] = shapes[b->shape];
        counts[i] = i < n;
        outs[i] = (MPI_Aint)b->out->at;
        ins[i] = (MPI_Aint)b->in->at;
        PMPI_Sendrecv(from[i], counts[i], types[i], 0, 1, want[i], counts[i], types[i], 0, 1, MPI_COMM_SELF,
                      MPI_STATUS_IGNORE);
    }
    if (nonblocking) {
        MPI_Ineighbor_alltoallw(MPI_BOTTOM, counts, outs, types, MPI_BOTTOM, counts, ins, types, graph, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Neighbor_alltoallw(MPI_BOTTOM, counts, outs, types, MPI_BOTTOM, counts, ins, types, graph);
    }
    for (int i = 0; i < BLOCKS; i++) {
        gpu_read(blocks[i].in, 0, got, SMALL);
        CHECK(!memcmp(got, want[i], SMALL), "%s, seed %u: block %d of %d, shape %d", what, seed, i, n, blocks[i].shape);
    }
}

/* Draws a place from a set. */
static int draw_place(uint64_t *random, unsigned set)
{
    int place;

    do
        place = (int)(test_random(random) % PLACES);
    while (!(set >> place & 1));
    return place;
}

static void check_memories(void)
{
    static gpu_memory out[PLACES][BLOCKS], in[PLACES][BLOCKS];
    block blocks[BLOCKS];
    uint64_t random = 17;

    make_shapes();
    for (int place = 0; place < PLACES; place++)
        for (int i = 0; i < BLOCKS; i++) {
            out[place][i] = memory_in(place, SMALL);
            in[place][i] = memory_in(place, SMALL);
        }
    for (unsigned round = 0; round < 60; round++) {
        /* In some rounds all blocks of a direction are in one memory. */
        unsigned outs = 1 + (unsigned)(test_random(&random) % 7), ins = 1 + (unsigned)(test_random(&random) % 7);

        for (int i = 0; i < BLOCKS; i++)
            blocks[i] = (block){.out = &out[draw_place(&random, outs)][i],
                                .in = &in[draw_place(&random, ins)][i],
                                .shape = (int)(test_random(&random) % SHAPES)};
        exchange(blocks, 1 + (int)(test_random(&random) % BLOCKS), round, round % 2, "several memories");
    }
    MPI_Comm_free(&graph);
    for (int i = 0; i < SHAPES; i++)
        MPI_Type_free(&shapes[i]);
}

/* ---- named by its end -------------------------------------------------------------------------------------------- */

/* The address that the call gets is in no memory of the GPU. */
static void check_end(void)
{
    enum { N = 1000 };
    static int from[N], got[N];
    gpu_memory out = gpu_memory_make(GPU_DEVICE, sizeof from), in = gpu_memory_make(GPU_DEVICE, sizeof got);
    int count = N / 2, displ = -N / 2;

    test_fill(from, sizeof from, 3);
    gpu_write(&out, 0, from, sizeof from);
    gpu_write(&in, 0, got, sizeof got);
    MPI_Alltoallv(out.at + sizeof from, &count, &displ, MPI_INT, in.at + sizeof got, &count, &displ, MPI_INT,
                  MPI_COMM_SELF);
    gpu_read(&in, 0, got, sizeof got);
    CHECK(!memcmp(got + N / 2, from + N / 2, sizeof got / 2) && !got[0] && !got[N / 2 - 1], "named by their end");
}

/* ---- calls that fail --------------------------------------------------------------------------------------------- */

/* Every second row of ROW doubles is moved. */
enum { LARGE = 24 << 20, ROW = 512, ROW_BYTES = 8 * ROW, ROWS = LARGE / (2 * ROW_BYTES), OBJECTS = 16 };

typedef enum kind { ALLTOALL, ALLGATHERV, ALLTOALLW, NEIGHBOURS, SUM, SUM_OF_OWN, KINDS } kind;
static const char *const kind_names[KINDS] = {"Alltoall",           "Allgatherv", "Alltoallw",
                                              "Neighbor_alltoallw", "Allreduce",  "Allreduce of a type with gaps"};

static MPI_Datatype strided, object;
static MPI_Op own_sum;
static MPI_Comm self, ring;
static int handled;

static void count_errors(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

static void sum_objects(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int row = 0; row < *n * (ROWS / OBJECTS); row++)
        for (int d = 2 * row * ROW; d < (2 * row + 1) * ROW; d++)
            ((double *)inout)[d] += ((const double *)in)[d];
}

#define CALL(name, iname, ...) (nonblocking ? MPI_I##iname(__VA_ARGS__, request) : MPI_##name(__VA_ARGS__))

static int start(kind s, void *out, void *in, bool nonblocking, MPI_Request *request)
{
    static const int one = 1, zero = 0;
    static const MPI_Aint here = 0;

    switch (s) {
    case ALLTOALL: return CALL(Alltoall, alltoall, out, 1, strided, in, 1, strided, self);
    case ALLGATHERV: return CALL(Allgatherv, allgatherv, out, 1, strided, in, &one, &zero, strided, self);
    case ALLTOALLW: return CALL(Alltoallw, alltoallw, out, &one, &zero, &strided, in, &one, &zero, &strided, self);
    case NEIGHBOURS:
        return CALL(Neighbor_alltoallw, neighbor_alltoallw, out, &one, &here, &strided, in, &one, &here, &strided,
                    ring);
    case SUM: return CALL(Allreduce, allreduce, out, in, LARGE / 8, MPI_DOUBLE, MPI_SUM, self);
    default: return CALL(Allreduce, allreduce, out, in, OBJECTS, object, own_sum, self);
    }
}

static int call(kind s, void *out, void *in, bool nonblocking)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = start(s, out, in, nonblocking, &request);

    CHECK(rc == MPI_SUCCESS || request == MPI_REQUEST_NULL, "%s: there is a request", kind_names[s]);
    return rc == MPI_SUCCESS && nonblocking ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
}

static void make_kinds(void)
{
    MPI_Errhandler handler = test_handler_create(count_errors);
    MPI_Datatype gaps;

    MPI_Type_vector(ROWS, ROW, 2 * ROW, MPI_DOUBLE, &strided);
    MPI_Type_vector(ROWS / OBJECTS, ROW, 2 * ROW, MPI_DOUBLE, &gaps);
    MPI_Type_create_resized(gaps, 0, LARGE / OBJECTS, &object);
    MPI_Type_commit(&strided);
    MPI_Type_commit(&object);
    MPI_Type_free(&gaps);
    MPI_Op_create(sum_objects, 1, &own_sum);
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    ring = test_graph_to(MPI_COMM_SELF, 0, 1);
    MPI_Comm_set_errhandler(self, handler);
    MPI_Comm_set_errhandler(ring, handler);
    test_handler_free(&handler);
}

static void free_kinds(void)
{
    MPI_Type_free(&strided);
    MPI_Type_free(&object);
    MPI_Op_free(&own_sum);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&self);
}

/* ---- no memory, no GPU ------------------------------------------------------------------------------------------- */

static gpu_memory large[2];
static unsigned char *before[2], *got;

/* Limits the process's memory, so that it gets no more buffers. */
static void limit_memory(bool limited)
{
    static struct rlimit usual;
    struct rlimit less;
    size_t used;

    if (!limited) {
        setrlimit(RLIMIT_AS, &usual);
        return;
    }
    used = address_space_now();
    CHECK(used > 0, "the system does not tell how many addresses are taken");
    getrlimit(RLIMIT_AS, &usual);
    less = (struct rlimit){.rlim_cur = used + LARGE / 8, .rlim_max = usual.rlim_max};
    setrlimit(RLIMIT_AS, &less);
}

static void refuse(bool all)
{
    fail("cuMemHostAlloc", 0, all ? FAKE_NO_MEMORY : 0);
    fail("cuMemHostRegister_v2", 0, all ? FAKE_NO_MEMORY : 0);
    limit_memory(all);
}

static void expect_as_before(kind s, const char *what)
{
    for (int i = 0; i < 2; i++) {
        gpu_read(&large[i], 0, got, LARGE);
        CHECK(!memcmp(got, before[i], LARGE), "%s, %s: buffer %d was written", kind_names[s], what, i);
    }
}

static void expect_error(kind s, bool nonblocking, int class, const char *what)
{
    int rc;

    handled = 0;
    rc = call(s, large[0].at, large[1].at, nonblocking);
    CHECK(test_class_of(rc) == class, "%s, %s: class %d", kind_names[s], what, test_class_of(rc));
    CHECK(handled == TEST_HANDLER_CALLS, "%s, %s: the handler was called %d times", kind_names[s], what, handled);
}

static void check_no_memory(void)
{
    for (int s = 0; s < KINDS; s++)
        for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
            refuse(true);
            expect_error((kind)s, nonblocking, MPI_ERR_NO_MEM, "no memory");
            refuse(false);
            expect_as_before((kind)s, "no memory");
        }
}

/* There is memory for the staging buffers, but none for the mirrors. */
static void check_no_mirror(void)
{
    long made;

    CHECK(call(ALLTOALL, large[0].at, large[1].at, false) == MPI_SUCCESS, "with memory");
    gpu_write(&large[1], 0, before[1], LARGE);
    made = gpu_calls("cuMemHostAlloc") + gpu_calls("cuMemHostRegister_v2");
    for (int i = 0; i < 6; i++) {
        limit_memory(true);
        expect_error(SUM_OF_OWN, i % 2, MPI_ERR_NO_MEM, "no mirror");
        limit_memory(false);
    }
    CHECK(gpu_calls("cuMemHostAlloc") + gpu_calls("cuMemHostRegister_v2") == made, "memory for stages is lost");
    expect_as_before(SUM_OF_OWN, "no mirror");
}

/* When there is memory again, all calls work. */
static void check_afterwards(void)
{
    for (int s = 0; s < KINDS; s++)
        for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
            int rc = call((kind)s, large[0].at, large[1].at, nonblocking);
            bool moved;

            gpu_read(&large[1], 0, got, LARGE);
            moved = !memcmp(got, before[0], ROW_BYTES) &&
                    !memcmp(got + LARGE - 2 * ROW_BYTES, before[0] + LARGE - 2 * ROW_BYTES, ROW_BYTES);
            CHECK(rc == MPI_SUCCESS && moved, "%s, with memory: rc %d", kind_names[s], rc);
            gpu_write(&large[1], 0, before[1], LARGE);
        }
}

static void check_lost(void)
{
    static const char *const names[] = {"cuStreamSynchronize", "cuLaunchKernel", "cuGraphLaunch", "cuMemcpyAsync",
                                        "cuMemcpy2DAsync_v2"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        fail(names[i], 0, FAKE_LAUNCH_FAILED);
    for (int s = 0; s < KINDS; s++)
        for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
            int rc = call((kind)s, large[0].at, large[1].at, nonblocking);

            CHECK(rc != MPI_SUCCESS, "%s: a lost GPU is no error", kind_names[s]);
        }
}

static void check_failures(void)
{
    got = malloc(LARGE);
    for (int i = 0; i < 2; i++) {
        large[i] = gpu_memory_make(GPU_DEVICE, LARGE);
        before[i] = malloc(LARGE);
        for (int d = 0; d < LARGE / 8; d++)
            ((double *)(void *)before[i])[d] = d + i;
        gpu_write(&large[i], 0, before[i], LARGE);
    }
    check_no_memory();
    check_no_mirror();
    check_afterwards();
    check_lost();
    for (int i = 0; i < 2; i++)
        free(before[i]);
    free(got);
}

int main(int argc, char **argv)
{
    int rc;

    MPI_Init(&argc, &argv);
    if (!gpu_start_as_told(argc, argv)) {
        MPI_Finalize();
        return 1;
    }
    fail = (void (*)(const char *, int, int))gpu_symbol("fake_fail");
    check_memories();
    check_end();
    make_kinds();
    check_failures();
    free_kinds();
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
