/* First guesses: what they say of short and long blocks. */
#include "runtime/choice/guess.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const pw_facts *const f = &pw_facts_default;

static bool packs(int64_t bytes, int64_t block, bool shared)
{
    return pw_guess_packed(f, bytes, bytes / block, shared) < pw_guess_native(f, bytes, bytes / block);
}

/* Many short blocks are packed, few or long ones are left to the MPI. */
static void short_blocks_are_packed(void **state)
{
    (void)state;
    for (int64_t bytes = 4096; bytes <= 8 << 20; bytes *= 2) {
        assert_true(packs(bytes, 8, false));
        assert_true(packs(bytes, 16, true));
        assert_false(packs(bytes, 4096, false));
    }
    assert_false(packs(64, 32, true));
}

static void one_copy_is_cheaper_than_two(void **state)
{
    (void)state;
    for (int64_t bytes = 64; bytes <= 8 << 20; bytes *= 2)
        assert_true(pw_guess_direct(f, bytes, bytes / 64 + 1) < pw_guess_packed(f, bytes, bytes / 64 + 1, true));
}

/* What goes to a file is packed if its blocks are tiny. */
static void files_take_long_blocks(void **state)
{
    const int64_t bytes = 1 << 20;

    (void)state;
    assert_true(pw_guess_passed_packed(f, bytes, bytes / 8) < pw_guess_passed(f, bytes, bytes / 8));
    assert_true(pw_guess_passed_packed(f, bytes, bytes / 256) > pw_guess_passed(f, bytes, bytes / 256));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_blocks_are_packed),
        cmocka_unit_test(one_copy_is_cheaper_than_two),
        cmocka_unit_test(files_take_long_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
