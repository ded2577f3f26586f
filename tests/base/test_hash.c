#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Published values of XXH3 (128 bits, seed 0): names of cache entries must not depend on the build. */
static void known_values(void **state)
{
    char text[PW_HASH_TEXT];

    (void)state;
    pw_hash_text(pw_hash_bytes("", 0), text);
    assert_string_equal(text, "99aa06d3014798d86001c324468d497f");
    pw_hash_text(pw_hash_bytes(NULL, 0), text);
    assert_string_equal(text, "99aa06d3014798d86001c324468d497f");
    pw_hash_text((pw_hash){.lo = 0x123, .hi = 1}, text);
    assert_string_equal(text, "00000000000000010000000000000123");
}

static void every_byte_and_the_length_count(void **state)
{
    unsigned char data[300] = {0};

    (void)state;
    for (size_t n = 1; n <= sizeof data; n++) {
        pw_hash h = pw_hash_bytes(data, n);

        assert_true(pw_hash_equal(h, pw_hash_bytes(data, n)));
        assert_false(pw_hash_equal(h, pw_hash_bytes(data, n - 1)));
        data[n - 1] ^= 0x80;
        assert_false(pw_hash_equal(h, pw_hash_bytes(data, n)));
        data[n - 1] ^= 0x80;
    }
}

static void mix_depends_on_order(void **state)
{
    pw_hash a = pw_hash_bytes("a", 1), b = pw_hash_bytes("b", 1);

    (void)state;
    assert_true(pw_hash_equal(pw_hash_mix(a, b), pw_hash_mix(a, b)));
    assert_false(pw_hash_equal(pw_hash_mix(a, b), pw_hash_mix(b, a)));
    assert_false(pw_hash_equal(pw_hash_mix(a, a), a));
    assert_false(pw_hash_equal(pw_hash_mix(pw_hash_mix(a, b), a), pw_hash_mix(a, pw_hash_mix(b, a))));
}

static void equality_takes_both_halves(void **state)
{
    (void)state;
    assert_true(pw_hash_equal((pw_hash){1, 2}, (pw_hash){1, 2}));
    assert_false(pw_hash_equal((pw_hash){1, 2}, (pw_hash){1, 3}));
    assert_false(pw_hash_equal((pw_hash){1, 2}, (pw_hash){0, 2}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(every_byte_and_the_length_count),
        cmocka_unit_test(mix_depends_on_order),
        cmocka_unit_test(equality_takes_both_halves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
