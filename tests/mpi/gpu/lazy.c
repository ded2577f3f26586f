/*
 * Messages of GPU memory that stay there until somebody reads them elsewhere. Rank 0 sends from its GPU. Rank 1
 * receives into its GPU, which reads the message in rank 0's GPU; or in another way, so that MPI reads the block that
 * it was given: into host memory, of the message's type or not, by probe, too short for it. Rank 2 runs without
 * Packwright. Each way has a communicator of its own, on which messages into the GPU come first and last. With the
 * stand-in, the driver's copies on rank 0 tell whether the bytes came to host memory. With the strategy `direct` the
 * message stays in the program's memory, once the first ones of a communicator have gone that way. With "user" the
 * system lets the processes handle faults of user code only.
 *
 * usage: lazy <driver, or -> [user]. Exits 77, for "skipped", without a GPU.
 */

#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

enum { SKIPPED = 77, TAG = 3, BYTES = 1 << 20, FLIGHT = 8, WARM = 4, FIRST = 3, BUFFERED = BYTES + 4096 };

typedef enum way {
    TO_GPU,
    TO_HOST_BYTES,
    TO_HOST_TYPED,  /* by MPI alone: the sender's MPI sends fragments */
    TO_HOST_PACKED, /* by Packwright */
    TO_LONGER,
    TO_SHORTER,
    BY_PROBE,
    BY_SSEND,
    BY_BSEND,
    BY_SENDRECV,
    IN_FLIGHT,
    TO_OTHERS, /* to rank 2 */
    WAYS
} way;

static const char *const names[WAYS] = {"to a GPU",        "to host memory as bytes",
                                        "to host memory",  "to host memory, packed",
                                        "to a longer one", "to a shorter one",
                                        "by probe",        "by Ssend",
                                        "by Bsend",        "by Sendrecv",
                                        "in flight",       "to a rank without Packwright"};

static struct {
    int rank;
    bool counted; /* the copies of the driver tell where messages were */
    MPI_Datatype type;
    test_buffer image, wanted;
    size_t origin;
    gpu_memory gpu[FLIGHT];
    unsigned char *packed;
    char *attached;
} t;

static long copies(void)
{
    return t.counted ? gpu_calls("cuMemcpyAsync") : 0;
}

/* Whether ranks 0 and 1 may read each other's memory. */
static bool can_read(void)
{
    int good = 1;

    if (t.rank < 2)
        return test_can_read_peer();
    PMPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD); /* the one in test_can_read_peer */
    return good;
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

static unsigned seed_of(way w, int message)
{
    return (unsigned)(w * 100 + message + 1);
}

static void fill_packed(unsigned seed)
{
    test_fill(t.packed, BYTES, seed);
}

static void put_packed(test_buffer *to)
{
    int at = 0;

    PMPI_Unpack(t.packed, BYTES, &at, to->origin, 1, t.type, MPI_COMM_SELF);
}

static void *at(int i)
{
    return t.gpu[i].at + t.origin;
}

static void prepare_send(int i, unsigned seed)
{
    fill_packed(seed);
    test_buffer_fill(&t.image, 1);
    put_packed(&t.image);
    gpu_write(&t.gpu[i], 0, t.image.memory, t.image.bytes);
}

static void prepare_receive(int i)
{
    test_buffer_fill(&t.image, 9);
    gpu_write(&t.gpu[i], 0, t.image.memory, t.image.bytes);
}

/* The image holds what was received; gaps keep what was there. */
static void judge_image(unsigned seed, way w, const char *when)
{
    fill_packed(seed);
    test_buffer_fill(&t.wanted, 9);
    put_packed(&t.wanted);
    CHECK(test_buffer_equal(&t.image, &t.wanted), "%s, %s", names[w], when);
}

static void judge_gpu(int i, unsigned seed, way w, const char *when)
{
    gpu_read(&t.gpu[i], 0, t.image.memory, t.image.bytes);
    judge_image(seed, w, when);
}

/* ---- one message ------------------------------------------------------------------------------------------------- */

/* Sends from GPU to GPU. Returns the copies that it took on rank 0. */
static long to_gpu(MPI_Comm comm, unsigned seed, way w, const char *when)
{
    long before;

    if (t.rank == 0)
        prepare_send(0, seed);
    else if (t.rank == 1)
        prepare_receive(0);
    before = copies();
    if (t.rank == 0)
        MPI_Send(at(0), 1, t.type, 1, TAG, comm);
    else if (t.rank == 1)
        MPI_Recv(at(0), 1, t.type, 0, TAG, comm, MPI_STATUS_IGNORE);
    before = copies() - before;
    if (t.rank == 1)
        judge_gpu(0, seed, w, when);
    return before;
}

static void send_by(way w, MPI_Comm comm)
{
    MPI_Request requests[FLIGHT];
    MPI_Status statuses[FLIGHT];

    switch (w) {
    case BY_SSEND: MPI_Ssend(at(0), 1, t.type, 1, TAG, comm); break;
    case BY_BSEND: MPI_Bsend(at(0), 1, t.type, 1, TAG, comm); break;
    case BY_SENDRECV:
        MPI_Sendrecv(at(0), 1, t.type, 1, TAG, NULL, 0, MPI_BYTE, MPI_PROC_NULL, TAG, comm, MPI_STATUS_IGNORE);
        break;
    case IN_FLIGHT:
        for (int i = 0; i < FLIGHT; i++)
            MPI_Isend(at(i), 1, t.type, 1, TAG + i, comm, &requests[i]);
        MPI_Waitall(FLIGHT, requests, statuses);
        break;
    case TO_OTHERS: MPI_Send(at(0), 1, t.type, 2, TAG, comm); break;
    default: MPI_Send(at(0), 1, t.type, 1, TAG, comm); break;
    }
}

static void receive_bytes(way w, MPI_Comm comm, unsigned seed)
{
    unsigned char *got = calloc(1, BYTES);

    PMPI_Recv(got, BYTES, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE);
    fill_packed(seed);
    CHECK(!memcmp(got, t.packed, BYTES), "%s", names[w]);
    free(got);
}

static void receive_into_host(way w, MPI_Comm comm, unsigned seed)
{
    test_buffer_fill(&t.image, 9);
    if (w == TO_HOST_PACKED)
        MPI_Recv(t.image.origin, 1, t.type, 0, TAG, comm, MPI_STATUS_IGNORE);
    else
        PMPI_Recv(t.image.origin, 1, t.type, 0, TAG, comm, MPI_STATUS_IGNORE);
    judge_image(seed, w, "received");
}

static void receive_longer(MPI_Comm comm, unsigned seed)
{
    gpu_memory m = gpu_memory_make(GPU_DEVICE, 2 * BYTES);
    unsigned char *got = malloc(2 * BYTES);
    MPI_Status status;
    int n;

    memset(got, 9, 2 * BYTES);
    gpu_write(&m, 0, got, 2 * BYTES);
    MPI_Recv(m.at, 2 * BYTES, MPI_BYTE, 0, TAG, comm, &status);
    MPI_Get_count(&status, MPI_BYTE, &n);
    gpu_read(&m, 0, got, 2 * BYTES);
    fill_packed(seed);
    CHECK(n == BYTES && !memcmp(got, t.packed, BYTES) && got[BYTES] == 9 && got[2 * BYTES - 1] == 9,
          "a message of %d bytes", n);
    gpu_memory_free(&m);
    free(got);
}

static void receive_shorter(MPI_Comm comm)
{
    enum { POSTED = BYTES / 2 };
    gpu_memory m = gpu_memory_make(GPU_DEVICE, BYTES);
    unsigned char *got = malloc(BYTES);
    int rc;

    memset(got, 9, BYTES);
    gpu_write(&m, 0, got, BYTES);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    rc = MPI_Recv(m.at, POSTED, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE);
    CHECK(test_class_of(rc) == MPI_ERR_TRUNCATE, "class %d", test_class_of(rc));
    gpu_read(&m, 0, got, BYTES);
    CHECK(got[POSTED] == 9 && got[BYTES - 1] == 9, "more was written than was posted");
    gpu_memory_free(&m);
    free(got);
}

static void receive_probed(MPI_Comm comm, unsigned seed)
{
    MPI_Message message;
    MPI_Status status;
    int n;

    prepare_receive(0);
    MPI_Mprobe(0, TAG, comm, &message, &status);
    MPI_Get_count(&status, MPI_BYTE, &n);
    CHECK(n == BYTES, "%d bytes were found", n);
    MPI_Mrecv(at(0), 1, t.type, &message, MPI_STATUS_IGNORE);
    judge_gpu(0, seed, BY_PROBE, "received");
}

static void receive_in_flight(MPI_Comm comm)
{
    MPI_Request requests[FLIGHT];
    MPI_Status statuses[FLIGHT];

    for (int i = 0; i < FLIGHT; i++)
        prepare_receive(i);
    for (int i = FLIGHT; i-- > 0;)
        MPI_Irecv(at(i), 1, t.type, 0, TAG + i, comm, &requests[i]);
    MPI_Waitall(FLIGHT, requests, statuses);
    for (int i = 0; i < FLIGHT; i++)
        judge_gpu(i, seed_of(IN_FLIGHT, i), IN_FLIGHT, "received");
}

static void receive_by(way w, MPI_Comm comm, unsigned seed)
{
    switch (w) {
    case TO_HOST_BYTES: receive_bytes(w, comm, seed); break;
    case TO_HOST_TYPED:
    case TO_HOST_PACKED: receive_into_host(w, comm, seed); break;
    case TO_LONGER: receive_longer(comm, seed); break;
    case TO_SHORTER: receive_shorter(comm); break;
    case BY_PROBE: receive_probed(comm, seed); break;
    case IN_FLIGHT: receive_in_flight(comm); break;
    default:
        prepare_receive(0);
        MPI_Recv(at(0), 1, t.type, 0, TAG, comm, MPI_STATUS_IGNORE);
        judge_gpu(0, seed, w, "received");
    }
}

/* ---- a communicator ---------------------------------------------------------------------------------------------- */

/* Whether MPI certainly reads the block by the CPU in this way. With `direct` the receiver's GPU may read for its CPU.
 */
static bool is_read(way w)
{
    const char *strategy = getenv("PACKWRIGHT_STRATEGY");
    bool to_host = w == TO_HOST_BYTES || w == TO_HOST_TYPED || w == TO_HOST_PACKED;

    return w == TO_OTHERS || (to_host && (!strategy || strcmp(strategy, "direct") != 0));
}

static void judge_copies(way w, long n)
{
    bool none = w == TO_GPU || w == TO_LONGER || w == BY_PROBE || w == BY_SSEND || w == BY_SENDRECV || w == IN_FLIGHT;

    if (t.counted && t.rank == 0 && none)
        CHECK(n == 0, "%s took %ld copies to host memory", names[w], n);
    if (t.counted && t.rank == 0 && is_read(w))
        CHECK(n > 0, "%s took no copy to host memory", names[w]);
}

/* The communicators live until the end, so that none is taken for another. */
static MPI_Comm try_way(way w)
{
    MPI_Comm comm;
    long n;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 1; i < FIRST; i++)
        to_gpu(comm, seed_of(w, 50 + i), w, "long before it");
    n = to_gpu(comm, seed_of(w, 50), w, "before it");
    judge_copies(TO_GPU, n);
    for (int i = 0; t.rank == 0 && i < (w == IN_FLIGHT ? FLIGHT : 1); i++)
        prepare_send(i, seed_of(w, i));
    MPI_Barrier(comm);
    n = copies();
    if (t.rank == 0)
        send_by(w, comm);
    else if (t.rank == 1 && w != TO_OTHERS)
        receive_by(w, comm, seed_of(w, 0));
    else if (t.rank == 2 && w == TO_OTHERS)
        receive_bytes(w, comm, seed_of(w, 0));
    judge_copies(w, copies() - n);
    to_gpu(comm, seed_of(w, 51), w, "after it");
    return comm;
}

static void create(void)
{
    MPI_Type_vector(BYTES / 8, 1, 2, MPI_DOUBLE, &t.type);
    MPI_Type_commit(&t.type);
    t.image = test_buffer_create(t.type, 1);
    t.wanted = test_buffer_create(t.type, 1);
    t.origin = (size_t)(t.image.origin - t.image.memory);
    t.packed = malloc(BYTES);
    t.attached = malloc(BUFFERED);
    MPI_Buffer_attach(t.attached, BUFFERED);
    for (int i = 0; t.rank < 2 && i < FLIGHT; i++)
        t.gpu[i] = gpu_memory_make(GPU_DEVICE, t.image.bytes);
}

static void run(void)
{
    MPI_Comm comms[WAYS];
    bool counted = t.counted;

    t.counted = false;
    for (int i = 0; i < WARM; i++)
        to_gpu(MPI_COMM_WORLD, (unsigned)i, TO_GPU, "to begin with");
    t.counted = counted;
    for (int w = 0; w < WAYS; w++)
        comms[w] = try_way((way)w);
    for (int w = 0; w < WAYS; w++)
        MPI_Comm_free(&comms[w]);
}

int main(int argc, char **argv)
{
    int rc, n;

    if (test_launch_rank() == 2)
        setenv("PACKWRIGHT_DISABLE", "1", 1);
    t.counted = test_has_userfaultfd();
    if (argc > 2 && !strcmp(argv[2], "user"))
        test_limit_userfaultfd(true);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &t.rank);
    if (!gpu_start_as_told(argc, argv)) {
        MPI_Finalize();
        return SKIPPED;
    }
    if (t.rank < 2 && !gpu_is_fake() && gpu_devices() > 1)
        gpu_set_current(gpu_primary(t.rank % gpu_devices()));
    t.counted = can_read() && test_reads_are_seen() && t.counted && t.rank < 2 && gpu_is_fake();
    create();
    run();
    MPI_Buffer_detach(&t.attached, &n);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
