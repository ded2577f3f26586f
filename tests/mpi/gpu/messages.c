/*
 * Messages from and into memory of every kind, over two ranks, for random types, against the typemap. Which strategy
 * is taken is for the environment to say.
 *
 * usage: messages <driver, or -> [types [first-seed]]. Exits 77, for "skipped", without a GPU.
 */
#include "tests/mpi/gpu/subject.h"

enum { SKIPPED = 77, TAG = 5 };

typedef enum mode { BLOCKING, NONBLOCKING, PERSISTENT, BOTH_WAYS, REPLACED, SHORT, DENSE, BROADCAST, MODES } mode;
static const char *const mode_names[MODES] = {"Send",  "Isend", "Send_init", "Sendrecv", "Sendrecv_replace",
                                              "short", "dense", "Bcast"};

static gpu_memory mine[GPU_KINDS], other[GPU_KINDS];
static unsigned char sent[SUBJECT_SPAN], image[SUBJECT_SPAN], packed[SUBJECT_PACKED];
static int rank;
static bool is_native; /* all messages are left to MPI */

static uint64_t seed_of(const subject *s, int sender, int salt)
{
    return s->seed * 1000003 + (uint64_t)(2 * salt + sender);
}

/* Computes what the receiver's memory must hold: its old contents, with the packed message unpacked into them. */
static void expect(const subject *s, int64_t bytes, const char *what, const gpu_memory *m)
{
    static unsigned char source[SUBJECT_SPAN];
    pw_rng rng = {.state = seed_of(s, 0, 0)};

    pw_rng_fill(&rng, source, (size_t)s->span + 2 * SUBJECT_GUARD);
    subject_pack(s, source, packed);
    subject_unpack(s, image, packed, bytes);
    subject_same(s, what, m, image, s->span);
}

/* The length of a message that is shorter than the receive. MPICH takes no part of a basic element from messages of up
 * to 8 KiB (docs/mpi-libraries.md), and none is longer than 32 bytes. */
static int64_t short_bytes(const subject *s)
{
    int64_t bytes = s->size - s->size / 3 - 1;

    return bytes > 8192 ? bytes : bytes / 32 * 32;
}

static void receive(const subject *s, mode how, gpu_kind k)
{
    void *buf = subject_buffer(s, &mine[k]);
    MPI_Datatype type = s->random.type;
    MPI_Request request;
    MPI_Status status;
    int64_t bytes = s->size;
    int got = -1;

    subject_fill(&mine[k], image, s->span, seed_of(s, 1, 1));
    switch (how) {
    case BLOCKING:
    case SHORT: MPI_Recv(buf, s->count, type, 0, TAG, MPI_COMM_WORLD, &status); break;
    case NONBLOCKING:
        MPI_Irecv(buf, s->count, type, 0, TAG, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
        break;
    case PERSISTENT:
        MPI_Recv_init(buf, s->count, type, 0, TAG, MPI_COMM_WORLD, &request);
        for (int i = 0; i < 2; i++) {
            MPI_Start(&request);
            MPI_Wait(&request, &status);
        }
        MPI_Request_free(&request);
        break;
    case BROADCAST: MPI_Bcast(buf, s->count, type, 0, MPI_COMM_WORLD); break;
    default: return;
    }
    if (how == SHORT)
        bytes = short_bytes(s);
    if (how != BROADCAST) {
        MPI_Get_count(&status, MPI_BYTE, &got);
        CHECK(how == SHORT || got == bytes, "seed %llu, %s: %d bytes have come", (unsigned long long)s->seed,
              mode_names[how], got);
    }
    expect(s, bytes, mode_names[how], &mine[k]);
}

/* Sends a message that the test has packed itself, so that it can have any number of bytes. */
static void send_short(const subject *s)
{
    subject_pack(s, sent, packed);
    MPI_Send(packed, (int)short_bytes(s), MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
}

static void send(const subject *s, mode how, gpu_kind k)
{
    void *buf = subject_buffer(s, &mine[k]);
    MPI_Datatype type = s->random.type;
    MPI_Request request;

    subject_fill(&mine[k], sent, s->span, seed_of(s, 0, 0));
    switch (how) {
    case BLOCKING: MPI_Send(buf, s->count, type, 1, TAG, MPI_COMM_WORLD); break;
    case SHORT: send_short(s); break;
    case NONBLOCKING:
        MPI_Isend(buf, s->count, type, 1, TAG, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case PERSISTENT:
        MPI_Send_init(buf, s->count, type, 1, TAG, MPI_COMM_WORLD, &request);
        for (int i = 0; i < 2; i++) {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&request);
        break;
    case BROADCAST: MPI_Bcast(buf, s->count, type, 0, MPI_COMM_WORLD); break;
    default: return;
    }
    subject_same(s, "the buffer sent", &mine[k], sent, s->span);
}

/* Both ranks send the contents of rank 0, so that `expect` is the same on both. */
static void exchange(const subject *s, mode how, gpu_kind k, gpu_kind l)
{
    void *out = subject_buffer(s, &mine[k]), *in = subject_buffer(s, &other[l]);
    MPI_Datatype type = s->random.type;

    subject_fill(&mine[k], sent, s->span, seed_of(s, 0, 0));
    if (how == REPLACED) {
        memcpy(image, sent, (size_t)s->span + 2 * SUBJECT_GUARD);
        MPI_Sendrecv_replace(out, s->count, type, 1 - rank, TAG, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(s, s->size, mode_names[how], &mine[k]);
        return;
    }
    subject_fill(&other[l], image, s->span, seed_of(s, 1, 1));
    MPI_Sendrecv(out, s->count, type, 1 - rank, TAG, in, s->count, type, 1 - rank, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    expect(s, s->size, mode_names[how], &other[l]);
}

/* A contiguous buffer, as MPI_DOUBLE or as a type of its own with an offset. */
static void dense(const subject *s, gpu_kind k)
{
    int n = (int)(s->span / 8);
    MPI_Datatype type;

    if (n == 0)
        return;
    MPI_Type_indexed(1, (int[]){n}, (int[]){2}, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    if (rank == 0) {
        subject_fill(&mine[k], sent, s->span, seed_of(s, 0, 0));
        MPI_Send(mine[k].at + SUBJECT_GUARD, n, MPI_DOUBLE, 1, TAG, MPI_COMM_WORLD);
    } else {
        pw_rng rng = {.state = seed_of(s, 0, 0)};

        pw_rng_fill(&rng, sent, (size_t)s->span + 2 * SUBJECT_GUARD);
        subject_fill(&mine[k], image, s->span, seed_of(s, 1, 1));
        MPI_Recv(mine[k].at + SUBJECT_GUARD - 16, 1, type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        memcpy(image + SUBJECT_GUARD, sent + SUBJECT_GUARD, (size_t)n * 8);
        subject_same(s, "dense", &mine[k], image, s->span);
    }
    MPI_Type_free(&type);
}

static void check_subject(const subject *s, pw_rng *rng)
{
    for (int how = 0; how < MODES; how++) {
        gpu_kind k = (gpu_kind)pw_rng_range(rng, 0, GPU_KINDS - 1), l = (gpu_kind)pw_rng_range(rng, 0, GPU_KINDS - 1);

        /* At least one side is on the GPU. */
        if (rank == how % 2)
            k = GPU_DEVICE;
        if (how == BOTH_WAYS || how == REPLACED)
            exchange(s, (mode)how, k, l);
        else if (how == SHORT && is_native)
            continue; /* the message ends inside an element, which MPI may refuse */
        else if (how == DENSE)
            dense(s, k);
        else if (rank == 0)
            send(s, (mode)how, k);
        else
            receive(s, (mode)how, k);
    }
}

int main(int argc, char **argv)
{
    int types = argc > 2 ? atoi(argv[2]) : 50, rc;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
    pw_rng rng;
    void *context;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!gpu_start_as_told(argc, argv)) {
        MPI_Finalize();
        return SKIPPED;
    }
    for (int k = 0; k < GPU_KINDS; k++) {
        mine[k] = subject_memory((gpu_kind)k);
        other[k] = subject_memory((gpu_kind)k);
    }
    is_native = getenv("PACKWRIGHT_STRATEGY") && !strcmp(getenv("PACKWRIGHT_STRATEGY"), "native");
    context = gpu_current();
    rng.state = seed + 77 * (uint64_t)rank;
    for (int i = 0; i < types; i++) {
        subject s;

        subject_make(&s, seed + (uint64_t)i, true);
        check_subject(&s, &rng);
        subject_free(&s);
    }
    CHECK(gpu_current() == context, "another context is current");
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
