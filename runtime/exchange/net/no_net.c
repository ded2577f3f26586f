/* A build without UCX's headers has no network. Nothing but the start and the end is ever called. */
#include "runtime/exchange/net/net.h"

#include "base/log.h"

bool pw_net_start(void)
{
    pw_log(PW_LOG_WARN, "PACKWRIGHT_NET: no network: Packwright was built without UCX (libucx-dev)");
    return false;
}

void pw_net_stop(void)
{
}

size_t pw_net_address(void *out, size_t max)
{
    (void)out, (void)max;
    return 0;
}

pw_net_peer *pw_net_connect(const void *address, size_t bytes)
{
    (void)address, (void)bytes;
    return NULL;
}

const char *pw_net_transports(const pw_net_peer *peer)
{
    (void)peer;
    return "";
}

bool pw_net_is_over(const pw_net_op *op)
{
    return op->open == 0;
}

void pw_net_progress(void)
{
}

void pw_net_send(pw_net_peer *to, uint64_t tag, const void *data, int64_t bytes, pw_net_op *op)
{
    (void)to, (void)tag, (void)data, (void)bytes;
    op->failed = true;
}

void pw_net_receive(uint64_t tag, void *data, int64_t most, pw_net_op *op)
{
    (void)tag, (void)data, (void)most;
    op->failed = true;
}

bool pw_net_offer(const void *memory, int64_t bytes, pw_net_key *out)
{
    (void)memory, (void)bytes, (void)out;
    return false;
}

void pw_net_withdraw(uint64_t number)
{
    (void)number;
}

pw_net_source *pw_net_source_open(pw_net_peer *owner, const void *key, size_t bytes)
{
    (void)owner, (void)key, (void)bytes;
    return NULL;
}

void pw_net_source_close(pw_net_source *source)
{
    (void)source;
}

void pw_net_read(pw_net_source *source, const pw_net_piece *pieces, int64_t n, pw_net_op *op)
{
    (void)source, (void)pieces, (void)n;
    op->failed = true;
}
