/*
 * Transfers in staging buffers: calls that have several to do begin them all before they wait for the first, and a
 * transfer of one kernel is launched by a graph; pieces of odd lengths are copied to the host; large transfers are
 * waited for by their stream. One rank, which sends to itself; the stand-in's GPU does not begin before all have come.
 *
 * usage: stages <driver> [graphs]. With "graphs", kernels must be launched by them in a steady state, else never.
 */
#include "tests/mpi/gpu/fake.h"
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/gpu/regions.h"
#include "tests/mpi/support/harness.h"

enum { N = 100, TAG = 3, BYTES = 16 * N, MANY = 20, ROUNDS = 12, NEIGHBOURS = 8, BEYOND = 45 };

typedef enum way { WAITALL, TESTALL, WAITSOME, STARTALL, COLLECTIVE, WAYS } way;
static const char *const way_names[WAYS] = {"Waitall", "Testall", "Waitsome", "Startall", "Neighbor_alltoallw"};

static void (*fail)(const char *, int, int);
static MPI_Datatype type; /* every second double */
static MPI_Comm graph;    /* has edges from this rank to itself */
static gpu_memory out[BEYOND], in[BEYOND];
static unsigned char from[BEYOND][BYTES], want[BEYOND][BYTES];

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

static void make_buffers(int n)
{
    for (int i = 0; i < n; i++) {
        out[i] = gpu_memory_make(GPU_DEVICE, BYTES);
        in[i] = gpu_memory_make(GPU_DEVICE, BYTES);
    }
}

/* Returns how many doubles arrive in buffer i: some messages are short. */
static int length_of(way how, int i)
{
    return how < STARTALL && i % 5 == 3 ? N / 2 + 1 : N;
}

static void fill(way how, int n, unsigned seed)
{
    for (int i = 0; i < n; i++) {
        test_fill(from[i], BYTES, seed + 2 * (unsigned)i);
        test_fill(want[i], BYTES, seed + 2 * (unsigned)i + 1);
        gpu_write(&out[i], 0, from[i], BYTES);
        gpu_write(&in[i], 0, want[i], BYTES);
        for (int d = 0; d < length_of(how, i); d++)
            memcpy(want[i] + 16 * d, from[i] + 16 * d, 8);
    }
}

static void check(way how, int n, const char *when)
{
    static unsigned char got[BYTES];

    for (int i = 0; i < n; i++) {
        gpu_read(&in[i], 0, got, BYTES);
        CHECK(!memcmp(got, want[i], BYTES), "%s, %s: buffer %d of %d", way_names[how], when, i, n);
    }
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void gather(int launches)
{
    ((void (*)(int))gpu_symbol("fake_gather"))(launches);
}

static void send(way how, int i)
{
    double doubles[N];

    for (int d = 0; d < N; d++)
        memcpy(&doubles[d], from[i] + 16 * d, 8);
    if (length_of(how, i) == N)
        MPI_Send(out[i].at, 1, type, 0, TAG, MPI_COMM_SELF);
    else
        MPI_Send(doubles, length_of(how, i), MPI_DOUBLE, 0, TAG, MPI_COMM_SELF);
}

static void complete(way how, int n, MPI_Request *requests)
{
    int done = 0, indices[BEYOND], some;
    MPI_Status statuses[BEYOND];

    switch (how) {
    case WAITALL: MPI_Waitall(n, requests, statuses); break;
    case TESTALL:
        while (!done)
            MPI_Testall(n, requests, &done, statuses);
        break;
    default:
        for (; done < n; done += some)
            MPI_Waitsome(n, requests, &some, indices, statuses);
        break;
    }
}

/* Receives messages that have all come before the call is made. */
static void receive(way how, int n, int gathered)
{
    MPI_Request requests[BEYOND];

    for (int i = 0; i < n; i++)
        MPI_Irecv(in[i].at, 1, type, 0, TAG, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < n; i++)
        send(how, i);
    gather(gathered);
    complete(how, n, requests);
}

/* Receives in the host, and copies to where `check` looks. */
static void start(int n, int gathered)
{
    static double doubles[BEYOND][N];
    MPI_Request sends[BEYOND], receives[BEYOND];
    MPI_Status statuses[BEYOND];

    for (int i = 0; i < n; i++) {
        MPI_Send_init(out[i].at, 1, type, 0, TAG, MPI_COMM_SELF, &sends[i]);
        MPI_Irecv(doubles[i], N, MPI_DOUBLE, 0, TAG, MPI_COMM_SELF, &receives[i]);
    }
    gather(gathered);
    MPI_Startall(n, sends);
    gather(0);
    MPI_Waitall(n, sends, statuses);
    MPI_Waitall(n, receives, statuses);
    for (int i = 0; i < n; i++) {
        for (int d = 0; d < N; d++)
            gpu_write(&in[i], (size_t)(16 * d), &doubles[i][d], 8);
        MPI_Request_free(&sends[i]);
    }
}

static void exchange(int gathered)
{
    MPI_Datatype types[NEIGHBOURS];
    MPI_Aint outs[NEIGHBOURS], ins[NEIGHBOURS];
    int ones[NEIGHBOURS];

    for (int i = 0; i < NEIGHBOURS; i++) {
        types[i] = type;
        ones[i] = 1;
        outs[i] = out[i].at - out[0].at;
        ins[i] = in[i].at - in[0].at;
    }
    gather(gathered);
    MPI_Neighbor_alltoallw(out[0].at, ones, outs, types, in[0].at, ones, ins, types, graph);
}

static void carry_out(way how, int n, int gathered)
{
    switch (how) {
    case STARTALL: start(n, gathered); break;
    case COLLECTIVE: exchange(gathered); break;
    default: receive(how, n, gathered); break;
    }
    gather(0);
}

/* ---- what is seen of them ---------------------------------------------------------------------------------------- */

/* Returns whether the MPI's own MPI_Waitsome completes all receives that are over; Intel's completes one. */
static bool completes_all(void)
{
    MPI_Request requests[NEIGHBOURS];
    MPI_Status statuses[NEIGHBOURS];
    int indices[NEIGHBOURS], in_host[NEIGHBOURS], some, told;

    for (int i = 0; i < NEIGHBOURS; i++)
        PMPI_Irecv(&in_host[i], 1, MPI_INT, 0, TAG, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < NEIGHBOURS; i++)
        PMPI_Send(&i, 1, MPI_INT, 0, TAG, MPI_COMM_SELF);
    PMPI_Waitsome(NEIGHBOURS, requests, &told, indices, statuses);
    for (int done = told; done < NEIGHBOURS; done += some)
        PMPI_Waitsome(NEIGHBOURS, requests, &some, indices, statuses);
    return told == NEIGHBOURS;
}

/* After many rounds, so that no transfer is done alone any more to correct the model's estimates. A loaded machine may
 * keep the program from launching in time, or complete some messages later than others, but not again and again. */
static void check_gathered(way how, int n)
{
    enum { ATTEMPTS = 4 };
    int (*gathered)(int *) = (int (*)(int *))gpu_symbol("fake_gathered");
    int missed = 1, times = 0, expected = how == COLLECTIVE ? 2 : 1;

    for (int round = 0; round < ROUNDS; round++) {
        fill(how, n, (unsigned)(100 * round));
        carry_out(how, n, 0);
        check(how, n, "one of many rounds");
    }
    for (int i = 0; i < ATTEMPTS && (times != expected || missed); i++) {
        fill(how, n, (unsigned)(7 + i));
        carry_out(how, n, n);
        times = gathered(&missed);
        check(how, n, "gathered");
    }
    if (how == WAITSOME && !completes_all())
        return;
    CHECK(times == expected && missed == 0, "%s: launched together %d times, %d times not", way_names[how], times,
          missed);
}

static long allocations(void)
{
    return gpu_calls("cuMemAlloc_v2") + gpu_calls("cuMemHostAlloc") + gpu_calls("cuStreamCreate") +
           gpu_calls("cuEventCreate") + gpu_calls("cuModuleLoadData") + gpu_calls("cuGraphInstantiateWithFlags") +
           gpu_calls("cuMemFree_v2");
}

/* Starts more transfers than can be under way at once; in the end the pools make nothing new for them. */
static void check_steady(bool graphs)
{
    long made = 0, launched = 0, by_graph = 0;

    for (int round = 0; round < ROUNDS + 5; round++) {
        if (round == ROUNDS) {
            made = allocations();
            launched = gpu_calls("cuLaunchKernel");
            by_graph = gpu_calls("cuGraphLaunch");
        }
        fill(WAITALL, BEYOND, (unsigned)(1000 * round));
        receive(WAITALL, BEYOND, 0);
        check(WAITALL, BEYOND, "steady");
    }
    CHECK(allocations() == made, "%ld allocations in a steady state", allocations() - made);
    launched = gpu_calls("cuLaunchKernel") - launched;
    by_graph = gpu_calls("cuGraphLaunch") - by_graph;
    if (graphs)
        CHECK(by_graph > 0 && launched == 0, "%ld launches by graph, %ld plain ones", by_graph, launched);
    else
        CHECK(by_graph == 0 && launched > 0, "%ld launches by graph, %ld plain ones", by_graph, launched);
}

/* Transfers whose launch fails half-way take another path. Each case has a context of its own, since contexts remember
 * failures. */
static void check_failures(void)
{
    static const char *const names[] = {"cuGraphInstantiateWithFlags", "cuGraphExecKernelNodeSetParams",
                                        "cuGraphLaunch", "cuLaunchKernel"};
    void *first = gpu_current();

    for (int i = 0; i < 4; i++) {
        gpu_new_context(0);
        make_buffers(NEIGHBOURS);
        for (int how = 0; how < WAYS; how++) {
            fill((way)how, NEIGHBOURS, (unsigned)(77 * how + i));
            fail(names[i], 3, 701);
            carry_out((way)how, NEIGHBOURS, 0);
            fail(names[i], 0, 0);
            check((way)how, NEIGHBOURS, names[i]);
        }
    }
    gpu_set_current(first);
}

/* Enough pieces of odd lengths that go to host memory take a copy. */
static void check_odd(void)
{
    static const struct {
        int pieces, bytes, copies;
    } rows[] = {{10000, 28, 0}, {10000, 27, 1}, {1000, 27, 0}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int size = rows[i].pieces * rows[i].bytes, position = 0;
        gpu_memory user = gpu_memory_make(GPU_DEVICE, (size_t)rows[i].pieces * 64);
        gpu_memory packed = gpu_memory_make(GPU_PINNED, (size_t)size);
        MPI_Datatype pieces;
        long copies;

        MPI_Type_create_hvector(rows[i].pieces, rows[i].bytes, 64, MPI_BYTE, &pieces);
        MPI_Type_commit(&pieces);
        copies = gpu_calls("cuMemcpyAsync");
        MPI_Pack(user.at, 1, pieces, packed.at, size, &position, MPI_COMM_SELF);
        copies = gpu_calls("cuMemcpyAsync") - copies;
        CHECK(copies == rows[i].copies, "%d pieces of %d bytes: %ld copies", rows[i].pieces, rows[i].bytes, copies);
        MPI_Type_free(&pieces);
        gpu_memory_free(&user);
    }
}

/* A rank that packs much waits for the stream, otherwise for the kernel's flag. */
static void check_completion(void)
{
    static const struct {
        int blocks, waits;
    } rows[] = {{2, 0}, {3072, 0}, {3073, 1}};
    enum { BLOCK = 4096, MOST = 3073 * BLOCK };
    gpu_memory user = gpu_memory_make(GPU_DEVICE, 2 * MOST), packed = gpu_memory_make(GPU_DEVICE, MOST);

    for (int i = 0; i < 2 * (int)(sizeof rows / sizeof *rows); i++) {
        int blocks = rows[i / 2].blocks, size = blocks * BLOCK, position = 0;
        bool unpack = i % 2;
        MPI_Datatype type_of_size;
        long waits;

        MPI_Type_create_hvector(blocks, BLOCK, 2 * BLOCK, MPI_BYTE, &type_of_size);
        MPI_Type_commit(&type_of_size);
        for (int round = 0; round < 2; round++) { /* kernels are found in the first rounds */
            position = 0;
            waits = gpu_calls("cuStreamSynchronize");
            if (unpack)
                MPI_Unpack(packed.at, size, &position, user.at, 1, type_of_size, MPI_COMM_SELF);
            else
                MPI_Pack(user.at, 1, type_of_size, packed.at, size, &position, MPI_COMM_SELF);
        }
        waits = gpu_calls("cuStreamSynchronize") - waits;
        CHECK(waits == (unpack ? 0 : rows[i / 2].waits), "%s %d bytes: the stream was waited for %ld times",
              unpack ? "unpack" : "pack", size, waits);
        MPI_Type_free(&type_of_size);
    }
    gpu_memory_free(&user);
    gpu_memory_free(&packed);
}

/* A kernel of many regions, which has many parameters, is no graph (codegen/nvrtc/start.h). Launches to two places by
 * turns find a graph for each, which is not set again; one to a third place sets that of the function. */
static void check_parameters(void)
{
    enum { TURNS = 80, PLACES = 3 };
    static const struct {
        int regions, graphs;
    } rows[] = {{6, 1}, {16, 0}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int size, position;
        MPI_Aint span;
        MPI_Datatype regions = regions_make(rows[i].regions, &span);
        gpu_memory user = gpu_memory_make(GPU_DEVICE, (size_t)span);
        gpu_memory packed;
        long graphs = 0, plain = 0, sets[TURNS + 1], made[TURNS + 1];

        MPI_Type_size(regions, &size);
        packed = gpu_memory_make(GPU_DEVICE, PLACES * (size_t)size);
        for (int turn = 0; turn <= TURNS; turn++) { /* the first launch of a function uses no graph either */
            graphs = gpu_calls("cuGraphLaunch");
            plain = gpu_calls("cuLaunchKernel");
            sets[turn] = gpu_calls("cuGraphExecKernelNodeSetParams");
            made[turn] = gpu_calls("cuGraphInstantiateWithFlags");
            position = (turn < TURNS ? turn % 2 : 2) * size;
            MPI_Pack(user.at, 1, regions, packed.at, PLACES * size, &position, MPI_COMM_SELF);
        }
        CHECK(sets[TURNS] == sets[TURNS - 2] && made[TURNS] == made[TURNS - 2],
              "%d regions: a graph is set to what another one has", rows[i].regions);
        CHECK(gpu_calls("cuGraphExecKernelNodeSetParams") - sets[TURNS] == rows[i].graphs, "%d regions: it is not set",
              rows[i].regions);
        graphs = gpu_calls("cuGraphLaunch") - graphs;
        plain = gpu_calls("cuLaunchKernel") - plain;
        CHECK(graphs == rows[i].graphs && plain == !rows[i].graphs, "%d regions: %ld launches by graph, %ld plain ones",
              rows[i].regions, graphs, plain);
        MPI_Type_free(&regions);
        gpu_memory_free(&user);
        gpu_memory_free(&packed);
    }
}

int main(int argc, char **argv)
{
    const char *jit = getenv("PACKWRIGHT_JIT");
    bool graphs = argc > 2 && !strcmp(argv[2], "graphs");
    int rc;

    MPI_Init(&argc, &argv);
    if (!gpu_start(argc > 1 ? argv[1] : "")) {
        MPI_Finalize();
        return 1;
    }
    fail = (void (*)(const char *, int, int))gpu_symbol("fake_fail");
    MPI_Type_vector(N, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    graph = test_graph_to(MPI_COMM_SELF, 0, NEIGHBOURS);
    make_buffers(BEYOND);
    for (int how = 0; how < WAYS; how++)
        check_gathered((way)how, how == COLLECTIVE ? NEIGHBOURS : MANY);
    check_steady(graphs);
    if (graphs && jit && !strcmp(jit, "sync"))
        check_parameters();
    check_odd();
    check_completion();
    check_failures();
    MPI_Comm_free(&graph);
    MPI_Type_free(&type);
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
