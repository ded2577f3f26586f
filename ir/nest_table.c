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

/* The common divisor of all distances from `base`. */
static uint64_t common_step(const pw_table *t, int64_t base)
{
    uint64_t step = 0;

    for (int64_t i = 0; i < t->n && step != 1; i++) {
        uint64_t distance = (uint64_t)pw_table_get(t, i) - (uint64_t)base;
        /* A division costs as much as all the rest. Zero counts as a power of two here. */
        uint64_t rest = is_power_of_two(step) ? distance & (step - 1) : distance % step;

        if (rest)
            step = pw_gcd(distance, step);
    }
    return step ? step : 1;
}

static void store_entry(void *data, int width, int64_t i, uint64_t entry)
{
    if (width == 2)
        ((uint16_t *)data)[i] = (uint16_t)entry;
    else if (width == 4)
        ((uint32_t *)data)[i] = (uint32_t)entry;
    else
        ((uint64_t *)data)[i] = entry;
}

pw_status pw_table_narrow(const pw_table *wide, pw_arena *arena, pw_table *out)
{
    int64_t min, max;
    uint64_t span, step;
    pw_table t = {.width = 8, .n = wide->n, .scale = 1};
    void *data;
    int shift;

    pw_table_bounds(wide, &min, &max);
    span = (uint64_t)max - (uint64_t)min;
    if (span <= INT64_MAX) {
        step = common_step(wide, min);
        if (span / step <= UINT32_MAX)
            t = (pw_table){
                .width = span / step <= UINT16_MAX ? 2 : 4, .n = wide->n, .base = min, .scale = (int64_t)step};
    }
    data = pw_arena_take_array(arena, (size_t)t.n, (size_t)t.width);
    if (!data)
        return PW_ERR_NOMEM;
    shift = is_power_of_two((uint64_t)t.scale) ? __builtin_ctzll((uint64_t)t.scale) : -1;
    for (int64_t i = 0; i < t.n; i++) {
        uint64_t distance = (uint64_t)pw_table_get(wide, i) - (uint64_t)t.base;

        store_entry(data, t.width, i, shift >= 0 ? distance >> shift : distance / (uint64_t)t.scale);
    }
    t.data = data;
    *out = t;
    return PW_OK;
}
