/* Writing outbound messages: every byte by each path, and the rule that chooses among them. */
#include "runtime/engine/memory/outbound.h"

#include "base/env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GUARD = 64, LINE = 64, MEDIUM = 32 << 10, SHORT = 8 << 10, CACHE = 1 << 20, LONG = 4 << 20, MANY = 5000 };

#if defined(__SSE2__)
static const bool can_stream = true;
#else
static const bool can_stream = false;
#endif

static const double cheap = 2, dear = 30; /* nanoseconds for a line */

/* ---- bytes ------------------------------------------------------------------------------------------------------ */

static void check_write(pw_outbound_path path, size_t offset, size_t bytes)
{
    size_t room = GUARD + offset + bytes + GUARD;
    unsigned char *to = malloc(room), *from = malloc(bytes + 1);

    assert_non_null(to);
    assert_non_null(from);
    memset(to, 0xee, room);
    for (size_t i = 0; i < bytes; i++)
        from[i] = (unsigned char)(i * 31 + offset);
    pw_outbound_write(path, to + GUARD + offset, from, (int64_t)bytes);
    for (size_t i = 0; i < room; i++) {
        bool inside = i >= GUARD + offset && i < GUARD + offset + bytes;

        if (to[i] != (inside ? from[i - GUARD - offset] : 0xee))
            fail_msg("path %d, offset %zu, %zu bytes: byte %zu is %02x", (int)path, offset, bytes, i, to[i]);
    }
    free(from);
    free(to);
}

static void all_bytes_and_no_others_are_written(void **state)
{
    static const size_t lengths[] = {0, 1, 63, 64, 65, 127, 128, 200, 1000, MEDIUM, MEDIUM + 17};

    (void)state;
    for (pw_outbound_path path = PW_OUTBOUND_DIRECT; path <= PW_OUTBOUND_PROBED; path++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            for (size_t offset = 0; offset <= LINE; offset += 7)
                check_write(path, offset, lengths[i]);
}

/* ---- the rule --------------------------------------------------------------------------------------------------- */

static void settle(double line_ns)
{
    for (int i = 0; i < 100; i++)
        pw_outbound_learn(line_ns);
}

/* The path that the next messages of medium length would take. */
static int count_next(pw_outbound_path path, int messages)
{
    int n = 0;

    for (int i = 0; i < messages; i++)
        n += pw_outbound_path_of(MEDIUM) == path;
    return n;
}

/* Streams until the next trial begins. */
static void reach_trial(void)
{
    int messages = 0;

    while (pw_outbound_path_of(MEDIUM) == PW_OUTBOUND_STREAMED)
        assert_true(++messages < MANY);
}

static void one_odd_probe_changes_nothing(void **state)
{
    (void)state;
    settle(cheap);
    assert_false(pw_outbound_streams());
    pw_outbound_learn(dear);
    assert_false(pw_outbound_streams());
    pw_outbound_learn(cheap);
    assert_int_equal(count_next(PW_OUTBOUND_STREAMED, 100), 0);
}

static void few_messages_are_probes_when_all_is_known(void **state)
{
    int probes;

    (void)state;
    settle(cheap);
    probes = count_next(PW_OUTBOUND_PROBED, 1600);
    if (can_stream && (probes < 1 || probes > 160))
        fail_msg("%d of 1600 messages are probes", probes);
    assert_true(can_stream || probes == 0);
}

static void readers_of_both_kinds_count_by_their_share(void **state)
{
    (void)state;
    settle(cheap);
    for (int i = 0; i < 40; i++)
        pw_outbound_learn(i % 4 ? cheap : dear);
    assert_false(pw_outbound_streams());
    for (int i = 0; i < 40; i++)
        pw_outbound_learn(i % 4 ? dear : cheap);
    assert_true(pw_outbound_streams());
    settle(cheap);
}

static void dear_stores_are_streamed_and_short_or_long_messages_never(void **state)
{
    (void)state;
    settle(dear);
    assert_true(pw_outbound_streams());
    assert_int_equal(count_next(PW_OUTBOUND_STREAMED, 100), can_stream ? 100 : 0);
    assert_int_equal(pw_outbound_path_of(SHORT), PW_OUTBOUND_DIRECT);
    assert_int_equal(pw_outbound_path_of(LONG), PW_OUTBOUND_DIRECT);
}

static void probe_until_known(double line_ns)
{
    for (int i = 0; i < MANY; i++) {
        pw_outbound_path path = pw_outbound_path_of(MEDIUM);

        if (path == PW_OUTBOUND_STREAMED)
            return;
        if (path == PW_OUTBOUND_PROBED)
            pw_outbound_learn(line_ns);
    }
}

static void streaming_is_tried_again_and_stays_where_it_pays(void **state)
{
    (void)state;
    if (!can_stream)
        skip();
    settle(dear);
    reach_trial();
    assert_false(pw_outbound_streams());
    probe_until_known(dear);
    assert_true(pw_outbound_streams());
}

static void streaming_ends_where_it_no_longer_pays(void **state)
{
    (void)state;
    if (!can_stream)
        skip();
    settle(dear);
    reach_trial();
    probe_until_known(cheap);
    assert_false(pw_outbound_streams());
    assert_int_equal(count_next(PW_OUTBOUND_STREAMED, 1000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_bytes_and_no_others_are_written),
        cmocka_unit_test(one_odd_probe_changes_nothing),
        cmocka_unit_test(few_messages_are_probes_when_all_is_known),
        cmocka_unit_test(readers_of_both_kinds_count_by_their_share),
        cmocka_unit_test(dear_stores_are_streamed_and_short_or_long_messages_never),
        cmocka_unit_test(streaming_is_tried_again_and_stays_where_it_pays),
        cmocka_unit_test(streaming_ends_where_it_no_longer_pays),
    };

    unsetenv("PACKWRIGHT_STREAMING");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
