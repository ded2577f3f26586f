/* Flushing: clflush where there is one, else a walk over a buffer larger than the last-level cache. */
#include "bench/lines.h"

#if defined(__x86_64__)
#include <emmintrin.h>

void bench_flush_lines(const bench_lines *lines)
{
    for (int64_t r = 0; r < lines->nruns; r++)
        for (int64_t i = 0; i < lines->runs[r].n; i++)
            _mm_clflush(bench_line(&lines->runs[r], i));
    _mm_mfence();
}

void bench_flush(const void *memory, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i += BENCH_LINE)
        _mm_clflush((const char *)memory + i);
    _mm_mfence();
}
#else
enum { WALK_BYTES = 256 << 20 };

void bench_flush_lines(const bench_lines *lines)
{
    static char walked[WALK_BYTES];
    (void)lines;
    for (int64_t i = 0; i < WALK_BYTES; i += BENCH_LINE)
        ++*(volatile char *)&walked[i];
}

/* The walk over the lines' buffer, which callers do as well, has evicted this. */
void bench_flush(const void *memory, int64_t bytes)
{
    (void)memory;
    (void)bytes;
}
#endif
