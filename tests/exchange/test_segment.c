/* The segment and what other processes see of it. */
#include "runtime/engine/memory/pool.h"
#include "runtime/exchange/peers.h"
#include "runtime/exchange/segment.h"
#include "runtime/exchange/sharing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { KIB = 1 << 10, MIB = 1 << 20, LARGEST = 256 * MIB };

/* Runs `look` in a child process, and returns the child's exit status. */
static int in_child(int (*look)(const void *arg), const void *arg)
{
    pid_t child = fork();
    int status = -1;

    if (child == 0)
        _exit(look(arg));
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Returns 0 if the parent's block can be read as it should. */
static int reads_parent(const void *block)
{
    pw_peer_block b;
    const unsigned char *seen = pw_peer_memory(getppid(), block, 4 * KIB, &b);

    if (!seen)
        return 1;
    for (int i = 0; i < 4 * KIB; i++)
        if (seen[i] != (unsigned char)(i * 7))
            return 2;
    return 0;
}

static void *a_block(void)
{
    unsigned char *block = pw_segment_take(4 * KIB);

    assert_non_null(block);
    for (int i = 0; i < 4 * KIB; i++)
        block[i] = (unsigned char)(i * 7);
    return block;
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

static void blocks_are_apart_aligned_and_taken_again(void **state)
{
    char *a = pw_segment_take(64 * KIB), *b = pw_segment_take(64 * KIB), *c = pw_segment_take(4 * MIB);
    int private;

    (void)state;
    assert_true(a && b && c);
    assert_true(a + 64 * KIB <= b || b + 64 * KIB <= a);
    assert_int_equal((uintptr_t)a % (64 * KIB), 0);
    assert_int_equal((uintptr_t)c % (2 * MIB), 0);
    memset(a, 1, 64 * KIB);
    memset(b, 2, 64 * KIB);
    assert_int_equal(a[64 * KIB - 1], 1);
    assert_true(pw_segment_give(a));
    assert_ptr_equal(pw_segment_take(64 * KIB), a);
    assert_int_equal(a[0], 0); /* the pages have gone back to the system */
    assert_true(pw_segment_give(a) && pw_segment_give(b) && pw_segment_give(c));
    assert_false(pw_segment_give(&private));
}

/* The system makes the pages of a new staging buffer at once, so the first message of a length waits for none of them.
 */
static void the_first_message_waits_for_no_pages(void **state)
{
#if defined MADV_POPULATE_WRITE && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    char *buffer = pw_pool_take_from(PW_POOL_OUTBOUND, 4 * MIB);
    struct rusage before, after;

    (void)state;
    assert_true(buffer && pw_segment_offer_at(buffer));
    if (madvise(buffer, 1, MADV_POPULATE_WRITE) != 0)
        skip();
    getrusage(RUSAGE_SELF, &before);
    memset(buffer, 1, 4 * MIB);
    getrusage(RUSAGE_SELF, &after);
    assert_in_range(after.ru_minflt - before.ru_minflt, 0, 8);
    pw_pool_give_to(PW_POOL_OUTBOUND, buffer, 4 * MIB);
    pw_pool_trim();
#else
    (void)state; /* the system cannot do so, or sanitizers have pages of their own */
#endif
}

static void there_are_blocks_of_some_sizes(void **state)
{
    (void)state;
    assert_null(pw_segment_take(2 * (size_t)LARGEST));
}

/* ---- others ----------------------------------------------------------------------------------------------------- */

static void another_process_reads_a_block(void **state)
{
    void *block = a_block();

    (void)state;
    assert_int_equal(in_child(reads_parent, block), 0);
    assert_true(pw_sharing_is_likely());
    pw_segment_close();
    assert_false(pw_sharing_is_likely());
    assert_int_equal(in_child(reads_parent, block), 1);
    pw_segment_open();
    assert_int_equal(in_child(reads_parent, block), 0);
    pw_segment_give(block);
}

static int reads_elsewhere(const void *block)
{
    static int private;
    pid_t parent = getppid();
    pw_peer_block b;

    /* A child does not inherit the mapping, so an address of the parent's private memory is in no segment. */
    return pw_peer_memory(parent, &private, sizeof private, &b) != NULL ||
           pw_peer_memory(parent, (const char *)block - ((size_t)8 << 30), 4 * KIB, &b) != NULL ||
           pw_peer_memory(parent, block, (size_t)1 << 40, &b) != NULL ||
           pw_peer_memory(parent, block, 4 * KIB + 1, &b) != NULL || pw_peer_memory(1, block, 1, &b) != NULL ||
           pw_peer_memory(-1, block, 1, &b) != NULL || pw_segment_take(4 * KIB) != NULL;
}

static void nothing_else_is_read(void **state)
{
    void *block = a_block();

    (void)state;
    assert_int_equal(in_child(reads_elsewhere, block), 0);
    pw_segment_give(block);
}

/* A pool that the child has inherited may hold blocks that are neither malloc's nor mapped. */
static int gives_back(const void *block)
{
    int private;

    return !pw_segment_give((void *)(uintptr_t)block) || pw_segment_give(&private);
}

static void a_child_gives_back_what_its_parent_took(void **state)
{
    unsigned char *block = a_block();

    (void)state;
    assert_int_equal(in_child(gives_back, block), 0);
    assert_int_equal(block[1], 7);
    pw_segment_give(block);
}

/* The child has inherited the open file, but its memory at these addresses is not the segment. */
static void a_child_is_not_taken_for_its_parent(void **state)
{
    void *block = a_block();
    pw_peer_block b;
    int pipes[2];
    pid_t child;

    (void)state;
    assert_int_equal(pipe(pipes), 0);
    child = fork();
    if (child == 0) {
        char c;

        _exit(read(pipes[0], &c, 1) != 1);
    }
    assert_null(pw_peer_memory(child, block, 4 * KIB, &b));
    assert_int_equal(write(pipes[1], "", 1), 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_non_null(pw_peer_memory(getpid(), block, 4 * KIB, &b)); /* itself it may read */
    pw_segment_give(block);
}

/* Peers without privileges may not read this process. The state lasts, so the test runs in a child. */
static int is_refused_when_not_dumpable(const void *arg)
{
    bool before = pw_sharing_is_refused(), after = false;

    (void)arg;
    prctl(PR_SET_DUMPABLE, 0);
    for (int i = 0; i < 100; i++)
        after = pw_sharing_is_refused();
    return before || !after;
}

static int is_refused_when_told(const void *arg)
{
    bool before = pw_sharing_is_refused();

    (void)arg;
    pw_sharing_note_refusal();
    return before || !pw_sharing_is_refused();
}

static void reads_may_be_refused(void **state)
{
    (void)state;
    assert_int_equal(in_child(is_refused_when_not_dumpable, NULL), 0);
    assert_int_equal(in_child(is_refused_when_told, NULL), 0);
}

static int open_segment(void **state)
{
    (void)state;
    pw_segment_open();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_are_apart_aligned_and_taken_again),
                                       cmocka_unit_test(the_first_message_waits_for_no_pages),
                                       cmocka_unit_test(there_are_blocks_of_some_sizes),
                                       cmocka_unit_test(reads_may_be_refused),
                                       cmocka_unit_test(another_process_reads_a_block),
                                       cmocka_unit_test(nothing_else_is_read),
                                       cmocka_unit_test(a_child_gives_back_what_its_parent_took),
                                       cmocka_unit_test(a_child_is_not_taken_for_its_parent)};

    return cmocka_run_group_tests(tests, open_segment, NULL);
}
