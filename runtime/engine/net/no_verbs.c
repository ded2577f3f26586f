/* A build without libibverbs' headers: there is no network by it. */
#include "runtime/engine/net/backend.h"

static const char *open_none(void)
{
    return "Packwright was built without libibverbs (libibverbs-dev)";
}

/* Nothing but `open` is ever called. */
const pw_net_backend pw_net_verbs = {.open = open_none};
