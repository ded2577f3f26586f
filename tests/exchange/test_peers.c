/* Other processes' segments: what is mapped of them, and what becomes of those that are killed or broken. */
#include "runtime/exchange/peers.h"
#include "runtime/exchange/segment.h"
#include "tests/support/outbound_maps.h"

#include <linux/sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { KIB = 1 << 10, MIB = 1 << 20, BYTES = 64 * KIB };

/* A process with a segment, which lives until it is killed. It reports where its blocks are. */
typedef struct other {
    pid_t pid;
    char *small, *large;
} other;

/* Entries whose blocks end beyond the file. */
static void break_header(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    pw_segment_header *h = NULL;
    char line[512];
    void *first;

    while (fgets(line, sizeof line, maps))
        if (strstr(line, "memfd:" PW_SEGMENT_NAME) && sscanf(line, "%p-%*x %*s %*x", &first) == 1 &&
            pw_segment_is_titled(first, getpid()))
            h = first;
    fclose(maps);
    for (uint32_t i = 0; h && i < h->npieces; i++)
        h->pieces[i].at = (uint64_t)1 << 40;
}

static void be_another(int tell, int fill, bool broken)
{
    other o = {.pid = getpid()};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pw_segment_open();
    o.small = pw_segment_take(BYTES);
    o.large = pw_segment_take(8 * MIB);
    memset(o.small, fill, BYTES);
    memset(o.large, fill, 8 * MIB);
    if (broken)
        break_header();
    if (write(tell, &o, sizeof o) == (ssize_t)sizeof o)
        pause();
    _exit(1);
}

/* Starts a process, with this pid unless it is 0; the system may refuse that. Result with pid 0: it has refused. */
static other start(pid_t pid, int fill, bool broken)
{
    struct clone_args arguments = {.exit_signal = SIGCHLD};
    other o = {.pid = 0};
    int pipes[2];
    pid_t child;

    assert_int_equal(pipe(pipes), 0);
    if (pid) {
        arguments.set_tid = (uintptr_t)&pid;
        arguments.set_tid_size = 1;
        child = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
    } else {
        child = fork();
    }
    if (child == 0)
        be_another(pipes[1], fill, broken);
    close(pipes[1]);
    if (child > 0)
        assert_int_equal(read(pipes[0], &o, sizeof o), sizeof o);
    close(pipes[0]);
    return o;
}

static void end(other o)
{
    kill(o.pid, SIGKILL);
    waitpid(o.pid, NULL, 0);
}

static bool reads(pid_t pid, const char *at, int fill)
{
    pw_peer_block block;
    const char *seen = pw_peer_memory(pid, at, BYTES, &block);

    return seen && seen[0] == fill && seen[BYTES - 1] == fill;
}

static void what_is_read_is_mapped(void **state)
{
    other o = start(0, 1, false);
    outbound_maps before = outbound_maps_now(), maps;

    (void)state;
    assert_true(reads(o.pid, o.small, 1));
    maps = outbound_maps_now();
    assert_true(maps.bytes - before.bytes < MIB);
    assert_int_equal(maps.maps, before.maps + 3); /* the header; blocks; their records, which can be written */
    assert_true(reads(o.pid, o.large, 1));
    maps = outbound_maps_now();
    assert_true(maps.bytes - before.bytes >= 8 * MIB);
    assert_int_equal(maps.dumped, 0);
    assert_true(reads(o.pid, o.small + 1, 1) == false); /* behind the end of the block */
    end(o);
}

static void processes_that_were_killed_are_not_read(void **state)
{
    other o = start(0, 2, false);

    (void)state;
    assert_true(reads(o.pid, o.small, 2));
    end(o);
    assert_false(reads(o.pid, o.small, 2));
}

static void a_pid_may_come_to_mean_another_process(void **state)
{
    other o = start(0, 3, false), next;

    (void)state;
    assert_true(reads(o.pid, o.small, 3));
    end(o);
    next = start(o.pid, 4, false);
    if (!next.pid)
        skip(); /* this system lets nobody choose pids */
    assert_int_equal(next.pid, o.pid);
    assert_true(reads(next.pid, next.small, 4));
    assert_true(reads(next.pid, next.large, 4));
    end(next);
}

/* Whatever a header contains, only bytes in the file are read. */
static void broken_headers_are_not_believed(void **state)
{
    other o = start(0, 5, true);

    (void)state;
    assert_false(reads(o.pid, o.small, 5));
    assert_false(reads(o.pid, o.large, 5));
    end(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_mapped), cmocka_unit_test(processes_that_were_killed_are_not_read),
        cmocka_unit_test(a_pid_may_come_to_mean_another_process), cmocka_unit_test(broken_headers_are_not_believed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
