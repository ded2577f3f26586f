/*
 * When the asynchronous mode asks for a kernel.
 *
 * Bytes are counted at the kernel, by all layouts that share it: the 26 faces of a halo exchange are a few kernels,
 * each as hot as its faces together. A kernel starts cold. After LOAD_BYTES at tier 0 the worker looks into the disk
 * cache: that takes it some 0.2 ms, and layouts used once (a file header, a broadcast of parameters) never get that
 * far. A compile is asked for at the break-even, where tier 0 has lost as much time as compiling costs:
 *
 *     bytes * (ns per byte at tier 0) * GAIN = compile time / DISCOUNT
 *
 * ns per byte is measured on the call that crosses LOAD_BYTES; the compile time is the mean of this process's
 * compiles, ASSUMED_COMPILE_NS before the first. GAIN is the part of tier 0's time that a kernel saves, one
 * half. DISCOUNT makes it earlier: the compiler runs beside the application, often on an idle core, and a
 * layout that comes up again and again in a program's first seconds will do so for hours. With the assumed
 * numbers (10 ms, 1 ns/byte for small blocks) the break-even is 2.5 MB; the bounds keep a mismeasured call
 * from mattering.
 */
#include "runtime/engine/layout/internal.h"

#define ASSUMED_COMPILE_NS 10e6
#define ASSUMED_NS_PER_BYTE 0.5
#define GAIN 0.5
#define DISCOUNT 8

enum {
    LOAD_BYTES = 16 << 10,
    LEAST_SAMPLE = 4 << 10, /* the clock is too coarse for shorter calls */
    LEAST_BREAK_EVEN = 256 << 10,
    LARGEST_BREAK_EVEN = 4 << 20
};

static const int64_t never = INT64_MAX;

_Thread_local unsigned pw_layout_lacks;

/* What is done when the mark is reached: cold kernels are looked up in the disk cache, loaded ones compiled, and done
 * ones left alone. Stored as the stage of a pw_kernel_demand. */
typedef enum stage { COLD, LOADED, DONE } stage;

void pw_layout_heat_begin(const pw_layout_engine *engine, pw_kernel *kernel)
{
    int64_t unset = 0, first = LOAD_BYTES;

    if (engine->hot_bytes > 0 && engine->hot_bytes < first)
        first = engine->hot_bytes;
    atomic_compare_exchange_strong(&kernel->demand.mark, &unset, first);
}

/* Returns the packed bytes, counted from the first, at which compiling pays. */
static int64_t break_even(const pw_layout_engine *engine, int64_t bytes, int64_t ns)
{
    double rate = bytes >= LEAST_SAMPLE ? (double)ns / (double)bytes : ASSUMED_NS_PER_BYTE;
    int64_t measured = pw_cache_compile_ns(engine->cache);
    double compile = measured ? (double)measured : ASSUMED_COMPILE_NS;
    double least = LEAST_BREAK_EVEN, largest = LARGEST_BREAK_EVEN, at = largest;

    if (engine->hot_bytes > 0)
        return engine->hot_bytes;
    if (rate > 0)
        at = compile / DISCOUNT / (rate * GAIN);
    return (int64_t)(at < least ? least : at > largest ? largest : at);
}

static void ask_for_compile(pw_layout *layout)
{
    pw_kernel_demand *d = &layout->kernel->demand;

    atomic_store(&d->mark, never);
    if (atomic_exchange(&d->stage, DONE) != DONE)
        pw_cache_request(layout->engine->cache, layout->kernel, PW_WANT_COMPILE);
}

/* Several threads may find the mark reached, and one of them acts. The new mark is stored before the new stage, so that
 * no thread takes the old mark for that of the new stage. A late thread may store its mark when the stage is DONE
 * already; the first case then removes that mark. */
void pw_layout_heat(pw_layout *layout, int64_t bytes, int64_t ns)
{
    pw_kernel_demand *d = &layout->kernel->demand;
    int at = atomic_load(&d->stage);
    int64_t total = atomic_load(&d->bytes), threshold;

    if (at == DONE)
        atomic_store(&d->mark, never);
    if (total < atomic_load(&d->mark))
        return;
    threshold = at == COLD ? break_even(layout->engine, bytes, ns) : 0;
    if (total >= threshold) {
        ask_for_compile(layout);
        return;
    }
    atomic_store(&d->mark, threshold);
    if (atomic_compare_exchange_strong(&d->stage, &at, LOADED))
        pw_cache_request(layout->engine->cache, layout->kernel, PW_WANT_LOAD);
}

void pw_layout_expect_bytes(pw_layout *layout, int64_t bytes)
{
    pw_kernel *k = layout->engine->mode == PW_JIT_ASYNC ? layout->kernel : NULL;
    int64_t counted = k ? atomic_load_explicit(&k->demand.bytes, memory_order_relaxed) : 0;

    if (k && bytes > counted && pw_layout_heat_add(k, bytes - counted))
        pw_layout_heat(layout, 0, 0);
}
