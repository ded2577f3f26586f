/* The model's tables and costs: interpolation at points, between and beyond them, defaults, shapes. */
#include "runtime/choice/guess.h"
#include "runtime/engine/model/file.h"
#include "runtime/engine/model/internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void near(double got, double wanted)
{
    if (fabs(got - wanted) > 1e-9 * fabs(wanted))
        fail_msg("%.17g instead of %.17g", got, wanted);
}

static const double bytes[] = {64, 4096, 1 << 20}, blocks[] = {8, 64, 4096};
static const double line[] = {100, 1000, 100000};
static const double grid[] = {200, 150, 150, 5000, 1500, 1000, 900000, 150000, 110000};

static pw_model *make(void)
{
    pw_model *m = pw_model_create();

    assert_non_null(m);
    assert_int_equal(pw_model_set(m, PW_TABLE_SEND_HOST, bytes, 3, NULL, 1, line, NULL), PW_OK);
    assert_int_equal(pw_model_set(m, PW_TABLE_NATIVE_HOST, bytes, 3, blocks, 3, grid, NULL), PW_OK);
    return m;
}

/* ---- one axis ---------------------------------------------------------------------------------------------------- */

static void points_are_met(void **state)
{
    pw_model *m = make();

    (void)state;
    for (int i = 0; i < 3; i++) {
        near(pw_model_send(m, PW_MODEL_HOST, PW_CALL_BLOCKING, (int64_t)bytes[i]), line[i]);
        for (int k = 0; k < 3; k++)
            near(pw_model_native(m, PW_MODEL_HOST, PW_CALL_BLOCKING,
                                 (pw_model_shape){(int64_t)bytes[i], (int64_t)blocks[k], PW_MODEL_NEAR}),
                 grid[3 * i + k]);
    }
    pw_model_destroy(m);
}

static void between_points_is_linear_in_logarithms(void **state)
{
    pw_model *m = make();

    (void)state;
    /* Halfway between 64 and 4096 in the logarithm, so halfway between the logarithms of 100 and 1000. */
    near(pw_model_send(m, PW_MODEL_HOST, PW_CALL_BLOCKING, 512), sqrt(100.0 * 1000));
    near(pw_model_send(m, PW_MODEL_HOST, PW_CALL_BLOCKING, 65536), sqrt(1000.0 * 100000));
    /* Both ways at once: the geometric mean of four points, where each is halfway. */
    near(pw_model_native(m, PW_MODEL_HOST, PW_CALL_BLOCKING, (pw_model_shape){65536, 512, PW_MODEL_NEAR}),
         pow(1500.0 * 1000 * 150000 * 110000, 0.25));
    pw_model_destroy(m);
}

static void ends_are_as_said(void **state)
{
    pw_model *m = make();
    double last;

    (void)state;
    near(pw_model_send(m, PW_MODEL_HOST, PW_CALL_BLOCKING, 1), 100); /* below: the time of the smallest */
    /* Above: the rate of the largest. */
    near(pw_model_send(m, PW_MODEL_HOST, PW_CALL_BLOCKING, (int64_t)1 << 28), 100000.0 * 256);
    /* Blocks longer or shorter than measured take the time of the nearest ones. */
    last = pw_model_native(m, PW_MODEL_HOST, PW_CALL_BLOCKING, (pw_model_shape){1 << 20, 1 << 20, PW_MODEL_NEAR});
    near(last, 110000);
    last = pw_model_native(m, PW_MODEL_HOST, PW_CALL_BLOCKING, (pw_model_shape){1 << 20, 1, PW_MODEL_NEAR});
    near(last, 900000);
    pw_model_destroy(m);
}

/* Beyond the largest message that was measured its rate holds, whatever a smaller one took, also an unmeasured one: one
 * wrong point must not decide about messages of sizes that nobody measured. */
static void nothing_is_extrapolated(void **state)
{
    const double steep[] = {100, 1000000}, falling[] = {50, 10}, missing[] = {50, NAN, 100}, x[] = {64, 128, 256};
    pw_model *m = pw_model_create();

    (void)state;
    assert_int_equal(pw_model_set(m, PW_TABLE_SEND_HOST, x, 2, NULL, 1, steep, NULL), PW_OK);
    near(pw_model_send(m, PW_MODEL_HOST, PW_CALL_BLOCKING, 1280), 1e7);
    assert_int_equal(pw_model_set(m, PW_TABLE_SEND_HOST, x, 2, NULL, 1, falling, NULL), PW_OK);
    near(pw_model_send(m, PW_MODEL_HOST, PW_CALL_BLOCKING, 1280), 100);
    assert_int_equal(pw_model_set(m, PW_TABLE_SEND_HOST, x, 3, NULL, 1, missing, NULL), PW_OK);
    near(pw_model_send(m, PW_MODEL_HOST, PW_CALL_BLOCKING, 2560), 1000);
    pw_model_destroy(m);
}

/* Where measured times grow with the size and fall with the block length, so do interpolated ones. */
static void monotone(void **state)
{
    pw_model *m = make();

    (void)state;
    for (int64_t block = 1; block < 100000; block += 1 + block / 7) {
        double before = 0;

        for (int64_t n = 16; n < (int64_t)1 << 32; n += 1 + n / 5) {
            double t = pw_model_native(m, PW_MODEL_HOST, PW_CALL_BLOCKING, (pw_model_shape){n, block, PW_MODEL_NEAR});
            double longer =
                pw_model_native(m, PW_MODEL_HOST, PW_CALL_BLOCKING, (pw_model_shape){n, 2 * block, PW_MODEL_NEAR});

            if (t < before || longer > t * (1 + 1e-12))
                fail_msg("%lld bytes in blocks of %lld: %g after %g, %g for twice the block", (long long)n,
                         (long long)block, t, before, longer);
            before = t;
        }
    }
    pw_model_destroy(m);
}

static void one_point_is_a_constant(void **state)
{
    const double x[] = {1000}, t[] = {42};
    pw_model *m = pw_model_create();

    (void)state;
    assert_int_equal(pw_model_set(m, PW_TABLE_COPY_D2H, x, 1, NULL, 1, t, NULL), PW_OK);
    assert_int_equal(pw_model_set(m, PW_TABLE_LAUNCH, NULL, 1, NULL, 1, t, NULL), PW_OK);
    near(pw_model_copy(m, PW_MODEL_D2H, 1), 42);
    near(pw_model_copy(m, PW_MODEL_D2H, 1 << 30), 42);
    near(pw_model_launch(m), 42);
    pw_model_destroy(m);
}

static void bad_tables_are_refused(void **state)
{
    const double unsorted[] = {64, 64, 128}, zero[] = {0, 1, 2}, t[] = {1, 2, 3}, bad[] = {1, 0, 3},
                 infinite[] = {1, INFINITY, 3}, late[] = {NAN, 2, 3};
    pw_model *m = pw_model_create();
    pw_diag diag;

    (void)state;
    assert_int_equal(pw_model_set(m, PW_TABLE_SEND_HOST, unsorted, 3, NULL, 1, t, &diag), PW_ERR_INVALID);
    assert_int_equal(pw_model_set(m, PW_TABLE_SEND_HOST, zero, 3, NULL, 1, t, &diag), PW_ERR_INVALID);
    assert_int_equal(pw_model_set(m, PW_TABLE_SEND_HOST, bytes, 3, NULL, 1, bad, &diag), PW_ERR_INVALID);
    assert_int_equal(pw_model_set(m, PW_TABLE_SEND_HOST, bytes, 3, NULL, 1, infinite, &diag), PW_ERR_INVALID);
    assert_int_equal(pw_model_set(m, PW_TABLE_SEND_HOST, bytes, 3, NULL, 1, late, &diag), PW_ERR_INVALID);
    assert_int_equal(pw_model_set(m, PW_TABLE_SEND_HOST, bytes, 0, NULL, 1, t, &diag), PW_ERR_INVALID);
    assert_int_equal(pw_model_set(m, PW_TABLE_SEND_HOST, bytes, 65, NULL, 1, t, &diag), PW_ERR_INVALID);
    assert_int_equal(pw_model_set(m, PW_TABLE_SEND_HOST, bytes, 1, blocks, 3, t, &diag), PW_ERR_INVALID);
    assert_false(pw_model_has(m, PW_TABLE_SEND_HOST));
    pw_model_destroy(m);
}

/* What a busy machine leaves behind: a short message of 20 ms, and longer ones that are quicker by far. */
static void absurd_tables_are_refused(void **state)
{
    static const struct {
        double t[9];
        const char *why;
    } rows[] = {
        {{20014000, 150, 150, 5000, 1500, 1000, 900000, 150000, 110000},
         "native.host.blocking: 64 bytes take 20014 us"},
        {{200, 150, 150, 5000, 1500, 1e6, 900000, 150000, 110000},
         "4096 bytes take 1000 us, but 1.04858e+06 bytes 110 us"},
        {{200, 150, 150, 5000, 1500, NAN, 900000, 150000, 10}, "64 bytes take 0.15 us, but 1.04858e+06 bytes 0.01 us"},
    };
    pw_model *m = pw_model_create();

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pw_diag diag = {0};

        assert_int_equal(pw_model_set(m, PW_TABLE_NATIVE_HOST, bytes, 3, blocks, 3, rows[i].t, &diag), PW_ERR_INVALID);
        if (!strstr(diag.text, rows[i].why))
            fail_msg("%s", diag.text);
    }
    assert_false(pw_model_has(m, PW_TABLE_NATIVE_HOST));
    pw_model_destroy(m);
}

/* ---- what stands in for what ------------------------------------------------------------------------------------- */

static void host_defaults_are_guesses(void **state)
{
    const pw_model_query q = {.kind = PW_CALL_NONBLOCKING, .shape = {1 << 20, 64, PW_MODEL_NEAR}};
    pw_model *m = pw_model_create();

    (void)state;
    near(pw_model_cost_native(m, &q), pw_guess_native(&pw_facts_default, 1 << 20, (1 << 20) / 64));
    near(pw_model_cost(m, PW_MODEL_HOST, &q), pw_guess_packed(&pw_facts_default, 1 << 20, (1 << 20) / 64, false));
    pw_model_destroy(m);
}

/* A kind whose native time was not measured is not compared with one that was. */
static void only_likes_are_compared(void **state)
{
    pw_model_query q = {.kind = PW_CALL_BLOCKING, .shape = {1 << 20, 64, PW_MODEL_NEAR}};
    pw_model *m = make();

    (void)state;
    near(pw_model_cost_native(m, &q), 150000);
    near(pw_model_cost(m, PW_MODEL_HOST, &q),
         100000 + pw_model_own(m, PW_MODEL_HOST, &q, PW_PACK) + pw_model_own(m, PW_MODEL_HOST, &q, PW_UNPACK));
    q.kind = PW_CALL_IO;
    near(pw_model_cost_native(m, &q), pw_guess_passed(&pw_facts_default, 1 << 20, (1 << 20) / 64));
    near(pw_model_cost(m, PW_MODEL_HOST, &q), pw_guess_passed_packed(&pw_facts_default, 1 << 20, (1 << 20) / 64));
    pw_model_destroy(m);
}

/* Whole messages that were measured are not put together from parts, and lie between those of near and far blocks. */
static void whole_messages_are_interpolated(void **state)
{
    pw_model_query q = {.kind = PW_CALL_BLOCKING, .shape = {1 << 20, 64, PW_MODEL_NEAR}};
    double four[9], nine[9];
    pw_model *m = make();

    (void)state;
    for (int i = 0; i < 9; i++) {
        four[i] = 4 * grid[i];
        nine[i] = 9 * grid[i];
    }
    assert_int_equal(pw_model_set(m, PW_TABLE_NATIVE_HOST_FAR, bytes, 3, blocks, 3, nine, NULL), PW_OK);
    assert_int_equal(pw_model_set(m, PW_TABLE_PACKED_HOST, bytes, 3, blocks, 3, four, NULL), PW_OK);
    assert_int_equal(pw_model_set(m, PW_TABLE_PACKED_HOST_FAR, bytes, 3, blocks, 3, grid, NULL), PW_OK);
    near(pw_model_cost_native(m, &q), 150000);
    near(pw_model_cost(m, PW_MODEL_HOST, &q), 4 * 150000);
    q.shape.spread = PW_MODEL_FAR;
    near(pw_model_cost_native(m, &q), 9 * 150000);
    near(pw_model_cost(m, PW_MODEL_HOST, &q), 150000);
    q.shape.spread = sqrt((double)PW_MODEL_NEAR * PW_MODEL_FAR);
    near(pw_model_cost_native(m, &q), 3 * 150000);
    near(pw_model_cost(m, PW_MODEL_HOST, &q), 2 * 150000);
    pw_model_destroy(m);
}

static void one_spread_stands_in_for_the_other(void **state)
{
    pw_model *m = pw_model_create();
    pw_model_shape s = {1 << 20, 64, PW_MODEL_FAR};

    (void)state;
    assert_int_equal(pw_model_set(m, PW_TABLE_PACK_DEVICE_NEAR, bytes, 3, blocks, 3, grid, NULL), PW_OK);
    near(pw_model_move(m, PW_MODEL_DEVICE, PW_PACK, s), 150000);
    s.spread = PW_MODEL_NEAR;
    near(pw_model_move(m, PW_MODEL_DEVICE, PW_PACK, s), 150000);
    pw_model_destroy(m);
}

/* Between near and far: linear in the logarithms, too. Native messages get the difference. */
static void spreads_are_interpolated(void **state)
{
    const double far[] = {400, 300, 300, 10000, 3000, 2000, 1800000, 300000, 220000};
    pw_model *m = make();
    pw_model_shape s = {4096, 64, PW_MODEL_FAR};

    (void)state;
    assert_int_equal(pw_model_set(m, PW_TABLE_PACK_HOST_NEAR, bytes, 3, blocks, 3, grid, NULL), PW_OK);
    assert_int_equal(pw_model_set(m, PW_TABLE_PACK_HOST_FAR, bytes, 3, blocks, 3, far, NULL), PW_OK);
    assert_int_equal(pw_model_set(m, PW_TABLE_UNPACK_HOST_NEAR, bytes, 3, blocks, 3, grid, NULL), PW_OK);
    near(pw_model_move(m, PW_MODEL_HOST, PW_PACK, s), 3000);
    near(pw_model_native(m, PW_MODEL_HOST, PW_CALL_BLOCKING, s), 1500 + 3000 - 1500);
    s.spread = 4;
    near(pw_model_move(m, PW_MODEL_HOST, PW_PACK, s), 1500 * pow(2, 1.0 / 3));
    s.spread = PW_MODEL_NEAR;
    near(pw_model_move(m, PW_MODEL_HOST, PW_PACK, s), 1500);
    near(pw_model_native(m, PW_MODEL_HOST, PW_CALL_BLOCKING, s), 1500);
    s.spread = 7;
    near(pw_model_move(m, PW_MODEL_HOST, PW_UNPACK, s), 1500);
    pw_model_destroy(m);
}

static void shapes(void **state)
{
    pw_model_shape s = pw_model_shape_of(800, 100, 6400);

    (void)state;
    assert_int_equal(s.bytes, 800);
    assert_int_equal(s.block, 8);
    near(s.spread, 8);
    near(pw_model_shape_of(800, 100, 800).spread, PW_MODEL_NEAR);
    near(pw_model_shape_of(800, 100, -3200).spread, 4);
    near(pw_model_shape_of(800, 100, 1 << 20).spread, (1 << 20) / 800.0);
    near(pw_model_shape_of(1, 2, INT64_MIN).spread, 0x1p63);
    assert_int_equal(pw_model_shape_of(1, 2, INT64_MIN).block, 1);
}

/* Measured times count if native and packed messages were measured, too. */
static void kernels_in_the_pipeline_are_measured(void **state)
{
    const double third[] = {66, 50, 50, 1666, 500, 333, 300000, 50000, 36666};
    pw_model_query q = {.shape = {1 << 20, 64, PW_MODEL_NEAR}, .shared = true};
    pw_model *m = make(), *alone = pw_model_create();

    (void)state;
    assert_int_equal(pw_model_set(alone, PW_TABLE_PIPELINE_HOST, bytes, 3, blocks, 3, third, NULL), PW_OK);
    near(pw_model_cost_pipeline(alone, &q), pw_model_cost_native(alone, &q));
    assert_int_equal(pw_model_set(m, PW_TABLE_PACKED_HOST, bytes, 3, blocks, 3, grid, NULL), PW_OK);
    assert_int_equal(pw_model_set(m, PW_TABLE_PIPELINE_HOST, bytes, 3, blocks, 3, third, NULL), PW_OK);
    near(pw_model_cost_pipeline(m, &q), 50000);
    q.kind = PW_CALL_NONBLOCKING; /* which was not measured */
    near(pw_model_cost_pipeline(m, &q), pw_model_cost_native(m, &q));
    pw_model_destroy(alone);
    pw_model_destroy(m);
}

static bool goes_across(const pw_model *m, const pw_model_query *q)
{
    double across = pw_model_cost_across(m, q);

    return across < pw_model_cost(m, PW_MODEL_MAPPED, q) && across < pw_model_cost(m, PW_MODEL_STAGED, q) &&
           across < pw_model_cost(m, PW_MODEL_PIPELINED, q);
}

static bool is_within(double got, double part, double wanted)
{
    return fabs(got - wanted) <= part * wanted;
}

/* Between two GPUs of which one reads the other's memory, dense blocks go at once, and sparse ones are packed from
 * lengths on at which the granules that cross the link take longer than a launch. */
static void gpus_read_dense_blocks(void **state)
{
    static const struct {
        pw_model_shape shape;
        double us; /* measured on two H200s (bench/gpu/joined.c) */
        bool across;
    } measured[] = {{{64 << 10, 64, 2}, 9.3, true}, {{1 << 20, 64, 2}, 12.3, true},  {{4 << 20, 64, 2}, 21.6, true},
                    {{32 << 20, 64, 2}, 110, true}, {{64 << 10, 8, 8}, 9.8, true},   {{1 << 20, 8, 8}, 26.1, false},
                    {{4 << 20, 8, 8}, 78.4, false}, {{32 << 20, 8, 8}, 569.2, false}};
    pw_model *none = pw_model_create();

    (void)state;
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        pw_model_query q = {
            .memory = PW_MODEL_DEVICE, .shape = measured[i].shape, .chunk = 1 << 20, .shared = true, .opened = true};

        assert_true(is_within(pw_model_move_across(none, q.shape), 0.1, 1e3 * measured[i].us));
        assert_int_equal(goes_across(none, &q), measured[i].across);
    }
    pw_model_destroy(none);
}

/* Columns of a grid of so many rows and columns: those that stretch over few pages of GPU memory go directly. */
static void gpus_pack_columns_far_apart(void **state)
{
    pw_model *none = pw_model_create();

    (void)state;
    for (int rows = 4096; rows <= 16384; rows *= 2) {
        pw_model_query q = {.memory = PW_MODEL_DEVICE, .shape = {8 * rows, 8, rows}, .chunk = 1 << 20, .shared = true};

        assert_int_equal(goes_across(none, &q), rows == 4096);
    }
    pw_model_destroy(none);
}

static void times_across_are_measured(void **state)
{
    pw_model *m = pw_model_create();
    pw_model_query q = {.memory = PW_MODEL_DEVICE, .shape = {1 << 20, 64, PW_MODEL_NEAR}, .opened = true};
    double before;

    (void)state;
    assert_int_equal(pw_model_set(m, PW_TABLE_DIRECT_DEVICE_NEAR, bytes, 3, blocks, 3, grid, NULL), PW_OK);
    assert_false(pw_model_has_across(m));
    before = pw_model_cost_across(m, &q) - pw_model_own_across(m, &q);
    assert_int_equal(pw_model_set(m, PW_TABLE_DIRECT_DEVICE_FAR, bytes, 3, blocks, 3, grid, NULL), PW_OK);
    assert_true(pw_model_has_across(m));
    near(pw_model_own_across(m, &q), 150000);
    near(pw_model_cost_across(m, &q), before + 150000);
    q.contiguous = true; /* one block, however many elements it has */
    near(pw_model_own_across(m, &q), 110000);
    pw_model_destroy(m);
}

/* Every cost of every strategy is a positive number, whatever the model knows. */
static void costs_are_numbers(void **state)
{
    pw_model *models[] = {pw_model_create(), make()};

    (void)state;
    for (int k = 0; k < 2; k++)
        for (int kind = 0; kind < PW_CALL_KINDS; kind++)
            for (int64_t n = 1; n > 0 && n < (int64_t)1 << 50; n *= 3) {
                pw_model_query q = {.kind = (pw_call_kind)kind,
                                    .memory = kind % 2 ? PW_MODEL_DEVICE : PW_MODEL_HOST,
                                    .shape = {n, 1 + n % 1000, n % 2 ? PW_MODEL_NEAR : PW_MODEL_FAR},
                                    .contiguous = n % 5 == 0,
                                    .opened = n % 7 == 0,
                                    .chunk = 1 << 19};
                double costs[] = {
                    pw_model_cost_native(models[k], &q),           pw_model_cost(models[k], PW_MODEL_HOST, &q),
                    pw_model_cost(models[k], PW_MODEL_DEVICE, &q), pw_model_cost(models[k], PW_MODEL_MAPPED, &q),
                    pw_model_cost(models[k], PW_MODEL_STAGED, &q), pw_model_cost(models[k], PW_MODEL_PIPELINED, &q),
                    pw_model_cost_pipeline(models[k], &q),         pw_model_cost_across(models[k], &q)};

                for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
                    if (!isfinite(costs[i]) || costs[i] <= 0)
                        fail_msg("model %d, kind %d, %lld bytes, cost %zu: %g", k, kind, (long long)n, i, costs[i]);
            }
    pw_model_destroy(models[0]);
    pw_model_destroy(models[1]);
}

/* Chunks overlap: never slower than one after the other by more than the chunks' launches, never faster than the
 * slower half of the work. */
static void pipelines_overlap(void **state)
{
    pw_model *m = pw_model_create();
    pw_model_query q = {.memory = PW_MODEL_DEVICE, .shape = {64 << 20, 8, PW_MODEL_FAR}, .chunk = 1 << 20};
    double staged = pw_model_own(m, PW_MODEL_STAGED, &q, PW_PACK);
    double piped = pw_model_own(m, PW_MODEL_PIPELINED, &q, PW_PACK);

    (void)state;
    assert_true(piped < staged);
    assert_true(piped > pw_model_copy(m, PW_MODEL_D2H, 64 << 20) / 1.1);
    q.shape.bytes = 1 << 18;
    near(pw_model_own(m, PW_MODEL_PIPELINED, &q, PW_PACK), pw_model_own(m, PW_MODEL_STAGED, &q, PW_PACK));
    pw_model_destroy(m);
}

/* Each of many blocks counts as one of two blocks would, and as one for a neighbour. */
static void blocks_count_by_their_length(void **state)
{
    (void)state;
    assert_int_equal(pw_cost_bytes(PW_CALL_COLLECTIVE, 1000, 1), 1000);
    assert_int_equal(pw_cost_bytes(PW_CALL_COLLECTIVE, 1000, 2), 1000);
    assert_int_equal(pw_cost_bytes(PW_CALL_COLLECTIVE, 1000, 10), 200);
    assert_int_equal(pw_cost_bytes(PW_CALL_NEIGHBOUR, 1000, 10), 100);
    assert_int_equal(pw_cost_bytes(PW_CALL_COLLECTIVE, 3, 10), 1);
}

/* ---- what was not measured --------------------------------------------------------------------------------------- */

/* Points beside an unmeasured one hold; between them and it, and beyond it, the default does. */
static void unmeasured_points_are_defaults(void **state)
{
    const double gap[] = {100, NAN, 100000}, end[] = {100, 1000, NAN};
    pw_model *m = pw_model_create(), *none = pw_model_create();

    (void)state;
    assert_int_equal(pw_model_set(m, PW_TABLE_SEND_HOST, bytes, 3, NULL, 1, gap, NULL), PW_OK);
    assert_int_equal(pw_model_set(m, PW_TABLE_COPY_D2H, bytes, 3, NULL, 1, end, NULL), PW_OK);
    near(pw_model_send(m, PW_MODEL_HOST, PW_CALL_BLOCKING, 64), 100);
    near(pw_model_send(m, PW_MODEL_HOST, PW_CALL_BLOCKING, 1 << 20), 100000);
    near(pw_model_copy(m, PW_MODEL_D2H, 4096), 1000);
    for (int64_t n = 65; n < 1 << 20; n *= 3)
        near(pw_model_send(m, PW_MODEL_HOST, PW_CALL_BLOCKING, n),
             pw_model_send(none, PW_MODEL_HOST, PW_CALL_BLOCKING, n));
    for (int64_t n = 4097; n < 1 << 28; n *= 3)
        near(pw_model_copy(m, PW_MODEL_D2H, n), pw_model_copy(none, PW_MODEL_D2H, n));
    pw_model_destroy(m);
    pw_model_destroy(none);
}

/* A packed time that is missing takes the native one beside it away, too, and the other way round. */
static void likes_are_compared(void **state)
{
    const double gap[] = {200, 150, 150, 5000, NAN, 1000, 900000, 150000, 110000};
    static const pw_model_table_id with_gap[] = {PW_TABLE_NATIVE_HOST, PW_TABLE_PACKED_HOST};

    (void)state;
    for (int i = 0; i < 2; i++) {
        pw_model *m = make();
        pw_model_query q = {.kind = PW_CALL_BLOCKING, .shape = {4096, 8, PW_MODEL_NEAR}};

        assert_int_equal(pw_model_set(m, PW_TABLE_PACKED_HOST, bytes, 3, blocks, 3, grid, NULL), PW_OK);
        assert_int_equal(pw_model_set(m, with_gap[i], bytes, 3, blocks, 3, gap, NULL), PW_OK);
        near(pw_model_cost_native(m, &q), 5000);
        near(pw_model_cost(m, PW_MODEL_HOST, &q), 5000);
        q.shape.block = 64;
        near(pw_model_cost_native(m, &q), pw_guess_native(&pw_facts_default, 4096, 64));
        near(pw_model_cost(m, PW_MODEL_HOST, &q), pw_guess_packed(&pw_facts_default, 4096, 64, false));
        pw_model_destroy(m);
    }
}

/* ---- blocks that are read over a network ------------------------------------------------------------------------- */

enum { LEAST = 256 << 10, PIECE = 16 << 10 };

static void networks_have_defaults(void **state)
{
    static const char *const fast[] = {"cma,posix", "sysv", "rc_mlx5"};
    static const char *const unknown[] = {"tcp", "cma,posix,tcp", "ud_mlx5", ""};
    pw_model *m = pw_model_create();

    (void)state;
    for (size_t i = 0; i < sizeof fast / sizeof *fast; i++) {
        assert_int_equal(pw_model_remote_least(m, fast[i]), LEAST);
        assert_true(pw_model_remote_part(m, fast[i], LEAST, PIECE) < 1);
        assert_true(isinf(pw_model_remote_part(m, fast[i], LEAST - 1, PIECE)));
        assert_true(isinf(pw_model_remote_part(m, fast[i], LEAST, PIECE - 1)));
    }
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        assert_int_equal(pw_model_remote_least(m, unknown[i]), INT64_MAX);
        assert_true(isinf(pw_model_remote_part(m, unknown[i], 16 * LEAST, 16 * PIECE)));
    }
    pw_model_destroy(m);
}

/* By this model blocks from 64 KiB on gain, in pieces of 4 KiB and more. */
static pw_model *measured_network(void)
{
    static const double sizes[] = {16384, 65536, 262144}, lengths[] = {1024, 4096, 65536};
    static const double read[] = {20e3, 15e3, 15e3, 60e3, 30e3, 20e3, 200e3, 100e3, NAN};
    static const double left[] = {10e3, 10e3, 10e3, 40e3, 40e3, 40e3, 160e3, 160e3, 160e3};
    pw_model *m = pw_model_create();

    assert_int_equal(pw_model_set(m, PW_TABLE_REMOTE_READ, sizes, 3, lengths, 3, read, NULL), PW_OK);
    assert_int_equal(pw_model_set(m, PW_TABLE_REMOTE_LEFT, sizes, 3, lengths, 3, left, NULL), PW_OK);
    strcpy(m->origin.network, "tcp");
    return m;
}

static void networks_are_measured(void **state)
{
    pw_model *m = measured_network();

    (void)state;
    assert_int_equal(pw_model_remote_least(m, "tcp"), 65536);
    near(pw_model_remote_part(m, "tcp", 65536, 4096), 1.05 * 30 / 40);
    near(pw_model_remote_part(m, "tcp", 65536, 1024), 1.05 * 60 / 40);
    /* Longer blocks and pieces are as the longest that were measured, and shorter ones are not read. */
    near(pw_model_remote_part(m, "tcp", 4 << 20, 4096), 1.05 * 100 / 160);
    near(pw_model_remote_part(m, "tcp", 65536, 1 << 20), 1.05 * 20 / 40);
    assert_true(isinf(pw_model_remote_part(m, "tcp", 65536, 1023)));
    assert_true(isinf(pw_model_remote_part(m, "tcp", 16383, 4096)));
    assert_true(isinf(pw_model_remote_part(m, "tcp", 262144, 65536))); /* not measured */
    pw_model_destroy(m);
}

static void networks_are_told_apart(void **state)
{
    pw_model *m = measured_network(), *all = pw_model_create();

    (void)state;
    assert_int_equal(pw_model_remote_least(m, "cma,posix"), LEAST);
    assert_int_equal(pw_model_take(all, m, NULL), PW_OK);
    assert_true(pw_model_is_of(all, "tcp"));
    assert_false(pw_model_is_of(all, "cma,posix"));
    pw_model_drop(all, PW_TABLE_REMOTE_LEFT);
    assert_false(pw_model_is_of(all, "tcp"));
    pw_model_destroy(m);
    pw_model_destroy(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_are_met),
        cmocka_unit_test(between_points_is_linear_in_logarithms),
        cmocka_unit_test(ends_are_as_said),
        cmocka_unit_test(nothing_is_extrapolated),
        cmocka_unit_test(monotone),
        cmocka_unit_test(one_point_is_a_constant),
        cmocka_unit_test(bad_tables_are_refused),
        cmocka_unit_test(absurd_tables_are_refused),
        cmocka_unit_test(unmeasured_points_are_defaults),
        cmocka_unit_test(likes_are_compared),
        cmocka_unit_test(host_defaults_are_guesses),
        cmocka_unit_test(only_likes_are_compared),
        cmocka_unit_test(whole_messages_are_interpolated),
        cmocka_unit_test(one_spread_stands_in_for_the_other),
        cmocka_unit_test(spreads_are_interpolated),
        cmocka_unit_test(shapes),
        cmocka_unit_test(kernels_in_the_pipeline_are_measured),
        cmocka_unit_test(gpus_read_dense_blocks),
        cmocka_unit_test(gpus_pack_columns_far_apart),
        cmocka_unit_test(times_across_are_measured),
        cmocka_unit_test(costs_are_numbers),
        cmocka_unit_test(pipelines_overlap),
        cmocka_unit_test(blocks_count_by_their_length),
        cmocka_unit_test(networks_have_defaults),
        cmocka_unit_test(networks_are_measured),
        cmocka_unit_test(networks_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
