/* A build without UCX's headers: there is no network by UCX, and nothing tells of memory that is unmapped. */
#include "runtime/engine/net/backend.h"
#include "runtime/engine/net/unmaps.h"

static const char *open_none(void)
{
    return "Packwright was built without UCX (libucx-dev)";
}

/* Nothing but `open` is ever called. */
const pw_net_backend pw_net_ucx = {.open = open_none};

bool pw_unmaps_watch(pw_unmap_fn *tell)
{
    (void)tell;
    return false;
}

void pw_unmaps_ignore(void)
{
}
