/*
 * Messages with the strategy `direct`: enough of them in the plain way that stand-ins lose their pages, and then one in
 * each way in which somebody may touch a stand-in, or nobody. What arrives must be right, and nothing may hang. The
 * sender's memory is from MPI_Alloc_mem. Run with the argument "user" the system answers for accesses of user code
 * only, and with "refused" there is no userfaultfd. With "file" the memory is a file's. With "denied" the processes may
 * not read each other's memory, and messages go in the plain way only.
 */
#include "tests/mpi/support/harness.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 128000, SPAN = 320000, BLOCK = 64, PROVING = 4 };

/* After a failure 16 messages are packed, two prove the channel again, and two more end the failure. */
enum { RESTING = 20 };

/* The process's memory is no longer for others to read, which MPICH needs when it starts. */
static void deny(void)
{
    test_give_up_reading();
    prctl(PR_SET_DUMPABLE, 0);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

typedef struct scene {
    MPI_Datatype type;
    MPI_Comm comm;
    int rank, round, block, stride;
    unsigned char *out, *in;
} scene;

static unsigned char byte_of(int round, int i)
{
    return (unsigned char)(i * 13 + i / 256 + round * 7);
}

static void write_out(scene *s)
{
    s->round++;
    for (int i = 0; i < SPAN; i++) {
        s->out[i] = byte_of(s->round, i);
        s->in[i] = 1;
    }
}

static void judge(const scene *s, const char *how)
{
    int wrong = 0;

    for (int i = 0; i < SPAN; i++)
        wrong += s->in[i] != (i % s->stride < s->block ? byte_of(s->round, i) : 1);
    CHECK(wrong == 0, "%s, message %d: %d bytes are wrong", how, s->round, wrong);
}

static void judge_packed(const scene *s, const unsigned char *packed, const char *how)
{
    int wrong = 0;

    for (int i = 0; i < BYTES; i++)
        wrong += packed[i] != byte_of(s->round, i / s->block * s->stride + i % s->block);
    CHECK(wrong == 0, "%s, message %d: %d bytes are wrong", how, s->round, wrong);
}

/* Rank 0 sends in the plain way. */
static void send_plainly(scene *s, int times, const char *after)
{
    for (int i = 0; i < times; i++) {
        write_out(s);
        if (s->rank == 0) {
            MPI_Send(s->out, 1, s->type, 1, 0, s->comm);
        } else {
            MPI_Recv(s->in, 1, s->type, 0, 0, s->comm, MPI_STATUS_IGNORE);
            judge(s, after);
        }
    }
}

/* ---- the ways ---------------------------------------------------------------------------------------------------- */

static void buffered(scene *s)
{
    int bytes = 2 * BYTES + 2 * MPI_BSEND_OVERHEAD;
    void *buffer = malloc((size_t)bytes);

    MPI_Buffer_attach(buffer, bytes);
    if (s->rank == 0)
        MPI_Bsend(s->out, 1, s->type, 1, 0, s->comm);
    else
        MPI_Recv(s->in, 1, s->type, 0, 0, s->comm, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&buffer, &bytes);
    free(buffer);
    if (s->rank == 1)
        judge(s, "buffered");
}

/* The receiver has no Packwright in this call, and lays the message out by its own engine. */
static void to_native(scene *s)
{
    if (s->rank == 0) {
        MPI_Send(s->out, 1, s->type, 1, 0, s->comm);
    } else {
        PMPI_Recv(s->in, 1, s->type, 0, 0, s->comm, MPI_STATUS_IGNORE);
        judge(s, "to native");
    }
}

static void to_packed(scene *s)
{
    unsigned char *packed = malloc(BYTES);

    if (s->rank == 0) {
        MPI_Send(s->out, 1, s->type, 1, 0, s->comm);
    } else {
        PMPI_Recv(packed, BYTES, MPI_PACKED, 0, 0, s->comm, MPI_STATUS_IGNORE);
        judge_packed(s, packed, "to packed");
    }
    free(packed);
}

/* The receive is longer, and finds the message by a probe. */
static void probed(scene *s)
{
    MPI_Message message;
    MPI_Status status;
    int n;

    if (s->rank == 0) {
        MPI_Ssend(s->out, 1, s->type, 1, 3, s->comm);
        return;
    }
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, s->comm, &message, &status);
    MPI_Get_count(&status, s->type, &n);
    CHECK(n == 1 && status.MPI_TAG == 3, "probed: count %d, tag %d", n, status.MPI_TAG);
    MPI_Mrecv(s->in, 1, s->type, &message, &status);
    judge(s, "probed");
}

static void to_itself(scene *s)
{
    MPI_Request request;

    MPI_Irecv(s->in, 1, s->type, s->rank, 5, s->comm, &request);
    MPI_Send(s->out, 1, s->type, s->rank, 5, s->comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    judge(s, "to itself");
}

/* Whether the send could be cancelled is told the receiver. */
static void cancelled(scene *s)
{
    MPI_Request request;
    MPI_Status status;
    int gone = 0;

    if (s->rank == 0) {
        MPI_Isend(s->out, 1, s->type, 1, 6, s->comm, &request);
        MPI_Cancel(&request);
        MPI_Send(s->out, 0, MPI_BYTE, 1, 7, s->comm);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &gone);
        MPI_Send(&gone, 1, MPI_INT, 1, 8, s->comm);
        return;
    }
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 7, s->comm, MPI_STATUS_IGNORE);
    MPI_Irecv(s->in, 1, s->type, 0, 6, s->comm, &request);
    MPI_Recv(&gone, 1, MPI_INT, 0, 8, s->comm, MPI_STATUS_IGNORE);
    if (gone)
        MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (!gone)
        judge(s, "not cancelled");
}

/* While the message is under way, a child writes to its copy of the buffer. */
static void forked(scene *s)
{
    MPI_Request request;
    pid_t child;

    if (s->rank == 1) {
        MPI_Barrier(s->comm);
        MPI_Recv(s->in, 1, s->type, 0, 0, s->comm, MPI_STATUS_IGNORE);
        judge(s, "forked");
        return;
    }
    MPI_Isend(s->out, 1, s->type, 1, 0, s->comm, &request);
    child = fork();
    if (child == 0) {
        bool same = s->out[SPAN - 1] == byte_of(s->round, SPAN - 1);

        memset(s->out, 0, SPAN);
        _exit(!same);
    } else if (child > 0) {
        int status;

        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child of a fork has no copy of the buffer");
    }
    MPI_Barrier(s->comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The request is freed before the message has gone. */
static void freed(scene *s)
{
    MPI_Request request;

    if (s->rank == 0) {
        MPI_Isend(s->out, 1, s->type, 1, 0, s->comm, &request);
        MPI_Request_free(&request);
    } else {
        MPI_Recv(s->in, 1, s->type, 0, 0, s->comm, MPI_STATUS_IGNORE);
        judge(s, "freed");
    }
    MPI_Barrier(s->comm);
}

static void of_a_new_communicator(scene *s)
{
    MPI_Comm_free(&s->comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &s->comm);
    send_plainly(s, 1, "of a new communicator");
}

/* ---- the sender's memory ----------------------------------------------------------------------------------------- */

static void *map_file(void)
{
    int fd = memfd_create("test", MFD_CLOEXEC);

    CHECK(fd >= 0 && ftruncate(fd, SPAN) == 0, "no file in memory");
    return mmap(NULL, SPAN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); /* the file stays open */
}

static void take_memory(scene *s, const char *kind)
{
    if (!strcmp(kind, "file"))
        s->out = map_file();
    else
        MPI_Alloc_mem(SPAN, MPI_INFO_NULL, &s->out);
}

static void give_memory(scene *s, const char *kind)
{
    if (!strcmp(kind, "file"))
        munmap(s->out, SPAN);
    else
        MPI_Free_mem(s->out);
}

int main(int argc, char **argv)
{
    static void (*const ways[])(scene *) = {
        buffered, to_native, to_packed, probed, to_itself, cancelled, forked, freed, of_a_new_communicator};
    const char *kind = argc > 1 ? argv[1] : "";
    bool denied = !strcmp(kind, "denied");
    scene s = {.round = 0, .block = BLOCK};
    int failures;

    if (!strcmp(kind, "user") || !strcmp(kind, "refused"))
        test_limit_userfaultfd(!strcmp(kind, "user"));
    MPI_Init(&argc, &argv);
    if (denied)
        deny();
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &s.comm);
    s.stride = SPAN / (BYTES / s.block);
    MPI_Type_vector(BYTES / s.block, s.block, s.stride, MPI_BYTE, &s.type);
    MPI_Type_commit(&s.type);
    take_memory(&s, kind);
    s.in = malloc(SPAN);
    if (denied)
        send_plainly(&s, RESTING, "denied");
    for (size_t i = 0; i < sizeof ways / sizeof *ways && !denied; i++) {
        if (ways[i] == forked && !strcmp(kind, "file"))
            continue; /* a child shares the memory */
        send_plainly(&s, PROVING, "plain");
        write_out(&s);
        ways[i](&s);
        send_plainly(&s, RESTING, "afterwards");
    }
    give_memory(&s, kind);
    free(s.in);
    MPI_Type_free(&s.type);
    MPI_Comm_free(&s.comm);
    failures = test_result();
    MPI_Finalize();
    return failures;
}
