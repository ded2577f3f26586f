/*
 * What the library takes of a process, and what it must leave as it is: long packed messages under limits, in a process
 * that others may not read, and under a profiler's signals. Two ranks.
 *
 * usage: footprint files|addresses|locked|denied|profiled
 */
#include "tests/mpi/support/harness.h"
#include "tests/support/outbound_maps.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { SANITIZED = 1 }; /* sanitizers take addresses by the terabyte */
#else
enum { SANITIZED = 0 };
#endif

enum { MIB = 1 << 20, BLOCKS = 16 << 10, MESSAGES = 20 };

static int skip(const char *why)
{
    printf("SKIPPED: %s\n", why);
    return 0;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void exchange(bool dense, int round)
{
    static double out[2 * BLOCKS], in[2 * BLOCKS], plain[BLOCKS];
    MPI_Datatype type;
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_vector(BLOCKS, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 2 * BLOCKS; i++)
        out[i] = i + round;
    for (int i = 0; i < BLOCKS; i++)
        plain[i] = 2 * i + round;
    memset(in, 0, sizeof in);
    if (dense)
        MPI_Sendrecv(plain, BLOCKS, MPI_DOUBLE, 1 - rank, 0, in, 1, type, 1 - rank, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    else
        MPI_Sendrecv(out, 1, type, 1 - rank, 0, in, 1, type, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < BLOCKS; i++)
        if (in[2 * i] != 2 * i + round) {
            CHECK(in[2 * i] == 2 * i + round, "message %d, block %d: %g", round, i, in[2 * i]);
            break;
        }
    MPI_Type_free(&type);
}

static void exchange_many(void)
{
    for (int i = 0; i < MESSAGES; i++)
        exchange(i % 4 == 3, i);
}

static void check_footprint(void)
{
    outbound_maps maps = outbound_maps_now();

    CHECK(maps.dumped == 0, "%d mappings of messages go to core dumps", maps.dumped);
    CHECK(maps.bytes <= 2 * MIB, "%zu bytes of addresses for messages", maps.bytes);
    CHECK(maps.locked <= 2 * MIB, "%zu bytes of messages are locked", maps.locked);
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t samples, wrong;

static void sample(int signal)
{
    char here[64] = "stack", seen[64] = "";
    struct iovec local = {seen, sizeof seen}, remote = {here, sizeof here};
    int kept = errno;

    (void)signal;
    samples++;
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)sizeof here)
        wrong += errno != EPERM && errno != ENOSYS;
    else
        wrong += memcmp(here, seen, sizeof here) != 0;
    errno = kept;
}

static void profile(void)
{
    struct itimerval often = {{0, 500}, {0, 500}};
    struct sigaction action = {.sa_handler = sample, .sa_flags = SA_RESTART};

    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &often, NULL);
    for (int i = 0; i < 10; i++)
        exchange_many();
    setitimer(ITIMER_PROF, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    CHECK(wrong == 0, "%d of %d samples are wrong", (int)wrong, (int)samples);
}

/* -------------------------------------------------------------------------------------------------------------------*/

/* Returns whether the MPI ends programs whose ranks may not read each other's memory, as MPICH 5 does: it reads the
 * blocks of messages by system calls of its own. */
static bool must_read(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, major;

    MPI_Get_library_version(text, &length);
    return sscanf(text, "MPICH Version: %d", &major) == 1 && major >= 5;
}

/* Prepares the process. False: what is to be tried is impossible here. */
static bool prepare(const char *what)
{
    if (!strcmp(what, "denied") && must_read())
        return false;
    if (!strcmp(what, "files"))
        return setrlimit(RLIMIT_FSIZE, &(struct rlimit){16 * MIB, 16 * MIB}) == 0;
    if (!strcmp(what, "addresses"))
        return !SANITIZED && setrlimit(RLIMIT_AS, &(struct rlimit){6000000000, 6000000000}) == 0;
    if (!strcmp(what, "locked"))
        return !SANITIZED && mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
    if (!strcmp(what, "denied"))
        test_give_up_reading();
    return true;
}

static void *volatile large;

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "files";
    int failures;

    if (!prepare(what))
        return skip("the system or the MPI does not allow it");
    MPI_Init(&argc, &argv);
    check_footprint();
    if (!strcmp(what, "addresses")) {
        large = malloc((size_t)4 << 30);
        CHECK(large, "4 GiB of 6 GB cannot be had");
        free(large);
    }
    if (!strcmp(what, "denied"))
        prctl(PR_SET_DUMPABLE, 0); /* MPICH does not start in such a process */
    if (!strcmp(what, "profiled"))
        profile();
    exchange_many();
    check_footprint();
    failures = test_result();
    MPI_Finalize();
    return failures;
}
