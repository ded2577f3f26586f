/*
 * Messages long enough for an MPI to read them in the sender's memory, between two ranks of one node: in one piece and
 * in several, shorter than what was posted, again and again, to and from a rank that handles them as contiguous bytes.
 * Run with packing forced, as is, and with PACKWRIGHT_SHARED=0; the statistics tell that they went from memory to
 * memory. With the argument "counted", no system call may copy what comes into contiguous bytes either. With "few", one
 * type of six is tried.
 */
#include "tests/mpi/support/harness.h"
#include "tests/support/system_reads.h"

#include <sys/mman.h>
#include <unistd.h>

enum { MESSAGES = 3, STARTS = 3, SIZES = 2, TAG = 4 };

static const int sizes[SIZES] = {40 << 10, 700 << 10}; /* MPICH reads pieces of 512 KiB */

/* ---- reads by the system ----------------------------------------------------------------------------------------- */

static bool is_counted;

/* glibc from 2.35 on tells which library reads, and Linux from 5.14 on whether memory can be written. A sanitizer's
 * library stands between, and the reads are its own. */
static bool can_do_without(void)
{
#if __GLIBC_PREREQ(2, 35) && defined MADV_POPULATE_WRITE && !defined __SANITIZE_ADDRESS__ && \
    !defined __SANITIZE_THREAD__
    _Alignas(65536) static char page[65536];

    return madvise(page, 1, MADV_POPULATE_WRITE) == 0;
#else
    return false;
#endif
}

/* ---- a trial ----------------------------------------------------------------------------------------------------- */

/* What one rank sends and the other receives. The first `first` objects are received, the rest stays as it was. */
typedef struct trial {
    MPI_Datatype type;
    int count, bytes, object;
    test_buffer out[MESSAGES], in[MESSAGES], wanted;
    unsigned char *packed;
    const char *name;
    int rank, peer;
} trial;

static trial create(MPI_Datatype type, int size, const char *name, int rank)
{
    trial t = {.type = type, .name = name, .rank = rank, .peer = 1 - rank};

    t.object = test_packed_bytes(type, 1);
    t.count = (size + t.object - 1) / t.object;
    t.bytes = t.count * t.object;
    t.packed = malloc((size_t)t.bytes);
    t.wanted = test_buffer_create(type, t.count);
    for (int i = 0; i < MESSAGES; i++) {
        t.out[i] = test_buffer_create(type, t.count);
        t.in[i] = test_buffer_create(type, t.count);
    }
    return t;
}

static void destroy(trial *t)
{
    for (int i = 0; i < MESSAGES; i++) {
        test_buffer_free(&t->out[i]);
        test_buffer_free(&t->in[i]);
    }
    test_buffer_free(&t->wanted);
    free(t->packed);
}

static void put_packed(const trial *t, test_buffer *to, int bytes)
{
    int at = 0;

    PMPI_Unpack(t->packed, bytes, &at, to->origin, bytes / t->object, t->type, MPI_COMM_SELF);
}

/* Both ranks send the same messages. */
static void prepare(trial *t, int round)
{
    for (int i = 0; i < MESSAGES; i++) {
        test_fill(t->packed, (size_t)t->bytes, (unsigned)(round * MESSAGES + i));
        test_buffer_fill(&t->out[i], 1);
        put_packed(t, &t->out[i], t->bytes);
        test_buffer_fill(&t->in[i], 9);
    }
}

/* Checks that `count` objects of message `i` have arrived and that nothing else was written. */
static void judge(trial *t, int round, int i, int count, const MPI_Status *status, const char *how)
{
    int n;

    test_fill(t->packed, (size_t)t->bytes, (unsigned)(round * MESSAGES + i));
    test_buffer_fill(&t->wanted, 9);
    put_packed(t, &t->wanted, count * t->object);
    CHECK(test_buffer_equal(&t->in[i], &t->wanted), "%s, %d bytes, %s, message %d: received memory", t->name, t->bytes,
          how, i);
    MPI_Get_count(status, t->type, &n);
    CHECK(n == count, "%s, %d bytes, %s, message %d: count %d, not %d", t->name, t->bytes, how, i, n, count);
}

/* ---- exchanges --------------------------------------------------------------------------------------------------- */

static void in_flight(trial *t, int round, int count)
{
    MPI_Request requests[2 * MESSAGES];
    MPI_Status statuses[2 * MESSAGES];

    prepare(t, round);
    for (int i = 0; i < MESSAGES; i++)
        MPI_Irecv(t->in[i].origin, t->count, t->type, t->peer, TAG + i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < MESSAGES; i++)
        MPI_Isend(t->out[i].origin, count, t->type, t->peer, TAG + i, MPI_COMM_WORLD, &requests[MESSAGES + i]);
    MPI_Waitall(2 * MESSAGES, requests, statuses);
    for (int i = 0; i < MESSAGES; i++)
        judge(t, round, i, count, &statuses[i], count == t->count ? "in flight" : "shorter");
}

static void back_and_forth(trial *t, int round)
{
    MPI_Status status;

    prepare(t, round);
    if (t->rank == 0)
        MPI_Send(t->out[0].origin, t->count, t->type, t->peer, TAG, MPI_COMM_WORLD);
    MPI_Recv(t->in[0].origin, t->count, t->type, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (t->rank == 1)
        MPI_Send(t->out[0].origin, t->count, t->type, t->peer, TAG, MPI_COMM_WORLD);
    judge(t, round, 0, t->count, &status, "blocking");
    MPI_Sendrecv(t->out[1].origin, t->count, t->type, t->peer, TAG, t->in[1].origin, t->count, t->type, t->peer, TAG,
                 MPI_COMM_WORLD, &status);
    judge(t, round, 1, t->count, &status, "Sendrecv");
}

static void again_and_again(trial *t, int round)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];

    MPI_Recv_init(t->in[0].origin, t->count, t->type, t->peer, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(t->out[0].origin, t->count, t->type, t->peer, TAG, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < STARTS; i++) {
        prepare(t, round + i);
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, statuses);
        judge(t, round + i, 0, t->count, &statuses[0], "persistent");
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* One side packed, the other the user's own contiguous memory; the signature is one of bytes only for types of bytes,
 * so the contiguous side is MPI's own packed form. */
static void to_and_from_contiguous(trial *t, int round)
{
    MPI_Request request;
    MPI_Status status;
    unsigned char *got = malloc((size_t)t->bytes);
    int before;

    prepare(t, round);
    test_fill(t->packed, (size_t)t->bytes, (unsigned)(round * MESSAGES));
    MPI_Irecv(t->in[0].origin, t->count, t->type, t->peer, TAG, MPI_COMM_WORLD, &request);
    PMPI_Send(t->packed, t->bytes, MPI_PACKED, t->peer, TAG, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    judge(t, round, 0, t->count, &status, "from contiguous");
    before = system_reads;
    PMPI_Irecv(got, t->bytes, MPI_PACKED, t->peer, TAG, MPI_COMM_WORLD, &request);
    MPI_Send(t->out[0].origin, t->count, t->type, t->peer, TAG, MPI_COMM_WORLD);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(!memcmp(got, t->packed, (size_t)t->bytes), "%s, %d bytes: to contiguous", t->name, t->bytes);
    CHECK(!is_counted || system_reads == before, "%s, %d bytes: to contiguous, %d reads by the system", t->name,
          t->bytes, system_reads - before);
    free(got);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* Returns whether no object of the type is longer than its extent: such objects would overlap. */
static bool is_fit(MPI_Datatype type)
{
    MPI_Aint lb, extent;

    MPI_Type_get_extent(type, &lb, &extent);
    return test_packed_bytes(type, 1) > 0 && extent >= test_packed_bytes(type, 1);
}

static void run(int i, int rank)
{
    MPI_Datatype type = test_type(i, 8);

    if (is_fit(type))
        for (int k = 0; k < SIZES; k++) {
            trial t = create(type, sizes[k], test_type_name(i), rank);

            in_flight(&t, 0, t.count);
            in_flight(&t, 1, t.count * 2 / 3);
            back_and_forth(&t, 2);
            again_and_again(&t, 3);
            to_and_from_contiguous(&t, 6);
            destroy(&t);
        }
    MPI_Type_free(&type);
}

/* One object as long as a message: nothing of it is a whole number of objects. */
static void run_single(int rank)
{
    MPI_Datatype type;

    for (int k = 0; k < SIZES; k++) {
        MPI_Type_vector(sizes[k] / 8, 1, 3, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        trial t = create(type, sizes[k], "one vector", rank);
        in_flight(&t, 0, 1);
        back_and_forth(&t, 1);
        again_and_again(&t, 2);
        to_and_from_contiguous(&t, 5);
        destroy(&t);
        MPI_Type_free(&type);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int rank, failures, step = strcmp(how, "few") == 0 ? 6 : 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!test_can_read_peer() && rank == 0)
        printf("SKIPPED: ranks may not read each other's memory\n");
    for (int i = 0; i < TEST_TYPES; i += step)
        run(i, rank);
    is_counted = strcmp(how, "counted") == 0 && can_do_without(); /* some of the types above are left to MPI */
    run_single(rank);
    failures = test_result();
    MPI_Finalize();
    return failures;
}
