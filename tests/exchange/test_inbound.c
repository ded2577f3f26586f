/* Messages that are unpacked while they come: which bytes go where, and the function that takes the place of
 * process_vm_readv. */
#include "runtime/exchange/inbound.h"
#include "runtime/exchange/segment.h"
#include "tests/cache/layout_scene.h"
#include "tests/exchange/reader.h"
#include "tests/support/system_reads.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { OBJECTS = 64, SIZE = 24, EXTENT = 64, MESSAGE = OBJECTS * SIZE, STAGED = 2048, EXPECTED = 256 };

typedef struct scenery {
    void *files; /* scene */
    pw_layout_engine *engine;
    pw_layout *layout;
    _Alignas(64) unsigned char staging[STAGED];
    unsigned char message[MESSAGE], user[OBJECTS * EXTENT], wanted[OBJECTS * EXTENT];
    pw_inbound *in;
} scenery;

static int set_up(void **state)
{
    scenery *s = aligned_alloc(64, (sizeof *s + 63) / 64 * 64);

    memset(s, 0, sizeof *s);
    scene_setup(&s->files);
    s->engine = layout_engine(s->files, PW_JIT_OFF, 0, false);
    s->layout = layout_of(s->engine, "type(lb 0, extent 64) { stream 3 stride 16 { bytes 8 align 8 } }");
    assert_int_equal(s->layout->size, SIZE);
    for (int i = 0; i < MESSAGE; i++)
        s->message[i] = (unsigned char)(1 + i % 251);
    memset(s->staging, 0xee, sizeof s->staging);
    pw_layout_unpack(s->layout, s->wanted, OBJECTS, s->message);
    s->in = pw_inbound_expect(s->staging, MESSAGE, s->layout, s->user);
    assert_non_null(s->in);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    scenery *s = *state;

    pw_inbound_forget(s->in);
    pw_layout_unref(s->layout);
    pw_layout_engine_destroy(s->engine);
    scene_teardown(&s->files);
    free(s);
    return 0;
}

/* Completes a receive as a strategy does when MPI reports that `received` bytes have come. */
static void complete(scenery *s, int64_t received, int64_t in_place)
{
    int64_t first = pw_inbound_in_place(s->in);

    assert_int_equal(first, in_place);
    pw_layout_unpack_part(s->layout, s->user, first, received, s->staging + first);
}

static void arrive(scenery *s, int64_t first, int64_t last)
{
    assert_ptr_equal(pw_inbound_at(s->staging + first), s->in);
    pw_inbound_arrive(s->in, s->staging + first, s->message + first, last - first, NULL, NULL);
}

static bool staging_is_untouched(const scenery *s, int64_t first, int64_t last)
{
    while (first < last && s->staging[first] == 0xee)
        first++;
    return first == last;
}

/* ---- pieces ----------------------------------------------------------------------------------------------------- */

static void a_whole_message_goes_to_its_place(void **state)
{
    scenery *s = *state;

    arrive(s, 0, MESSAGE);
    assert_memory_equal(s->user, s->wanted, sizeof s->user);
    assert_true(staging_is_untouched(s, 0, STAGED));
    complete(s, MESSAGE, MESSAGE);
    assert_memory_equal(s->user, s->wanted, sizeof s->user);
}

static void pieces_of_what_may_be_longer_are_copied(void **state)
{
    scenery *s = *state;

    arrive(s, 0, 500);
    arrive(s, 500, MESSAGE);
    assert_memory_equal(s->staging, s->message, MESSAGE);
    complete(s, MESSAGE, 0);
    assert_memory_equal(s->user, s->wanted, sizeof s->user);
}

static void pieces_out_of_order_are_copied(void **state)
{
    scenery *s = *state;

    arrive(s, 960, MESSAGE);
    arrive(s, 0, 10);
    arrive(s, 10, 960);
    assert_memory_equal(s->staging, s->message, MESSAGE);
    complete(s, MESSAGE, 0);
    assert_memory_equal(s->user, s->wanted, sizeof s->user);
}

static void the_next_message_begins_anew(void **state)
{
    scenery *s = *state;

    arrive(s, 0, MESSAGE);
    pw_inbound_expect_again(s->in);
    memset(s->user, 0, sizeof s->user);
    memcpy(s->staging, s->message, MESSAGE);
    complete(s, MESSAGE, 0);
    assert_memory_equal(s->user, s->wanted, sizeof s->user);
}

static void only_so_many_are_expected_and_only_their_memory_is_found(void **state)
{
    static _Alignas(64) unsigned char other[EXPECTED + 1][64];
    scenery *s = *state;
    pw_inbound *many[EXPECTED];
    int n = 0;

    while (n < EXPECTED && (many[n] = pw_inbound_expect(other[n], 64, s->layout, s->user)))
        n++;
    assert_int_equal(n, EXPECTED - 1);
    for (int i = 0; i < n; i++)
        assert_ptr_equal(pw_inbound_at(other[i] + i % 64), many[i]);
    assert_null(pw_inbound_at(other[n]));
    assert_null(pw_inbound_at(s->staging + STAGED));
    assert_null(pw_inbound_at(NULL));
    assert_ptr_equal(pw_inbound_at(s->staging + MESSAGE - 1), s->in);
    assert_int_equal(pw_inbound_room(s->in, s->staging + 1), MESSAGE - 1);
    assert_int_equal(pw_inbound_room(s->in, s->staging + MESSAGE + 5), 0);
    for (int i = 0; i < n; i++)
        pw_inbound_forget(many[i]);
    assert_null(pw_inbound_at(other[0]));
}

/* ---- all of it at the first piece -------------------------------------------------------------------------------- */

static pw_peer_block block_of(const scenery *s, size_t message)
{
    return (pw_peer_block){.base = (const char *)s->message, .bytes = 4096, .message = message};
}

static void arrive_of(scenery *s, int64_t first, int64_t last, const pw_peer_block *block)
{
    pw_inbound_arrive(s->in, s->staging + first, s->message + first, last - first, block, NULL);
}

static void a_message_of_known_length_is_unpacked_at_its_first_piece(void **state)
{
    scenery *s = *state;
    pw_peer_block block = block_of(s, MESSAGE);

    arrive_of(s, 0, 10, &block);
    assert_memory_equal(s->user, s->wanted, sizeof s->user);
    memset(s->user, 0, sizeof s->user); /* nothing is unpacked twice */
    arrive_of(s, 10, 960, &block);
    arrive_of(s, 960, MESSAGE, &block);
    assert_true(staging_is_untouched(s, 0, STAGED));
    complete(s, MESSAGE, MESSAGE);
    assert_int_equal(s->user[0], 0);
}

/* A message that would not fit, and a piece that is in the wrong place. */
static void what_does_not_match_comes_as_ever(void **state)
{
    static unsigned char elsewhere[MESSAGE];
    scenery *s = *state;
    pw_peer_block block = block_of(s, MESSAGE + 1);

    arrive_of(s, 0, 10, &block);
    assert_memory_equal(s->staging, s->message, 10);
    block.message = MESSAGE;
    arrive_of(s, 0, 10, &block);
    memcpy(elsewhere, s->message, MESSAGE);
    pw_inbound_arrive(s->in, s->staging + 10, elsewhere + 10, MESSAGE - 10, &block, NULL);
    assert_memory_equal(s->staging, s->message, MESSAGE);
    memset(s->user, 0, sizeof s->user);
    complete(s, MESSAGE, 0);
    assert_memory_equal(s->user, s->wanted, sizeof s->user);
}

typedef struct taken {
    int calls;
    int64_t bytes;
    const void *from;
} taken;

/* Refuses messages of less than 100 bytes. */
static bool take_it(const void *arg, const void *from, int64_t bytes, const pw_peer_block *block, void **late)
{
    taken *t = *(taken *const *)arg;

    assert_non_null(block);
    assert_null(*late);
    t->calls++;
    t->bytes = bytes;
    t->from = from;
    return bytes >= 100;
}

static const pw_inbound_taker taker = {.unpack = take_it};

static void takers_get_whole_messages_or_none(void **state)
{
    static _Alignas(64) unsigned char other[STAGED];
    scenery *s = *state;
    taken t = {.calls = 0}, *arg = &t;
    pw_inbound *in = pw_inbound_expect_by(other, MESSAGE, false, &taker, &arg, sizeof arg);
    pw_peer_block block = block_of(s, MESSAGE);

    assert_non_null(in);
    assert_int_equal(pw_inbound_takers(), 1);
    pw_inbound_arrive(in, other, s->message, MESSAGE, NULL, NULL); /* in no known block */
    assert_int_equal(t.calls, 0);
    assert_int_equal(pw_inbound_in_place(in), 0);
    pw_inbound_arrive(in, other, s->message, 500, &block, NULL);
    pw_inbound_arrive(in, other + 500, s->message + 500, MESSAGE - 500, &block, NULL);
    assert_int_equal(t.calls, 1);
    assert_int_equal(t.bytes, MESSAGE);
    assert_ptr_equal(t.from, s->message);
    assert_int_equal(pw_inbound_in_place(in), MESSAGE);
    pw_inbound_expect_again(in);
    memset(other, 0, sizeof other);
    block.message = 99;
    pw_inbound_arrive(in, other, s->message, 99, &block, NULL);
    assert_int_equal(t.calls, 2);
    assert_int_equal(pw_inbound_in_place(in), 0);
    assert_memory_equal(other, s->message, 99);
    block.message = 0; /* the length of the message is not known, so a piece may not be all of it */
    pw_inbound_expect_again(in);
    pw_inbound_arrive(in, other, s->message, 500, &block, NULL);
    assert_int_equal(t.calls, 2);
    pw_inbound_arrive(in, other, s->message, MESSAGE, &block, NULL);
    assert_int_equal(t.calls, 3);
    pw_inbound_forget(in);
    assert_int_equal(pw_inbound_takers(), 0);
}

/* ---- the system's function --------------------------------------------------------------------------------------- */

static ssize_t read_from(pid_t pid, void *to, const void *from, size_t bytes)
{
    struct iovec local = {to, bytes}, remote = {(void *)from, bytes};

    return process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

static void what_is_in_a_segment_is_read_without_the_system(void **state)
{
    scenery *s = *state;
    unsigned char *block;

    pw_segment_open();
    block = pw_segment_take(4096);
    assert_non_null(block);
    memcpy(block, s->message, MESSAGE);
    assert_int_equal(read_from(getpid(), s->staging, block, MESSAGE), MESSAGE);
    assert_true(staging_is_untouched(s, 0, STAGED));
    assert_memory_equal(s->user, s->wanted, sizeof s->user);
    pw_segment_give(block);
}

/* The system may forbid such reads; then there is nothing to interpose. */
static void what_is_elsewhere_is_read_by_the_system(void **state)
{
    scenery *s = *state;
    ssize_t n = read_from(getpid(), s->staging, s->message, MESSAGE);

    if (n < 0 && (errno == EPERM || errno == ENOSYS))
        skip();
    assert_int_equal(n, MESSAGE);
    assert_memory_equal(s->staging, s->message, MESSAGE);
    complete(s, MESSAGE, 0);
    assert_memory_equal(s->user, s->wanted, sizeof s->user);
    assert_int_equal(read_from(getpid(), s->staging, NULL, MESSAGE), -1);
    assert_int_equal(errno, EFAULT);
    assert_int_equal(read_from(0x3fffffff, s->staging, s->message, MESSAGE), -1);
    assert_int_equal(errno, ESRCH);
}

/* Open MPI asks for more than was posted. */
static void nothing_is_written_beyond_what_was_posted(void **state)
{
    static unsigned char longer[STAGED];
    scenery *s = *state;
    unsigned char *block;
    ssize_t n;

    memcpy(longer, s->message, MESSAGE);
    memset(longer + MESSAGE, 0xaa, STAGED - MESSAGE);
    n = read_from(getpid(), s->staging, longer, STAGED);
    if (n >= 0) {
        assert_int_equal(n, STAGED);
        assert_memory_equal(s->staging, s->message, MESSAGE);
        assert_true(staging_is_untouched(s, MESSAGE, STAGED));
    }
    pw_segment_open();
    block = pw_segment_take(4096);
    assert_non_null(block);
    memcpy(block, longer, STAGED);
    assert_int_equal(read_from(getpid(), s->staging, block, STAGED), STAGED);
    assert_memory_equal(s->user, s->wanted, sizeof s->user);
    assert_true(staging_is_untouched(s, MESSAGE, STAGED));
    pw_segment_give(block);
}

/* A collective may send on what it has received. */
static void what_is_to_be_copied_is_copied(void **state)
{
    static _Alignas(64) unsigned char stage[STAGED];
    pw_inbound *in = pw_inbound_expect(stage, MESSAGE, NULL, NULL);
    scenery *s = *state;
    unsigned char *block;

    pw_segment_open();
    block = pw_segment_take(4096);
    assert_non_null(block);
    memcpy(block, s->message, MESSAGE);
    assert_int_equal(read_from(getpid(), stage, block, MESSAGE), MESSAGE);
    assert_memory_equal(stage, s->message, MESSAGE);
    assert_int_equal(pw_inbound_in_place(in), 0);
    pw_inbound_forget(in);
    pw_segment_give(block);
}

/* ---- whose read it is -------------------------------------------------------------------------------------------- */

static unsigned char *block_with_message(scenery *s)
{
    unsigned char *block;

    pw_segment_open();
    block = pw_segment_take(4096);
    assert_non_null(block);
    memcpy(block, s->message, MESSAGE);
    system_reads = 0;
    return block;
}

/* A read of the program's own goes to the system, wherever its bytes are. */
static void a_read_of_the_program_goes_to_the_system(void **state)
{
    unsigned char *block = block_with_message(*state), to[MESSAGE];

    read_from(getpid(), to, block, MESSAGE);
    assert_int_equal(system_reads, 1);
    pw_segment_give(block);
}

/* Returns whether the system says enough: glibc from 2.35 on says which library calls, and Linux from 5.14 on whether
 * memory can be written. */
static bool is_told(void *memory)
{
#if __GLIBC_PREREQ(2, 35) && defined MADV_POPULATE_WRITE
    uintptr_t page = (uintptr_t)memory & -(uintptr_t)sysconf(_SC_PAGESIZE);

    return madvise((void *)page, 1, MADV_POPULATE_WRITE) == 0;
#else
    (void)memory;
    return false;
#endif
}

static void a_read_of_the_mpi_needs_no_system(void **state)
{
    scenery *s = *state;
    unsigned char *block = block_with_message(s), to[MESSAGE + 1];

    if (!is_told(to))
        skip();
    to[MESSAGE] = 0xee;
    assert_int_equal(read_as_mpi(getpid(), to, block, MESSAGE), MESSAGE);
    assert_int_equal(system_reads, 0);
    assert_memory_equal(to, s->message, MESSAGE);
    assert_int_equal(to[MESSAGE], 0xee);
    pw_segment_give(block);
}

static void a_read_of_the_mpi_is_unpacked(void **state)
{
    scenery *s = *state;
    unsigned char *block = block_with_message(s);

    assert_int_equal(read_as_mpi(getpid(), s->staging, block, MESSAGE), MESSAGE);
    assert_int_equal(system_reads, 0);
    assert_memory_equal(s->user, s->wanted, sizeof s->user);
    pw_segment_give(block);
}

static volatile int lookups;

/* In such a process Packwright is off, has not begun, or has ended. */
static void a_process_without_a_segment_looks_for_none(void **state)
{
    scenery *s = *state;
    unsigned char to[MESSAGE];

    pw_segment_close();
    lookups = 0;
    assert_int_equal(read_as_mpi(0x3ffffffd, to, s->message, MESSAGE), -1);
    assert_int_equal(lookups, 0);
}

static void bad_addresses_are_errors(void **state)
{
    unsigned char *block = block_with_message(*state);
    long page = sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *const bad[] = {(void *)16, pages + page, pages + page - 63};

    assert_ptr_not_equal(pages, MAP_FAILED);
    mprotect(pages + page, (size_t)page, PROT_READ);
    for (int i = 0; i < 3; i++) {
        assert_true(read_from(getpid(), bad[i], block, 64) < 64);
        assert_true(read_as_mpi(getpid(), bad[i], block, 64) < 64);
    }
    assert_int_equal(read_as_mpi(getpid(), (void *)16, block, 64), -1);
    assert_true(errno == EFAULT || errno == EPERM || errno == ENOSYS);
    munmap(pages, 2 * (size_t)page);
    pw_segment_give(block);
}

/* ---- in a signal handler ----------------------------------------------------------------------------------------- */

static bool is_profiled;
static volatile sig_atomic_t handled;

/* Reads the stack in a signal handler, as unwinders do. */
static void read_own_stack(int signal)
{
    char here[64] = "stack", seen[64];

    (void)signal;
    handled += read_from(getpid(), seen, here, sizeof here) == (ssize_t)sizeof here && !memcmp(seen, here, sizeof here);
}

/* Replaces the C library's opendir, which look-ups of segments call under a lock. */
DIR *opendir(const char *path)
{
    DIR *(*next)(const char *) = (DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir");

    lookups++;
    if (is_profiled && !strncmp(path, "/proc/", 6))
        raise(SIGPROF);
    return next(path);
}

static int reads_while_it_looks_for_a_segment(scenery *s)
{
    static unsigned char other[MESSAGE];
    bool allowed = read_from(getpid(), other, s->message, MESSAGE) == MESSAGE;

    is_profiled = true;
    signal(SIGPROF, read_own_stack);
    alarm(20); /* ends a deadlock */
    read_as_mpi(0x3ffffffe, s->staging, s->message, MESSAGE);
    return allowed && handled != 1;
}

static void a_signal_handler_may_read(void **state)
{
    pid_t child = fork();
    int status = -1;

    if (child == 0)
        _exit(reads_while_it_looks_for_a_segment(*state));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(a_whole_message_goes_to_its_place),
                                       TEST(pieces_of_what_may_be_longer_are_copied),
                                       TEST(pieces_out_of_order_are_copied),
                                       TEST(the_next_message_begins_anew),
                                       TEST(a_message_of_known_length_is_unpacked_at_its_first_piece),
                                       TEST(what_does_not_match_comes_as_ever),
                                       TEST(takers_get_whole_messages_or_none),
                                       TEST(only_so_many_are_expected_and_only_their_memory_is_found),
                                       TEST(what_is_in_a_segment_is_read_without_the_system),
                                       TEST(what_is_elsewhere_is_read_by_the_system),
                                       TEST(nothing_is_written_beyond_what_was_posted),
                                       TEST(what_is_to_be_copied_is_copied),
                                       TEST(a_read_of_the_program_goes_to_the_system),
                                       TEST(a_process_without_a_segment_looks_for_none),
                                       TEST(a_read_of_the_mpi_needs_no_system),
                                       TEST(a_read_of_the_mpi_is_unpacked),
                                       TEST(bad_addresses_are_errors),
                                       TEST(a_signal_handler_may_read)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
