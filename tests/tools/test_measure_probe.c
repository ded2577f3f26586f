/* What `packwright measure` trusts of what it samples, with a clock and with times that the tests make up. */
#include "tools/measure/probe.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* ---- a made-up machine ------------------------------------------------------------------------------------------- */

typedef struct machine {
    double clock; /* seconds */
    int calls;    /* of all probes so far */
    /* How many times as long as on a quiet machine a call takes. */
    double (*slower)(const struct machine *m, const pw_probe *p);
} machine;

static double now(void *arg)
{
    return ((machine *)arg)->clock;
}

static double quiet_ns(int64_t bytes)
{
    return 200 + (double)bytes * 0.1;
}

static double run(pw_probe *p, int runs)
{
    machine *m = p->arg;
    double ns = quiet_ns(p->bytes) * m->slower(m, p);

    m->calls++;
    m->clock += ns * runs * 1e-9;
    return ns;
}

static const int64_t sizes_at[] = {64, 256, 1024, 4096, 16384, 65536};
static const pw_axis sizes = {sizes_at, sizeof sizes_at / sizeof *sizes_at};

static double sample_all(machine *m, pw_probe_list *list, double (*slower)(const machine *m, const pw_probe *p))
{
    *m = (machine){.slower = slower};
    *list = (pw_probe_list){NULL, 0, 0};
    pw_probe_add(list, PW_TABLE_SEND_HOST, &sizes, NULL, INT64_MAX, &(pw_probe){.run = run, .arg = m});
    pw_probe_sample(list, &(pw_sampling){.seconds = 60, .spread = 0.1, .now = now, .arg = m});
    assert_int_equal(list->n, sizes.n);
    return m->clock;
}

/* Makes the table of what was sampled; its times, NaN where nothing could be trusted. */
static void expect_times(pw_probe_list *list, const double *factors)
{
    pw_model *m = pw_model_create();
    const pw_model_table *t = &m->tables[PW_TABLE_SEND_HOST];
    pw_diag diag = {0};

    assert_int_equal(pw_probe_tables(list, "messages", m, &diag), PW_OK);
    assert_int_equal(t->nx, sizes.n);
    for (int i = 0; i < t->nx; i++) {
        double wanted = quiet_ns(sizes_at[i]) * factors[i];

        if (isnan(wanted) ? !isnan(t->t[i]) : !(fabs(t->t[i] - wanted) < 0.1 * wanted))
            fail_msg("%lld bytes: %g ns instead of %g", (long long)sizes_at[i], t->t[i], wanted);
    }
    pw_model_destroy(m);
    pw_probe_free(list);
}

/* ---- machines ---------------------------------------------------------------------------------------------------- */

static double not_at_all(const machine *m, const pw_probe *p)
{
    (void)m;
    (void)p;
    return 1;
}

static double often(const machine *m, const pw_probe *p)
{
    (void)p;
    return m->calls % 5 < 3 ? 40 + m->calls % 11 : 1;
}

/* No two calls take about the same. */
static double growing(const machine *m)
{
    return 1 + 0.25 * m->calls;
}

static double one_size_never_settles(const machine *m, const pw_probe *p)
{
    return p->bytes == 4096 ? growing(m) : 1;
}

static double never_settles(const machine *m, const pw_probe *p)
{
    (void)p;
    return growing(m);
}

/* All samples of a short message have waited for a time slice. */
static double waits_for_a_slice(const machine *m, const pw_probe *p)
{
    (void)m;
    return p->bytes == 256 ? 20e6 / quiet_ns(256) : 1;
}

/* The same for a longer one, which is absurd only beside others. */
static double waits_beside_others(const machine *m, const pw_probe *p)
{
    (void)m;
    return p->bytes == 1024 ? 20 : 1;
}

static double waits_at_first(const machine *m, const pw_probe *p)
{
    return m->calls < 150 ? waits_beside_others(m, p) : 1;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void expect(double (*slower)(const machine *m, const pw_probe *p), const double *factors)
{
    pw_probe_list list;
    machine m;

    sample_all(&m, &list, slower);
    expect_times(&list, factors);
}

static void quiet_times_are_met(void **state)
{
    (void)state;
    expect(not_at_all, (const double[]){1, 1, 1, 1, 1, 1});
}

static void outliers_do_not_count(void **state)
{
    (void)state;
    expect(often, (const double[]){1, 1, 1, 1, 1, 1});
}

static void unsettled_points_are_gaps(void **state)
{
    (void)state;
    expect(one_size_never_settles, (const double[]){1, 1, 1, NAN, 1, 1});
}

static void absurd_points_are_gaps(void **state)
{
    (void)state;
    expect(waits_for_a_slice, (const double[]){1, NAN, 1, 1, 1, 1});
    expect(waits_beside_others, (const double[]){1, 1, NAN, 1, 1, 1});
}

static void doubtful_points_are_sampled_again(void **state)
{
    (void)state;
    expect(waits_at_first, (const double[]){1, 1, 1, 1, 1, 1});
}

static void busy_machine_makes_no_table(void **state)
{
    pw_model *model = pw_model_create();
    pw_probe_list list;
    pw_diag diag = {0};
    machine m;

    (void)state;
    sample_all(&m, &list, never_settles);
    assert_int_equal(pw_probe_tables(&list, "messages", model, &diag), PW_ERR_UNSUPPORTED);
    assert_string_equal(diag.text,
                        "messages: only 0 of 6 points could be measured: the machine is busy with other work; "
                        "nothing is written");
    assert_false(pw_model_has(model, PW_TABLE_SEND_HOST));
    pw_model_destroy(model);
    pw_probe_free(&list);
}

/* A machine that is busy from the second round on, and takes ever longer, holds the command up no longer than twice the
 * quiet time, and one sample. */
static double busy_later(const machine *m, const pw_probe *p)
{
    (void)p;
    return m->calls < 20 ? 1 : growing(m);
}

static void busy_machine_holds_nobody_up(void **state)
{
    pw_probe_list list;
    machine m;
    double quiet = sample_all(&m, &list, not_at_all), busy;

    (void)state;
    pw_probe_free(&list);
    busy = sample_all(&m, &list, busy_later);
    if (busy > 2.2 * quiet)
        fail_msg("%g s instead of %g", busy, quiet);
    pw_probe_free(&list);
}

/* A table whose shortest messages could not be measured would be extrapolated downwards. Without another table there
 * is nothing to store. */
static double first_waits(const machine *m, const pw_probe *p)
{
    (void)m;
    return p->bytes == 64 ? 20e6 / quiet_ns(64) : 1;
}

static void tables_begin_with_a_point(void **state)
{
    pw_model *model = pw_model_create();
    pw_probe_list list;
    pw_diag diag = {0};
    machine m;

    (void)state;
    sample_all(&m, &list, first_waits);
    assert_int_equal(pw_probe_tables(&list, "messages", model, &diag), PW_ERR_UNSUPPORTED);
    assert_string_equal(diag.text, "messages: no table has its smallest messages: the machine is busy with other work; "
                                   "nothing is written");
    assert_false(pw_model_has(model, PW_TABLE_SEND_HOST));
    pw_model_destroy(model);
    pw_probe_free(&list);
}

/* ---- grids ------------------------------------------------------------------------------------------------------- */

static const int64_t grid_sizes[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
static const int64_t grid_blocks[] = {4, 8, 16, 32, 64, 128};

/* A table of two axes that was sampled. */
typedef struct grid {
    pw_model *model;
    pw_probe_list list;
    pw_diag diag;
    pw_status status; /* of making the table */
} grid;

static grid sample_grid(double seconds)
{
    const pw_axis sizes_of = {grid_sizes, 9}, blocks_of = {grid_blocks, 6};
    machine m = {.slower = not_at_all};
    grid g = {.model = pw_model_create()};

    pw_probe_add(&g.list, PW_TABLE_NATIVE_HOST, &sizes_of, &blocks_of, INT64_MAX, &(pw_probe){.run = run, .arg = &m});
    pw_probe_sample(&g.list, &(pw_sampling){.seconds = seconds, .spread = 0.1, .now = now, .arg = &m});
    g.status = pw_probe_tables(&g.list, "messages", g.model, &g.diag);
    return g;
}

static const pw_model_table *table_of(const grid *g)
{
    return &g->model->tables[PW_TABLE_NATIVE_HOST];
}

static void end_grid(grid *g)
{
    pw_model_destroy(g->model);
    pw_probe_free(&g->list);
}

/* Returns the seconds that the machine takes for three samples of each point up to a grid. */
static double seconds_for(int level)
{
    grid g = sample_grid(60);
    double seconds = 0;

    for (int i = 0; i < g.list.n; i++)
        seconds += g.list.at[i].level <= level ? 4 * g.list.at[i].seconds : 0;
    end_grid(&g);
    return seconds;
}

/* A short run knows the smallest and the largest messages, and few between. */
static void short_runs_are_coarse(void **state)
{
    grid g = sample_grid(seconds_for(0));
    const pw_model_table *t = table_of(&g);

    (void)state;
    assert_int_equal(g.status, PW_OK);
    assert_in_range(t->nx, 3, 8);
    assert_true(t->x[0] == 64 && t->x[t->nx - 1] == 16384);
    assert_in_range(t->ny, 3, 5);
    assert_true(t->y[0] == 4 && t->y[t->ny - 1] == 128);
    for (int i = 0; i < t->nx * t->ny; i++)
        assert_false(isnan(t->t[i]));
    end_grid(&g);
}

static void long_runs_are_fine(void **state)
{
    grid g = sample_grid(60);

    (void)state;
    assert_int_equal(g.status, PW_OK);
    assert_int_equal(table_of(&g)->nx, 9);
    assert_int_equal(table_of(&g)->ny, 6);
    end_grid(&g);
}

static void what_does_not_cover_is_refused(void **state)
{
    grid g = sample_grid(1e-6);

    (void)state;
    assert_int_equal(g.status, PW_ERR_UNSUPPORTED);
    assert_non_null(
        strstr(g.diag.text, "points of the coarsest grid were not reached in the time; nothing is written"));
    assert_false(pw_model_has(g.model, PW_TABLE_NATIVE_HOST));
    end_grid(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quiet_times_are_met),
        cmocka_unit_test(outliers_do_not_count),
        cmocka_unit_test(unsettled_points_are_gaps),
        cmocka_unit_test(absurd_points_are_gaps),
        cmocka_unit_test(doubtful_points_are_sampled_again),
        cmocka_unit_test(busy_machine_makes_no_table),
        cmocka_unit_test(busy_machine_holds_nobody_up),
        cmocka_unit_test(tables_begin_with_a_point),
        cmocka_unit_test(short_runs_are_coarse),
        cmocka_unit_test(long_runs_are_fine),
        cmocka_unit_test(what_does_not_cover_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
