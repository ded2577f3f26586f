/*
 * The probes of `packwright measure` that read the memory of a second GPU, on the stand-in for the CUDA driver, which
 * has two. The first ones of each table must have a time, and leave nothing behind.
 */
#include "tools/measure/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { LEAST = 20 };

static void a_second_gpu_is_read(void **state)
{
    pw_probe_list list = {.n = 0};
    pw_measure_gpu gpu;
    pw_diag diag = {0};
    int tables[2] = {0, 0};

    (void)state;
    assert_int_equal(pw_measure_gpu_begin(&gpu, &diag), PW_OK);
    pw_measure_gpu_add_across(&gpu, &list);
    assert_true(list.n > LEAST);
    for (int i = 0; i < list.n; i++) {
        pw_probe *p = &list.at[i];

        if (p->bytes > 1 << 14)
            continue;
        assert_true(p->run(p, 1) > 0);
        tables[p->table - PW_TABLE_DIRECT_DEVICE_NEAR]++;
    }
    assert_true(tables[0] > 0 && tables[1] > 0);
    assert_non_null(gpu.other);
    pw_measure_gpu_end(&gpu, &list);
    pw_probe_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_second_gpu_is_read)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
