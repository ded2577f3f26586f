/* Which buffers are staged for files. */
#include "runtime/mpi/io/internal.h"

#include "runtime/mpi/mpi_compat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static bool pays(bool write, pw_io_time when, bool plain, int64_t block)
{
    const int64_t bytes = 16 << 20;
    const pw_io_transfer t = {.write = write, .time = when, .plain = plain, .bytes = bytes, .blocks = bytes / block};

    return pw_io_pays(&t);
}

static void tiny_blocks_are_staged(void **state)
{
    (void)state;
    for (int write = 0; write < 2; write++) {
        assert_true(pays(write, PW_IO_NOW, true, 8));
        assert_true(pays(write, PW_IO_NOW, false, 8));
    }
}

/* The rows of a ghosted cube of doubles. ROMIO takes these in pieces that stay in its cache. */
static void long_blocks_are_left_to_romio(void **state)
{
    (void)state;
    for (int write = 0; write < 2; write++)
        for (int64_t block = 64; block <= 65536; block *= 4) {
            assert_int_equal(pays(write, PW_IO_LATER_TOGETHER, true, block), PW_MPI_IS_OPEN_MPI);
            assert_int_equal(pays(write, PW_IO_LATER, true, block), PW_MPI_IS_OPEN_MPI);
            assert_false(pays(write, PW_IO_NOW, true, block) && !PW_MPI_IS_OPEN_MPI);
            assert_false(pays(write, PW_IO_NOW, false, block));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiny_blocks_are_staged),
        cmocka_unit_test(long_blocks_are_left_to_romio),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
