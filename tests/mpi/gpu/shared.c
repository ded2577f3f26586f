/*
 * Messages of GPU memory that are long enough for an MPI to read them in the sender's memory, between two ranks of one
 * node: in one piece and in several, shorter than what was posted, too long for it, again and again, many at once, from
 * and to host memory, by several threads, after a receive was cancelled. Run by each strategy, and with
 * PACKWRIGHT_SHARED=0; the statistics tell that they went from the sender's memory to the GPU, and which from its
 * GPU's.
 *
 * usage: shared <driver, or -> [rounds (1) [call]]. With a call (the stand-in only) rank 1's driver refuses it in the
 * last round. Exits 77, for "skipped", without a GPU.
 */
#include <pthread.h>

#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

enum { SKIPPED = 77, TAG = 5, MESSAGES = 3, STARTS = 2, SIZES = 3, TYPES = 6, MANY = 70, THREADS = 2 };

static const int sizes[SIZES] = {40 << 10, 700 << 10, 2 << 20}; /* MPICH reads pieces of 512 KiB */
static int rank;

/* What each rank sends to the other. Host memory is laid out as the GPU's is. */
typedef struct trial {
    MPI_Datatype type;
    const char *name;
    int count, object, bytes;
    test_buffer image, wanted;
    size_t origin;
    gpu_memory out[MESSAGES], in[MESSAGES];
    unsigned char *packed;
} trial;

static MPI_Datatype make_type(int i, int size, const char **name)
{
    MPI_Datatype type, inner;
    int n = size / 28, lengths[64], places[64];

    switch (i) {
    case 0: *name = "contiguous", MPI_Type_contiguous(size / 8, MPI_DOUBLE, &type); break;
    case 1: *name = "one vector", MPI_Type_vector(size / 8, 1, 3, MPI_DOUBLE, &type); break;
    case 2: *name = "vectors", MPI_Type_vector(16, 2, 5, MPI_DOUBLE, &type); break;
    case 3:
        *name = "odd pieces";
        MPI_Type_vector(n / 9 + 1, 251, 509, MPI_CHAR, &type);
        break;
    case 4:
        *name = "structs";
        MPI_Type_create_struct(2, (int[]){3, 1}, (MPI_Aint[]){0, 28}, (MPI_Datatype[]){MPI_DOUBLE, MPI_INT}, &inner);
        MPI_Type_create_resized(inner, 0, 40, &type);
        MPI_Type_free(&inner);
        break;
    default:
        *name = "a list";
        for (int k = 0, at = 0; k < 64; k++) {
            lengths[k] = 1 + k % 7;
            places[k] = at;
            at += lengths[k] + 1 + k % 3;
        }
        MPI_Type_indexed(64, lengths, places, MPI_INT, &type);
        break;
    }
    MPI_Type_commit(&type);
    return type;
}

static trial create(int i, int size)
{
    trial t = {.name = NULL};

    t.type = make_type(i, size, &t.name);
    t.object = test_packed_bytes(t.type, 1);
    t.count = t.object > size / 2 ? 1 : size / t.object;
    t.bytes = t.count * t.object;
    t.packed = malloc((size_t)t.bytes);
    t.image = test_buffer_create(t.type, t.count);
    t.wanted = test_buffer_create(t.type, t.count);
    t.origin = (size_t)(t.image.origin - t.image.memory);
    for (int k = 0; k < MESSAGES; k++) {
        t.out[k] = gpu_memory_make(GPU_DEVICE, t.image.bytes);
        t.in[k] = gpu_memory_make(GPU_DEVICE, t.image.bytes);
    }
    return t;
}

static void destroy(trial *t)
{
    for (int k = 0; k < MESSAGES; k++) {
        gpu_memory_free(&t->out[k]);
        gpu_memory_free(&t->in[k]);
    }
    test_buffer_free(&t->image);
    test_buffer_free(&t->wanted);
    free(t->packed);
    MPI_Type_free(&t->type);
}

static void fill_packed(trial *t, int round, int k)
{
    test_fill(t->packed, (size_t)t->bytes, (unsigned)(round * MESSAGES + k));
}

static void put_packed(const trial *t, test_buffer *to, int objects)
{
    int at = 0;

    PMPI_Unpack(t->packed, objects * t->object, &at, to->origin, objects, t->type, MPI_COMM_SELF);
}

static void prepare(trial *t, int round)
{
    for (int k = 0; k < MESSAGES; k++) {
        fill_packed(t, round, k);
        test_buffer_fill(&t->image, 1);
        put_packed(t, &t->image, t->count);
        gpu_write(&t->out[k], 0, t->image.memory, t->image.bytes);
        test_buffer_fill(&t->image, 9);
        gpu_write(&t->in[k], 0, t->image.memory, t->image.bytes);
    }
}

/* Checks that `objects` objects of message `k` have arrived, and that nothing else was written. */
static void judge(trial *t, int round, int k, int objects, const char *how)
{
    fill_packed(t, round, k);
    test_buffer_fill(&t->wanted, 9);
    put_packed(t, &t->wanted, objects);
    gpu_read(&t->in[k], 0, t->image.memory, t->image.bytes);
    CHECK(test_buffer_equal(&t->image, &t->wanted), "%s, %d bytes, %s, message %d", t->name, t->bytes, how, k);
}

/* ---- exchanges --------------------------------------------------------------------------------------------------- */

static void *out(const trial *t, int k)
{
    return t->out[k].at + t->origin;
}

static void *in(const trial *t, int k)
{
    return t->in[k].at + t->origin;
}

static void in_flight(trial *t, int round, int objects)
{
    MPI_Request requests[2 * MESSAGES];
    MPI_Status statuses[2 * MESSAGES];
    int n;

    prepare(t, round);
    for (int k = 0; k < MESSAGES; k++)
        MPI_Irecv(in(t, k), t->count, t->type, 1 - rank, TAG + k, MPI_COMM_WORLD, &requests[k]);
    for (int k = 0; k < MESSAGES; k++)
        MPI_Isend(out(t, k), objects, t->type, 1 - rank, TAG + k, MPI_COMM_WORLD, &requests[MESSAGES + k]);
    MPI_Waitall(2 * MESSAGES, requests, statuses);
    for (int k = 0; k < MESSAGES; k++) {
        judge(t, round, k, objects, objects == t->count ? "in flight" : "shorter");
        MPI_Get_count(&statuses[k], t->type, &n);
        CHECK(n == objects, "%s, %d bytes: count %d, not %d", t->name, t->bytes, n, objects);
    }
}

static void back_and_forth(trial *t, int round)
{
    prepare(t, round);
    if (rank == 0)
        MPI_Send(out(t, 0), t->count, t->type, 1, TAG, MPI_COMM_WORLD);
    MPI_Recv(in(t, 0), t->count, t->type, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Send(out(t, 0), t->count, t->type, 0, TAG, MPI_COMM_WORLD);
    judge(t, round, 0, t->count, "blocking");
    MPI_Sendrecv(out(t, 1), t->count, t->type, 1 - rank, TAG, in(t, 1), t->count, t->type, 1 - rank, TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    judge(t, round, 1, t->count, "Sendrecv");
}

static void again_and_again(trial *t, int round)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];

    MPI_Recv_init(in(t, 0), t->count, t->type, 1 - rank, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out(t, 0), t->count, t->type, 1 - rank, TAG, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < STARTS; i++) {
        prepare(t, round + i);
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, statuses);
        judge(t, round + i, 0, t->count, "persistent");
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* One side contiguous bytes in host memory, which are MPI's own affair; or typed ones, which are packed by the CPU. */
static void from_and_to_host(trial *t, int round)
{
    unsigned char *got = malloc((size_t)t->bytes);
    MPI_Request request;

    prepare(t, round);
    fill_packed(t, round, 0);
    MPI_Irecv(in(t, 0), t->count, t->type, 1 - rank, TAG, MPI_COMM_WORLD, &request);
    PMPI_Send(t->packed, t->bytes, MPI_PACKED, 1 - rank, TAG, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    judge(t, round, 0, t->count, "from contiguous");
    PMPI_Irecv(got, t->bytes, MPI_PACKED, 1 - rank, TAG, MPI_COMM_WORLD, &request);
    MPI_Send(out(t, 0), t->count, t->type, 1 - rank, TAG, MPI_COMM_WORLD);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    fill_packed(t, round, 0);
    CHECK(!memcmp(got, t->packed, (size_t)t->bytes), "%s, %d bytes, to contiguous", t->name, t->bytes);
    test_buffer_fill(&t->wanted, 1);
    put_packed(t, &t->wanted, t->count);
    MPI_Irecv(in(t, 1), t->count, t->type, 1 - rank, TAG, MPI_COMM_WORLD, &request);
    MPI_Send(t->wanted.origin, t->count, t->type, 1 - rank, TAG, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    gpu_read(&t->in[1], 0, t->image.memory, t->image.bytes);
    for (int k = 0; k < 2; k++) { /* the gaps are the receiver's */
        int at = 0;

        PMPI_Pack(k ? t->wanted.origin : t->image.origin, t->count, t->type, k ? t->packed : got, t->bytes, &at,
                  MPI_COMM_SELF);
    }
    CHECK(!memcmp(got, t->packed, (size_t)t->bytes), "%s, %d bytes, from host memory", t->name, t->bytes);
    free(got);
    test_buffer_fill(&t->image, 9);
    MPI_Irecv(t->image.origin, t->count, t->type, 1 - rank, TAG, MPI_COMM_WORLD, &request);
    MPI_Send(out(t, 0), t->count, t->type, 1 - rank, TAG, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    test_buffer_fill(&t->wanted, 9);
    fill_packed(t, round, 0);
    put_packed(t, &t->wanted, t->count);
    CHECK(test_buffer_equal(&t->image, &t->wanted), "%s, %d bytes, to host memory", t->name, t->bytes);
}

/* Sends more messages than the pools keep memory for, so that later ones use memory that was given back in between. */
static void many_at_once(int round)
{
    enum { BYTES = 300 << 10 };
    static unsigned char want[BYTES], got[BYTES];
    MPI_Request requests[2 * MANY];
    MPI_Status statuses[2 * MANY];
    gpu_memory from = gpu_memory_make(GPU_DEVICE, BYTES), to = gpu_memory_make(GPU_DEVICE, (size_t)BYTES * MANY);

    test_fill(want, BYTES, (unsigned)round + 77);
    gpu_write(&from, 0, want, BYTES);
    for (int i = 0; i < MANY; i++)
        MPI_Irecv(to.at + (size_t)i * BYTES, BYTES, MPI_CHAR, 1 - rank, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < MANY; i++)
        MPI_Isend(from.at, BYTES, MPI_CHAR, 1 - rank, i, MPI_COMM_WORLD, &requests[MANY + i]);
    MPI_Waitall(2 * MANY, requests, statuses);
    for (int i = 0; i < MANY; i++) {
        gpu_read(&to, (size_t)i * BYTES, got, BYTES);
        CHECK(!memcmp(got, want, BYTES), "message %d of many, round %d", i, round);
    }
    gpu_memory_free(&from);
    gpu_memory_free(&to);
}

/* MPI reports the error, and bytes that do not fit are not written. */
static void too_long(void)
{
    enum { POSTED = 600 << 10, SENT = 900 << 10 };
    static unsigned char bytes[SENT], got[SENT];
    gpu_memory m = gpu_memory_make(GPU_DEVICE, SENT);
    int rc = MPI_SUCCESS;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    test_fill(bytes, SENT, rank == 0 ? 3 : 4);
    gpu_write(&m, 0, bytes, SENT);
    if (rank == 0)
        MPI_Send(m.at, SENT, MPI_CHAR, 1, TAG, MPI_COMM_WORLD);
    else
        rc = MPI_Recv(m.at, POSTED, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(rank == 0 || test_class_of(rc) == MPI_ERR_TRUNCATE, "too long a message: class %d", test_class_of(rc));
    gpu_read(&m, 0, got, SENT);
    CHECK(!memcmp(got + POSTED, bytes + POSTED, SENT - POSTED), "more was written than was posted");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    gpu_memory_free(&m);
}

/* ---- by threads -------------------------------------------------------------------------------------------------- */

enum { THREAD_BYTES = 600 << 10, THREAD_ROUNDS = 2 };

typedef struct worker {
    pthread_t thread;
    int number, round;
    void *context;
    bool right;
} worker;

static void *exchange(void *arg)
{
    worker *w = arg;
    unsigned char *want = malloc(THREAD_BYTES), *got = malloc(THREAD_BYTES);
    gpu_memory from, to;

    gpu_set_current(w->context);
    from = gpu_memory_make(GPU_DEVICE, THREAD_BYTES);
    to = gpu_memory_make(GPU_DEVICE, THREAD_BYTES);
    w->right = true;
    for (int i = 0; i < THREAD_ROUNDS; i++) {
        test_fill(want, THREAD_BYTES, (unsigned)(w->round + 100 * w->number + i));
        gpu_write(&from, 0, want, THREAD_BYTES);
        MPI_Sendrecv(from.at, THREAD_BYTES, MPI_CHAR, 1 - rank, TAG + w->number, to.at, THREAD_BYTES, MPI_CHAR,
                     1 - rank, TAG + w->number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        gpu_read(&to, 0, got, THREAD_BYTES);
        w->right = w->right && !memcmp(got, want, THREAD_BYTES) && gpu_current() == w->context;
    }
    gpu_memory_free(&from);
    gpu_memory_free(&to);
    free(want);
    free(got);
    return NULL;
}

static void by_threads(int round)
{
    worker workers[THREADS];
    int level;

    MPI_Query_thread(&level);
    for (int i = 0; i < THREADS && level == MPI_THREAD_MULTIPLE; i++) {
        workers[i] = (worker){.number = i, .round = round, .context = gpu_current()};
        pthread_create(&workers[i].thread, NULL, exchange, &workers[i]);
    }
    for (int i = 0; i < THREADS && level == MPI_THREAD_MULTIPLE; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK(workers[i].right, "thread %d, round %d", i, round);
    }
}

/* The memory of a cancelled receive serves the next message. */
static void after_a_cancelled_one(int round)
{
    enum { BYTES = 800 << 10 };
    static unsigned char want[BYTES], got[BYTES];
    gpu_memory from = gpu_memory_make(GPU_DEVICE, BYTES), to = gpu_memory_make(GPU_DEVICE, BYTES);
    MPI_Request request;
    MPI_Status status;
    int cancelled;

    test_fill(want, BYTES, (unsigned)round + 31);
    gpu_write(&from, 0, want, BYTES);
    MPI_Irecv(to.at, BYTES, MPI_CHAR, 1 - rank, TAG + 1, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled, "a receive was not cancelled, round %d", round);
    MPI_Sendrecv(from.at, BYTES, MPI_CHAR, 1 - rank, TAG, to.at, BYTES, MPI_CHAR, 1 - rank, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    gpu_read(&to, 0, got, BYTES);
    CHECK(!memcmp(got, want, BYTES), "after a cancelled receive, round %d", round);
    gpu_memory_free(&from);
    gpu_memory_free(&to);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void run(int round)
{
    for (int i = 0; i < TYPES; i++)
        for (int k = i < 2 ? 0 : 1; k < (i == 1 ? SIZES : SIZES - 1); k++) {
            trial t = create(i, sizes[k]);

            in_flight(&t, round, t.count);
            in_flight(&t, round + 1, t.count * 2 / 3);
            back_and_forth(&t, round + 2);
            again_and_again(&t, round + 3);
            from_and_to_host(&t, round + 6);
            destroy(&t);
        }
    many_at_once(round);
    by_threads(round);
    after_a_cancelled_one(round);
    too_long();
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 1, rc, level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!gpu_start_as_told(argc, argv)) {
        MPI_Finalize();
        return SKIPPED;
    }
    gpu_set_current_of(rank);
    if (!test_can_read_peer() && rank == 0)
        printf("SKIPPED: ranks may not read each other's memory\n");
    for (int r = 0; r < rounds; r++) {
        if (r == rounds - 1 && argc > 3 && rank == 1)
            ((void (*)(const char *, int, int))gpu_symbol("fake_fail"))(argv[3], 0, 1);
        run(10 * r);
    }
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
