/*
 * When the asynchronous mode asks for a kernel.
 *
 * Bytes are counted at the kernel, by all layouts that share it: the 26 faces of a halo exchange are a few kernels,
 * each as hot as its faces together. A kernel starts cold. A compile is asked for after the engine's hot_bytes. By then
 * tier 0 has lost no more than a compile takes, which runs beside the application, often on an idle core. A quarter of
 * that pays for a look into the disk cache, which takes the worker some 0.2 ms: as long as 64 messages of 4 KiB, and
 * where all cores are busy with ranks one of them waits for it.
 */
#include "runtime/engine/layout/internal.h"

static bool is_passed(int64_t mark, int64_t before, int64_t after)
{
    return before < mark && mark <= after;
}

void pw_layout_heat(pw_layout *layout, int64_t before, int64_t after)
{
    pw_layout_engine *engine = layout->engine;

    if (is_passed(engine->hot_bytes, before, after))
        pw_cache_request(engine->cache, layout->kernel, PW_WANT_COMPILE);
    else if (is_passed(engine->hot_bytes / 4, before, after))
        pw_cache_request(engine->cache, layout->kernel, PW_WANT_LOAD);
}

void pw_layout_expect_bytes(pw_layout *layout, int64_t bytes)
{
    int64_t counted = layout->kernel ? atomic_load_explicit(&layout->kernel->moved, memory_order_relaxed) : INT64_MAX;

    if (bytes > counted)
        pw_layout_warm(layout, bytes - counted);
}
