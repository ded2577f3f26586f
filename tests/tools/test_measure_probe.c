/* Probes of `packwright measure` with times that are made up: which can be trusted, and the facts that follow. */
#include "tools/measure/gpu.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const pw_sampling quick = {.seconds = 60, .spread = 0.1};

static double steady(pw_probe *p, int runs)
{
    (void)runs;
    return *(const double *)p->arg;
}

static double impossible(pw_probe *p, int runs)
{
    (void)p;
    (void)runs;
    return -1;
}

/* Each sample takes much longer than the one before. */
static double noisy(pw_probe *p, int runs)
{
    (void)runs;
    return *(double *)p->arg *= 1.5;
}

/* A machine that is busy for the first samples, and quiet when they are taken again. */
static double busy_at_first(pw_probe *p, int runs)
{
    int *asked = p->arg;

    (void)runs;
    return ++*asked > PW_PROBE_SAMPLES + 2 ? 1000 : 1000 * *asked;
}

static void trust(void **state)
{
    double right = 1234, rising = 1;
    int asked = 0;
    pw_probe_list list = {.n = 0};

    (void)state;
    pw_probe_add(&list, &(pw_probe){.run = steady, .arg = &right});
    pw_probe_add(&list, &(pw_probe){.run = impossible});
    pw_probe_add(&list, &(pw_probe){.run = noisy, .arg = &rising});
    pw_probe_add(&list, &(pw_probe){.run = busy_at_first, .arg = &asked});
    pw_probe_sample(&list, &quick);
    assert_true(pw_probe_time(&list.at[0], 0.1) == right);
    assert_true(isnan(pw_probe_time(&list.at[1], 0.1)));
    assert_true(isnan(pw_probe_time(&list.at[2], 0.1)));
    assert_true(pw_probe_time(&list.at[3], 0.1) == 1000);
}

/* A time that is over still gives each probe enough samples to be trusted. */
static void little_time(void **state)
{
    double right = 1234;
    pw_probe_list list = {.n = 0};

    (void)state;
    pw_probe_add(&list, &(pw_probe){.run = steady, .arg = &right});
    pw_probe_sample(&list, &(pw_sampling){.seconds = 1e-9, .spread = 0.1});
    assert_true(list.at[0].n < PW_PROBE_SAMPLES && pw_probe_time(&list.at[0], 0.1) == right);
}

/* The times of a GPU by its facts: what is measured are these facts again. */
static void facts_follow(void **state)
{
    static double t[PW_GPU_PROBES];
    const double mib16 = 16 << 20;
    pw_probe_list list = {.n = 0};
    pw_model m = {.facts = PW_FACTS_DEFAULT};

    (void)state;
    t[PW_GPU_LAUNCHED] = 5000;
    t[PW_GPU_MAPPED_READ] = 5700;
    t[PW_GPU_MAPPED_LONG] = 5000 + mib16 / 20;
    t[PW_GPU_TO_HOST] = 4000;
    t[PW_GPU_FROM_HOST] = 6000;
    t[PW_GPU_TO_HOST_LONG] = 4000 + mib16 / 25;
    t[PW_GPU_FROM_HOST_LONG] = 6000 + mib16 / 25;
    t[PW_GPU_WITHIN] = 8000;
    t[PW_GPU_WITHIN_LONG] = 8000 + 2 * mib16 / 1000;
    t[PW_GPU_ACROSS] = 7000;
    t[PW_GPU_ACROSS_LONG] = 7000 + mib16 / 300;
    for (int i = 0; i < PW_GPU_PROBES; i++)
        pw_probe_add(&list, &(pw_probe){.run = steady, .arg = &t[i]});
    pw_probe_sample(&list, &quick);
    pw_measure_gpu_facts(&list, 0.1, true, &m);
    assert_true(m.facts.launch == 5000 && m.facts.mapped_read == 700 && m.facts.host_copy == 5000);
    assert_true(fabs(m.facts.mapped - 20) < 1e-6 && fabs(m.facts.host_link - 25) < 1e-6);
    assert_true(m.facts.device_copy == 8000 && fabs(m.facts.gpu_memory - 1000) < 1e-6);
    assert_true(m.facts.peer_launch == 7000 && fabs(m.facts.peer_bytes - 300) < 1e-6);
    assert_false(pw_model_has(&m, PW_FACT_walked));
}

/* What cannot be done, cannot be trusted, or is absurd is left out, and the defaults stay. */
static void what_is_not_known_is_left_out(void **state)
{
    static double t[PW_GPU_PROBES], rising = 1;
    pw_probe_list list = {.n = 0};
    pw_model m = {.facts = PW_FACTS_DEFAULT};

    (void)state;
    for (int i = 0; i < PW_GPU_PROBES; i++) {
        t[i] = 5000;
        pw_probe_add(&list, &(pw_probe){.run = i < PW_GPU_ACROSS ? steady : impossible, .arg = &t[i]});
    }
    t[PW_GPU_WITHIN_LONG] = 4000;
    list.at[PW_GPU_LAUNCHED] = (pw_probe){.run = noisy, .arg = &rising};
    pw_probe_sample(&list, &quick);
    pw_measure_gpu_facts(&list, 0.1, true, &m);
    assert_int_equal(m.measured, 1U << PW_FACT_host_copy | 1U << PW_FACT_device_copy);
    assert_true(m.facts.gpu_memory == pw_facts_default.gpu_memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trust),
        cmocka_unit_test(little_time),
        cmocka_unit_test(facts_follow),
        cmocka_unit_test(what_is_not_known_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
