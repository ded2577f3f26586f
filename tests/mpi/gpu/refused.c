/*
 * Messages in GPU memory to oneself of which MPI refuses one: the next ones go where MPI takes them. And a message from
 * another process that is too long ends nothing of what is known about those to oneself.
 *
 * usage: refused <driver>
 */
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/gpu/refuses.h"
#include "tests/mpi/support/harness.h"

enum { N = 4000, BYTES = 2 * N * 8, SLOTS = 3, TAG = 7, ROUNDS = 4 };

static gpu_memory out[SLOTS], in[SLOTS];
static MPI_Datatype every_second, half;
static MPI_Comm comm;
static int self, ranks;

static void fill(void)
{
    static unsigned char bytes[BYTES];

    for (int i = 0; i < SLOTS; i++) {
        memset(bytes, i + 1, BYTES);
        gpu_write(&out[i], 0, bytes, BYTES);
        memset(bytes, 0, BYTES);
        gpu_write(&in[i], 0, bytes, BYTES);
    }
}

static void expect(int of, int to, const char *what)
{
    unsigned char byte;

    gpu_read(&in[to], 0, &byte, 1);
    CHECK(byte == of + 1, "%s: message %d came to receive %d", what, byte - 1, to);
}

static void exchange(void)
{
    MPI_Request request;

    MPI_Irecv(in[0].at, 1, every_second, self, TAG, comm, &request);
    MPI_Send(out[0].at, 1, every_second, self, TAG, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The first exchanges prove the channel. */
static void begin(void)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int round = 0; round < ROUNDS; round++)
        exchange();
    fill();
}

/* ---- what MPI refuses -------------------------------------------------------------------------------------------- */

typedef int call_fn(void);

static int send(void)
{
    return MPI_Send(out[0].at, 1, every_second, self, TAG, comm);
}

static int isend(void)
{
    MPI_Request request;
    int rc = MPI_Isend(out[0].at, 1, every_second, self, TAG, comm, &request);

    return rc == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
}

static int sendrecv(void)
{
    return MPI_Sendrecv(out[0].at, 1, every_second, self, TAG, in[2].at, 1, every_second, self, TAG, comm,
                        MPI_STATUS_IGNORE);
}

static int start(void)
{
    MPI_Request request;
    int rc;

    MPI_Send_init(out[0].at, 1, every_second, self, TAG, comm, &request);
    rc = MPI_Start(&request);
    MPI_Request_free(&request);
    return rc;
}

/* Two receives are open, and the first of three sends fails. */
static void check(call_fn *call, const char *what)
{
    MPI_Request requests[2];

    begin();
    for (int i = 0; i < 2; i++)
        MPI_Irecv(in[i].at, 1, every_second, self, TAG, comm, &requests[i]);
    refuses_next = true;
    CHECK(call() != MPI_SUCCESS && !refuses_next, "%s is not refused", what);
    for (int i = 1; i < SLOTS; i++)
        MPI_Send(out[i].at, 1, every_second, self, TAG, comm);
    for (int i = 0; i < 2; i++) {
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        expect(i + 1, i, what);
    }
    MPI_Comm_free(&comm);
}

/* ---- what is too long -------------------------------------------------------------------------------------------- */

/* Each rank gets a message that is too long from the next one. */
static void check_too_long(void)
{
    int last = (self + ranks - 1) % ranks;
    MPI_Request receive, request;
    long copies;

    begin();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* which gets errors of persistent requests */
    MPI_Recv_init(in[1].at, 1, half, last, TAG + 1, comm, &receive);
    MPI_Start(&receive);
    MPI_Isend(out[1].at, 1, every_second, (self + 1) % ranks, TAG + 1, comm, &request);
    CHECK(MPI_Wait(&receive, MPI_STATUS_IGNORE) != MPI_SUCCESS, "a message that is too long is taken");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    copies = gpu_calls("cuMemcpyAsync") + gpu_all_launches();
    exchange();
    copies = gpu_calls("cuMemcpyAsync") + gpu_all_launches() - copies;
    CHECK(copies <= 1, "a message to oneself takes %ld launches and copies after one that was too long", copies);
    MPI_Barrier(comm);
    if (receive != MPI_REQUEST_NULL)
        MPI_Request_free(&receive);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    int rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &self);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Type_vector(N, 1, 2, MPI_DOUBLE, &every_second);
    MPI_Type_vector(N / 2, 1, 2, MPI_DOUBLE, &half);
    MPI_Type_commit(&every_second);
    MPI_Type_commit(&half);
    if (!gpu_start_as_told(argc, argv)) {
        MPI_Finalize();
        return 77;
    }
    for (int i = 0; i < SLOTS; i++) {
        out[i] = gpu_memory_make(GPU_DEVICE, BYTES);
        in[i] = gpu_memory_make(GPU_DEVICE, BYTES);
    }
    check(send, "MPI_Send");
    check(isend, "MPI_Isend");
    check(sendrecv, "MPI_Sendrecv");
    check(start, "MPI_Start");
    if (ranks > 1)
        check_too_long();
    MPI_Type_free(&every_second);
    MPI_Type_free(&half);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
