/* The touched-bytes limit: every line once, and the packed buffer once, a share after each batch of lines. */
#include "bench/lines.h"

#include <string.h>

enum { BATCH = 16 };

static volatile uint64_t sink;

/* Whole words; the value comes from the lines, so that this is no memset, whose call would break up the loads. */
static inline __attribute__((always_inline)) void write_packed(char *packed, int64_t from, int64_t to, uint64_t word)
{
    for (; from + 8 <= to; from += 8)
        memcpy(packed + from, &word, sizeof word);
}

static inline __attribute__((always_inline)) uint64_t read_packed(const char *packed, int64_t from, int64_t to)
{
    uint64_t sum = 0, word;
    for (; from + 8 <= to; from += 8) {
        memcpy(&word, packed + from, sizeof word);
        sum += word;
    }
    return sum;
}

/* One word of the line; volatile, since a gather would be slower than scalar loads. */
static inline __attribute__((always_inline)) uint64_t touch_line(char *line, bool store)
{
    uint64_t word = *(volatile uint64_t *)(void *)line;
    if (store)
        *(volatile uint64_t *)(void *)line = word;
    return word;
}

static inline __attribute__((always_inline)) uint64_t touch(const bench_line_run *run, int64_t from, int64_t to,
                                                            bool store)
{
    uint64_t sum = 0;
    const uint32_t *list = run->list;
    char *first = run->first;
    /* Hardware prefetchers see a stride in a loop over a progression, and none in one over a list. */
    if (list)
        for (int64_t i = from; i < to; i++) {
            __builtin_prefetch(first + (int64_t)list[i + BENCH_AHEAD] * BENCH_LINE, store);
            sum += touch_line(first + (int64_t)list[i] * BENCH_LINE, store);
        }
    else
        for (int64_t i = from, stride = run->stride; i < to; i++)
            sum += touch_line(first + i * stride, store);
    return sum;
}

static inline __attribute__((always_inline)) void limit(const bench_lines *lines, char *packed, int64_t size, bool pack)
{
    uint64_t sum = 0;
    /* Packed bytes a line, in 1/65536. */
    uint64_t share = lines->lines ? ((uint64_t)size << 16) / (uint64_t)lines->lines : 0;
    int64_t touched = 0, moved = 0;
    for (int64_t r = 0; r < lines->nruns; r++) {
        const bench_line_run *run = &lines->runs[r];
        for (int64_t from = 0; from < run->n; from += BATCH) {
            int64_t to = from + BATCH < run->n ? from + BATCH : run->n;
            sum += touch(run, from, to, !pack);
            touched += to - from;
            int64_t due = touched == lines->lines ? size : (int64_t)((uint64_t)touched * share >> 16) & ~INT64_C(63);
            if (due - moved < BENCH_LINE && due != size)
                continue;
            if (pack)
                write_packed(packed, moved, due, sum);
            else
                sum += read_packed(packed, moved, due);
            moved = due;
        }
    }
    sink = sum;
}

void bench_limit_pack(const bench_lines *lines, char *packed, int64_t size)
{
    limit(lines, packed, size, true);
}

void bench_limit_unpack(const bench_lines *lines, const char *packed, int64_t size)
{
    limit(lines, (char *)packed, size, false);
}
