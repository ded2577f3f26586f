/*
 * Blocks of MPI_Neighbor_alltoallw that the receiver's GPU reads in the sender's memory without MPI. Two ranks have 26
 * edges to each other, with blocks of spread doubles; after some calls one launch is all that a call needs. In every
 * third call after that a block is empty, one lies in host memory on one side, and one is long, which go by MPI.
 *
 * usage: near <driver, or -> [threads | without | many | calls | again | unequal | errors | closed | fails]
 * threads: two threads at once, each on a communicator of its own. without: rank 1 uses no GPU. many: on one
 * communicator after the other, whose records must be given back. calls: MPI_Alltoallw, from one layout to another, of
 * long pieces, in place, and between groups. again: memory is freed, and a type, and others take their addresses and
 * handle, if they are reused, while the arguments stay. unequal: a rank expects fewer bytes than are sent, or none,
 * which must not hang. errors: calls that go to MPI as they are on one rank, or that MPI refuses, must not hinder later
 * ones. closed: the driver opens no memory of others. fails: a receiver's GPU fails, which is an error of its call
 * alone. Exits 77, for "skipped", without a GPU.
 */
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"
#include "tests/support/address_space.h"

#include <pthread.h>

enum {
    SKIPPED = 77,
    PATIENCE = 30, /* seconds */
    EDGES = 26,
    BEFORE = 6,
    ROUNDS = 18,
    SHORT = 512,
    LONG = 70000,
    STRIDE = 16,
    SLOT = LONG * STRIDE
};

static int rank;
static bool has_gpu;
static MPI_Datatype spread;
static int odd; /* 1: of the doubles, those at odd places are sent */
static _Thread_local MPI_Comm graph;
static _Thread_local gpu_memory out, in, host;
static _Thread_local double *image;

static bool is_mixed(int round)
{
    return round >= BEFORE && round % 3 == 0;
}

static int doubles(int round, int edge)
{
    if (!is_mixed(round))
        return SHORT + edge;
    return edge == 3 ? 0 : edge == 5 ? LONG : SHORT + 2 * edge;
}

/* Whether the rank's blocks of this edge lie in host memory, which follows that of the others. */
static bool is_on_host(int round, int edge, int of)
{
    return is_mixed(round) && edge == 7 && of == 1;
}

static double value(int round, int from, int edge, int k)
{
    return ((round * 2 + from) * EDGES + edge) * 1e6 + k;
}

/* Fills a buffer with one value, and with those of a rank's blocks where it sends them. */
static void fill(gpu_memory *m, int round, int edge, int from, double all)
{
    int n = doubles(round, edge);

    for (int k = 0; k < 2 * n; k++)
        image[k] = from >= 0 && k % 2 == odd ? value(round, from, edge, k / 2) : all;
    gpu_write(m, m == &host ? 0 : (size_t)edge * SLOT, image, (size_t)n * STRIDE);
}

static void check(const gpu_memory *m, int round, int edge)
{
    int n = doubles(round, edge), wrong = 0;

    gpu_read(m, m == &host ? 0 : (size_t)edge * SLOT, image, (size_t)n * STRIDE);
    for (int k = 0; k < 2 * n; k++)
        wrong += image[k] != (k % 2 == odd ? value(round, 1 - rank, edge, k / 2) : 9.0);
    CHECK(wrong == 0, "round %d, edge %d: %d doubles are wrong", round, edge, wrong);
}

/* `sent` and `expected`: the doubles of edge 2, if not as many as in all rounds. */
static int call(int round, int sent, int expected)
{
    MPI_Aint outs[EDGES], ins[EDGES];
    MPI_Datatype types[EDGES];
    int counts[EDGES], expected_counts[EDGES];

    for (int i = 0; i < EDGES; i++) {
        types[i] = spread;
        counts[i] = i == 2 && sent >= 0 ? sent : doubles(round, i);
        expected_counts[i] = i == 2 && expected >= 0 ? expected : doubles(round, i);
        outs[i] = (MPI_Aint)(out.at + (size_t)i * SLOT);
        ins[i] = (MPI_Aint)(is_on_host(round, i, rank) ? host.at : in.at + (size_t)i * SLOT);
    }
    return MPI_Neighbor_alltoallw(MPI_BOTTOM, counts, outs, types, MPI_BOTTOM, expected_counts, ins, types, graph);
}

static long launches(void)
{
    return gpu_calls("cuGraphLaunch") + gpu_calls("cuLaunchKernel");
}

/* The fewest launches of a call whose blocks are all read. A rank that waits long for others launches more often. */
static _Thread_local long fewest = EDGES;

/* The sender's buffer is overwritten as soon as the call has returned. */
static void exchange(int round)
{
    long before;

    for (int i = 0; i < EDGES; i++) {
        fill(&out, round, i, rank, 5.0);
        fill(is_on_host(round, i, rank) ? &host : &in, round, i, -1, 9.0);
    }
    before = launches();
    CHECK(call(round, -1, -1) == MPI_SUCCESS, "round %d has failed", round);
    if (round >= BEFORE && !is_mixed(round) && launches() - before < fewest)
        fewest = launches() - before;
    for (int i = 0; i < EDGES; i++)
        fill(&out, round, i, -1, 7.0);
    for (int i = 0; i < EDGES; i++)
        check(is_on_host(round, i, rank) ? &host : &in, round, i);
}

static void make_buffers(void)
{
    out = gpu_memory_make(has_gpu ? GPU_DEVICE : GPU_HOST, (size_t)EDGES * SLOT);
    in = gpu_memory_make(has_gpu ? GPU_DEVICE : GPU_HOST, (size_t)EDGES * SLOT);
    host = gpu_memory_make(GPU_HOST, SLOT);
    image = malloc(2 * (size_t)SLOT);
}

/* Exchanges so often on a communicator. */
static void work(MPI_Comm comm, int rounds)
{
    graph = comm;
    for (int round = 0; round < rounds; round++)
        exchange(round);
}

static void *work_in_thread(void *comm)
{
    gpu_set_current(gpu_primary(0));
    gpu_set_current_of(rank);
    make_buffers();
    work(*(MPI_Comm *)comm, ROUNDS);
    return NULL;
}

static MPI_Comm make_graph(void)
{
    return test_graph_to(MPI_COMM_WORLD, 1 - rank, EDGES);
}

static void work_by_threads(void)
{
    MPI_Comm comms[] = {make_graph(), make_graph()};
    pthread_t thread;

    pthread_create(&thread, NULL, work_in_thread, &comms[0]);
    work_in_thread(&comms[1]);
    pthread_join(thread, NULL);
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
}

/* The addresses of the records of one communicator take 1.6 MiB. */
static void work_on_many(void)
{
    enum { MANY = 40, MOST = 32 << 20 };
    size_t before = 0;

    make_buffers();
    for (int i = 0; i < MANY; i++) {
        MPI_Comm comm = make_graph();

        work(comm, 2);
        MPI_Comm_free(&comm);
        if (i == 1)
            before = address_space_now();
    }
    CHECK(before > 0 && address_space_now() < before + MOST, "%zu bytes more", address_space_now() - before);
}

/* Makes the type, which may get the handle of the one before. */
static void renew_type(void)
{
    const MPI_Aint at = odd * (MPI_Aint)sizeof(double);
    MPI_Datatype one;

    MPI_Type_create_hindexed_block(1, 1, &at, MPI_DOUBLE, &one);
    if (spread != MPI_DATATYPE_NULL)
        MPI_Type_free(&spread);
    MPI_Type_create_resized(one, 0, STRIDE, &spread);
    MPI_Type_commit(&spread);
    MPI_Type_free(&one);
}

/* Drivers give the addresses of the memory that was allocated last to the next one. The other rank renews what it
 * sends while this one renews what it receives, and has to open the new memory. */
static void renew(gpu_memory *m)
{
    bool opens = test_can_read_peer() && gpu_is_fake() && m == &in;
    size_t bytes = m->bytes;

    for (int i = 0; i < 2; i++) {
        long before = gpu_calls("cuIpcOpenMemHandle_v2");

        gpu_memory_free(m);
        *m = gpu_memory_make(GPU_DEVICE, bytes);
        work(graph, 2);
        CHECK(!opens || gpu_calls("cuIpcOpenMemHandle_v2") > before, "memory that is gone counts as open");
    }
}

static void work_again(void)
{
    graph = make_graph();
    for (odd = 0; odd < 2; odd++) {
        renew_type();
        work(graph, 2);
        renew(rank == 0 ? &out : &in);
        renew(rank == 0 ? &in : &out);
    }
    MPI_Comm_free(&graph);
}

/* ---- other calls ------------------------------------------------------------------------------------------------- */

/* Objects: pieces of `piece` doubles, each followed by as many doubles that no message has, `step` - 1 times. */
typedef struct objects {
    gpu_memory *m;
    int n, piece, step;
} objects;

/* Fills the memory, with values that count from `first` in the pieces. */
static void fill_objects(objects o, double first)
{
    for (int k = 0; k < o.n * o.piece * o.step; k++)
        image[k] = k / o.piece % o.step == 0 ? first + k / (o.piece * o.step) * o.piece + k % o.piece : 9.0;
    gpu_write(o.m, 0, image, (size_t)o.n * (size_t)o.piece * (size_t)o.step * sizeof *image);
}

static void check_objects(objects o, double first, const char *what)
{
    int wrong = 0;

    gpu_read(o.m, 0, image, (size_t)o.n * (size_t)o.piece * (size_t)o.step * sizeof *image);
    for (int k = 0; k < o.n * o.piece * o.step; k++)
        wrong += image[k] != (k / o.piece % o.step == 0 ? first + k / (o.piece * o.step) * o.piece + k % o.piece : 9.0);
    CHECK(wrong == 0, "%s: %d doubles are wrong", what, wrong);
}

static MPI_Datatype type_of(objects o)
{
    MPI_Datatype piece, type;

    MPI_Type_contiguous(o.piece, MPI_DOUBLE, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)(o.piece * o.step) * (MPI_Aint)sizeof(double), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&piece);
    return type;
}

/* The other rank's block goes from one layout to another, or remains in place. */
static void alltoallw(MPI_Comm comm, int other, objects from, bool in_place, const char *what)
{
    const objects to = {.m = &in, .n = from.n, .piece = from.piece, .step = 3};
    const int zero[2] = {0};
    bool is_read = gpu_is_fake() && !in_place && comm == MPI_COMM_WORLD && test_can_read_peer();
    MPI_Datatype sent = type_of(from), received = type_of(to), sends[] = {sent, sent},
                 receives[] = {received, received};
    int counts[2] = {0};
    long before;

    counts[other] = from.n;
    for (int round = 0; round < BEFORE; round++) {
        fill_objects(from, 1e3 * round + 1e6 * rank);
        fill_objects(to, in_place ? 1e3 * round + 1e6 * rank : 7.0);
        before = launches();
        MPI_Alltoallw(in_place ? MPI_IN_PLACE : out.at, counts, zero, sends, in.at, counts, zero, receives, comm);
        CHECK(!is_read || round < 2 || launches() == before + 1, "%s: %ld launches", what, launches() - before);
        check_objects(to, 1e3 * round + 1e6 * (1 - rank), what);
    }
    MPI_Type_free(&sent);
    MPI_Type_free(&received);
}

static void work_by_other_calls(void)
{
    const objects shorter = {&out, 700, 1, 2}, longer = {&out, LONG / 128, 128, 2};
    MPI_Comm between;

    make_buffers();
    alltoallw(MPI_COMM_WORLD, 1 - rank, shorter, false, "alltoallw");
    alltoallw(MPI_COMM_WORLD, 1 - rank, longer, false, "long pieces");
    alltoallw(MPI_COMM_WORLD, 1 - rank, shorter, true, "in place");
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 0, &between);
    alltoallw(between, 0, shorter, false, "between groups");
    MPI_Comm_free(&between);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* Rank 1 expects so many doubles of edge 2, and rank 0 sends SHORT. What rank 1's call returns is up to the MPI. */
static void work_unequally(int expected)
{
    MPI_Comm comm = make_graph();
    int rc;

    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    work(comm, 4);
    test_watch(expected ? "fewer bytes are expected than are sent" : "none of the bytes are expected", PATIENCE);
    rc = call(4, rank == 0 ? SHORT : 0, rank == 1 ? expected : 0);
    CHECK(rc == MPI_SUCCESS || rank == 1, "rank 0 has failed");
    MPI_Comm_free(&comm);
    test_watch(NULL, 0);
}

/* Rank 0 names the same memory twice, of which nothing is sent. Then a type is missing. */
static void work_with_errors(void)
{
    MPI_Comm comm = make_graph();
    MPI_Aint displs[2][EDGES] = {{0}};
    MPI_Datatype types[2][EDGES];
    int counts[2][EDGES] = {{0}}, other = rank == 0 ? 0 : 1;

    for (int i = 0; i < 2 * EDGES; i++)
        types[i / EDGES][i % EDGES] = spread;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    work(comm, 4);
    test_watch("a call that one rank leaves to MPI", PATIENCE);
    CHECK(MPI_Neighbor_alltoallw(out.at, counts[0], displs[0], types[0], rank == 0 ? out.at : in.at, counts[other],
                                 displs[other], types[other], comm) == MPI_SUCCESS,
          "an empty call has failed");
    test_watch("calls after one that one rank leaves to MPI", PATIENCE);
    work(comm, 4);
    test_watch("a call without a type", PATIENCE);
    types[0][2] = MPI_DATATYPE_NULL;
    counts[0][2] = 1;
    CHECK(MPI_Neighbor_alltoallw(out.at, counts[0], displs[0], types[0], in.at, counts[1], displs[1], types[1], comm) !=
              MPI_SUCCESS,
          "a call without a type has not failed");
    test_watch("calls after one without a type", PATIENCE);
    work(comm, 4);
    test_watch(NULL, 0);
    MPI_Comm_free(&comm);
}

static void work_in_vain(void)
{
    MPI_Comm comm = make_graph();
    int rc;

    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    work(comm, 4);
    if (rank == 1)
        ((void (*)(void))gpu_symbol("fake_fault_at_launch"))();
    rc = call(4, -1, -1);
    CHECK((rc == MPI_SUCCESS) == (rank == 0), "returned %d", rc);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[2] : "";
    bool uses_none = strcmp(mode, "without") == 0 && test_launch_rank() == 1;
    int rc, provided;
    MPI_Comm comm;

    has_gpu = !uses_none && gpu_start_as_told(argc, argv); /* at MPI_Init Packwright asks whether a rank may have one */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if ((!has_gpu && !uses_none) || (strcmp(mode, "threads") == 0 && provided < MPI_THREAD_MULTIPLE)) {
        MPI_Finalize();
        return SKIPPED;
    }
    if (has_gpu)
        gpu_set_current_of(rank);
    spread = MPI_DATATYPE_NULL;
    renew_type();
    if (strcmp(mode, "threads") == 0) {
        work_by_threads();
    } else if (strcmp(mode, "many") == 0) {
        work_on_many();
    } else if (strcmp(mode, "calls") == 0) {
        work_by_other_calls();
    } else if (strcmp(mode, "again") == 0) {
        make_buffers();
        work_again();
    } else if (strcmp(mode, "unequal") == 0) {
        make_buffers();
        work_unequally(SHORT - 1);
        work_unequally(0);
    } else if (strcmp(mode, "errors") == 0) {
        make_buffers();
        work_with_errors();
    } else if (strcmp(mode, "fails") == 0) {
        make_buffers();
        work_in_vain();
    } else {
        if (strcmp(mode, "closed") == 0)
            ((void (*)(const char *, int, int))gpu_symbol("fake_fail"))("cuIpcOpenMemHandle_v2", 1, 999);
        make_buffers();
        comm = make_graph();
        work(comm, ROUNDS);
        CHECK(!gpu_is_fake() || *mode || !test_can_read_peer() || fewest == 1, "no call had less than %ld launches",
              fewest);
        MPI_Comm_free(&comm);
    }
    MPI_Type_free(&spread);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
