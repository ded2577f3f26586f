/*
 * The probes of `packwright measure` on the stand-in for the CUDA driver, which has two GPUs. Short ones must have a
 * time, those that read the second GPU's memory, too, and leave nothing behind.
 */
#include "tools/measure/gpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void a_second_gpu_is_read(void **state)
{
    pw_probe_list list = {.n = 0};
    pw_measure_gpu gpu;
    pw_diag diag = {0};

    (void)state;
    assert_int_equal(pw_measure_gpu_begin(&gpu, &diag), PW_OK);
    pw_measure_gpu_add(&gpu, &list);
    assert_int_equal(list.n, PW_GPU_PROBES);
    for (int i = 0; i < list.n; i++)
        assert_true(list.at[i].bytes > 64 || list.at[i].run(&list.at[i], 1) > 0);
    assert_non_null(gpu.other);
    pw_measure_gpu_end(&gpu, &list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_second_gpu_is_read)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
