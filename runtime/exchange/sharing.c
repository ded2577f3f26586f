/*
 * Purpose: tells whether MPIs read memory of other processes on this node, as far as this process knows, and whether
 * the system refuses to let them. Data: `sharing`, with what the launcher said at start and whether a read was refused.
 * Invariant: a refusal that was seen once stays for good.
 */
#include "runtime/exchange/sharing.h"

#include "base/launch.h"
#include "runtime/exchange/segment.h"

#include <stdatomic.h>
#include <sys/prctl.h>

enum { LOOKS = 16 /* one system call answers so many questions */ };

/* The singleton. */
static struct {
    bool alone; /* written at start */
    _Atomic bool refused;
    _Atomic unsigned looks;
} sharing;

void pw_sharing_start(void)
{
    sharing.alone = pw_launch_is_alone_on_node();
}

bool pw_sharing_is_likely(void)
{
    return !sharing.alone && pw_segment_is_open();
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
