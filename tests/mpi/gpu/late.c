/*
 * Messages between GPU buffers that the receiver's GPU still reads when MPI has told the sender that they are over. The
 * receiver expects several, and must have launched all of them before it waits for one. Its stand-in holds launches
 * back, so a sender that may use its buffer too early spoils what is received: rank 0 overwrites each buffer as soon as
 * MPI completes the send, in every way to complete one, in blocking sends, in both directions, and in threads. Rank 0
 * must not need the CPU of rank 1 for it. Receives are longer or shorter than what comes, persistent, freed, or in host
 * memory. The blocks of a neighbourhood collective are read so, too, by few launches. In the end a launch fails: the
 * receive must fail, and the send must end. On a GPU work of the program's default stream holds launches back, and they
 * are not counted.
 *
 * usage: late <driver, or -> [fault, or single: the same without threads, or dense: contiguous messages]. Exits 77,
 * for "skipped", where no GPU reads another process's memory.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/completion.h"
#include "tests/mpi/support/harness.h"

enum { SKIPPED = 77, FLIGHT = 6, BYTES = 192 << 10, SPAN = 2 * BYTES, DELAY_MS = 4, THREADS = 2 };

static int rank;
static MPI_Datatype type; /* BYTES bytes in SPAN bytes */
static MPI_Datatype part; /* a sixteenth of it */

/* ---- the stand-in ------------------------------------------------------------------------------------------------ */

static long launches(void)
{
    long (*calls)(const char *) = (long (*)(const char *))gpu_symbol("fake_calls");

    return calls("cuLaunchKernel") + calls("cuGraphLaunch");
}

static void delay(int ms)
{
    if (gpu_is_fake())
        ((void (*)(int))gpu_symbol("fake_delay"))(ms);
}

/* On a GPU: gives the default stream work of some milliseconds, for which all launches wait. */
static void hold_back(void)
{
    enum { LONG = 1 << 30, TIMES = 8 };
    static gpu_memory much;

    if (gpu_is_fake())
        return;
    if (!much.at)
        much = gpu_memory_make(GPU_DEVICE, LONG);
    for (int i = 0; i < TIMES; i++)
        ((int (*)(uint64_t, unsigned char, size_t, void *))gpu_symbol("cuMemsetD8Async"))((uintptr_t)much.at, 0, LONG,
                                                                                          NULL);
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

static void fill(const gpu_memory *m, unsigned seed)
{
    unsigned char *image = malloc(SPAN);

    test_fill(image, SPAN, seed);
    gpu_write(m, 0, image, SPAN);
    free(image);
}

/* Checks that `bytes` bytes of message `seed` lie in a buffer that fill(m, 9) had filled. */
static void judge(const gpu_memory *m, unsigned seed, int bytes, const char *what)
{
    unsigned char *got = malloc(SPAN), *want = malloc(SPAN), *from = malloc(SPAN), *packed = malloc(BYTES);
    int at = 0;

    test_fill(from, SPAN, seed);
    PMPI_Pack(from, 1, type, packed, BYTES, &at, MPI_COMM_SELF);
    test_fill(want, SPAN, 9);
    at = 0;
    PMPI_Unpack(packed, bytes, &at, want, bytes / (BYTES / 16), part, MPI_COMM_SELF);
    gpu_read(m, 0, got, SPAN);
    CHECK(!memcmp(got, want, SPAN), "%s, message %u", what, seed);
    free(got);
    free(want);
    free(from);
    free(packed);
}

typedef struct flight {
    gpu_memory m[FLIGHT];
    MPI_Request requests[FLIGHT];
} flight;

static flight make_flight(gpu_kind kind)
{
    flight f;

    for (int i = 0; i < FLIGHT; i++) {
        f.m[i] = gpu_memory_make(i % 2 ? GPU_DEVICE : kind, SPAN);
        f.requests[i] = MPI_REQUEST_NULL;
    }
    return f;
}

static void free_flight(flight *f)
{
    for (int i = 0; i < FLIGHT; i++)
        if (f->m[i].kind == GPU_DEVICE)
            gpu_memory_free(&f->m[i]);
        else
            free(f->m[i].at);
}

/* Begins FLIGHT messages of this rank, which are number first, first + 1, … */
static void begin_sends(flight *f, unsigned first, MPI_Comm comm)
{
    for (int i = 0; i < FLIGHT; i++) {
        fill(&f->m[i], first + (unsigned)i);
        MPI_Isend(f->m[i].at, 1, type, 1 - rank, i, comm, &f->requests[i]);
    }
}

static void begin_receives(flight *f, MPI_Comm comm)
{
    for (int i = 0; i < FLIGHT; i++)
        fill(&f->m[i], 9);
    hold_back();
    for (int i = 0; i < FLIGHT; i++)
        MPI_Irecv(f->m[i].at, 1, type, 1 - rank, i, comm, &f->requests[i]);
}

static void spoil(const flight *f)
{
    for (int i = 0; i < FLIGHT; i++)
        fill(&f->m[i], 77);
}

static void judge_all(const flight *f, unsigned first, const char *what)
{
    for (int i = 0; i < FLIGHT; i++)
        judge(&f->m[i], first + (unsigned)i, BYTES, what);
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

/* FLIGHT messages from rank 0 to rank 1, completed in one way. The receiver must see them all before the sender sends
 * more, so the sender is as far as the receiver. */
static void one_way(flight *f, unsigned first, test_way way, MPI_Comm comm)
{
    if (rank == 0) {
        begin_sends(f, first, comm);
        test_complete(way, FLIGHT, f->requests, NULL, "late");
        spoil(f);
    } else {
        begin_receives(f, comm);
        test_complete(way, FLIGHT, f->requests, NULL, "late");
        judge_all(f, first, test_way_name(way));
    }
    PMPI_Barrier(comm);
}

/* The first read is launched alone, and its launch is held back. What comes meanwhile must be launched together, by at
 * most so many launches, and before the first one is waited for. Rank 1 tells rank 0 that it may send by a message for
 * which it does not wait, since MPI would begin reads in that call, too. Nor can it learn so that all has been sent: it
 * sleeps for much longer than that takes, so that MPI_Waitall finds all messages at once. */
static void are_launched_together(flight *f, long most)
{
    enum { HELD_MS = 60, ALL_SENT_US = 20000 };
    long before;

    if (rank == 1) {
        begin_receives(f, MPI_COMM_WORLD);
        delay(HELD_MS);
        before = launches();
        PMPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        usleep(ALL_SENT_US);
        MPI_Waitall(FLIGHT, f->requests, test_ignored());
        CHECK(launches() - before <= most, "%ld launches for %d messages", launches() - before, FLIGHT);
        judge_all(f, 300, "launched together");
        delay(0);
    } else {
        PMPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        begin_sends(f, 300, MPI_COMM_WORLD);
        MPI_Waitall(FLIGHT, f->requests, test_ignored());
        spoil(f);
    }
    PMPI_Barrier(MPI_COMM_WORLD);
}

/* While launches wait, rank 1 calls nothing until rank 0 has completed its sends. An MPI that reads past the C library
 * (Intel's) launches nothing before: it has taken what it sends when the sends are over. */
static void without_the_receiver(flight *f)
{
    _Atomic int *over;
    MPI_Aint bytes;
    MPI_Win win;
    int unit, flag;
    long before = launches();

    PMPI_Win_allocate_shared(rank == 0 ? sizeof *over : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &over, &win);
    PMPI_Win_shared_query(win, 0, &bytes, &unit, &over);
    if (rank == 0)
        atomic_store(over, 0);
    PMPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        begin_sends(f, 320, MPI_COMM_WORLD);
        MPI_Waitall(FLIGHT, f->requests, test_ignored());
        spoil(f);
        atomic_store(over, 1);
    } else {
        begin_receives(f, MPI_COMM_WORLD);
        while (launches() - before < FLIGHT && !atomic_load(over))
            MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        for (int i = 0; i < 100; i++)
            MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        while (!atomic_load(over))
            ;
        MPI_Waitall(FLIGHT, f->requests, test_ignored());
        judge_all(f, 320, "without the receiver's CPU");
    }
    PMPI_Barrier(MPI_COMM_WORLD);
    PMPI_Win_free(&win);
}

/* MPI_Request_get_status says that a send is over, and its request lives on. */
static void looked_at(flight *f)
{
    if (rank == 0) {
        begin_sends(f, 330, MPI_COMM_WORLD);
        for (int i = 0; i < FLIGHT; i++) {
            for (int flag = 0; !flag;)
                MPI_Request_get_status(f->requests[i], &flag, MPI_STATUS_IGNORE);
            fill(&f->m[i], 77);
        }
    } else {
        begin_receives(f, MPI_COMM_WORLD);
    }
    MPI_Waitall(FLIGHT, f->requests, test_ignored());
    if (rank == 1)
        judge_all(f, 330, "looked at");
    PMPI_Barrier(MPI_COMM_WORLD);
}

/* Blocking sends to receives of which several are expected. */
static void blocking(flight *f)
{
    if (rank == 0)
        for (int i = 0; i < FLIGHT; i++) {
            fill(&f->m[i], 340 + (unsigned)i);
            if (i % 2)
                MPI_Send(f->m[i].at, 1, type, 1, i, MPI_COMM_WORLD);
            else
                MPI_Ssend(f->m[i].at, 1, type, 1, i, MPI_COMM_WORLD);
            fill(&f->m[i], 77);
        }
    else {
        begin_receives(f, MPI_COMM_WORLD);
        MPI_Waitall(FLIGHT, f->requests, test_ignored());
        judge_all(f, 340, "blocking sends");
    }
    PMPI_Barrier(MPI_COMM_WORLD);
}

/* Messages both ways at once, with a request that is freed on either side. */
static void both_ways(flight *out, flight *in)
{
    begin_receives(in, MPI_COMM_WORLD);
    begin_sends(out, 360, MPI_COMM_WORLD);
    MPI_Request_free(&out->requests[FLIGHT - 1]);
    MPI_Waitall(FLIGHT, in->requests, test_ignored());
    MPI_Waitall(FLIGHT, out->requests, test_ignored());
    for (int i = 0; i < FLIGHT - 1; i++)
        fill(&out->m[i], 77);
    judge_all(in, 360, "both ways");
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < FLIGHT; i++) {
        fill(&out->m[i], 370 + (unsigned)i);
        fill(&in->m[i], 9);
    }
    MPI_Irecv(in->m[0].at, 1, type, 1 - rank, 0, MPI_COMM_WORLD, &in->requests[0]);
    MPI_Sendrecv(out->m[1].at, 1, type, 1 - rank, 1, in->m[1].at, 1, type, 1 - rank, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    fill(&out->m[1], 77);
    MPI_Send(out->m[0].at, 1, type, 1 - rank, 0, MPI_COMM_WORLD);
    fill(&out->m[0], 77);
    MPI_Wait(&in->requests[0], MPI_STATUS_IGNORE);
    judge(&in->m[0], 370, BYTES, "beside MPI_Sendrecv");
    judge(&in->m[1], 371, BYTES, "by MPI_Sendrecv");
    PMPI_Barrier(MPI_COMM_WORLD);
}

static void check_status(const MPI_Status *status, int tag, int parts)
{
    int n = -1;

    MPI_Get_count(status, part, &n);
    CHECK(status->MPI_SOURCE == 0 && status->MPI_TAG == tag && n == parts,
          "status of message %d: from %d, tag %d, %d parts", tag, status->MPI_SOURCE, status->MPI_TAG, n);
}

/* Receives that are persistent, among them longer ones than what comes, and one that is too short. */
static void of_other_lengths(flight *f)
{
    enum { SHORT = 8, ROUNDS = 3 };
    MPI_Status statuses[FLIGHT];
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* MPICH calls that one in MPI_Waitall */
    for (int i = 1; i < FLIGHT && rank == 1; i++)
        MPI_Recv_init(f->m[i].at, 16, part, 0, i, comm, &f->requests[i]);
    for (unsigned round = 0; round < ROUNDS; round++) {
        int rc;

        for (int i = 0; i < FLIGHT; i++)
            fill(&f->m[i], rank == 0 ? 400 + 10 * round + (unsigned)i : 9);
        if (rank == 0) {
            for (int i = 0; i < FLIGHT; i++)
                MPI_Isend(f->m[i].at, i < 3 ? SHORT : 16, part, 1, i, comm, &f->requests[i]);
            MPI_Waitall(FLIGHT, f->requests, test_ignored());
            spoil(f);
        } else {
            MPI_Startall(FLIGHT - 1, f->requests + 1);
            MPI_Irecv(f->m[0].at, round < ROUNDS - 1 ? 16 : SHORT / 2, part, 0, 0, comm, &f->requests[0]);
            rc = MPI_Waitall(FLIGHT, f->requests, statuses);
            CHECK((rc == MPI_SUCCESS) == (round < ROUNDS - 1), "other lengths, round %u: %d", round, rc);
            for (int i = 1; i < FLIGHT && rc == MPI_SUCCESS; i++)
                check_status(&statuses[i], i, i < 3 ? SHORT : 16);
            MPI_Waitall(FLIGHT, f->requests, test_ignored()); /* others may still be pending after an error */
            for (int i = 1; i < FLIGHT; i++)
                judge(&f->m[i], 400 + 10 * round + (unsigned)i, i < 3 ? BYTES / 2 : BYTES, "other lengths");
        }
        PMPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 0; i < FLIGHT; i++)
        if (f->requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&f->requests[i]);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&comm);
}

static bool is_set(const char *variable, const char *word)
{
    const char *value = getenv(variable);

    return value && !strcmp(value, word);
}

static void exchange_blocks(flight *out, flight *in, unsigned first, MPI_Comm graph)
{
    MPI_Aint outs[FLIGHT], ins[FLIGHT];
    MPI_Datatype types[FLIGHT];
    int ones[FLIGHT];

    for (int i = 0; i < FLIGHT; i++) {
        ones[i] = 1;
        types[i] = type;
        outs[i] = (MPI_Aint)out->m[i].at;
        ins[i] = (MPI_Aint)in->m[i].at;
        fill(&out->m[i], first + (unsigned)i);
        fill(&in->m[i], 9);
    }
    PMPI_Barrier(MPI_COMM_WORLD);
    MPI_Neighbor_alltoallw(MPI_BOTTOM, ones, outs, types, MPI_BOTTOM, ones, ins, types, graph);
    spoil(out);
    judge_all(in, first, "blocks");
}

/* FLIGHT blocks each way. The first read is launched at once and held back; the others share a launch, or two. A
 * replica that is alone is packed by one launch, else each block by its own. */
static void blocks_are_read_together(void)
{
    enum { HELD_MS = 60, READS = FLIGHT / 2 };
    flight out = make_flight(GPU_DEVICE), in = make_flight(GPU_DEVICE);
    int packs = is_set("PACKWRIGHT_LAZY", "0") ? FLIGHT : 1;
    MPI_Comm graph = test_graph_to(MPI_COMM_WORLD, 1 - rank, FLIGHT);
    long before;

    for (unsigned round = 0; round < 4; round++)
        exchange_blocks(&out, &in, 500 + 10 * round, graph);
    delay(HELD_MS);
    before = gpu_is_fake() ? launches() : 0;
    exchange_blocks(&out, &in, 600, graph);
    if (gpu_is_fake())
        CHECK(launches() - before <= packs + READS, "%ld launches for %d blocks", launches() - before, FLIGHT);
    delay(0);
    MPI_Comm_free(&graph);
    free_flight(&out);
    free_flight(&in);
}

static void *in_thread(void *comm)
{
    flight f;

    gpu_set_current(gpu_primary(0));
    gpu_set_current_of(rank);
    f = make_flight(GPU_DEVICE);
    for (unsigned i = 0; i < 5; i++)
        one_way(&f, 440 + 10 * i, i % 2 ? TEST_WAITSOME : TEST_TEST, *(MPI_Comm *)comm);
    free_flight(&f);
    return NULL;
}

static void in_threads(void)
{
    pthread_t threads[THREADS];
    MPI_Comm comms[THREADS];

    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, in_thread, &comms[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        MPI_Comm_free(&comms[i]);
    }
}

/* A launch that fails after MPI has told the sender that its message is over. */
static void fault(flight *f)
{
    MPI_Status statuses[FLIGHT];
    int rc;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0) {
        begin_sends(f, 500, MPI_COMM_WORLD);
        MPI_Waitall(FLIGHT, f->requests, test_ignored());
    } else {
        begin_receives(f, MPI_COMM_WORLD);
        delay(20);
        ((void (*)(void))gpu_symbol("fake_fault_at_launch"))();
        rc = MPI_Waitall(FLIGHT, f->requests, statuses);
        CHECK(rc != MPI_SUCCESS, "a launch has failed, and the receives %d", rc);
    }
}

static void run(bool threads)
{
    flight f = make_flight(GPU_DEVICE), g = make_flight(GPU_DEVICE), host = make_flight(GPU_HOST);
    long most = FLIGHT / 2;

#ifdef OPEN_MPI /* MPI_Waitall gathers reads only in programs without threads */
    most = threads ? FLIGHT : most;
#endif
    for (unsigned i = 0; i < 4; i++)
        one_way(&f, 20 + 10 * i, TEST_WAITALL, MPI_COMM_WORLD);
    if (gpu_is_fake()) {
        are_launched_together(&f, most);
        delay(rank == 1 ? DELAY_MS : 1);
        without_the_receiver(&f);
    }
    for (unsigned i = 0; i < 3 * TEST_WAYS; i++)
        one_way(&f, 100 + 6 * i, (test_way)(i % TEST_WAYS), MPI_COMM_WORLD);
    looked_at(&f);
    blocking(&f);
    both_ways(&f, &g);
    of_other_lengths(&f);
    one_way(&host, 430, TEST_WAITALL, MPI_COMM_WORLD);
    if (threads)
        in_threads();
    delay(0);
    free_flight(&f);
    free_flight(&g);
    free_flight(&host);
}

static void make_types(bool dense)
{
    MPI_Datatype narrow;

    MPI_Type_vector(BYTES / 64, 64, dense ? 64 : 128, MPI_BYTE, &type);
    MPI_Type_vector(BYTES / 64 / 16, 64, dense ? 64 : 128, MPI_BYTE, &narrow);
    MPI_Type_create_resized(narrow, 0, (dense ? BYTES : SPAN) / 16, &part);
    MPI_Type_free(&narrow);
    MPI_Type_commit(&type);
    MPI_Type_commit(&part);
}

int main(int argc, char **argv)
{
    bool single = argc > 2 && !strcmp(argv[2], "single");
    int rc, given;
    flight f;

    MPI_Init_thread(&argc, &argv, single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!gpu_start_as_told(argc, argv) || !test_can_read_peer() || !test_has_userfaultfd()) {
        MPI_Finalize();
        return SKIPPED;
    }
    gpu_set_current_of(rank);
    make_types(argc > 2 && !strcmp(argv[2], "dense"));
    run(given == MPI_THREAD_MULTIPLE);
    if (argc <= 2 && is_set("PACKWRIGHT_STRATEGY", "staged"))
        blocks_are_read_together();
    if (argc > 2 && (single || !strcmp(argv[2], "fault")) && gpu_is_fake()) {
        f = make_flight(GPU_DEVICE);
        for (unsigned i = 0; i < 3; i++)
            one_way(&f, 20 + 10 * i, TEST_WAITALL, MPI_COMM_WORLD);
        fault(&f);
    }
    MPI_Type_free(&type);
    MPI_Type_free(&part);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
