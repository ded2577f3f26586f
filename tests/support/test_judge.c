/* Tests the judge of kernels: it must see every kind of mistake, at every place. */
#include "tests/support/judge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Rows of 8 bytes at a stride, the first 16 bytes before the origin; what is done wrong. */
enum { ROWS = 5, WIDTH = 8, STRIDE = 20, BEFORE = 16, COUNT = 3, EXTENT = 120, TOTAL = COUNT * ROWS * WIDTH };

typedef enum mistake {
    NONE,
    WRONG_BYTE,   /* one byte of the result */
    MISSING_BYTE, /* the last one is not written */
    BEFORE_BYTE,  /* one is written before the result */
    BEHIND_BYTE,  /* ... behind it */
    GAP_BYTE,     /* ... between two rows of memory */
    SOURCE_BYTE,  /* one of the source */
    MISTAKES
} mistake;

static pw_type rows(pw_arena *arena)
{
    pw_builder b = {.arena = arena};
    const pw_node *stream = pw_build_stream(&b, ROWS, STRIDE, pw_build_bytes(&b, WIDTH, 1));
    const int64_t off = -BEFORE;

    return (pw_type){.root = pw_build_seq(&b, 1, &off, &stream), .extent = EXTENT};
}

static int64_t memory_offset(int64_t packed)
{
    int64_t row = packed / WIDTH;

    return row / ROWS * EXTENT - BEFORE + row % ROWS * STRIDE + packed % WIDTH;
}

/* Moves the bytes, then makes its mistake. */
static void run(void *how, const pw_judge_call *c)
{
    mistake m = *(const mistake *)how;
    unsigned char *dst = c->dst, *first, *last;

    for (int64_t i = c->first; i < c->last - (m == MISSING_BYTE); i++)
        if (c->unpack)
            dst[memory_offset(i)] = ((const unsigned char *)c->src)[i - c->first];
        else
            dst[i - c->first] = ((const unsigned char *)c->src)[memory_offset(i)];
    first = c->unpack ? dst - BEFORE : dst;
    last = c->unpack ? dst + memory_offset(TOTAL - 1) : dst + (c->last - c->first) - 1;
    if (m == WRONG_BYTE)
        dst[c->unpack ? memory_offset(c->first + 3) : 3] ^= 1;
    if (m == BEFORE_BYTE)
        first[-1] ^= 1;
    if (m == BEHIND_BYTE)
        last[1] ^= 1;
    if (m == GAP_BYTE)
        dst[c->unpack ? memory_offset(0) + WIDTH : 0] ^= 1;
    if (m == SOURCE_BYTE)
        ((unsigned char *)(uintptr_t)c->src)[c->unpack ? 2 : memory_offset(2)] ^= 1;
}

static int64_t judge(pw_judge *j, bool unpack, int64_t lead, mistake m, int64_t first, int64_t last)
{
    pw_judge_place place = {lead, lead};

    return (unpack ? pw_judge_unpack : pw_judge_pack)(j, place, first, last, run, &m);
}

/* Leads that leave room for the mistakes outside; at the end there is none behind. */
static void sees_every_mistake(void **state)
{
    static const int64_t leads[] = {1, 64, PW_GUARDED_LEAD, PW_AT_END};
    pw_arena *arena = pw_arena_create();
    pw_type type = rows(arena);
    pw_judge j;

    (void)state;
    pw_judge_init(&j, &type, COUNT, 5);
    assert_int_equal(j.total, TOTAL);
    assert_int_equal(j.lo, -BEFORE);
    assert_int_equal(j.span, 2 * EXTENT + (ROWS - 1) * STRIDE + WIDTH);
    assert_false(j.overlaps);
    for (int unpack = 0; unpack < 2; unpack++)
        for (int l = 0; l < 4; l++)
            for (int m = 0; m < MISTAKES; m++) {
                if (m == BEHIND_BYTE && leads[l] == PW_AT_END)
                    continue;
                for (int part = 0; part < 2; part++) {
                    int64_t wrong = judge(&j, unpack, leads[l], (mistake)m, part ? 13 : 0, part ? 31 : TOTAL);

                    if ((wrong == PW_JUDGED_RIGHT) != (m == NONE))
                        fail_msg("unpack %d, lead %d, mistake %d, part %d: %lld", unpack, l, m, part, (long long)wrong);
                }
            }
    pw_judge_free(&j);
    pw_arena_destroy(arena);
}

/* It says where. */
static void says_where(void **state)
{
    pw_arena *arena = pw_arena_create();
    pw_type type = rows(arena);
    pw_judge j;

    (void)state;
    pw_judge_init(&j, &type, COUNT, 6);
    assert_int_equal(judge(&j, false, 64, WRONG_BYTE, 0, TOTAL), 3);
    assert_int_equal(judge(&j, false, 64, BEFORE_BYTE, 0, TOTAL), -1);
    assert_int_equal(judge(&j, false, 64, BEHIND_BYTE, 0, TOTAL), TOTAL);
    assert_int_equal(judge(&j, true, 64, WRONG_BYTE, 0, TOTAL), 3);
    assert_int_equal(judge(&j, true, 64, GAP_BYTE, 0, TOTAL), WIDTH);
    pw_judge_free(&j);
    pw_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sees_every_mistake), cmocka_unit_test(says_where)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
