#include "runtime/node/sharing.h"

#include "runtime/node/segment.h"

#include <stdatomic.h>

enum {
    LEAST = 32 << 10, /* shorter ones may be copied through shared memory by MPIs that read longer ones */
    TRIES = 16
};

/* The singleton. */
static struct {
    _Atomic bool read;
    _Atomic int tried; /* up to TRIES */
} sharing;

bool pw_sharing_is_likely(void)
{
    return atomic_load_explicit(&sharing.read, memory_order_relaxed) || pw_segment_is_read() ||
           (atomic_load_explicit(&sharing.tried, memory_order_relaxed) < TRIES && pw_segment_is_open());
}

void pw_sharing_note_read(void)
{
    if (!atomic_load_explicit(&sharing.read, memory_order_relaxed))
        atomic_store_explicit(&sharing.read, true, memory_order_relaxed);
}

void pw_sharing_note_message(int64_t bytes)
{
    if (bytes >= LEAST && atomic_load_explicit(&sharing.tried, memory_order_relaxed) < TRIES)
        atomic_fetch_add_explicit(&sharing.tried, 1, memory_order_relaxed);
}
