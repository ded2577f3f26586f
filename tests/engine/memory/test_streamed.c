/* Copies past the caches write every byte, and no other. */
#include "runtime/engine/memory/streamed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GUARD = 64, LINE = 64, MEDIUM = 32 << 10 };

static void check_copy(size_t offset, size_t bytes)
{
    size_t room = GUARD + offset + bytes + GUARD;
    unsigned char *to = malloc(room), *from = malloc(bytes + 1);

    assert_non_null(to);
    assert_non_null(from);
    memset(to, 0xee, room);
    for (size_t i = 0; i < bytes; i++)
        from[i] = (unsigned char)(i * 31 + offset);
    pw_streamed_copy(to + GUARD + offset, from, (int64_t)bytes);
    for (size_t i = 0; i < room; i++) {
        bool inside = i >= GUARD + offset && i < GUARD + offset + bytes;

        if (to[i] != (inside ? from[i - GUARD - offset] : 0xee))
            fail_msg("offset %zu, %zu bytes: byte %zu is %02x", offset, bytes, i, to[i]);
    }
    free(from);
    free(to);
}

static void all_bytes_and_no_others_are_written(void **state)
{
    static const size_t lengths[] = {0, 1, 63, 64, 65, 127, 128, 200, 1000, MEDIUM, MEDIUM + 17};

    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t offset = 0; offset <= LINE; offset += 7)
            check_copy(offset, lengths[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_bytes_and_no_others_are_written)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
