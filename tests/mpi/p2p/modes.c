/*
 * The other blocking calls of point to point: the modes of MPI_Send, matched receives, and the calls that send and
 * receive at once. What arrives is compared with what MPI's own unpack makes of the same bytes. Run with each strategy,
 * on two or more ranks.
 */
#include "tests/mpi/support/harness.h"

typedef int send_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm);

static int rank, ranks;

static void check_arrived(const test_buffer *got, MPI_Datatype type, int count, unsigned seed, unsigned before,
                          const char *what)
{
    test_buffer want = test_expected(type, count, seed, type, count, before);

    CHECK(test_buffer_equal(got, &want), "%s: received memory", what);
    test_buffer_free(&want);
}

static void check_status(const MPI_Status *status, int source, int tag, MPI_Datatype type, int count, const char *what)
{
    int n = -1;

    MPI_Get_count(status, type, &n);
    CHECK(status->MPI_SOURCE == source && status->MPI_TAG == tag && n == count, "%s: source %d, tag %d, count %d", what,
          status->MPI_SOURCE, status->MPI_TAG, n);
}

/* ---- modes ------------------------------------------------------------------------------------------------------ */

/* `ready`: the receive is posted before the send may start. */
static void check_mode(send_fn *send, bool ready, MPI_Datatype type, int count, const char *what)
{
    test_buffer b = test_buffer_create(type, count);
    MPI_Request request;
    MPI_Status status;
    int go = 0;

    if (rank == 0) {
        test_buffer_fill(&b, 9);
        MPI_Recv(&go, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        send(b.origin, count, type, 1, 5, MPI_COMM_WORLD);
    } else if (rank == 1) {
        test_buffer_fill(&b, 2);
        if (ready) {
            PMPI_Irecv(b.origin, count, type, 0, 5, MPI_COMM_WORLD, &request);
            MPI_Send(&go, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
            PMPI_Wait(&request, &status);
        } else {
            MPI_Send(&go, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
            MPI_Recv(b.origin, count, type, 0, 5, MPI_COMM_WORLD, &status);
        }
        check_arrived(&b, type, count, 9, 2, what);
        check_status(&status, 0, 5, type, count, what);
    }
    test_buffer_free(&b);
}

static void check_modes(MPI_Datatype type, int count, const char *what)
{
    static const struct {
        const char *name;
        send_fn *send;
        bool ready;
    } modes[] = {{"Send", MPI_Send, false},
                 {"Ssend", MPI_Ssend, false},
                 {"Bsend", MPI_Bsend, false},
                 {"Rsend", MPI_Rsend, true}};
    char text[160];

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        snprintf(text, sizeof text, "%s of %s, count %d", modes[i].name, what, count);
        check_mode(modes[i].send, modes[i].ready, type, count, text);
    }
}

/* ---- matched receives -------------------------------------------------------------------------------------------- */

static void check_mrecv(MPI_Datatype type, int count, bool ignore, const char *what)
{
    test_buffer b = test_buffer_create(type, count);
    MPI_Message message;
    MPI_Status status;

    if (rank == 0) {
        test_buffer_fill(&b, 3);
        MPI_Send(b.origin, count, type, 1, 6, MPI_COMM_WORLD);
    } else if (rank == 1) {
        test_buffer_fill(&b, 4);
        MPI_Mprobe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &message, &status);
        check_status(&status, 0, 6, type, count, what);
        MPI_Mrecv(b.origin, count, type, &message, ignore ? MPI_STATUS_IGNORE : &status);
        CHECK(message == MPI_MESSAGE_NULL, "%s: the message handle is left", what);
        check_arrived(&b, type, count, 3, 4, what);
        check_status(&status, 0, 6, type, count, what);
    }
    test_buffer_free(&b);
}

static void check_mrecv_of_nothing(MPI_Datatype type)
{
    test_buffer a = test_buffer_create(type, 1), b = test_buffer_create(type, 1);
    MPI_Message message;
    MPI_Status status;

    test_buffer_fill(&a, 4);
    test_buffer_fill(&b, 4);
    MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(a.origin, 1, type, &message, &status);
    CHECK(test_buffer_equal(&a, &b) && status.MPI_SOURCE == MPI_PROC_NULL, "MPI_MESSAGE_NO_PROC");
    test_buffer_free(&a);
    test_buffer_free(&b);
}

/* ---- both at once ------------------------------------------------------------------------------------------------ */

/* Sends around the ring; at its ends a side may be MPI_PROC_NULL. */
static void check_sendrecv(MPI_Datatype out, MPI_Datatype in, int count, bool open, bool ignore, const char *what)
{
    int next = open && rank == ranks - 1 ? MPI_PROC_NULL : (rank + 1) % ranks;
    int previous = open && rank == 0 ? MPI_PROC_NULL : (rank + ranks - 1) % ranks;
    test_buffer s = test_buffer_create(out, count), r = test_buffer_create(in, count);
    test_buffer want;
    MPI_Status status;

    test_buffer_fill(&s, (unsigned)rank + 20);
    test_buffer_fill(&r, 7);
    MPI_Sendrecv(s.origin, count, out, next, 8, r.origin, count, in, previous, 8, MPI_COMM_WORLD,
                 ignore ? MPI_STATUS_IGNORE : &status);
    want = test_expected(out, previous == MPI_PROC_NULL ? 0 : count, (unsigned)previous + 20, in, count, 7);
    CHECK(test_buffer_equal(&r, &want), "%s: received memory", what);
    if (!ignore)
        check_status(&status, previous, previous == MPI_PROC_NULL ? MPI_ANY_TAG : 8, in,
                     previous == MPI_PROC_NULL ? 0 : count, what);
    test_buffer_free(&want);
    test_buffer_fill(&r, (unsigned)rank + 20);
    test_buffer_free(&s);
    test_buffer_free(&r);
}

static void check_replace(MPI_Datatype type, int count, bool open, const char *what)
{
    int next = open && rank == ranks - 1 ? MPI_PROC_NULL : (rank + 1) % ranks;
    int previous = open && rank == 0 ? MPI_PROC_NULL : (rank + ranks - 1) % ranks;
    test_buffer b = test_buffer_create(type, count), want;
    MPI_Status status;

    test_buffer_fill(&b, (unsigned)rank + 40);
    MPI_Sendrecv_replace(b.origin, count, type, next, 9, previous, 9, MPI_COMM_WORLD, &status);
    want = test_expected(type, previous == MPI_PROC_NULL ? 0 : count, (unsigned)previous + 40, type, count,
                         (unsigned)rank + 40);
    CHECK(test_buffer_equal(&b, &want), "%s: replaced memory", what);
    check_status(&status, previous, previous == MPI_PROC_NULL ? MPI_ANY_TAG : 9, type,
                 previous == MPI_PROC_NULL ? 0 : count, what);
    test_buffer_free(&want);
    test_buffer_free(&b);
}

/* A message shorter than what it replaces leaves the rest as it was. */
static void check_short_replace(void)
{
    MPI_Datatype type;
    test_buffer b, want;
    int out = rank == 0 ? 2 : 5, in = rank == 0 ? 5 : 2;
    MPI_Status status;

    MPI_Type_vector(8, 1, 3, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    if (rank < 2) {
        b = test_buffer_create(type, 5);
        test_buffer_fill(&b, 50);
        if (rank == 0) {
            MPI_Send(b.origin, out, type, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(b.origin, in, type, 1, 1, MPI_COMM_WORLD, &status);
        } else {
            MPI_Sendrecv_replace(b.origin, out, type, 0, 1, 0, 1, MPI_COMM_WORLD, &status);
        }
        want = test_expected(type, in, 50, type, 5, 50);
        CHECK(test_buffer_equal(&b, &want), "a shorter message replaces");
        check_status(&status, 1 - rank, 1, type, in, "a shorter message replaces");
        test_buffer_free(&want);
        test_buffer_free(&b);
    }
    MPI_Type_free(&type);
}

/* ---- all of them over all types ---------------------------------------------------------------------------------- */

static void check_type(MPI_Datatype type, int count, const char *what)
{
    check_modes(type, count, what);
    check_mrecv(type, count, false, what);
    check_sendrecv(type, type, count, count & 1, false, what);
    check_replace(type, count, count & 1, what);
}

/* Two layouts of one signature. */
static void check_two_types(int elements)
{
    MPI_Datatype a, b;

    MPI_Type_vector(elements, 1, 2, MPI_DOUBLE, &a);
    MPI_Type_create_hvector(elements, 1, 40, MPI_DOUBLE, &b);
    MPI_Type_commit(&a);
    MPI_Type_commit(&b);
    for (int open = 0; open < 2; open++)
        for (int ignore = 0; ignore < 2; ignore++) {
            check_sendrecv(a, b, 3, open, ignore, "two types");
            check_sendrecv(MPI_DOUBLE, MPI_DOUBLE, 3 * elements, open, ignore, "basic type");
        }
    MPI_Type_free(&a);
    MPI_Type_free(&b);
}

int main(int argc, char **argv)
{
    static char attached[1 << 22];
    void *detached;
    int rc, n;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Buffer_attach(attached, sizeof attached);
    for (int i = 0; i < TEST_TYPES; i++)
        for (n = 1; n <= 300; n = n * 7 + 1)
            for (int count = 0; count < 4; count++) {
                MPI_Datatype type = test_type(i, n);

                check_type(type, count, test_type_name(i));
                if (count == 1)
                    check_mrecv_of_nothing(type);
                MPI_Type_free(&type);
            }
    for (int i = 1; i <= 100; i++) {
        uint64_t state = (uint64_t)i * 7727;
        MPI_Datatype type = test_random_type(&state);
        char what[64];

        snprintf(what, sizeof what, "random type, seed %d", i);
        check_type(type, 1 + i % 3, what);
        MPI_Type_free(&type);
    }
    check_two_types(10);
    check_two_types(4000);
    check_short_replace();
    MPI_Buffer_detach(&detached, &n);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
