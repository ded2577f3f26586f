/*
 * Messages between two GPU buffers with the strategy `direct`: a kernel of the receiver reads the sender's memory. Rank
 * 0 sends. Each case has a communicator of its own, on which messages come first that prove the channel. Then a
 * message between two layouts must take no launch on the sender and one on the receiver; the sender's buffer is
 * overwritten as soon as MPI says so, freed and allocated anew, still being filled by the default stream, in memory
 * that other processes cannot open; and the receiver is the rank itself, posts more or less than comes, completes by
 * MPI_Waitany or MPI_Testsome, is persistent, or receives into host memory. (lazy.c and shared.c, by this strategy,
 * have those who read the message in other ways; dies.c has ranks that die.) With "user" the system lets the processes
 * handle faults of user code only, as it does for most users.
 *
 * usage: direct <driver, or -> [user]. Exits 77, for "skipped", without a GPU.
 */

#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { SKIPPED = 77, TAG = 3, PROVING = 3, FLIGHT = 6, BYTES = 192 << 10, SPAN = 3 * BYTES, TYPES = 5 };

static int rank;
static bool counted; /* the stand-in's calls tell how messages went */

/* ---- types ------------------------------------------------------------------------------------------------------- */

static const char *const names[TYPES] = {"bytes", "doubles apart", "pairs apart", "rows", "a list"};

/* All have BYTES bytes in `count` objects, and lie in SPAN bytes. */
static MPI_Datatype make_type(int i, int *count)
{
    MPI_Datatype type;
    int places[48];

    *count = 1;
    switch (i) {
    case 0: MPI_Type_contiguous(BYTES, MPI_BYTE, &type); break;
    case 1: MPI_Type_vector(BYTES / 8, 1, 3, MPI_DOUBLE, &type); break;
    case 2: MPI_Type_vector(BYTES / 16, 2, 5, MPI_DOUBLE, &type); break;
    case 3: MPI_Type_vector(96, BYTES / 96, BYTES / 48, MPI_BYTE, &type); break;
    default:
        for (int k = 0; k < 48; k++)
            places[k] = 9 * k + k % 3;
        *count = BYTES / (48 * 4 * 4);
        MPI_Type_create_indexed_block(48, 4, places, MPI_INT, &type);
        break;
    }
    MPI_Type_commit(&type);
    return type;
}

/* ---- one side ---------------------------------------------------------------------------------------------------- */

typedef struct side {
    MPI_Datatype type;
    int count;
    gpu_memory gpu;
    unsigned char *image, *packed;
} side;

static side make_side(int type)
{
    side s = {.image = malloc(SPAN), .packed = malloc(BYTES)};

    s.type = make_type(type, &s.count);
    s.gpu = gpu_memory_make(GPU_DEVICE, SPAN);
    return s;
}

static void free_side(side *s)
{
    if (s->gpu.at)
        gpu_memory_free(&s->gpu);
    MPI_Type_free(&s->type);
    free(s->image);
    free(s->packed);
}

static void fill(side *s, unsigned seed)
{
    test_fill(s->image, SPAN, seed);
    gpu_write(&s->gpu, 0, s->image, SPAN);
}

/* Fills the buffer so that its packed form follows from `seed`. */
static void put(side *s, unsigned seed)
{
    int at = 0;

    test_fill(s->packed, BYTES, seed);
    PMPI_Unpack(s->packed, BYTES, &at, s->image, s->count, s->type, MPI_COMM_SELF);
    gpu_write(&s->gpu, 0, s->image, SPAN);
}

/* Checks what has come on top of what fill(s, 9) has written. */
static void judge(side *s, unsigned seed, int objects, const char *what)
{
    unsigned char *got = malloc(SPAN);
    int at = 0, bytes = test_packed_bytes(s->type, objects);

    test_fill(s->packed, BYTES, seed);
    test_fill(s->image, SPAN, 9);
    PMPI_Unpack(s->packed, bytes, &at, s->image, objects, s->type, MPI_COMM_SELF);
    gpu_read(&s->gpu, 0, got, SPAN);
    CHECK(!memcmp(got, s->image, SPAN), "%s, seed %u", what, seed);
    free(got);
}

/* Sends one message, and spoils its source at once. */
static void send_one(side *s, unsigned seed, MPI_Comm comm)
{
    put(s, seed);
    MPI_Send(s->gpu.at, s->count, s->type, 1, TAG, comm);
    fill(s, 77);
}

static void receive_one(side *s, unsigned seed, MPI_Comm comm, const char *what)
{
    fill(s, 9);
    MPI_Recv(s->gpu.at, s->count, s->type, 0, TAG, comm, MPI_STATUS_IGNORE);
    judge(s, seed, s->count, what);
}

static void exchange(side *s, unsigned seed, MPI_Comm comm, const char *what)
{
    if (rank == 0)
        send_one(s, seed, comm);
    else
        receive_one(s, seed, comm, what);
}

static MPI_Comm proven(side *s, const char *what)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < PROVING; i++)
        exchange(s, 20 + (unsigned)i, comm, what);
    return comm;
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

static long work(void)
{
    return counted ? gpu_calls("cuLaunchKernel") + gpu_calls("cuGraphLaunch") + gpu_calls("cuMemcpyAsync") : 0;
}

static void between_layouts(int from, int to)
{
    char what[64];
    long before;
    MPI_Comm comm;
    side s = make_side(rank == 0 ? from : to);

    snprintf(what, sizeof what, "%s to %s", names[from], names[to]);
    comm = proven(&s, what);
    before = work();
    exchange(&s, 30, comm, what);
    before = work() - before;
    CHECK(!counted || before == (rank == 1), "%s: rank %d has begun %ld works", what, rank, before);
    MPI_Comm_free(&comm);
    free_side(&s);
}

/* Many at once, of which each source is spoilt when its request is complete. */
static void in_flight(void)
{
    MPI_Request requests[FLIGHT];
    side s[FLIGHT];
    MPI_Comm comm;
    int done;

    for (int i = 0; i < FLIGHT; i++)
        s[i] = make_side(1 + (i + rank) % 2);
    comm = proven(&s[0], "in flight");
    for (int i = 0; i < FLIGHT; i++) {
        if (rank == 0) {
            put(&s[i], 40 + (unsigned)i);
            MPI_Isend(s[i].gpu.at, s[i].count, s[i].type, 1, i, comm, &requests[i]);
        } else {
            fill(&s[i], 9);
            MPI_Irecv(s[i].gpu.at, s[i].count, s[i].type, 0, i, comm, &requests[i]);
        }
    }
    for (int i = 0; i < FLIGHT; i++) {
        MPI_Waitany(FLIGHT, requests, &done, MPI_STATUS_IGNORE);
        if (rank == 0)
            fill(&s[done], 78);
        else
            judge(&s[done], 40 + (unsigned)done, s[done].count, "in flight");
    }
    MPI_Comm_free(&comm);
    for (int i = 0; i < FLIGHT; i++)
        free_side(&s[i]);
}

/* Receives that MPI_Testsome completes, in whatever order. */
static void by_testsome(void)
{
    MPI_Request requests[FLIGHT];
    MPI_Status statuses[FLIGHT];
    int indices[FLIGHT], left = FLIGHT, n;
    side s[FLIGHT];
    MPI_Comm comm;

    for (int i = 0; i < FLIGHT; i++)
        s[i] = make_side(1 + (i + rank) % 2);
    comm = proven(&s[0], "by Testsome");
    for (int i = 0; i < FLIGHT; i++) {
        if (rank == 0) {
            put(&s[i], 45 + (unsigned)i);
            MPI_Isend(s[i].gpu.at, s[i].count, s[i].type, 1, i, comm, &requests[i]);
        } else {
            fill(&s[i], 9);
            MPI_Irecv(s[i].gpu.at, s[i].count, s[i].type, 0, i, comm, &requests[i]);
        }
    }
    for (; left > 0; left -= n) {
        MPI_Testsome(FLIGHT, requests, &n, indices, statuses);
        for (int i = 0; i < n; i++) {
            int done = indices[i];

            if (rank == 0)
                fill(&s[done], 78);
            else
                judge(&s[done], 45 + (unsigned)done, s[done].count, "by Testsome");
        }
    }
    MPI_Comm_free(&comm);
    for (int i = 0; i < FLIGHT; i++)
        free_side(&s[i]);
}

/* Starts a receive or a send that is persistent on one side, several times. Returns the work begun in the last one. */
static long start_again(side *s, MPI_Comm comm, bool persistent_send, const char *what)
{
    enum { ROUNDS = 4 };
    MPI_Request request;
    long before = 0;

    if (rank == 0 && persistent_send)
        MPI_Send_init(s->gpu.at, s->count, s->type, 1, TAG, comm, &request);
    else if (rank == 1)
        MPI_Recv_init(s->gpu.at, s->count, s->type, 0, TAG, comm, &request);
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (rank == 0)
            put(s, 80 + i);
        else
            fill(s, 9);
        before = work();
        if (rank == 0 && !persistent_send)
            MPI_Send(s->gpu.at, s->count, s->type, 1, TAG, comm);
        else {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        before = work() - before;
        if (rank == 0)
            fill(s, 77);
        else
            judge(s, 80 + i, s->count, what);
    }
    if (rank == 1 || persistent_send)
        MPI_Request_free(&request);
    return before;
}

/* A persistent receive takes messages directly, and those of a persistent send. */
static void persistent(void)
{
    side s = make_side(1 + rank);
    MPI_Comm comm = proven(&s, "to a persistent receive");
    long n = start_again(&s, comm, false, "to a persistent receive");

    CHECK(!counted || n == (rank == 1), "to a persistent receive: rank %d has begun %ld works", rank, n);
    n = start_again(&s, comm, true, "from a persistent send");
    CHECK(!counted || n == (rank == 1), "from a persistent send: rank %d has begun %ld works", rank, n);
    MPI_Comm_free(&comm);
    free_side(&s);
}

/* Persistent sends that are started by one call wait once for what the program has put into the default stream. */
static void started_together(void)
{
    MPI_Request requests[FLIGHT];
    MPI_Status statuses[FLIGHT];
    side s[FLIGHT];
    MPI_Comm comm;

    for (int i = 0; i < FLIGHT; i++)
        s[i] = make_side(1 + (i + rank) % 2);
    comm = proven(&s[0], "started together");
    for (int i = 0; i < FLIGHT; i++) {
        if (rank == 0)
            MPI_Send_init(s[i].gpu.at, s[i].count, s[i].type, 1, i, comm, &requests[i]);
        else
            MPI_Recv_init(s[i].gpu.at, s[i].count, s[i].type, 0, i, comm, &requests[i]);
    }
    for (unsigned round = 0; round < 20; round += 10) {
        long waits;

        for (int i = 0; i < FLIGHT; i++) {
            if (rank == 0)
                put(&s[i], 50 + round + (unsigned)i);
            else
                fill(&s[i], 9);
        }
        waits = counted ? gpu_calls("cuStreamQuery") : 0;
        MPI_Startall(FLIGHT, requests);
        if (counted && rank == 0)
            CHECK(gpu_calls("cuStreamQuery") == waits + 1, "%d sends started together have asked %ld times", FLIGHT,
                  gpu_calls("cuStreamQuery") - waits);
        MPI_Waitall(FLIGHT, requests, statuses);
        for (int i = 0; i < FLIGHT; i++) {
            if (rank == 0)
                fill(&s[i], 78);
            else
                judge(&s[i], 50 + round + (unsigned)i, s[i].count, "started together");
        }
    }
    for (int i = 0; i < FLIGHT; i++) {
        MPI_Request_free(&requests[i]);
        free_side(&s[i]);
    }
    MPI_Comm_free(&comm);
}

/* The source is freed after each message, and its addresses are those of the next one. */
static void reallocated(void)
{
    side s = make_side(1);
    MPI_Comm comm = proven(&s, "allocated anew");
    long opened = counted ? gpu_calls("cuIpcOpenMemHandle_v2") : 0;

    for (unsigned i = 0; i < 4; i++) {
        gpu_memory_free(&s.gpu);
        s.gpu = gpu_memory_make(GPU_DEVICE, SPAN + (i % 2 ? BYTES : 0));
        exchange(&s, 50 + i, comm, "allocated anew");
    }
    opened = counted ? gpu_calls("cuIpcOpenMemHandle_v2") - opened : 0;
    CHECK(!counted || opened == (rank == 1 ? 4 : 0), "rank %d has opened %ld allocations", rank, opened);
    MPI_Comm_free(&comm);
    free_side(&s);
}

/* The source of a persistent send is freed between its starts, and its addresses are those of the next allocation; the
 * last one is such that other processes cannot open it. */
static void moved_between_starts(void)
{
    enum { STARTS = 6 };
    side s = make_side(1);
    MPI_Comm comm = proven(&s, "moved between starts");
    gpu_memory first = s.gpu;
    long opened = counted ? gpu_calls("cuIpcOpenMemHandle_v2") : 0;
    MPI_Request request;
    bool moved = false;

    s.gpu = gpu_memory_make(GPU_DEVICE, SPAN);
    if (rank == 0)
        MPI_Send_init(s.gpu.at, s.count, s.type, 1, TAG, comm, &request);
    for (unsigned i = 0; i < STARTS; i++) {
        unsigned char *was = s.gpu.at;

        if (rank == 1) {
            receive_one(&s, 60 + i, comm, "moved between starts");
            continue;
        }
        gpu_memory_free(&s.gpu);
        s.gpu = gpu_memory_make(GPU_DEVICE, SPAN);
        if (i + 1 == STARTS && gpu_is_fake())
            ((void (*)(uint64_t))gpu_symbol("fake_pool"))((uintptr_t)s.gpu.at);
        put(&s, 60 + i);
        moved |= s.gpu.at != was;
        if (moved) {
            MPI_Send(s.gpu.at, s.count, s.type, 1, TAG, comm);
            continue;
        }
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        fill(&s, 77);
    }
    CHECK(!moved, "memory is not allocated where it was");
    opened = counted ? gpu_calls("cuIpcOpenMemHandle_v2") - opened : 0;
    CHECK(!counted || opened == (rank == 1 ? STARTS - 1 : 0),
          "moved between starts: rank %d has opened %ld allocations", rank, opened);
    if (rank == 0)
        MPI_Request_free(&request);
    gpu_memory_free(&first);
    MPI_Comm_free(&comm);
    free_side(&s);
}

/* Nonblocking sends that are alike, but for where their source lies: in two allocations by turns, of which the second
 * is freed in between, and its addresses are those of the next one. */
static void sent_again(void)
{
    enum { SENDS = 8 };
    side s[2] = {make_side(1), make_side(1)};
    MPI_Comm comm = proven(&s[0], "sent again");
    long opened = counted ? gpu_calls("cuIpcOpenMemHandle_v2") : 0;
    MPI_Request request;

    for (unsigned i = 0; i < SENDS; i++) {
        side *one = &s[i % 2];

        if (i == SENDS / 2 + 1) {
            const void *was = one->gpu.at;

            gpu_memory_free(&one->gpu);
            one->gpu = gpu_memory_make(GPU_DEVICE, SPAN);
            CHECK(one->gpu.at == was, "sent again: memory is not allocated where it was");
        }
        if (rank == 1) {
            receive_one(one, 60 + i, comm, "sent again");
            continue;
        }
        put(one, 60 + i);
        MPI_Isend(one->gpu.at, one->count, one->type, 1, TAG, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        fill(one, 77);
    }
    opened = counted ? gpu_calls("cuIpcOpenMemHandle_v2") - opened : 0;
    CHECK(!counted || opened == (rank == 1 ? 2 : 0), "sent again: rank %d has opened %ld allocations", rank, opened);
    MPI_Comm_free(&comm);
    free_side(&s[0]);
    free_side(&s[1]);
}

/* Each send has a tag of its own, so none is like a kept one. What those before have proven holds at once: the sender
 * need not pack any longer for receivers that may not read. */
static void with_tags_that_run_on(void)
{
    enum { SENDS = 150, FIRST = 50 };
    side s = make_side(1);
    long launches = 0;
    MPI_Request request;
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < SENDS; i++) {
        if (i == FIRST && counted)
            launches = gpu_launches("");
        if (rank == 0) {
            put(&s, 60 + (unsigned)i);
            MPI_Isend(s.gpu.at, s.count, s.type, 1, TAG + 1 + i, comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            fill(&s, 9);
            MPI_Recv(s.gpu.at, s.count, s.type, 0, TAG + 1 + i, comm, MPI_STATUS_IGNORE);
            judge(&s, 60 + (unsigned)i, s.count, "tags that run on");
        }
    }
    launches = counted ? gpu_launches("") - launches : 0;
    CHECK(rank == 1 || launches <= FIRST, "tags that run on: %ld launches", launches);
    MPI_Comm_free(&comm);
    free_side(&s);
}

/* Between two starts of persistent operations their memory becomes another GPU's, whose kernels alone reach it. */
static void of_another_gpu(void)
{
    enum { STARTS = 6 };
    side s = make_side(1 + rank);
    MPI_Comm comm = proven(&s, "of another GPU");
    void *others[] = {gpu_primary(1), gpu_primary(0)};
    MPI_Request request;

    if (rank == 0)
        MPI_Send_init(s.gpu.at, s.count, s.type, 1, TAG, comm, &request);
    else
        MPI_Recv_init(s.gpu.at, s.count, s.type, 0, TAG, comm, &request);
    for (unsigned i = 0; i < STARTS; i++) {
        if (rank == 0)
            put(&s, 60 + i);
        else
            fill(&s, 9);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == 0)
            fill(&s, 77);
        else
            judge(&s, 60 + i, s.count, "of another GPU");
        if (i % 2 != 0)
            ((void (*)(uint64_t, void *))gpu_symbol("fake_hand_over"))((uintptr_t)s.gpu.at, others[i / 2 % 2]);
    }
    MPI_Request_free(&request);
    MPI_Comm_free(&comm);
    free_side(&s);
}

/* Memory that other processes cannot open goes in the other ways. */
static void unopened(void)
{
    side s = make_side(2);
    MPI_Comm comm;

    if (rank == 0 && gpu_is_fake())
        ((void (*)(uint64_t))gpu_symbol("fake_pool"))((uintptr_t)s.gpu.at);
    comm = proven(&s, "not to be opened");
    exchange(&s, 60, comm, "not to be opened");
    MPI_Comm_free(&comm);
    free_side(&s);
}

/* The default stream still copies to the source when it is sent. */
static void being_filled(void)
{
    int (*copy)(uint64_t, uint64_t, size_t, void *) =
        (int (*)(uint64_t, uint64_t, size_t, void *))gpu_symbol("cuMemcpyAsync");
    gpu_memory other = gpu_memory_make(GPU_DEVICE, SPAN);
    side s = make_side(1);
    MPI_Comm comm = proven(&s, "being filled");

    if (rank == 0) {
        put(&s, 65);
        gpu_write(&other, 0, s.image, SPAN);
        fill(&s, 79);
        copy((uintptr_t)s.gpu.at, (uintptr_t)other.at, SPAN, NULL);
        MPI_Send(s.gpu.at, s.count, s.type, 1, TAG, comm);
    } else {
        receive_one(&s, 65, comm, "being filled");
    }
    MPI_Comm_free(&comm);
    gpu_memory_free(&other);
    free_side(&s);
}

/* A stream that waits until a word in pinned memory is set, by `release` or after some seconds. */
typedef struct held {
    gpu_memory word;
    void *stream;
    pthread_t watchdog;
    atomic_bool is_released;
    bool expired;
} held;

static void *expire(void *arg)
{
    enum { PERIODS = 1000, PERIOD_US = 10000 };
    held *h = arg;

    for (int i = 0; i < PERIODS && !atomic_load(&h->is_released); i++)
        usleep(PERIOD_US);
    h->expired = !atomic_load(&h->is_released);
    atomic_store((_Atomic uint32_t *)(void *)h->word.at, 1);
    return NULL;
}

static void hold(held *h)
{
    int (*create)(void **, unsigned) = (int (*)(void **, unsigned))gpu_symbol("cuStreamCreate");
    int (*wait)(void *, uint64_t, uint32_t, unsigned) =
        (int (*)(void *, uint64_t, uint32_t, unsigned))gpu_symbol("cuStreamWaitValue32_v2");

    *h = (held){.word = gpu_memory_make(GPU_PINNED, sizeof(uint32_t))};
    atomic_init((_Atomic uint32_t *)(void *)h->word.at, 0);
    CHECK(create(&h->stream, 0) == 0 && wait(h->stream, (uintptr_t)h->word.at, 1, 0) == 0, "a stream that waits");
    pthread_create(&h->watchdog, NULL, expire, h);
}

/* Returns false if the stream has waited too long. */
static bool release(held *h)
{
    int (*destroy)(void *) = (int (*)(void *))gpu_symbol("cuStreamDestroy_v2");

    atomic_store(&h->is_released, true);
    pthread_join(h->watchdog, NULL);
    destroy(h->stream);
    gpu_memory_free(&h->word);
    return !h->expired;
}

/* Messages wait for the program's default stream, but not for what it computes meanwhile in a stream of its own. */
static void beside_a_computation(void)
{
    side s = make_side(1);
    MPI_Comm comm = proven(&s, "beside a computation");
    held h;

    if (rank == 0) {
        put(&s, 63);
        hold(&h);
        MPI_Send(s.gpu.at, s.count, s.type, 1, TAG, comm);
        CHECK(release(&h), "a send has waited for a stream that is not the default one");
    } else {
        receive_one(&s, 63, comm, "beside a computation");
    }
    MPI_Comm_free(&comm);
    free_side(&s);
}

/* A message of bytes that ends within an object of the receiver, and one that is too long for it. */
static void of_other_lengths(void)
{
    enum { SHORT = BYTES - 20 };
    side s = make_side(rank == 0 ? 0 : 4);
    MPI_Comm comm = proven(&s, "of other lengths");
    unsigned char *got = malloc(SPAN), *want = malloc(BYTES);
    int rc = MPI_SUCCESS, at = 0, n = 0;
    MPI_Status status;

    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (rank == 0) {
        put(&s, 67);
        MPI_Send(s.gpu.at, SHORT, MPI_BYTE, 1, TAG, comm);
        MPI_Send(s.gpu.at, BYTES, MPI_BYTE, 1, TAG, comm);
    } else {
        fill(&s, 9);
        MPI_Recv(s.gpu.at, s.count, s.type, 0, TAG, comm, &status);
        MPI_Get_elements(&status, s.type, &n);
        gpu_read(&s.gpu, 0, got, SPAN);
        PMPI_Pack(got, s.count, s.type, s.packed, BYTES, &at, MPI_COMM_SELF);
        test_fill(want, BYTES, 67);
        CHECK(!memcmp(s.packed, want, SHORT) && n == SHORT / 4, "a shorter message, of %d elements", n);
        fill(&s, 9);
        rc = MPI_Recv(s.gpu.at, s.count / 2, s.type, 0, TAG, comm, MPI_STATUS_IGNORE);
        CHECK(test_class_of(rc) == MPI_ERR_TRUNCATE, "too long a message: class %d", test_class_of(rc));
    }
    MPI_Comm_free(&comm);
    free(got);
    free(want);
    free_side(&s);
}

/* The receiver's GPU packs the message for its own CPU. The sender has nothing to do then, and the channel stays
 * proven: the next message to the GPU takes one launch again. */
static void into_host_memory(int type)
{
    side s = make_side(rank == 0 ? 1 : type);
    MPI_Comm comm = proven(&s, "into host memory");
    long before = work();

    if (rank == 0) {
        put(&s, 68);
        before = work();
        MPI_Send(s.gpu.at, s.count, s.type, 1, TAG, comm);
        CHECK(work() == before, "into host memory: the sender has begun %ld works", work() - before);
        fill(&s, 77);
    } else {
        unsigned char *host = malloc(SPAN);
        int at = 0;

        test_fill(host, SPAN, 9);
        MPI_Recv(host, s.count, s.type, 0, TAG, comm, MPI_STATUS_IGNORE);
        test_fill(s.packed, BYTES, 68);
        test_fill(s.image, SPAN, 9);
        PMPI_Unpack(s.packed, BYTES, &at, s.image, s.count, s.type, MPI_COMM_SELF);
        CHECK(!memcmp(host, s.image, SPAN), "into host memory, as %s", names[type]);
        free(host);
    }
    exchange(&s, 69, comm, "after one into host memory");
    before = work();
    exchange(&s, 70, comm, "after one into host memory");
    before = work() - before;
    CHECK(!counted || before == (rank == 1), "after one into host memory: rank %d has begun %ld works", rank, before);
    MPI_Comm_free(&comm);
    free_side(&s);
}

/* A channel that waits after a message that was not taken is forgotten with its communicator, whose handle MPI gives to
 * the next one. */
static void of_a_new_communicator(void)
{
    side s = make_side(1 + rank);
    MPI_Comm comm = proven(&s, "of an old communicator");
    long before;

    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (rank == 0)
        MPI_Send(s.gpu.at, s.count, s.type, 1, TAG, comm);
    else
        MPI_Recv(s.gpu.at, 1, MPI_DOUBLE, 0, TAG, comm, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    comm = proven(&s, "of a new communicator");
    before = work();
    exchange(&s, 71, comm, "of a new communicator");
    before = work() - before;
    CHECK(!counted || before == (rank == 1), "of a new communicator: rank %d has begun %ld works", rank, before);
    MPI_Comm_free(&comm);
    free_side(&s);
}

static void to_oneself(void)
{
    side from = make_side(1), to = make_side(2);
    MPI_Request requests[2];
    MPI_Status statuses[2];

    for (unsigned i = 0; i < 4; i++) {
        put(&from, 70 + i);
        fill(&to, 9);
        MPI_Irecv(to.gpu.at, to.count, to.type, rank, TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(from.gpu.at, from.count, from.type, rank, TAG, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, statuses);
        judge(&to, 70 + i, to.count, "to oneself");
    }
    free_side(&from);
    free_side(&to);
}

static void run(void)
{
    for (int from = 0; from < TYPES; from++)
        for (int to = 0; to < TYPES; to++)
            between_layouts(from, to);
    in_flight();
    by_testsome();
    persistent();
    started_together();
    reallocated();
    moved_between_starts();
    sent_again();
    with_tags_that_run_on();
    if (gpu_is_fake())
        of_another_gpu();
    unopened();
    being_filled();
    beside_a_computation();
    of_other_lengths();
    into_host_memory(0);
    into_host_memory(2); /* receives of such blocks are staged by the defaults for any CPU */
    of_a_new_communicator();
    to_oneself();
}

int main(int argc, char **argv)
{
    int rc;

    counted = test_has_userfaultfd();
    if (argc > 2 && !strcmp(argv[2], "user"))
        test_limit_userfaultfd(true);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!gpu_start_as_told(argc, argv)) {
        MPI_Finalize();
        return SKIPPED;
    }
    gpu_set_current_of(rank);
    counted = counted && test_can_read_peer() && test_reads_are_seen() && gpu_is_fake();
    run();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
