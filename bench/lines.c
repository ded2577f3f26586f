/* From blocks to runs of cache lines. */
#include "bench/lines.h"

#include <stdio.h>
#include <stdlib.h>

/* Whole lines [first, last), as line numbers. */
typedef struct range {
    int64_t first, last;
} range;

static int by_first(const void *a, const void *b)
{
    const range *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Sorted and disjoint; returns how many are left. */
static int64_t merge(range *r, int64_t n)
{
    bool sorted = true;
    for (int64_t i = 1; i < n && sorted; i++)
        sorted = r[i - 1].first <= r[i].first;
    if (!sorted)
        qsort(r, (size_t)n, sizeof *r, by_first);
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        if (kept && r[i].first <= r[kept - 1].last)
            r[kept - 1].last = r[i].last > r[kept - 1].last ? r[i].last : r[kept - 1].last;
        else
            r[kept++] = r[i];
    }
    return kept;
}

/* Lines of different arrays, which may be anywhere, are in no progression. */
enum { FARTHEST = 1 << 24 };

/* Adds one range: single lines in arithmetic progression continue the run before. */
static void extend(bench_lines *out, range r)
{
    char *addr = (char *)(intptr_t)(r.first * BENCH_LINE); /* NOLINT: line numbers are addresses */
    int64_t n = r.last - r.first;
    bench_line_run *run = out->nruns ? &out->runs[out->nruns - 1] : NULL;
    out->lines += n;
    if (n == 1 && run) {
        int64_t step = addr - run->first;
        if (run->n == 1 && step <= FARTHEST)
            run->stride = step;
        if (step == run->n * run->stride) {
            run->n++;
            return;
        }
    }
    out->runs[out->nruns++] = (bench_line_run){addr, BENCH_LINE, n, NULL};
}

/* Progressions shorter than this cost more in loop control than their lines do in a list. */
enum { SHORT_RUN = 64 };

/* Turns neighbouring short runs into lists, in place. The pool has room for every line. */
static void make_lists(bench_lines *lines)
{
    int64_t kept = 0;
    uint32_t *end = lines->pool;
    bench_line_run *list = NULL; /* the list that can be continued */
    for (int64_t r = 0; r < lines->nruns; r++) {
        bench_line_run run = lines->runs[r];
        if (run.n >= SHORT_RUN) {
            lines->runs[kept++] = run;
            list = NULL;
            continue;
        }
        if (!list || (bench_line(&run, run.n - 1) - list->first) / BENCH_LINE > UINT32_MAX) {
            list = &lines->runs[kept++];
            *list = (bench_line_run){.first = run.first, .list = end};
        }
        for (int64_t i = 0; i < run.n; i++)
            *end++ = (uint32_t)((bench_line(&run, i) - list->first) / BENCH_LINE);
        list->n += run.n;
    }
    lines->nruns = kept;
}

static void *need(void *memory)
{
    if (memory)
        return memory;
    fprintf(stderr, "bench: no memory for the touched lines\n");
    exit(1);
}

bench_lines bench_lines_of(const bench_blocks *blocks)
{
    size_t room = blocks->n ? (size_t)blocks->n : 1;
    range *ranges = need(malloc(sizeof *ranges * room));
    for (int64_t i = 0; i < blocks->n; i++) {
        int64_t start = (int64_t)(intptr_t)blocks->blocks[i].addr;
        ranges[i].first = start / BENCH_LINE;
        ranges[i].last = (start + blocks->blocks[i].bytes - 1) / BENCH_LINE + 1;
    }
    int64_t n = merge(ranges, blocks->n);
    bench_lines out = {.runs = need(malloc(sizeof *out.runs * room))};
    for (int64_t i = 0; i < n; i++)
        extend(&out, ranges[i]);
    free(ranges);
    out.pool = need(calloc((size_t)out.lines + BENCH_AHEAD, sizeof *out.pool));
    make_lists(&out);
    return out;
}

void bench_lines_free(bench_lines *lines)
{
    free(lines->runs);
    free(lines->pool);
    *lines = (bench_lines){0};
}
