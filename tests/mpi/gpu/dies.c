/*
 * A message between two GPU buffers by the strategy `direct`, of which one rank is killed while the receiver's kernel
 * reads the sender's memory. Messages come first that prove the channel. What has been read of a sender that died may
 * be anything, so the receive must fail, or MPI must end the job.
 *
 * usage: dies <stand-in driver> <sender or receiver>. Prints "the receive has failed" or, which is wrong, "the message
 * has been received". Exits 77, for "skipped", where nothing goes directly.
 */
#include <unistd.h>

#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

enum { SKIPPED = 77, TAG = 3, PROVING = 4, BYTES = 256 << 10 };

/* Lets both ranks know rank 0's process. */
static int pid_of_sender(void)
{
    int pid = (int)getpid();

    PMPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return pid;
}

static void send_all(const gpu_memory *m, MPI_Datatype type)
{
    for (int i = 0; i <= PROVING; i++)
        MPI_Send(m->at, 1, type, 1, TAG, MPI_COMM_WORLD);
}

static void receive_all(const gpu_memory *m, MPI_Datatype type, int doomed)
{
    int rc;

    for (int i = 0; i < PROVING; i++)
        MPI_Recv(m->at, 1, type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ((void (*)(int))gpu_symbol("fake_kill_at_launch"))(doomed);
    rc = MPI_Recv(m->at, 1, type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("%s\n", rc == MPI_SUCCESS ? "the message has been received" : "the receive has failed");
    fflush(stdout);
    _exit(1);
}

int main(int argc, char **argv)
{
    bool sender_dies = argc > 2 && !strcmp(argv[2], "sender");
    MPI_Datatype type;
    gpu_memory m;
    int rank, sender;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!gpu_start_as_told(argc, argv) || !test_can_read_peer() || !test_reads_are_seen() || !test_has_userfaultfd()) {
        MPI_Finalize();
        return SKIPPED;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Type_vector(BYTES / 64, 64, 128, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    m = gpu_memory_make(GPU_DEVICE, 2 * BYTES);
    sender = pid_of_sender();
    if (rank == 0)
        send_all(&m, type);
    else
        receive_all(&m, type, sender_dies ? sender : (int)getpid());
    MPI_Finalize();
    return 0;
}
