/* What this process has seen of reads on its node: whether MPIs read here, and whether the system refuses to let them.
 */
#include "runtime/exchange/sharing.h"

#include "base/env.h"
#include "base/launch.h"
#include "runtime/exchange/segment.h"

#include <stdatomic.h>
#include <sys/prctl.h>

enum {
    LEAST =
        32
        << 10, /* MPIs that read longer messages in the sender's memory may copy shorter ones through shared memory */
    TRIES = 16,
    LOOKS = 16 /* one system call answers so many questions */
};

/* The singleton. */
static struct {
    _Atomic bool read;
    _Atomic int tried; /* up to TRIES */
    _Atomic bool refused;
    _Atomic unsigned looks;
} sharing;

void pw_sharing_start(void)
{
    if (pw_launch_is_alone_on_node())
        atomic_store_explicit(&sharing.tried, TRIES, memory_order_relaxed);
}

bool pw_sharing_is_likely(void)
{
    return atomic_load_explicit(&sharing.read, memory_order_relaxed) || pw_segment_is_read() ||
           (atomic_load_explicit(&sharing.tried, memory_order_relaxed) < TRIES && pw_segment_is_open());
}

bool pw_sharing_is_refused(void)
{
    unsigned looks = atomic_load_explicit(&sharing.looks, memory_order_relaxed);

    atomic_store_explicit(&sharing.looks, looks + 1, memory_order_relaxed);
    if (looks % LOOKS == 0 && prctl(PR_GET_DUMPABLE) != 1)
        pw_sharing_note_refusal();
    return atomic_load_explicit(&sharing.refused, memory_order_relaxed);
}

void pw_sharing_note_refusal(void)
{
    atomic_store_explicit(&sharing.refused, true, memory_order_relaxed);
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
