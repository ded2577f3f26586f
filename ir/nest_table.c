/* Tables of offsets and lengths in nests: entries in the narrowest width, with a common step. */
#include "base/gcd.h"
#include "ir/nest_build.h"

int64_t pw_table_get(const pw_table *t, int64_t i)
{
    uint64_t entry;

    switch (t->width) {
    case 2: entry = ((const uint16_t *)t->data)[i]; break;
    case 4: entry = ((const uint32_t *)t->data)[i]; break;
    default: entry = ((const uint64_t *)t->data)[i]; break;
    }
    return (int64_t)((uint64_t)t->base + (uint64_t)t->scale * entry);
}

pw_table pw_table_borrow(int64_t n, const int64_t *values)
{
    return (pw_table){.width = 8, .n = n, .scale = 1, .data = values};
}

void pw_table_bounds(const pw_table *t, int64_t *min, int64_t *max)
{
    *min = *max = t->n > 0 ? pw_table_get(t, 0) : 0;
    for (int64_t i = 1; i < t->n; i++) {
        int64_t v = pw_table_get(t, i);

        *min = v < *min ? v : *min;
        *max = v > *max ? v : *max;
    }
}

static bool is_power_of_two(uint64_t n)
{
    return (n & (n - 1)) == 0;
}

/* A common divisor of the distance and of what `step` divides, where 0 divides nothing yet. */
static uint64_t divide(uint64_t step, uint64_t distance)
{
    /* A division costs as much as all the rest. Zero counts as a power of two here. */
    uint64_t rest = is_power_of_two(step) ? distance & (step - 1) : distance % step;

    return rest ? pw_gcd(distance, step) : step;
}

/* The common divisor of all distances from `base`. */
static uint64_t common_step(int64_t n, const int64_t *values, int64_t base)
{
    uint64_t step = 0;

    for (int64_t i = 0; i < n && step != 1; i++)
        step = divide(step, (uint64_t)values[i] - (uint64_t)base);
    return step;
}

/* A table without data for n values from `base` to base + span, all of them multiples of `step` (0: there is one value)
 * away from `base`. */
static pw_table narrowest(int64_t n, int64_t base, uint64_t span, uint64_t step)
{
    step = step ? step : 1;
    if (span > INT64_MAX || span / step > UINT32_MAX)
        return (pw_table){.width = 8, .n = n, .scale = 1};
    return (pw_table){.width = span / step <= UINT16_MAX ? 2 : 4, .n = n, .base = base, .scale = (int64_t)step};
}

/* Entries of a table that is being filled with values. */
typedef struct filler {
    void *data;
    pw_table table;
    int shift; /* of the scale, or -1 if that is no power of two */
} filler;

static pw_status begin_table(filler *f, pw_arena *arena, pw_table t)
{
    f->data = pw_arena_take_array(arena, (size_t)t.n, (size_t)t.width);
    f->table = t;
    f->table.data = f->data;
    f->shift = is_power_of_two((uint64_t)t.scale) ? __builtin_ctzll((uint64_t)t.scale) : -1;
    return f->data ? PW_OK : PW_ERR_NOMEM;
}

static void store(const filler *f, int64_t i, int64_t value)
{
    uint64_t distance = (uint64_t)value - (uint64_t)f->table.base;
    uint64_t entry = f->shift >= 0 ? distance >> f->shift : distance / (uint64_t)f->table.scale;

    if (f->table.width == 2)
        ((uint16_t *)f->data)[i] = (uint16_t)entry;
    else if (f->table.width == 4)
        ((uint32_t *)f->data)[i] = (uint32_t)entry;
    else
        ((uint64_t *)f->data)[i] = entry;
}

pw_status pw_table_narrow(int64_t n, const int64_t *values, pw_arena *arena, pw_table *out)
{
    int64_t min = n > 0 ? values[0] : 0, max = min;
    filler f;
    pw_status status;

    for (int64_t i = 1; i < n; i++) {
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
    }
    status = begin_table(&f, arena, narrowest(n, min, (uint64_t)max - (uint64_t)min, common_step(n, values, min)));
    if (status != PW_OK)
        return status;
    for (int64_t i = 0; i < n; i++)
        store(&f, i, values[i]);
    *out = f.table;
    return PW_OK;
}

pw_status pw_table_sums(int64_t n, const int64_t *lens, pw_arena *arena, pw_table *out)
{
    int64_t sum = 0;
    uint64_t step = 0;
    filler f;
    pw_status status;

    for (int64_t i = 0; i < n; i++) {
        step = divide(step, (uint64_t)lens[i]);
        sum += lens[i];
    }
    status = begin_table(&f, arena, narrowest(n + 1, 0, (uint64_t)sum, step));
    if (status != PW_OK)
        return status;
    sum = 0;
    for (int64_t i = 0; i <= n; i++) {
        store(&f, i, sum);
        sum += i < n ? lens[i] : 0;
    }
    *out = f.table;
    return PW_OK;
}
