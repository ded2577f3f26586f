/* Lazy memory: who reads it gets the bytes of what it stands for at that time, or an error, never anything else. */
#include "runtime/exchange/lazy.h"
#include "runtime/exchange/peers.h"
#include "runtime/exchange/segment.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SHIFT = 22, BLOCK = 1 << SHIFT, MESSAGE = 3 << 20 | 1234, THREADS = 4, LOST = -1 };

static char *blocks[2];
static _Atomic int64_t made; /* bytes that were made */
static unsigned char got[BLOCK];

/* Makes the bytes of message `number`. */
static bool make(void *number, void *to, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i++)
        ((unsigned char *)to)[i] = (unsigned char)(i * 7 + *(int *)number);
    made += bytes;
    return *(int *)number != LOST;
}

static bool is_message(const unsigned char *bytes, int64_t first, int64_t n, int number)
{
    for (int64_t i = 0; i < n; i++)
        if (bytes[i] != (unsigned char)((first + i) * 7 + number))
            return false;
    return true;
}

static void set(char *block, int *number)
{
    made = 0;
    pw_lazy_set(block, MESSAGE, make, number, false);
}

static void set_now(char *block, int *number)
{
    made = 0;
    pw_lazy_set(block, MESSAGE, make, number, true);
}

static ssize_t read_of(pid_t pid, const void *from, size_t bytes)
{
    struct iovec local = {.iov_base = got, .iov_len = bytes}, remote = {.iov_base = (void *)from, .iov_len = bytes};

    return syscall(SYS_process_vm_readv, pid, &local, 1, &remote, 1, 0);
}

/* Has a child read this process's memory, and returns what the child's check of it does. */
static int by_a_child(const void *from, size_t bytes, bool (*check)(ssize_t n, const void *arg), const void *arg)
{
    pid_t child = fork();
    int status = -1;

    if (child == 0)
        _exit(check(read_of(getppid(), from, bytes), arg));
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool is_all(ssize_t n, const void *number)
{
    return n == MESSAGE && is_message(got, 0, MESSAGE, *(const int *)number);
}

static bool is_refused(ssize_t n, const void *unused)
{
    (void)unused;
    return n < 0 && errno == EFAULT;
}

/* ---- without permission ------------------------------------------------------------------------------------------ */

enum { RIGHT = 0, WRONG = 1, HAS_PERMISSION = 2 };
static int threads_alone;

/* A process without permission is served itself, and the kernel on its behalf is refused. */
static int serve_threads_alone(void)
{
    int number = 80, pipes[2];
    char *block;

    if ((geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) || pw_lazy_serves() != PW_LAZY_THREADS)
        return HAS_PERMISSION;
    block = pw_lazy_map(SHIFT, 1);
    if (!block || pipe(pipes) != 0)
        return WRONG;
    set(block, &number);
    if (write(pipes[1], block, 4096) != -1 || errno != EFAULT || made != 0)
        return WRONG;
    return is_message((unsigned char *)block, 0, MESSAGE, number) && pw_lazy_clear(block) ? RIGHT : WRONG;
}

static void without_permission_threads_are_served(void **state)
{
    (void)state;
    if (threads_alone == HAS_PERMISSION)
        skip();
    assert_int_equal(threads_alone, RIGHT);
}

/* ---- without the descriptor -------------------------------------------------------------------------------------- */

static int descriptor_lost;

/* Does what programs do that close all files that they do not know. ThreadSanitizer is not to see it, since the thread
 * waits at the descriptor meanwhile. */
static void close_descriptor(void)
{
    for (int fd = 3; fd < 64; fd++) {
        char path[32], link[64] = "";

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, link, sizeof link - 1) > 0 && strstr(link, "userfaultfd"))
            syscall(SYS_close, fd);
    }
}

/* The thread waits at the descriptor while it is closed, and must not take the memory for its own afterwards. */
static int lose_descriptor(void)
{
    int number = 90;
    char *block = pw_lazy_serves() != PW_LAZY_NOBODY ? pw_lazy_map(SHIFT, 1) : NULL;

    if (!block)
        return HAS_PERMISSION;
    usleep(1000);
    close_descriptor();
    for (; number < 93; number++) {
        set(block, &number);
        if (made != MESSAGE || !is_message((unsigned char *)block, 0, MESSAGE, number))
            return WRONG;
        pw_lazy_clear(block);
    }
    return pw_lazy_serves() == PW_LAZY_NOBODY ? RIGHT : WRONG;
}

static void without_the_descriptor_messages_are_copied(void **state)
{
    (void)state;
    if (descriptor_lost == HAS_PERMISSION)
        skip();
    assert_int_equal(descriptor_lost, RIGHT);
}

/* ---- what the program may need ----------------------------------------------------------------------------------- */

enum { LIMITS = 2 };

static int under_limits[LIMITS], locked;

/* The limit is far away, but the program may have its own use for all of it. */
static int map_under(const struct rlimit *addresses, const struct rlimit *data)
{
    setrlimit(RLIMIT_AS, addresses);
    setrlimit(RLIMIT_DATA, data);
    return pw_lazy_map(SHIFT, 1) ? WRONG : RIGHT;
}

static const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY}, some = {(rlim_t)1 << 62, (rlim_t)1 << 62};

static int limit_addresses(void)
{
    return map_under(&some, &none);
}

static int limit_data(void)
{
    return map_under(&none, &some);
}

static void limited_addresses_are_left_to_the_program(void **state)
{
    (void)state;
    for (int i = 0; i < LIMITS; i++)
        assert_int_equal(under_limits[i], RIGHT);
}

static long resident_kib(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { SANITIZED = 1 }; /* sanitizers have memory of their own for what is mapped */
#else
enum { SANITIZED = 0 };
#endif

/* The system gives pages at once to whatever such a program maps and may write. */
static int lock_all(void)
{
    enum { COUNT = 32, MOST_KIB = 16 << 10 };
    long before;

    if (SANITIZED || pw_lazy_serves() == PW_LAZY_NOBODY || syscall(SYS_mlockall, MCL_FUTURE) != 0)
        return HAS_PERMISSION;
    before = resident_kib();
    return !pw_lazy_map(SHIFT, COUNT) && resident_kib() - before < MOST_KIB ? RIGHT : WRONG;
}

static void a_program_that_locks_its_memory_gets_no_pages(void **state)
{
    (void)state;
    if (locked == HAS_PERMISSION)
        skip();
    assert_int_equal(locked, RIGHT);
}

/* ---- the scene --------------------------------------------------------------------------------------------------- */

static int in_child(int (*fn)(void))
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        alarm(20);
        _exit(fn());
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : WRONG;
}

/* A child has no lazy memory once the parent has begun. */
static int start(void **state)
{
    (void)state;
    threads_alone = in_child(serve_threads_alone);
    descriptor_lost = in_child(lose_descriptor);
    under_limits[0] = in_child(limit_addresses);
    under_limits[1] = in_child(limit_data);
    locked = in_child(lock_all);
    if (pw_lazy_serves() != PW_LAZY_EVERYBODY)
        return 0;
    blocks[0] = pw_lazy_map(SHIFT, 2);
    blocks[1] = blocks[0] + BLOCK;
    return !blocks[0];
}

static void need_lazy(void)
{
    if (!blocks[0])
        skip();
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void what_nobody_reads_is_not_made(void **state)
{
    int number = 1;

    (void)state;
    need_lazy();
    set(blocks[0], &number);
    assert_false(pw_lazy_clear(blocks[0]));
    assert_int_equal(made, 0);
}

static void this_process_reads_each_message(void **state)
{
    (void)state;
    need_lazy();
    for (int number = 1; number < 4; number++) {
        set(blocks[0], &number);
        assert_true(is_message((unsigned char *)blocks[0] + BLOCK / 2, BLOCK / 2, 5000, number));
        assert_true(is_message((unsigned char *)blocks[0], 0, MESSAGE, number));
        assert_int_equal(made, MESSAGE);
        assert_int_equal(blocks[0][BLOCK - 1], 0);
        assert_true(pw_lazy_clear(blocks[0]));
    }
}

static void the_kernel_reads_for_it(void **state)
{
    int number = 9, pipes[2];

    (void)state;
    need_lazy();
    assert_int_equal(pipe(pipes), 0);
    set(blocks[1], &number);
    assert_int_equal(write(pipes[1], blocks[1] + 4096 * 3, 4096), 4096);
    assert_int_equal(read(pipes[0], got, 4096), 4096);
    assert_true(is_message(got, 4096 * 3, 4096, number));
    assert_true(pw_lazy_clear(blocks[1]));
    close(pipes[0]);
    close(pipes[1]);
}

static void another_process_reads_it(void **state)
{
    (void)state;
    need_lazy();
    for (int number = 20; number < 22; number++) {
        set(blocks[0], &number);
        assert_int_equal(by_a_child(blocks[0], MESSAGE, is_all, &number), true);
        assert_int_equal(made, MESSAGE);
        assert_true(pw_lazy_clear(blocks[0]));
    }
}

static void filled_memory_has_pages(void **state)
{
    int number = 25;

    (void)state;
    need_lazy();
    set_now(blocks[0], &number);
    assert_int_equal(made, MESSAGE);
    assert_int_equal(by_a_child(blocks[0], MESSAGE, is_all, &number), true);
    assert_int_equal(made, MESSAGE);
    assert_false(pw_lazy_clear(blocks[0]));
    set(blocks[0], &number);
    assert_false(pw_lazy_clear(blocks[0]));
    assert_int_equal(made, 0);
}

/* The bytes go by way of memory that is kept: filling again makes no pages but the block's. */
static void filling_keeps_its_memory(void **state)
{
    struct rusage before, after;
    int number = 26;

    (void)state;
    need_lazy();
    for (int i = 0; i < 2; i++) {
        getrusage(RUSAGE_SELF, &before);
        set_now(blocks[0], &number);
        getrusage(RUSAGE_SELF, &after);
        assert_int_equal(made, MESSAGE);
        assert_true(is_message((unsigned char *)blocks[0], 0, MESSAGE, number));
        assert_int_equal(blocks[0][BLOCK - 1], 0);
        pw_lazy_clear(blocks[0]);
        number++;
    }
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* their malloc takes new pages each time */
    assert_in_range(after.ru_minflt - before.ru_minflt, 0, 8);
#endif
}

static void *read_here(void *number)
{
    return is_message((unsigned char *)blocks[0], 0, MESSAGE, *(int *)number) ? number : NULL;
}

static void threads_read_it_at_once(void **state)
{
    pthread_t threads[THREADS];
    int number = 30;
    void *right;

    (void)state;
    need_lazy();
    set(blocks[0], &number);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, read_here, &number);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &right);
        assert_non_null(right);
    }
    assert_int_equal(made, MESSAGE);
    pw_lazy_clear(blocks[0]);
}

/* ---- what is not a message --------------------------------------------------------------------------------------- */

static void without_a_message_there_are_zeros(void **state)
{
    int number = 40;

    (void)state;
    need_lazy();
    assert_int_equal(blocks[0][77], 0);
    assert_int_equal(blocks[0][BLOCK - 77], 0);
    set(blocks[0], &number);
    assert_true(is_message((unsigned char *)blocks[0], 0, MESSAGE, number));
    pw_lazy_clear(blocks[0]);
    assert_int_equal(blocks[0][77], 0);
}

static void a_lost_message_is_an_error(void **state)
{
    int number = LOST;

    (void)state;
    need_lazy();
    set(blocks[0], &number);
    assert_int_equal(by_a_child(blocks[0], MESSAGE, is_refused, NULL), true);
    assert_true(pw_lazy_clear(blocks[0]));
    number = 50;
    set(blocks[0], &number);
    assert_int_equal(by_a_child(blocks[0], MESSAGE, is_all, &number), true);
    pw_lazy_clear(blocks[0]);
}

/* ---- in the segment ---------------------------------------------------------------------------------------------- */

static bool is_in_the_segment(const char *block, int number)
{
    pw_peer_block b;
    const char *from = pw_peer_memory(getppid(), block + 4096, 8192, &b);

    return from && b.lazy && b.form == PW_OFFER_REPLICA && b.message == MESSAGE && from == b.base + 4096 &&
           pw_peer_copy(&b, got, from, 8192) && is_message(got, 4096, 8192, number);
}

static void blocks_of_the_segment_are_found(void **state)
{
    int number = 60, status = -1;
    char *block, *ordinary;
    pid_t child;

    (void)state;
    need_lazy();
    pw_segment_open();
    block = pw_segment_take_lazy(BLOCK);
    ordinary = pw_segment_take(BLOCK);
    assert_non_null(block);
    assert_null(pw_segment_take_lazy(4096));
    set(block, &number);
    pw_segment_note(block, MESSAGE, PW_OFFER_REPLICA, false);
    child = fork();
    if (child == 0)
        _exit(is_in_the_segment(block, number));
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status));
    assert_true(pw_segment_give(block));
    assert_ptr_equal(pw_segment_take_lazy(BLOCK), block);
    assert_true(pw_segment_give(block) && pw_segment_give(ordinary));
    assert_ptr_equal(pw_segment_take(BLOCK), ordinary);
    pw_segment_close();
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* Locked memory cannot be emptied: messages there are still right, and there is no more lazy memory. This test is the
 * last. */
static void locked_memory_keeps_no_old_message(void **state)
{
    int number = 70;

    (void)state;
    need_lazy();
    set(blocks[0], &number);
    if (syscall(SYS_mlock, blocks[0], BLOCK) != 0) /* the sanitizers' mlock does nothing */
        skip();
    assert_true(is_message((unsigned char *)blocks[0], 0, MESSAGE, number));
    assert_true(pw_lazy_clear(blocks[0]));
    assert_int_equal(pw_lazy_serves(), PW_LAZY_NOBODY);
    assert_null(pw_lazy_map(SHIFT, 1));
    number = 71;
    set(blocks[0], &number);
    assert_true(is_message((unsigned char *)blocks[0], 0, MESSAGE, number));
    pw_lazy_clear(blocks[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_permission_threads_are_served),
        cmocka_unit_test(without_the_descriptor_messages_are_copied),
        cmocka_unit_test(limited_addresses_are_left_to_the_program),
        cmocka_unit_test(a_program_that_locks_its_memory_gets_no_pages),
        cmocka_unit_test(what_nobody_reads_is_not_made),
        cmocka_unit_test(this_process_reads_each_message),
        cmocka_unit_test(the_kernel_reads_for_it),
        cmocka_unit_test(another_process_reads_it),
        cmocka_unit_test(filled_memory_has_pages),
        cmocka_unit_test(filling_keeps_its_memory),
        cmocka_unit_test(threads_read_it_at_once),
        cmocka_unit_test(without_a_message_there_are_zeros),
        cmocka_unit_test(a_lost_message_is_an_error),
        cmocka_unit_test(blocks_of_the_segment_are_found),
        cmocka_unit_test(locked_memory_keeps_no_old_message),
    };

    return cmocka_run_group_tests(tests, start, NULL);
}
