/*
 * Purpose: packs what another core reads, past the caches if that is faster here. Data: whether it is, of this process.
 * Invariant: all bytes are visible before what the caller stores next.
 */
#include "runtime/engine/memory/outbound.h"

#include "base/clock.h"
#include "runtime/engine/memory/pool.h"

#include <float.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
    LINE = 64,
    TILE = 32 << 10,  /* fits the caches next to a core, beside what is packed */
    LEAST = 16 << 10, /* MPIs copy shorter messages once more, and want them in the caches */
    EVERY = 32,       /* messages, of which one is timed */
    MARGIN = 3        /* how many times as dear usual stores must be: the reader pays for the others, too */
};

/* The singleton. Two ranks may be near and others far; the last message that was timed decides for all. */
static struct {
    _Atomic unsigned messages; /* of LEAST bytes and more */
    _Atomic bool past;
} outbound;

void pw_outbound_learn(double usual, double past)
{
    atomic_store_explicit(&outbound.past, usual > MARGIN * past, memory_order_relaxed);
}

bool pw_outbound_is_past(void)
{
    return atomic_load_explicit(&outbound.past, memory_order_relaxed);
}

#if defined(__SSE2__)
/* Lines that the tile shares with others are written as usual: half a line past the caches costs more than it saves. */
static void copy(char *to, const char *from, int64_t bytes, bool past)
{
    int64_t head = (int64_t)((LINE - (uintptr_t)to % LINE) % LINE), at;

    head = head < bytes ? head : bytes;
    memcpy(to, from, (size_t)head);
    for (at = head; at + LINE <= bytes; at += LINE)
        for (int i = 0; i < LINE; i += 16) {
            __m128i word = _mm_loadu_si128((const __m128i *)(from + at + i));

            if (past)
                _mm_stream_si128((__m128i *)(to + at + i), word);
            else
                _mm_store_si128((__m128i *)(to + at + i), word);
        }
    memcpy(to + at, from + at, (size_t)(bytes - at));
    _mm_mfence();
}
#else
static void copy(char *to, const char *from, int64_t bytes, bool past)
{
    (void)past;
    memcpy(to, from, (size_t)bytes);
}
#endif

/* A message has at least two tiles, one for each way. */
static int64_t tile_of(int64_t bytes)
{
    return bytes < 2 * TILE ? bytes / 2 : TILE;
}

/* Packs a tile at a time into memory that only this core uses, and copies it from there. `timed`: in both ways. */
static void pack_tiles(pw_layout *layout, const void *mem, int64_t bytes, char *packed, char *tile, bool timed)
{
    int64_t most = tile_of(bytes), n;
    double least[] = {DBL_MAX, DBL_MAX};
    bool past = true;

    if (layout->size <= most)
        most = most / layout->size * layout->size;
    for (int64_t at = 0; at < bytes; at += n) {
        int64_t begin;

        n = bytes - at < most ? bytes - at : most;
        pw_layout_pack_part(layout, mem, at, at + n, tile);
        begin = timed ? pw_clock_ns() : 0;
        copy(packed + at, tile, n, past);
        if (timed && n == most) {
            double ns = (double)(pw_clock_ns() - begin) / (double)n;

            least[past] = ns < least[past] ? ns : least[past];
            past = !past;
        }
    }
    if (timed)
        pw_outbound_learn(least[false], least[true]);
}

/* Nothing has been read yet when the first message is written, and with many in flight that holds for more of them. */
static bool is_timed(unsigned message)
{
    return message > 0 && ((message & (message - 1)) == 0 || message % EVERY == 0);
}

void pw_outbound_pack(pw_layout *layout, const void *mem, int64_t count, int64_t bytes, void *packed)
{
    bool may = bytes >= LEAST && (layout->size <= tile_of(bytes) || layout->parts) && !layout->contiguous, timed;
    void *tile;

    timed = may && is_timed(atomic_fetch_add_explicit(&outbound.messages, 1, memory_order_relaxed));
    tile = timed || (may && pw_outbound_is_past()) ? pw_pool_take(TILE) : NULL;
    if (!tile) {
        pw_layout_pack(layout, mem, count, packed);
        return;
    }
    pack_tiles(layout, mem, bytes, packed, tile, timed);
    pw_pool_give(tile, TILE);
}
