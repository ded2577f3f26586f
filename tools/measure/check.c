/*
 * Checks a model's choices. With an MPI that does not take GPU memory, the strategies for messages in GPU memory give
 * MPI pinned memory, and differ only in the rank's own work. This file measures that work for each strategy between the
 * points of the model, and compares the best strategy with the one that the model would have taken.
 */
#include "base/strategy_table.h"
#include "tools/measure/node.h"
#include "tools/measure/report.h"

#include "runtime/engine/gpu/transfer.h"
#include "tools/command.h"

#include <stdio.h>

static const struct {
    pw_model_memory packed;
    const char *name;
} strategies[] = {
#define X(symbol, name, packed, help) {PW_MODEL_##packed, #name},
    PW_STRATEGIES(X)
#undef X
};

enum { STRATEGIES = sizeof strategies / sizeof *strategies };

/* Returns whether the strategy gives MPI pinned host memory. */
static bool is_pinned(int strategy)
{
    return strategies[strategy].packed > PW_MODEL_DEVICE;
}

/* A choice is good if it takes at most so many times the time of the best one. */
static const double tolerance = 1.05;

static const int64_t sizes[] = {384,       1536,       6 << 10, 24 << 10, 96 << 10, 192 << 10, 384 << 10,
                                768 << 10, 1536 << 10, 3 << 20, 6 << 20,  12 << 20, 24 << 20,  48 << 20};
static const int64_t lengths[] = {4, 12, 24, 48, 128, 384, 2048};
static const pw_axis size_axis = {sizes, sizeof sizes / sizeof *sizes};
static const pw_axis length_axis = {lengths, sizeof lengths / sizeof *lengths};

typedef struct tally {
    int cells, good;
    double worst;
} tally;

/* Returns the time of packing and unpacking together. Negative: it was not measured. */
static double measured(const pw_probe_list *list, pw_model_memory way, int64_t bytes, int64_t block, int spread)
{
    double sum = 0;

    for (int direction = 0; direction < PW_DIRECTIONS; direction++) {
        pw_model_table_id table = pw_measure_gpu_table(way, (pw_direction)direction, spread);
        const pw_probe *p = NULL;

        for (int i = 0; i < list->n && !p; i++)
            if (list->at[i].table == table && list->at[i].bytes == bytes && list->at[i].block == block)
                p = &list->at[i];
        if (!p || p->failed || p->n == 0)
            return -1;
        sum += pw_probe_time(p);
    }
    return sum;
}

/* Returns the estimate that strategies would get. */
static double estimated(const pw_model *m, pw_model_memory way, int64_t bytes, int64_t block, int spread)
{
    const pw_model_query q = {
        .memory = PW_MODEL_DEVICE, .shape = {bytes, block, pw_measure_every[spread]}, .chunk = pw_gpu_chunk(bytes)};
    double sum = 0;

    for (int direction = 0; direction < PW_DIRECTIONS; direction++)
        sum += pw_model_own(m, way, &q, (pw_direction)direction);
    return sum;
}

static void compare(const pw_model *m, const pw_probe_list *list, int64_t bytes, int64_t block, int spread, tally *t)
{
    double times[STRATEGIES], guesses[STRATEGIES], loss;
    int best = -1, taken = -1;

    for (int i = 0; i < STRATEGIES; i++) {
        if (!is_pinned(i))
            continue;
        times[i] = measured(list, strategies[i].packed, bytes, block, spread);
        guesses[i] = estimated(m, strategies[i].packed, bytes, block, spread);
        if (times[i] < 0)
            return;
        best = best < 0 || times[i] < times[best] ? i : best;
        taken = taken < 0 || guesses[i] < guesses[taken] ? i : taken;
    }
    loss = times[taken] / times[best];
    t->cells++;
    t->good += loss <= tolerance;
    t->worst = loss > t->worst ? loss : t->worst;
    if (loss > tolerance)
        printf("%lld bytes in blocks of %lld every %d lengths: %s takes %.1f us (estimated %.1f), %s %.1f us (%.1f)\n",
               (long long)bytes, (long long)block, pw_measure_every[spread], strategies[taken].name,
               times[taken] * 1e-3, guesses[taken] * 1e-3, strategies[best].name, times[best] * 1e-3,
               guesses[best] * 1e-3);
}

bool pw_measure_check(const pw_model *m, const pw_measure_options *o)
{
    pw_probe_list list = {NULL, 0, 0};
    tally t = {0, 0, 0};
    pw_measure_gpu gpu;
    pw_diag diag = {0};

    if (pw_measure_gpu_begin(&gpu, &diag) != PW_OK)
        return pw_command_error("measure", "%s", diag.text);
    pw_measure_gpu_add_moves(&gpu, &list, &size_axis, &length_axis);
    pw_probe_sample(&list,
                    &(pw_sampling){.title = o->quiet ? NULL : "check", .seconds = o->seconds, .spread = o->spread});
    for (int i = 0; i < size_axis.n; i++)
        for (int k = 0; k < length_axis.n; k++)
            for (int spread = 0; spread < PW_MEASURE_SPREADS; spread++)
                compare(m, &list, sizes[i], lengths[k], spread, &t);
    printf("within %.0f %% of the best in %d of %d cells; worst %.2f times the best\n", (tolerance - 1) * 100, t.good,
           t.cells, t.worst);
    pw_measure_gpu_end(&gpu, &list);
    pw_probe_free(&list);
    return t.cells > 0;
}
