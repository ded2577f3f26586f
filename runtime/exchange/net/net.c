/*
 * Purpose: the network over OpenUCX, "UCP API", which finds by itself over which hardware it goes. Data: one worker,
 * and the processes that it is connected to. Invariant: the lock is held through all calls of UCX.
 */
#include "runtime/exchange/net/net.h"

#include "base/hash.h"
#include "base/lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

struct pw_net_peer {
    pw_net_peer *next;
    ucp_ep_h ep;
    char transports[PW_NET_TRANSPORTS_BYTES];
    size_t bytes;
    unsigned char address[];
};

struct pw_net_source {
    ucp_ep_h owner;
    ucp_rkey_h key;
};

/* The singleton. */
static struct {
    pthread_mutex_t lock;
    ucp_context_h context;
    ucp_worker_h worker; /* NULL: there is no network */
    pw_net_peer *peers;
} net = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- start and end ----------------------------------------------------------------------------------------------- */

static const char *net_open(void)
{
    PW_HOLD(&net.lock);
    const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_RMA | UCP_FEATURE_TAG};
    const ucp_worker_params_t worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                        .thread_mode = UCS_THREAD_MODE_SERIALIZED};

    if (ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, NULL, &net.context) != UCS_OK)
        return "UCX does not start";
    if (ucp_worker_create(net.context, &worker, &net.worker) == UCS_OK)
        return NULL;
    ucp_cleanup(net.context);
    return "UCX makes no worker";
}

static void net_close(void)
{
    PW_HOLD(&net.lock);

    ucp_worker_destroy(net.worker); /* with its endpoints */
    ucp_cleanup(net.context);
    net.worker = NULL;
    while (net.peers) {
        pw_net_peer *p = net.peers;

        net.peers = p->next;
        free(p);
    }
}

/* ---- other processes --------------------------------------------------------------------------------------------- */
static size_t net_address(void *out, size_t max)
{
    ucp_address_t *address;
    size_t bytes = 0;
    PW_HOLD(&net.lock);

    if (ucp_worker_get_address(net.worker, &address, &bytes) == UCS_OK) {
        if (bytes <= max)
            memcpy(out, address, bytes);
        ucp_worker_release_address(net.worker, address);
    }
    return bytes <= max ? bytes : 0;
}

/* Takes the transport from a line such as " lane[1]:  2:cma/memory.0 md[2] -> ...". False: the line names none. */
static bool transport_in(const char *line, char out[16])
{
    const char *lane = strstr(line, "lane[");

    return lane && sscanf(lane, "lane[%*d]: %*d:%15[^/ ]/", out) == 1;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Writes the names one after the other, each once, as far as there is room. */
static void list_names(char names[][16], size_t n, char out[PW_NET_TRANSPORTS_BYTES])
{
    size_t length = 0;

    qsort(names, n, sizeof *names, by_name);
    for (size_t i = 0; i < n && length + 16 < PW_NET_TRANSPORTS_BYTES; i++)
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
            length += (size_t)snprintf(out + length, PW_NET_TRANSPORTS_BYTES - length, "%s%.15s", length > 0 ? "," : "",
                                       names[i]);
}

/* UCX up to 1.13 has no other function that tells the transports of an endpoint. */
static void transports_of(ucp_ep_h ep, char out[PW_NET_TRANSPORTS_BYTES])
{
    enum { MOST = 16 };
    char names[MOST][16], *text = NULL, *rest = NULL;
    size_t size, n = 0;
    FILE *stream = open_memstream(&text, &size);

    if (!stream)
        return;
    ucp_ep_print_info(ep, stream);
    fclose(stream);
    for (char *line = strtok_r(text, "\n", &rest); line && n < MOST; line = strtok_r(NULL, "\n", &rest))
        n += transport_in(line, names[n]);
    list_names(names, n, out);
    free(text);
}

static pw_net_peer *find_peer(const void *address, size_t bytes)
{
    pw_net_peer *p = net.peers;

    while (p && (p->bytes != bytes || memcmp(p->address, address, bytes) != 0))
        p = p->next;
    return p;
}

static pw_net_peer *add_peer(const void *address, size_t bytes)
{
    const ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = address};
    pw_net_peer *p = malloc(sizeof *p + bytes);

    if (!p)
        return NULL;
    memcpy(p->address, address, bytes);
    p->bytes = bytes;
    if (ucp_ep_create(net.worker, &params, &p->ep) != UCS_OK) {
        free(p);
        return NULL;
    }
    *p->transports = '\0';
    transports_of(p->ep, p->transports);
    p->next = net.peers;
    net.peers = p;
    return p;
}

static pw_net_peer *net_connect(const void *address, size_t bytes)
{
    PW_HOLD(&net.lock);
    pw_net_peer *p = find_peer(address, bytes);

    return p ? p : add_peer(address, bytes);
}

static const char *net_transports(const pw_net_peer *peer)
{
    return peer->transports;
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static void end(void *request, ucs_status_t status, void *of)
{
    pw_net_op *op = of;

    op->open--;
    op->failed |= status != UCS_OK;
    ucp_request_free(request);
}

static void received(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info, void *op)
{
    ((pw_net_op *)op)->received = status == UCS_OK ? (int64_t)info->length : 0;
    end(request, status, op);
}

/* All operations end by their callback. */
static ucp_request_param_t param_of(pw_net_op *op)
{
    op->open++;
    return (ucp_request_param_t){.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                                                 UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
                                 .cb.send = end,
                                 .user_data = op};
}

/* An operation that did not begin has no callback. */
static void begun(ucs_status_ptr_t request, pw_net_op *op)
{
    if (UCS_PTR_IS_ERR(request)) {
        op->open--;
        op->failed = true;
    }
}

static bool net_is_over(const pw_net_op *op)
{
    PW_HOLD(&net.lock);

    return op->open == 0;
}

static void net_progress(void)
{
    PW_HOLD(&net.lock);

    ucp_worker_progress(net.worker);
}

static void net_send(pw_net_peer *to, uint64_t tag, const void *data, int64_t bytes, pw_net_op *op)
{
    PW_HOLD(&net.lock);
    const ucp_request_param_t param = param_of(op);

    begun(ucp_tag_send_nbx(to->ep, data, (size_t)bytes, tag, &param), op);
}

static void net_receive(uint64_t tag, void *data, int64_t most, pw_net_op *op)
{
    PW_HOLD(&net.lock);
    ucp_request_param_t param = param_of(op);

    param.cb.recv = received;
    begun(ucp_tag_recv_nbx(net.worker, data, (size_t)most, tag, UINT64_MAX, &param), op);
}

/* UCX up to 1.21 has no gets with lists. */
static void net_read(pw_net_source *source, const pw_net_piece *pieces, int64_t n, pw_net_op *op)
{
    PW_HOLD(&net.lock);

    for (const pw_net_piece *p = pieces; p < pieces + n && !op->failed; p++) {
        const ucp_request_param_t param = param_of(op);

        begun(ucp_get_nbx(source->owner, p->to, (size_t)p->bytes, p->from, source->key, &param), op);
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static bool pack_key(ucp_mem_h memory, pw_net_key *out)
{
    void *data;
    size_t bytes;

    if (ucp_rkey_pack(net.context, memory, &data, &bytes) != UCS_OK)
        return false;
    if (bytes <= PW_NET_KEY_BYTES) {
        memcpy(out->data, data, bytes);
        out->bytes = (uint32_t)bytes;
        out->number = pw_hash_bytes(out->data, bytes).lo;
    }
    ucp_rkey_buffer_release(data);
    return bytes <= PW_NET_KEY_BYTES;
}

/* UCX keeps memory registered that it has unmapped, for the next time, until the program gives it to the system. */
static void *net_offer(void *memory, int64_t bytes, pw_net_key *out)
{
    const ucp_mem_map_params_t params = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                                         .address = memory,
                                         .length = (size_t)bytes};
    ucp_mem_h offered;
    PW_HOLD(&net.lock);

    if (ucp_mem_map(net.context, &params, &offered) != UCS_OK)
        return NULL;
    if (pack_key(offered, out))
        return offered;
    ucp_mem_unmap(net.context, offered);
    return NULL;
}

static void net_withdraw(void *offered)
{
    PW_HOLD(&net.lock);

    ucp_mem_unmap(net.context, offered);
}

static pw_net_source *net_source_open(pw_net_peer *owner, const void *key, size_t bytes)
{
    pw_net_source *s = bytes > 0 ? malloc(sizeof *s) : NULL;
    PW_HOLD(&net.lock);

    if (!s)
        return NULL;
    s->owner = owner->ep;
    if (ucp_ep_rkey_unpack(owner->ep, key, &s->key) == UCS_OK)
        return s;
    free(s);
    return NULL;
}

static void net_source_close(pw_net_source *source)
{
    PW_HOLD(&net.lock);

    if (source)
        ucp_rkey_destroy(source->key);
    free(source);
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

extern __attribute__((visibility("default"))) const pw_net_functions packwright_net_1;

const pw_net_functions packwright_net_1 = {
    .open = net_open,
    .close = net_close,
    .address = net_address,
    .connect = net_connect,
    .transports = net_transports,
    .is_over = net_is_over,
    .progress = net_progress,
    .send = net_send,
    .receive = net_receive,
    .offer = net_offer,
    .withdraw = net_withdraw,
    .source_open = net_source_open,
    .source_close = net_source_close,
    .read = net_read,
};
