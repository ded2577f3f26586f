#include "tests/mpi/support/harness.h"

#include "tests/support/intel_mpi.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

int test_failures;

void test_fail(const char *file, int line, const char *what, const char *fmt, ...)
{
    char text[512];
    int rank = -1, up = 0, down = 0;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    PMPI_Initialized(&up);
    PMPI_Finalized(&down);
    if (up && !down)
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (test_failures++ < 20)
        fprintf(stderr, "%s:%d: rank %d: failed: %s: %s\n", file, line, rank, what, text);
}

int test_launch_rank(void)
{
    const char *rank = getenv("PMI_RANK");

    if (!rank)
        rank = getenv("OMPI_COMM_WORLD_RANK");
    return rank ? atoi(rank) : -1;
}

int test_result(void)
{
    int all = 0, rank;

    PMPI_Allreduce(&test_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("%s (%d failures)\n", all ? "FAILED" : "passed", all);
    return all != 0;
}

bool test_can_read_peer(void)
{
    static int mine = 4711;
    struct iovec local = {&(int){0}, sizeof mine}, remote;
    struct {
        pid_t pid;
        int *address;
    } here = {getpid(), &mine}, there;
    int rank, good;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Sendrecv(&here, sizeof here, MPI_BYTE, 1 - rank, 0, &there, sizeof there, MPI_BYTE, 1 - rank, 0,
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    remote = (struct iovec){there.address, sizeof mine};
    good = process_vm_readv(there.pid, &local, 1, &remote, 1, 0) == (ssize_t)sizeof mine;
    PMPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return good;
}

bool test_reads_are_seen(void)
{
    return !test_is_intel_mpi();
}

bool test_has_userfaultfd(void)
{
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

    if (fd < 0)
        fd = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

void test_limit_userfaultfd(bool for_user_code)
{
    enum { NUMBER = offsetof(struct seccomp_data, nr), FIRST = offsetof(struct seccomp_data, args[0]) };
    enum { SECOND = offsetof(struct seccomp_data, args[1]), USER_ONLY = 1, NEW_FILE = 0xAA00 };
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NUMBER),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIRST),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, for_user_code ? USER_ONLY : 0, 4, 3),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SECOND),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NEW_FILE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        printf("SKIPPED: no filter of system calls\n");
}

void test_give_up_reading(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];

    if (syscall(SYS_capget, &header, data) == 0) {
        data[0].effective &= ~(1u << CAP_SYS_PTRACE);
        data[0].permitted &= ~(1u << CAP_SYS_PTRACE);
        syscall(SYS_capset, &header, data);
    }
}

MPI_Comm test_graph_to(MPI_Comm comm, int rank, int edges)
{
    int *peers = malloc(2 * (size_t)edges * sizeof *peers), *weights = peers + edges;
    MPI_Comm graph;

    for (int i = 0; i < edges; i++) {
        peers[i] = rank;
        weights[i] = 1;
    }
    MPI_Dist_graph_create_adjacent(comm, edges, peers, weights, edges, peers, weights, MPI_INFO_NULL, 0, &graph);
    free(peers);
    return graph;
}

int test_class_of(int rc)
{
    int class = MPI_SUCCESS;

    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &class);
    return class;
}

static char what_hangs[512];

static void give_up(int sig)
{
    ssize_t ignored = write(STDERR_FILENO, what_hangs, strlen(what_hangs));

    (void)sig;
    (void)ignored;
    _exit(1);
}

void test_watch(const char *what, unsigned seconds)
{
    int rank;

    alarm(0);
    if (!what)
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(what_hangs, sizeof what_hangs, "rank %d hangs: %s\n", rank, what);
    signal(SIGALRM, give_up);
    alarm(seconds);
}

int test_run(int *argc, char ***argv, void (*check)(void))
{
    int rc;

    MPI_Init(argc, argv);
    check();
    rc = test_result();
    MPI_Finalize();
    return rc;
}

MPI_Errhandler test_handler_create(MPI_Comm_errhandler_function *count)
{
    MPI_Errhandler handler = MPI_ERRORS_RETURN;

    if (TEST_HANDLER_CALLS > 0)
        MPI_Comm_create_errhandler(count, &handler);
    return handler;
}

void test_handler_free(MPI_Errhandler *handler)
{
    if (TEST_HANDLER_CALLS > 0)
        MPI_Errhandler_free(handler);
}

uint64_t test_random(uint64_t *state)
{
    uint64_t x = *state ? *state : 88172645463325252u;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

enum { GUARD = 96 };

test_buffer test_buffer_create(MPI_Datatype type, int count)
{
    MPI_Aint lb, extent, true_lb, true_extent, lo, hi;
    test_buffer b;

    PMPI_Type_get_extent(type, &lb, &extent);
    PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
    lo = true_lb;
    hi = true_lb + true_extent;
    if (count > 1) {
        MPI_Aint last = (count - 1) * extent;

        lo = last < 0 ? lo + last : lo;
        hi = last > 0 ? hi + last : hi;
    }
    b.bytes = (size_t)(hi - lo) + 2 * GUARD;
    b.memory = NULL;
    if (getenv("PACKWRIGHT_ONE_COPY"))
        MPI_Alloc_mem((MPI_Aint)b.bytes, MPI_INFO_NULL, &b.memory);
    else
        b.memory = malloc(b.bytes);
    b.origin = b.memory + GUARD - lo;
    return b;
}

void test_buffer_free(test_buffer *buffer)
{
    if (getenv("PACKWRIGHT_ONE_COPY"))
        MPI_Free_mem(buffer->memory);
    else
        free(buffer->memory);
    buffer->memory = NULL;
}

void test_fill(void *memory, size_t bytes, unsigned seed)
{
    unsigned char *p = memory;

    for (size_t i = 0; i < bytes; i++)
        p[i] = (unsigned char)((i * 131 + (i >> 8) * 17 + seed * 29 + 7) & 0xff);
}

void test_buffer_fill(test_buffer *buffer, unsigned seed)
{
    test_fill(buffer->memory, buffer->bytes, seed);
}

bool test_buffer_equal(const test_buffer *a, const test_buffer *b)
{
    return a->bytes == b->bytes && memcmp(a->memory, b->memory, a->bytes) == 0;
}

test_buffer test_expected(MPI_Datatype from, int from_count, unsigned seed, MPI_Datatype to, int to_count,
                          unsigned before)
{
    test_buffer source = test_buffer_create(from, from_count), b = test_buffer_create(to, to_count);
    int bytes = test_packed_bytes(from, from_count), size, p = 0;
    unsigned char *packed = malloc((size_t)bytes + 1);

    test_buffer_fill(&source, seed);
    test_buffer_fill(&b, before);
    PMPI_Pack(source.origin, from_count, from, packed, bytes, &p, MPI_COMM_SELF);
    PMPI_Type_size(to, &size);
    p = 0;
    if (bytes > 0)
        PMPI_Unpack(packed, bytes, &p, b.origin, bytes / size, to, MPI_COMM_SELF);
    free(packed);
    test_buffer_free(&source);
    return b;
}

int test_packed_bytes(MPI_Datatype type, int count)
{
    int size;

    PMPI_Type_size(type, &size);
    return size * count;
}
