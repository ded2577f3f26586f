/*
 * When the asynchronous mode asks for a kernel.
 *
 * A layout starts cold. After LOAD_BYTES at tier 0 the worker looks into the disk cache: that takes it some
 * 0.2 ms, and layouts used once (a file header, a broadcast of parameters) never get that far. A compile is
 * asked for at the break-even, where tier 0 has lost as much time as compiling costs:
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
#include "runtime/layout_internal.h"

#define ASSUMED_COMPILE_NS 10e6
#define ASSUMED_NS_PER_BYTE 0.5
#define GAIN 0.5
#define DISCOUNT 8

enum {
    LOAD_BYTES = 16 << 10,
    LEAST_SAMPLE = 4 << 10, /* shorter calls measure the clock */
    LEAST_BREAK_EVEN = 256 << 10,
    LARGEST_BREAK_EVEN = 4 << 20
};

static const int64_t never = INT64_MAX / 2;

int64_t pw_layout_heat_start(const pw_layout_engine *engine)
{
    if (engine->hot_bytes > 0 && engine->hot_bytes < LOAD_BYTES)
        return engine->hot_bytes;
    return LOAD_BYTES;
}

/* Packed bytes, from the first on, at which compiling pays. */
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

void pw_layout_heat(pw_layout *layout, int64_t bytes, int64_t ns)
{
    pw_layout_engine *engine = layout->engine;
    pw_layout_entry *entry = pw_layout_entry_of(layout);
    int heat = atomic_load_explicit(&entry->heat, memory_order_relaxed);
    int64_t past, threshold;

    if (heat == PW_HEAT_DONE || atomic_load_explicit(&layout->hot_left, memory_order_relaxed) > 0)
        return;
    /* One of the threads that come by acts. */
    if (heat == PW_HEAT_COLD) {
        threshold = break_even(engine, bytes, ns);
        past = pw_layout_heat_start(engine) - atomic_load_explicit(&layout->hot_left, memory_order_relaxed);
        if (past < threshold) {
            if (!atomic_compare_exchange_strong(&entry->heat, &heat, PW_HEAT_LOADED))
                return;
            atomic_store_explicit(&layout->hot_left, threshold - past, memory_order_relaxed);
            pw_cache_request(engine->cache, layout->kernel, PW_WANT_LOAD);
            return;
        }
    }
    if (!atomic_compare_exchange_strong(&entry->heat, &heat, PW_HEAT_DONE))
        return;
    atomic_store_explicit(&layout->hot_left, never, memory_order_relaxed);
    pw_cache_request(engine->cache, layout->kernel, PW_WANT_COMPILE);
}
