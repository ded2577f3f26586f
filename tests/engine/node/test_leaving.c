/* Messages that are packed while they leave through a socket: when they are, that all bytes arrive in their order,
 * however the sender and the system divide them, and who else may read them. */
#include "runtime/engine/node/direct.h"
#include "runtime/engine/node/leaving.h"
#include "tests/cache/layout_scene.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    BLOCK = 8,
    EVERY = 24,
    BLOCKS = 32 << 10,
    MESSAGE = BLOCKS * BLOCK,
    USER = BLOCKS * EVERY,
    HEADER = 25,
    WHOLE = HEADER + MESSAGE + HEADER,
    NUMBER = 77 /* of the channel */
};

typedef struct scenery {
    void *files; /* scene */
    pw_layout_engine *engine;
    pw_layout *layout;
    uint64_t channel;
    unsigned char *user, *packed, *came;
    size_t ncame;
    int ends[2];
    pthread_t reader;
    bool reads;
} scenery;

static int set_up(void **state)
{
    scenery *s = calloc(1, sizeof *s);

    scene_setup(&s->files);
    s->engine = layout_engine(s->files, PW_JIT_OFF, 0, false);
    s->layout = layout_of(s->engine, "type(lb 0, extent 786432) { stream 32768 stride 24 { bytes 8 align 8 } }");
    s->user = malloc(USER);
    s->packed = aligned_alloc(4096, MESSAGE);
    s->came = calloc(1, 2 * WHOLE);
    for (int i = 0; i < USER; i++)
        s->user[i] = (unsigned char)(1 + i % 251);
    pw_layout_pack(s->layout, s->user, 1, s->packed);
    pw_direct_forget_channels();
    s->channel = pw_direct_channel(NUMBER);
    *state = s;
    return 0;
}

/* ---- the other side ---------------------------------------------------------------------------------------------- */

static void *receive_all(void *of)
{
    scenery *s = of;
    ssize_t n;

    while ((n = read(s->ends[0], s->came + s->ncame, 2 * WHOLE - s->ncame)) > 0)
        s->ncame += (size_t)n;
    return NULL;
}

static void connect_ends(scenery *s, int type)
{
    s->ncame = 0;
    assert_int_equal(socketpair(AF_UNIX, type, 0, s->ends), 0);
    assert_int_equal(pthread_create(&s->reader, NULL, receive_all, s), 0);
    s->reads = true;
}

static void hang_up(scenery *s)
{
    shutdown(s->ends[1], SHUT_WR);
    pthread_join(s->reader, NULL);
    close(s->ends[0]);
    close(s->ends[1]);
    s->reads = false;
}

static int tear_down(void **state)
{
    scenery *s = *state;

    if (s->reads)
        hang_up(s);
    pw_layout_unref(s->layout);
    pw_layout_engine_destroy(s->engine);
    scene_teardown(&s->files);
    free(s->user);
    free(s->packed);
    free(s->came);
    free(s);
    return 0;
}

/* ---- what MPI does ----------------------------------------------------------------------------------------------- */

/* Sends a header, the message at `data` and the header again, by as many calls as it takes. */
static void send_vector(const scenery *s, const void *data, bool by_writev, int flags)
{
    static char header[HEADER] = "a header of this length";
    struct iovec parts[3] = {{header, HEADER}, {(void *)(uintptr_t)data, MESSAGE}, {header, HEADER}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};

    while (message.msg_iovlen > 0) {
        ssize_t n = by_writev ? writev(s->ends[1], message.msg_iov, (int)message.msg_iovlen)
                              : sendmsg(s->ends[1], &message, flags);

        assert_true(n > 0 || errno == EAGAIN);
        for (size_t left = n > 0 ? (size_t)n : 0; left > 0 || (message.msg_iovlen > 0 && !message.msg_iov->iov_len);) {
            size_t here = left < message.msg_iov->iov_len ? left : message.msg_iov->iov_len;

            message.msg_iov->iov_base = (char *)message.msg_iov->iov_base + here;
            message.msg_iov->iov_len -= here;
            left -= here;
            if (message.msg_iov->iov_len == 0) {
                message.msg_iov++;
                message.msg_iovlen--;
            }
        }
    }
}

/* The header is there twice, and between them the message. */
static void judge(const scenery *s)
{
    assert_int_equal(s->ncame, WHOLE);
    assert_memory_equal(s->came + HEADER, s->packed, MESSAGE);
    assert_memory_equal(s->came, s->came + HEADER + MESSAGE, HEADER);
}

/* Sends a message that is packed and watched. Returns whether it left whole. */
static bool send_watched(scenery *s)
{
    pw_leaving *l = pw_leaving_watch(s->channel, s->packed, MESSAGE);

    assert_non_null(l);
    connect_ends(s, SOCK_STREAM);
    send_vector(s, s->packed, false, 0);
    hang_up(s);
    judge(s);
    return pw_leaving_end(l);
}

/* Takes a stand-in for the next message of a channel that is proven. NULL: the system has no userfaultfd. */
static pw_leaving *begin(scenery *s)
{
    pw_leaving *l = pw_leaving_take(s->channel, MESSAGE);

    if (l)
        pw_leaving_begin(l, s->layout, s->user);
    else
        assert_int_equal(pw_lazy_serves(), PW_LAZY_NOBODY);
    return l;
}

static pw_leaving *prove(scenery *s)
{
    for (int i = 0; i < 2; i++) {
        assert_null(pw_leaving_take(s->channel, MESSAGE));
        assert_true(send_watched(s));
    }
    return begin(s);
}

/* The channel is not proven any longer. */
static void is_over(const scenery *s)
{
    assert_null(pw_leaving_take(s->channel, MESSAGE));
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* Nothing is in the stand-in, so what arrives was packed by the call. */
static void a_message_is_packed_by_the_call_that_sends_it(void **state)
{
    for (int way = 0; way < 4; way++) {
        scenery *s = *state;
        pw_leaving *l = way == 0 ? prove(s) : begin(s);

        if (!l)
            skip();
        connect_ends(s, SOCK_STREAM);
        send_vector(s, pw_leaving_data(l), way % 2, way / 2 ? MSG_DONTWAIT : 0);
        hang_up(s);
        judge(s);
        assert_true(pw_leaving_end(l));
    }
}

static void a_plain_send_is_packed_too(void **state)
{
    scenery *s = *state;
    pw_leaving *l = prove(s);

    if (!l)
        skip();
    connect_ends(s, SOCK_STREAM);
    assert_int_equal(send(s->ends[1], pw_leaving_data(l), 1001, 0), 1001);
    assert_int_equal(send(s->ends[1], (char *)pw_leaving_data(l) + 1001, MESSAGE - 1001, 0), MESSAGE - 1001);
    hang_up(s);
    assert_int_equal(s->ncame, MESSAGE);
    assert_memory_equal(s->came, s->packed, MESSAGE);
    assert_true(pw_leaving_end(l));
}

static void other_lengths_and_channels_are_not_proven(void **state)
{
    scenery *s = *state;
    pw_leaving *l = prove(s);

    if (!l)
        skip();
    assert_null(pw_leaving_take(s->channel, MESSAGE - 1));
    assert_null(pw_leaving_take(s->channel + 1, MESSAGE));
    assert_false(pw_direct_is_proven(s->channel, MESSAGE));
    pw_leaving_end(l);
}

/* MPI copies a part of the message in its call, as it may. */
static void whoever_reads_the_stand_in_gets_the_message(void **state)
{
    scenery *s = *state;
    pw_leaving *l = prove(s);

    if (!l)
        skip();
    assert_memory_equal(pw_leaving_data(l), s->packed, MESSAGE);
    connect_ends(s, SOCK_STREAM);
    send_vector(s, pw_leaving_data(l), false, 0);
    hang_up(s);
    judge(s);
    assert_false(pw_leaving_end(l));
    is_over(s);
}

/* A socket that keeps the borders of messages gets one. */
static void a_call_that_cannot_be_divided_sends_the_message_whole(void **state)
{
    enum { ROOM = 4 * WHOLE };
    scenery *s = *state;
    pw_leaving *l = prove(s);
    struct iovec part;
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    int ends[2], room = ROOM;

    if (!l)
        skip();
    part = (struct iovec){pw_leaving_data(l), MESSAGE};
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    setsockopt(ends[1], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
    if (sendmsg(ends[1], &message, 0) == MESSAGE) {
        assert_int_equal(recv(ends[0], s->came, WHOLE, 0), MESSAGE);
        assert_memory_equal(s->came, s->packed, MESSAGE);
    } else {
        assert_int_equal(errno, EMSGSIZE); /* without the right to more room */
    }
    close(ends[0]);
    close(ends[1]);
    assert_false(pw_leaving_end(l));
    is_over(s);
}

static void a_message_that_leaves_in_part_proves_nothing(void **state)
{
    scenery *s = *state;
    pw_leaving *l = pw_leaving_watch(s->channel, s->packed, MESSAGE);

    connect_ends(s, SOCK_STREAM);
    assert_int_equal(send(s->ends[1], s->packed + 1, MESSAGE - 1, 0), MESSAGE - 1);
    hang_up(s);
    assert_false(pw_leaving_end(l));
    assert_null(pw_leaving_watch(s->channel, s->packed, MESSAGE));
    is_over(s);
}

/* Its number means another channel as soon as the program frees a communicator, while the message is still under way.
 */
static void a_message_of_a_forgotten_channel_proves_nothing(void **state)
{
    scenery *s = *state;
    pw_leaving *l = pw_leaving_watch(s->channel, s->packed, MESSAGE);

    connect_ends(s, SOCK_STREAM);
    send_vector(s, s->packed, false, 0);
    hang_up(s);
    pw_direct_forget_channels();
    assert_true(pw_leaving_end(l));
    s->channel = pw_direct_channel(NUMBER);
    assert_true(send_watched(s));
    is_over(s);
}

static void errors_are_the_systems(void **state)
{
    const struct iovec *volatile nowhere = (const struct iovec *)sizeof(struct iovec);
    scenery *s = *state;
    pw_leaving *l = prove(s);

    if (!l)
        skip();
    assert_int_equal(send(-1, pw_leaving_data(l), MESSAGE, 0), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(sendmsg(-1, NULL, 0), -1);
    pw_leaving_end(l);
    connect_ends(s, SOCK_STREAM);
    assert_int_equal(writev(s->ends[1], nowhere, 1), -1);
    assert_int_equal(errno, EFAULT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_message_is_packed_by_the_call_that_sends_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_plain_send_is_packed_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_lengths_and_channels_are_not_proven, set_up, tear_down),
        cmocka_unit_test_setup_teardown(whoever_reads_the_stand_in_gets_the_message, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_call_that_cannot_be_divided_sends_the_message_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_message_that_leaves_in_part_proves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_message_of_a_forgotten_channel_proves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_are_the_systems, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
