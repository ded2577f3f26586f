#include "runtime/engine/model/internal.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
    LINE = 64,
    PAGE = 4096,
    TLB_PAGES = 2048,         /* second-level TLBs hold 1536 to 3072 entries; the system does not report their size */
    CACHE_DEFAULT = 16 << 20, /* used if the system does not report the size of the cache */
    GPU_PAGE = 2 << 20,
    GPU_TLB_PAGES = 128
};

/*
 * The wait for a page out of the TLB's reach, and for a line out of the cache's. On a Zen 3 with idle neighbours,
 * blocks of 8 bytes that were 2 to 8 KiB apart took 7 ns more for each page than dense ones, with busy neighbours 20
 * ns. Blocks of 64 to 4000 bytes took 3 ns more for each line in 8 MiB than in 1 MiB.
 */
static const double page_ns = 15, line_ns = 3;

/* The same for pages of the GPU memory of two processes, in one kernel. On an H200, columns of doubles in 512 MiB took
 * 140 us more than packed ones, and in 128 MiB as long (docs/results/2026-11-23-gpu-goals.md). */
static const double gpu_page_ns = 550;

static _Atomic int64_t cache; /* 0: not yet known */

/* The size of the cache that the first core shares with its neighbours; sysconf adds up all caches of a socket. */
static int64_t system_cache(void)
{
    FILE *f = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "re");
    long long kilobytes = 0;
    bool known = f && fscanf(f, "%lldK", &kilobytes) == 1 && kilobytes > 0 && kilobytes < 1 << 30;

    if (f)
        fclose(f);
    return known ? kilobytes << 10 : CACHE_DEFAULT;
}

static int64_t cache_bytes(void)
{
    int64_t bytes = atomic_load_explicit(&cache, memory_order_relaxed);

    if (bytes == 0) {
        bytes = system_cache();
        atomic_store_explicit(&cache, bytes, memory_order_relaxed);
    }
    return bytes;
}

void pw_touch_set_cache(int64_t bytes)
{
    atomic_store_explicit(&cache, bytes, memory_order_relaxed);
}

/* Counts the pieces of `size` bytes that hold a part of a block, at most those from the first block to the last. */
static double pieces(pw_model_shape s, int size)
{
    double blocks = (double)s.bytes / (double)s.block;

    return fmin(blocks * ceil((double)s.block / size), ceil(s.spread * (double)s.bytes / size));
}

double pw_touch_wait(pw_model_shape s)
{
    double pages = pieces(s, PAGE), lines = pieces(s, LINE), wait = 0;

    if (pages > TLB_PAGES)
        wait += page_ns * pages;
    /* The cache must hold the blocks of both ranks and the packed copy, and other work needs half of it. */
    if (2 * LINE * lines + (double)s.bytes > (double)cache_bytes() / 2)
        wait += line_ns * lines;
    return wait;
}

double pw_touch_wait_across(pw_model_shape s)
{
    double pages = pieces(s, GPU_PAGE);

    return pages > GPU_TLB_PAGES ? gpu_page_ns * pages : 0;
}
