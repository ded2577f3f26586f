/*
 * Several short transfers as one launch: the faces, edges and corners of a box for 26 neighbours, persistent sends, and
 * receives that are completed together; more of them than a launch takes; on two GPUs at once; and what happens when
 * the launch fails. One rank, which sends to itself, with the stand-in for the driver.
 *
 * usage: fused <driver, or ->. On a GPU what is moved is checked, but not how.
 */
#include "tests/mpi/gpu/fake.h"
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

#include <stdlib.h>

enum { NEIGHBOURS = 26, SIDE = 12, HALO = 2, TAG = 5, ROUNDS = 12, MANY = 150, SMALL = 16 * 40, GPUS = 2 };

static void (*fail)(const char *, int, int);

/* ---- the 26 regions of a box ------------------------------------------------------------------------------------- */

typedef struct box {
    int element;
    size_t bytes;
    MPI_Datatype out[NEIGHBOURS], in[NEIGHBOURS];
    MPI_Comm graph;
} box;

/* The cells that a neighbour gets (`in`: that it gives): those next to the halo (in the halo), or all between. */
static MPI_Datatype region(int element, int direction, bool in)
{
    int sizes[3] = {SIDE, SIDE, SIDE}, subsizes[3], starts[3];
    MPI_Datatype bytes, type;

    for (int d = 0; d < 3; d++, direction /= 3) {
        int where = direction % 3;

        subsizes[d] = where == 1 ? SIDE - 2 * HALO : HALO;
        starts[d] = where == 0 ? (in ? 0 : HALO) : where == 2 ? SIDE - (in ? 1 : 2) * HALO : HALO;
    }
    MPI_Type_contiguous(element, MPI_BYTE, &bytes);
    MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, bytes, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&bytes);
    return type;
}

/* Makes the box, and the one into which all that it sends comes back. */
static void make_box(box *b, int element)
{
    b->element = element;
    b->bytes = (size_t)(SIDE * SIDE * SIDE * element);
    for (int i = 0; i < NEIGHBOURS; i++) {
        b->out[i] = region(element, i < 13 ? i : i + 1, false);
        b->in[i] = region(element, i < 13 ? i : i + 1, true);
    }
    b->graph = test_graph_to(MPI_COMM_SELF, 0, NEIGHBOURS);
}

static void free_box(box *b)
{
    for (int i = 0; i < NEIGHBOURS; i++) {
        MPI_Type_free(&b->out[i]);
        MPI_Type_free(&b->in[i]);
    }
    MPI_Comm_free(&b->graph);
}

/* Computes what one exchange must leave, by MPI on host memory. */
static void exchange(const box *b, void *buf)
{
    MPI_Aint zeros[NEIGHBOURS] = {0};
    int ones[NEIGHBOURS];

    for (int i = 0; i < NEIGHBOURS; i++)
        ones[i] = 1;
    MPI_Neighbor_alltoallw(buf, ones, zeros, b->out, buf, ones, zeros, b->in, b->graph);
}

static void check_exchange(const box *b, const gpu_memory *m, const char *when)
{
    unsigned char *want = malloc(b->bytes), *got = malloc(b->bytes);

    test_fill(want, b->bytes, (unsigned)b->element);
    gpu_write(m, 0, want, b->bytes);
    exchange(b, want);
    exchange(b, m->at);
    gpu_read(m, 0, got, b->bytes);
    CHECK(!memcmp(got, want, b->bytes), "%s: elements of %d bytes", when, b->element);
    free(want);
    free(got);
}

/* Checks that there is one launch for 26 packs and one for 26 unpacks, once estimates are no longer corrected. */
static void check_box(int element)
{
    gpu_memory m;
    long fused = 0, all = 0;
    box b;

    make_box(&b, element);
    m = gpu_memory_make(GPU_DEVICE, b.bytes);
    for (int round = 0; round < ROUNDS; round++) {
        fused = gpu_launches("pw_fused_");
        all = gpu_all_launches();
        check_exchange(&b, &m, "26 neighbours");
    }
    CHECK(!gpu_is_fake() || (gpu_launches("pw_fused_") - fused == 2 && gpu_all_launches() - all == 2),
          "elements of %d bytes: %ld of %ld launches are fused for 26 neighbours", element,
          gpu_launches("pw_fused_") - fused, gpu_all_launches() - all);
    gpu_memory_free(&m);
    free_box(&b);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static MPI_Datatype pieces, row; /* with gaps, and without */
static gpu_memory out[MANY], in[MANY];

static MPI_Datatype type_of(int i)
{
    return i % 4 == 3 ? row : pieces;
}

static void fill(int n, unsigned seed, unsigned char from[][SMALL], unsigned char want[][SMALL])
{
    for (int i = 0; i < n; i++) {
        test_fill(from[i], SMALL, seed + 2 * (unsigned)i);
        test_fill(want[i], SMALL, seed + 2 * (unsigned)i + 1);
        gpu_write(&out[i], 0, from[i], SMALL);
        gpu_write(&in[i], 0, want[i], SMALL);
        MPI_Sendrecv(from[i], 1, type_of(i), 0, 1, want[i], 1, type_of(i), 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    }
}

/* Waits for the messages when all have come. Returns the launches that packed and that unpacked. */
static void pass_on(int n, unsigned seed, const char *when, long made[2])
{
    static unsigned char from[MANY][SMALL], want[MANY][SMALL], got[SMALL];
    static MPI_Request sends[MANY], receives[MANY];
    static MPI_Status statuses[MANY];
    long before = gpu_all_launches(), between;

    fill(n, seed, from, want);
    for (int i = 0; i < n; i++)
        MPI_Irecv(in[i].at, 1, type_of(i), 0, TAG + i, MPI_COMM_SELF, &receives[i]);
    for (int i = 0; i < n; i++)
        MPI_Send_init(out[i].at, 1, type_of(i), 0, TAG + i, MPI_COMM_SELF, &sends[i]);
    MPI_Startall(n, sends);
    between = gpu_all_launches();
    MPI_Waitall(n, receives, statuses);
    MPI_Waitall(n, sends, statuses);
    made[0] = between - before;
    made[1] = gpu_all_launches() - between;
    for (int i = 0; i < n; i++) {
        MPI_Request_free(&sends[i]);
        gpu_read(&in[i], 0, got, SMALL);
        CHECK(!memcmp(got, want[i], SMALL), "%s: message %d of %d", when, i, n);
    }
}

static void make_buffers(int n)
{
    for (int i = 0; i < n; i++) {
        out[i] = gpu_memory_make(GPU_DEVICE, SMALL);
        in[i] = gpu_memory_make(GPU_DEVICE, SMALL);
    }
}

/* Returns how many of the messages are packed. An MPI that takes GPU memory gets contiguous ones as they are. */
static int packed_of(int n)
{
    const char *aware = getenv("PACKWRIGHT_GPU_AWARE");

    return aware && *aware == '1' ? n - n / 4 : n;
}

/* One launch takes 64 transfers. So few are enough for both directions, but a machine may complete some messages later
 * than others. */
static void check_requests(int n)
{
    long made[2] = {0, 0}, least = (packed_of(n) + 63) / 64;

    for (int round = 0; round < ROUNDS + 4; round++) {
        pass_on(n, (unsigned)(1000 * round), "requests", made);
        if (round >= ROUNDS && made[0] == least && made[1] == least)
            return;
    }
    CHECK(!gpu_is_fake(), "%d messages: %ld launches to pack and %ld to unpack them, not %ld", n, made[0], made[1],
          least);
}

/* Blocks with gaps and dense ones in one call all take the path of the whole. */
static void check_neighbours(int n)
{
    static unsigned char from[NEIGHBOURS][SMALL], want[NEIGHBOURS][SMALL], got[SMALL];
    int ones[NEIGHBOURS];
    MPI_Datatype types[NEIGHBOURS];
    MPI_Aint outs[NEIGHBOURS], ins[NEIGHBOURS];
    MPI_Comm graph = test_graph_to(MPI_COMM_SELF, 0, n);

    for (int i = 0; i < n; i++) {
        ones[i] = 1;
        types[i] = type_of(i);
        outs[i] = out[i].at - out[0].at;
        ins[i] = in[i].at - in[0].at;
    }
    for (int round = 0; round < ROUNDS; round++) {
        fill(n, (unsigned)(50 * round), from, want);
        MPI_Neighbor_alltoallw(out[0].at, ones, outs, types, in[0].at, ones, ins, types, graph);
        for (int i = 0; i < n; i++) {
            gpu_read(&in[i], 0, got, SMALL);
            CHECK(!memcmp(got, want[i], SMALL), "neighbours: block %d of %d", i, n);
        }
    }
    MPI_Comm_free(&graph);
}

static long allocations(void)
{
    return gpu_calls("cuMemAlloc_v2") + gpu_calls("cuMemHostAlloc") + gpu_calls("cuStreamCreate") +
           gpu_calls("cuModuleLoadData") + gpu_calls("cuMemFree_v2");
}

static void check_steady(void)
{
    enum { FEW = 30 };
    long made[2], before = allocations();

    for (int round = 0; round < 5; round++)
        pass_on(FEW, (unsigned)round, "steady", made);
    CHECK(allocations() == before, "%ld allocations in a steady state", allocations() - before);
}

/* Buffers of two GPUs in turns: no launch may hold transfers of both. */
static void check_gpus(void)
{
    void *first = gpu_current();
    long made[2];

    for (int i = 0; i < 2 * ROUNDS; i++) {
        gpu_set_current(gpu_primary(i % GPUS));
        out[i] = gpu_memory_make(GPU_DEVICE, SMALL);
        gpu_set_current(gpu_primary((i / 3) % GPUS));
        in[i] = gpu_memory_make(GPU_DEVICE, SMALL);
    }
    gpu_set_current(first);
    for (int round = 0; round < 3; round++)
        pass_on(2 * ROUNDS, (unsigned)(31 * round), "two GPUs", made);
    CHECK(gpu_current() == first, "another context is current");
}

/* A transfer whose launch fails takes another path. Each case has a context of its own, since contexts remember
 * failures. */
static void check_failures(void)
{
    static const struct {
        const char *call;
        int after, result;
    } rows[] = {{"cuLaunchKernel", 0, 701},
                {"cuLaunchKernel", 1, 701},
                {"cuGraphLaunch", 0, 801},
                {"cuModuleGetFunction", 0, FAKE_NOT_FOUND},
                {"cuMemAlloc_v2", 0, FAKE_NO_MEMORY}};
    void *first = gpu_current();
    long made[2];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gpu_new_context(0);
        make_buffers(20);
        for (int round = 0; round < 3; round++) {
            fail(rows[i].call, rows[i].after, rows[i].result);
            pass_on(20, (unsigned)i, rows[i].call, made);
            fail(rows[i].call, 0, 0);
            pass_on(20, (unsigned)i, "afterwards", made);
        }
    }
    gpu_set_current(first);
}

int main(int argc, char **argv)
{
    static const int elements[] = {8, 1, 4, 16, 27};
    int rc;

    MPI_Init(&argc, &argv);
    if (!gpu_start_as_told(argc, argv)) {
        MPI_Finalize();
        return 77;
    }
    if (gpu_is_fake())
        fail = (void (*)(const char *, int, int))gpu_symbol("fake_fail");
    MPI_Type_vector(40, 1, 2, MPI_DOUBLE, &pieces);
    MPI_Type_contiguous(20, MPI_DOUBLE, &row);
    MPI_Type_commit(&pieces);
    MPI_Type_commit(&row);
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        check_box(elements[i]);
    make_buffers(MANY);
    check_requests(20);
    check_neighbours(NEIGHBOURS);
    check_requests(MANY);
    check_steady();
    if (gpu_devices() >= GPUS)
        check_gpus();
    if (gpu_is_fake())
        check_failures();
    MPI_Type_free(&pieces);
    MPI_Type_free(&row);
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
