/* Messages that come through a socket into staging memory: what is unpacked while they come, and what when they are
 * complete. */
#include "runtime/engine/node/inbound.h"
#include "tests/cache/layout_scene.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

enum { BLOCK = 8, EVERY = 24, BLOCKS = 32 << 10, MESSAGE = BLOCKS * BLOCK, USER = BLOCKS * EVERY, PIECE = 64 << 10 };

typedef struct scenery {
    void *files; /* scene */
    pw_layout_engine *engine;
    pw_layout *layout;
    unsigned char *staging, *message, *user, *wanted;
    pw_inbound *in;
    int ends[2];
} scenery;

static void expect(scenery *s, bool kernels)
{
    s->engine = layout_engine(s->files, kernels ? PW_JIT_SYNC : PW_JIT_OFF, 0, true);
    s->layout = layout_of(s->engine, "type(lb 0, extent 786432) { stream 32768 stride 24 { bytes 8 align 8 } }");
    assert_int_equal(s->layout->size, MESSAGE);
    pw_layout_unpack(s->layout, s->wanted, 1, s->message);
    s->in = pw_inbound_expect(s->staging, MESSAGE, s->layout, s->user);
    assert_non_null(s->in);
}

static int set_up(void **state)
{
    scenery *s = calloc(1, sizeof *s);

    scene_setup(&s->files);
    s->staging = aligned_alloc(4096, MESSAGE + PIECE);
    s->message = malloc(MESSAGE + PIECE);
    s->user = calloc(1, USER);
    s->wanted = calloc(1, USER);
    memset(s->staging, 0xee, MESSAGE + PIECE);
    for (int i = 0; i < MESSAGE + PIECE; i++)
        s->message[i] = (unsigned char)(1 + i % 251);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s->ends), 0);
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
    close(s->ends[0]);
    close(s->ends[1]);
    free(s->staging);
    free(s->message);
    free(s->user);
    free(s->wanted);
    free(s);
    return 0;
}

/* ---- what MPI does ----------------------------------------------------------------------------------------------- */

static void send_bytes(scenery *s, int64_t first, int64_t bytes)
{
    assert_int_equal(write(s->ends[1], s->message + first, (size_t)bytes), bytes);
}

/* Receives bytes [first, last) of the message, in pieces that a socket's buffer holds. */
static void receive(scenery *s, int64_t first, int64_t last)
{
    for (int64_t n; first < last; first += n) {
        n = last - first < PIECE ? last - first : PIECE;
        send_bytes(s, first, n);
        assert_int_equal(recv(s->ends[0], s->staging + first, (size_t)n, MSG_WAITALL), n);
    }
}

/* MPI copies what came into a buffer of its own. */
static void copy(scenery *s, int64_t first, int64_t last)
{
    memcpy(s->staging + first, s->message + first, (size_t)(last - first));
}

/* Completes the receive as a strategy does, after checking which bytes were unpacked before. */
static void complete(scenery *s, int64_t first, int64_t last)
{
    int64_t ns;
    pw_inbound_range r = pw_inbound_in_place(s->in, &ns);

    assert_int_equal(r.first, first);
    assert_int_equal(r.last, last);
    assert_true(ns > 0 || last == 0);
    pw_layout_unpack_part(s->layout, s->user, 0, r.first, s->staging);
    pw_layout_unpack_part(s->layout, s->user, r.last, MESSAGE, s->staging + r.last);
    assert_memory_equal(s->user, s->wanted, USER);
    assert_memory_equal(s->staging, s->message, MESSAGE);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void pieces_are_unpacked_when_they_come(void **state)
{
    scenery *s = *state;

    expect(s, true);
    receive(s, 0, MESSAGE);
    assert_memory_equal(s->user, s->wanted, USER);
    complete(s, 0, MESSAGE);
}

/* Pieces end within blocks, and the last one is too short to pay. */
static void the_beginning_and_the_end_may_be_left(void **state)
{
    scenery *s = *state;

    expect(s, true);
    copy(s, 0, 1001);
    receive(s, 1001, MESSAGE - 5);
    receive(s, MESSAGE - 5, MESSAGE);
    complete(s, 1001, MESSAGE - 5);
}

static void short_pieces_are_unpacked_together(void **state)
{
    enum { STEP = 1000, LEAST = 32 << 10 };
    scenery *s = *state;
    int64_t ns, first = 0;

    expect(s, true);
    for (; first + STEP < LEAST; first += STEP)
        receive(s, first, first + STEP);
    assert_int_equal(pw_inbound_in_place(s->in, &ns).last, 0);
    receive(s, first, first + STEP);
    assert_int_equal(pw_inbound_in_place(s->in, &ns).last, first + STEP);
    copy(s, first + STEP, MESSAGE);
    complete(s, 0, first + STEP);
}

/* As with several connections between two nodes. */
static void what_comes_out_of_order_is_left(void **state)
{
    scenery *s = *state;

    expect(s, true);
    receive(s, 0, 2 * PIECE);
    receive(s, 3 * PIECE, MESSAGE);
    receive(s, 2 * PIECE, 3 * PIECE);
    complete(s, 0, 3 * PIECE);
}

static void what_is_written_anew_is_unpacked_anew(void **state)
{
    scenery *s = *state;

    expect(s, true);
    memset(s->message + PIECE, 7, PIECE);
    receive(s, 0, 3 * PIECE);
    for (int i = PIECE; i < 2 * PIECE; i++)
        s->message[i] = (unsigned char)(1 + i % 251);
    receive(s, PIECE, 2 * PIECE);
    copy(s, 3 * PIECE, MESSAGE);
    complete(s, 0, 0);
}

static void vectors_of_buffers_are_filled_in_order(void **state)
{
    enum { HEADER = 16 };
    scenery *s = *state;
    char header[HEADER], behind[100];
    struct iovec to[3] = {{header, HEADER}, {s->staging, PIECE}, {behind, sizeof behind}};
    struct msghdr message = {.msg_iov = to, .msg_iovlen = 3};

    expect(s, true);
    send_bytes(s, 0, HEADER);
    send_bytes(s, 0, PIECE);
    assert_int_equal(readv(s->ends[0], to, 3), HEADER + PIECE);
    to[1].iov_base = s->staging + PIECE;
    send_bytes(s, 0, HEADER);
    send_bytes(s, PIECE, PIECE);
    assert_int_equal(recvmsg(s->ends[0], &message, 0), HEADER + PIECE);
    copy(s, 2 * PIECE, MESSAGE);
    complete(s, 0, 2 * PIECE);
}

static void what_is_only_looked_at_has_not_come(void **state)
{
    scenery *s = *state;
    int64_t ns;

    expect(s, true);
    send_bytes(s, 0, PIECE);
    assert_int_equal(recv(s->ends[0], s->staging, PIECE, MSG_PEEK), PIECE);
    assert_int_equal(pw_inbound_in_place(s->in, &ns).last, 0);
    assert_int_equal(recv(s->ends[0], s->staging, PIECE, 0), PIECE);
    copy(s, PIECE, MESSAGE);
    complete(s, 0, PIECE);
}

static void nothing_is_unpacked_beyond_the_memory(void **state)
{
    scenery *s = *state;

    expect(s, true);
    receive(s, 0, MESSAGE - 100);
    send_bytes(s, MESSAGE - 100, 100 + PIECE / 2);
    assert_int_equal(recv(s->ends[0], s->staging + MESSAGE - 100, 100 + PIECE / 2, MSG_WAITALL), 100 + PIECE / 2);
    complete(s, 0, MESSAGE - 100);
}

/* The interpreter would only be slower in pieces. */
static void without_a_kernel_all_is_unpacked_at_the_end(void **state)
{
    scenery *s = *state;

    expect(s, false);
    receive(s, 0, MESSAGE);
    complete(s, 0, 0);
}

static void errors_and_other_memory_are_the_callers(void **state)
{
    scenery *s = *state;
    char other[10];

    expect(s, true);
    assert_int_equal(recv(s->ends[0], s->staging, 10, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
    send_bytes(s, 0, 10);
    assert_int_equal(recv(s->ends[0], other, 10, 0), 10);
    assert_memory_equal(other, s->message, 10);
    copy(s, 0, MESSAGE);
    complete(s, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pieces_are_unpacked_when_they_come, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_beginning_and_the_end_may_be_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(short_pieces_are_unpacked_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_comes_out_of_order_is_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_written_anew_is_unpacked_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(vectors_of_buffers_are_filled_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_only_looked_at_has_not_come, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_unpacked_beyond_the_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_kernel_all_is_unpacked_at_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_and_other_memory_are_the_callers, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
