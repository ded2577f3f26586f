/*
 * What the segment takes of the process: under the limits of files, addresses and locked memory, without memory, and
 * where the program closes descriptors. Limits are for good, so each test is a child process.
 */
#include "runtime/exchange/peers.h"
#include "runtime/exchange/segment.h"
#include "tests/support/outbound_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { SANITIZED = 1 }; /* sanitizers take addresses by the terabyte */
#else
enum { SANITIZED = 0 };
#endif

enum { KIB = 1 << 10, MIB = 1 << 20, SKIPPED = 77, MANY = 1000 };

/* Stand in for the system calls that the segment makes. */
static bool is_full;
static size_t made;

int fallocate(int fd, int mode, off_t at, off_t bytes)
{
    if (is_full) {
        errno = ENOSPC;
        return -1;
    }
    made += (size_t)bytes;
    return (int)syscall(SYS_fallocate, fd, mode, at, bytes);
}

static void check(int (*look)(void))
{
    pid_t child = fork();
    int status = -1;

    if (child == 0)
        _exit(look());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(WIFSIGNALED(status));
    if (WEXITSTATUS(status) == SKIPPED)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Takes blocks until there are no more, and writes them. */
static int take_all(size_t bytes)
{
    int n = 0;

    for (char *block; n < MANY && (block = pw_segment_take(bytes)); n++)
        memset(block, 1, bytes);
    return n;
}

static void set_limit(int what, rlim_t bytes)
{
    setrlimit(what, &(struct rlimit){bytes, bytes});
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static int is_within_the_longest_file(void)
{
    int n;

    set_limit(RLIMIT_FSIZE, MIB);
    pw_segment_open();
    n = take_all(64 * KIB);
    return n < 4 || n > 15 || pw_segment_take(MIB);
}

static int needs_no_file(void)
{
    set_limit(RLIMIT_FSIZE, 4 * KIB);
    pw_segment_open();
    return pw_segment_is_open() || pw_segment_take(4 * KIB);
}

static void no_file_is_longer_than_allowed(void **state)
{
    (void)state;
    check(is_within_the_longest_file);
    check(needs_no_file);
}

static int leaves_other_files_alone(void)
{
    char path[] = "/tmp/packwright-test-XXXXXX", text[8] = "";
    int fd = mkstemp(path);
    struct stat s;

    unlink(path);
    if (fd < 0 || write(fd, "theirs", 6) != 6)
        return SKIPPED;
    pw_segment_open();
    if (!pw_segment_take(4 * KIB))
        return 1;
    for (int other = 3; other < 64; other++)
        if (other != fd)
            dup2(fd, other);
    if (take_all(64 * KIB) > 0)
        return 2;
    return fstat(fd, &s) || s.st_size != 6 || pread(fd, text, sizeof text, 0) != 6 || strcmp(text, "theirs") != 0;
}

static void descriptors_may_come_to_mean_other_files(void **state)
{
    (void)state;
    check(leaves_other_files_alone);
}

/* ---- addresses and memory ---------------------------------------------------------------------------------------- */

static int leaves_addresses(void)
{
    outbound_maps before;
    void *block;

    if (SANITIZED)
        return SKIPPED;
    set_limit(RLIMIT_AS, (rlim_t)256 << 20);
    pw_segment_open();
    before = outbound_maps_now();
    block = pw_segment_take(32 * KIB);
    if (!block || before.bytes > 64 * KIB || outbound_maps_now().bytes > 256 * KIB)
        return 1;
    if (!malloc(200 * MIB))
        return 2;
    take_all(16 * MIB); /* no more than there is */
    return 0;
}

static int grows_with_use(void)
{
    int used = 0;

    pw_segment_open();
    for (; used < 64; used++)
        if (!pw_segment_take(64 * KIB) || outbound_maps_now().bytes > (size_t)(2 * used + 4) * 64 * KIB)
            return 1;
    made = 0;
    return !pw_segment_take(64 * KIB) || made < 64 * KIB || made > 256 * KIB;
}

static int locks_what_is_used(void)
{
    if (SANITIZED || mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        return SKIPPED;
    pw_segment_open();
    if (outbound_maps_now().locked > 64 * KIB)
        return 1;
    return !pw_segment_take(32 * KIB) || outbound_maps_now().locked > 256 * KIB;
}

static void no_more_is_taken_than_is_used(void **state)
{
    (void)state;
    check(leaves_addresses);
    check(grows_with_use);
}

static void no_more_is_locked_than_is_used(void **state)
{
    (void)state;
    check(locks_what_is_used);
}

static int stays_out_of_dumps(void)
{
    pw_segment_open();
    if (!pw_segment_take(32 * KIB) || !pw_segment_take(4 * MIB))
        return 1;
    return outbound_maps_now().dumped > 0 || outbound_maps_now().maps < 3;
}

static void nothing_is_dumped(void **state)
{
    (void)state;
    check(stays_out_of_dumps);
}

static int gives_only_what_can_be_written(void)
{
    char *block, *again;

    pw_segment_open();
    block = pw_segment_take(64 * KIB);
    if (!block || !pw_segment_give(block))
        return 1;
    is_full = true;
    if (pw_segment_take(64 * KIB) || pw_segment_take(MIB))
        return 2;
    is_full = false;
    again = pw_segment_take(64 * KIB);
    return again != block || !pw_segment_take(MIB);
}

static void without_memory_there_are_no_blocks(void **state)
{
    (void)state;
    check(gives_only_what_can_be_written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_file_is_longer_than_allowed),
                                       cmocka_unit_test(descriptors_may_come_to_mean_other_files),
                                       cmocka_unit_test(no_more_is_taken_than_is_used),
                                       cmocka_unit_test(no_more_is_locked_than_is_used),
                                       cmocka_unit_test(nothing_is_dumped),
                                       cmocka_unit_test(without_memory_there_are_no_blocks)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
