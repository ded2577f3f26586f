/*
 * The cache lines that a layout touches, each once and in order of address, and the two things done with
 * them: the touched-bytes limit (read or write each line once and the packed buffer once; no pack or unpack
 * that gets its data from beyond the caches is faster), and flushing them before a cold run.
 */
#ifndef PW_BENCH_LINES_H
#define PW_BENCH_LINES_H

#include "bench/expand.h"

/* Entries that may be read behind the end of a list. */
enum { BENCH_AHEAD = 16 };

/* n lines: `stride` bytes apart; or, with `list`, at list[i] * BENCH_LINE from `first`. */
typedef struct bench_line_run {
    char *first;
    int64_t stride, n;
    const uint32_t *list;
} bench_line_run;

typedef struct bench_lines {
    bench_line_run *runs;
    int64_t nruns, lines;
    uint32_t *pool; /* of all lists */
} bench_lines;

static inline char *bench_line(const bench_line_run *run, int64_t i)
{
    return run->list ? run->first + (int64_t)run->list[i] * BENCH_LINE : run->first + i * run->stride;
}

bench_lines bench_lines_of(const bench_blocks *blocks);
void bench_lines_free(bench_lines *lines);

/* limit.c, compiled like the hand-written loops. The unpack limit stores into each line what is there. */
void bench_limit_pack(const bench_lines *lines, char *packed, int64_t size);
void bench_limit_unpack(const bench_lines *lines, const char *packed, int64_t size);

/* flush.c: out of all caches. */
void bench_flush_lines(const bench_lines *lines);
void bench_flush(const void *memory, int64_t bytes);

#endif
