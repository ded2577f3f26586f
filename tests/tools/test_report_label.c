/* Texts of types cut to columns. */
#include "tools/report/label.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { COLUMNS = 40 };

static const char *const boxes[] = {
    "struct(136240: hvec(128 1 135200)[hvec(128 1 1040)[ctg(8)[byte]]], 8: byte)",
    "struct(136240: hvec(128 1 135200)[hvec(128 1 1040)[ctg(1024)[byte]]], 8: byte)",
    "struct(136240: hvec(128 1 135200)[hvec(128 1 1040)[ctg(8)[byte]]], 1016: byte)",
    "vec(4 1 2)[double]",
};

static void cut(char *out, int i)
{
    pw_label_cut(out, COLUMNS, boxes[i], boxes, sizeof boxes / sizeof *boxes);
    assert_true(strlen(out) <= COLUMNS);
}

static void look_different(void **state)
{
    char texts[3][COLUMNS + 1];

    (void)state;
    for (int i = 0; i < 3; i++) {
        cut(texts[i], i);
        assert_memory_equal(texts[i], "struct(136240", 13);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(texts[i], texts[k]);
    }
    assert_non_null(strstr(texts[1], "1024"));
    assert_non_null(strstr(texts[2], "1016"));
}

static void alone(void **state)
{
    char text[COLUMNS + 1];

    (void)state;
    cut(text, 3);
    assert_string_equal(text, boxes[3]);
    pw_label_cut(text, COLUMNS, boxes[0], boxes, 1); /* the text itself is no other */
    assert_string_equal(text, "struct(136240: hvec(128 1 135200)[hve...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(look_different),
        cmocka_unit_test(alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
