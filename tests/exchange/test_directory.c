/* What is believed of a header that another process has written. */
#include "runtime/exchange/directory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { GRAIN = PW_SEGMENT_GRAIN };
static const uint64_t file = (uint64_t)64 << 20, address = (uint64_t)1 << 40;

static pw_segment_piece a_piece(void)
{
    return (pw_segment_piece){.address = address, .at = GRAIN, .shift = 16, .count = 4};
}

static void titles_are_of_this_version_and_process(void **state)
{
    pw_segment_title t = {.name = PW_SEGMENT_NAME, .version = PW_SEGMENT_VERSION, .pid = 4711};

    (void)state;
    assert_true(pw_segment_is_titled(&t, 4711));
    assert_false(pw_segment_is_titled(&t, 4712));
    t.version++;
    assert_false(pw_segment_is_titled(&t, 4711));
    t.version--;
    memset(t.name, 'x', sizeof t.name); /* not terminated */
    assert_false(pw_segment_is_titled(&t, 4711));
}

static void pieces_lie_in_the_file(void **state)
{
    static const pw_segment_piece broken[] = {
        {.address = 1 << 30, .at = GRAIN, .shift = 11, .count = 1},
        {.address = 1 << 30, .at = GRAIN, .shift = 29, .count = 1},
        {.address = 1 << 30, .at = GRAIN, .shift = 64, .count = 1},
        {.address = 1 << 30, .at = GRAIN, .shift = 12, .count = 0},
        {.address = 1 << 30, .at = GRAIN, .shift = 12, .count = UINT32_MAX},
        {.address = 1 << 30, .at = GRAIN, .shift = 20, .count = 64}, /* as long as the file, but not at its beginning */
        {.address = 1 << 30, .at = 0, .shift = 12, .count = 1},
        {.address = 1 << 30, .at = GRAIN + 1, .shift = 12, .count = 1},
        {.address = 1 << 30, .at = UINT64_MAX - GRAIN + 1, .shift = 12, .count = 16},
        {.address = 0, .at = GRAIN, .shift = 12, .count = 1},
        {.address = (1 << 30) + 1, .at = GRAIN, .shift = 12, .count = 1},
        {.address = UINT64_MAX - 4095, .at = GRAIN, .shift = 12, .count = 1},
    };
    pw_segment_piece good = a_piece(), last = a_piece();

    (void)state;
    assert_true(pw_segment_piece_is_sound(&good, file));
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        assert_false(pw_segment_piece_is_sound(&broken[i], file));
    last.at = file - 5 * GRAIN; /* there is room for the records behind the blocks, but only just */
    assert_true(pw_segment_piece_is_sound(&last, file));
    last.at += GRAIN;
    assert_false(pw_segment_piece_is_sound(&last, file));
}

static void one_block_holds_the_message(void **state)
{
    pw_segment_piece p = a_piece();

    (void)state;
    assert_true(pw_segment_piece_holds(&p, address, 1 << 16));
    assert_true(pw_segment_piece_holds(&p, address + (3 << 16) + 5, (1 << 16) - 5));
    assert_false(pw_segment_piece_holds(&p, address + 5, 1 << 16));
    assert_false(pw_segment_piece_holds(&p, address - 1, 1));
    assert_false(pw_segment_piece_holds(&p, address + (4 << 16), 1));
    assert_false(pw_segment_piece_holds(&p, address, UINT64_MAX));
}

static void what_is_not_sound_is_not_found(void **state)
{
    pw_segment_header *h = calloc(1, sizeof *h);
    pw_segment_piece p;

    (void)state;
    h->pieces[1].address = address;
    h->pieces[1].at = GRAIN;
    h->pieces[1].shift = 16;
    h->pieces[1].count = 4;
    atomic_store(&h->npieces, 1);
    assert_false(pw_segment_find(h, file, address, 1, &p));
    atomic_store(&h->npieces, UINT32_MAX);
    assert_true(pw_segment_find(h, file, address, 1, &p));
    assert_true(p.address == address && p.at == GRAIN && p.shift == 16 && p.count == 4);
    assert_false(pw_segment_find(h, file, address - 1, 1, &p));
    assert_false(pw_segment_find(h, file, 0, 0, &p)); /* entry 0 has nothing but zeros */
    h->pieces[1].shift = 63;
    assert_false(pw_segment_find(h, file, address, 1, &p));
    free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(titles_are_of_this_version_and_process), cmocka_unit_test(pieces_lie_in_the_file),
        cmocka_unit_test(one_block_holds_the_message), cmocka_unit_test(what_is_not_sound_is_not_found)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
