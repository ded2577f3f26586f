/*
 * The network over OpenUCX, "UCP API", which finds by itself over which hardware it goes. The functions are looked up
 * in libucp.so.0, which MPIs over UCX have loaded already.
 */
#include "runtime/exchange/net/net.h"

#include "base/env.h"
#include "base/log.h"
#include "runtime/exchange/net/registrations.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

/* X(result type, name, parameters): what is used of UCP. */
#define UCP_FUNCTIONS(X)                                                                                              \
    X(ucs_status_t, ucp_init_version,                                                                                 \
      (unsigned major, unsigned minor, const ucp_params_t *params, const ucp_config_t *config, ucp_context_h *out))   \
    X(void, ucp_cleanup, (ucp_context_h context))                                                                     \
    X(ucs_status_t, ucp_worker_create, (ucp_context_h context, const ucp_worker_params_t *params, ucp_worker_h *out)) \
    X(void, ucp_worker_destroy, (ucp_worker_h worker))                                                                \
    X(ucs_status_t, ucp_worker_get_address, (ucp_worker_h worker, ucp_address_t * *out, size_t *bytes))               \
    X(void, ucp_worker_release_address, (ucp_worker_h worker, ucp_address_t * address))                               \
    X(unsigned, ucp_worker_progress, (ucp_worker_h worker))                                                           \
    X(ucs_status_t, ucp_ep_create, (ucp_worker_h worker, const ucp_ep_params_t *params, ucp_ep_h *out))               \
    X(void, ucp_ep_print_info, (ucp_ep_h ep, FILE * stream))                                                          \
    X(ucs_status_t, ucp_mem_map, (ucp_context_h context, const ucp_mem_map_params_t *params, ucp_mem_h *out))         \
    X(ucs_status_t, ucp_mem_unmap, (ucp_context_h context, ucp_mem_h memory))                                         \
    X(ucs_status_t, ucp_rkey_pack, (ucp_context_h context, ucp_mem_h memory, void **out, size_t *bytes))              \
    X(void, ucp_rkey_buffer_release, (void *buffer))                                                                  \
    X(ucs_status_t, ucp_ep_rkey_unpack, (ucp_ep_h ep, const void *buffer, ucp_rkey_h *out))                           \
    X(void, ucp_rkey_destroy, (ucp_rkey_h key))                                                                       \
    X(ucs_status_ptr_t, ucp_tag_send_nbx,                                                                             \
      (ucp_ep_h ep, const void *buffer, size_t count, ucp_tag_t tag, const ucp_request_param_t *param))               \
    X(ucs_status_ptr_t, ucp_tag_recv_nbx,                                                                             \
      (ucp_worker_h worker, void *buffer, size_t count, ucp_tag_t tag, ucp_tag_t mask,                                \
       const ucp_request_param_t *param))                                                                             \
    X(ucs_status_ptr_t, ucp_get_nbx,                                                                                  \
      (ucp_ep_h ep, void *buffer, size_t count, uint64_t address, ucp_rkey_h key, const ucp_request_param_t *param))  \
    X(void, ucp_request_free, (void *request))

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

/* The singleton. The lock is held through all calls of UCX. */
static struct {
    pthread_mutex_t lock;
    bool tried;
    ucp_context_h context;
    ucp_worker_h worker; /* NULL: there is no network */
    pw_net_peer *peers;
#define X(result, name, parameters) result(*name) parameters;
    UCP_FUNCTIONS(X)
#undef X
} net = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock(void)
{
    pthread_mutex_lock(&net.lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&net.lock);
}

/* ---- memory that is registered ----------------------------------------------------------------------------------- */

static bool pack_key(ucp_mem_h memory, pw_net_key *out)
{
    void *data;
    size_t bytes;

    if (net.ucp_rkey_pack(net.context, memory, &data, &bytes) != UCS_OK)
        return false;
    if (bytes <= PW_NET_KEY_BYTES) {
        memcpy(out->data, data, bytes);
        out->bytes = (uint32_t)bytes;
    }
    net.ucp_rkey_buffer_release(data);
    return bytes <= PW_NET_KEY_BYTES;
}

static void *add_memory(void *begin, size_t bytes, pw_net_key *out)
{
    const ucp_mem_map_params_t params = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                                         .address = begin,
                                         .length = bytes};
    ucp_mem_h memory;
    ucs_status_t status = net.ucp_mem_map(net.context, &params, &memory);

    errno = status == UCS_ERR_NO_MEMORY ? ENOMEM : EINVAL;
    if (status != UCS_OK)
        return NULL;
    if (pack_key(memory, out))
        return memory;
    net.ucp_mem_unmap(net.context, memory);
    return NULL;
}

static void drop_memory(void *memory)
{
    net.ucp_mem_unmap(net.context, memory);
}

/* ---- start and end ----------------------------------------------------------------------------------------------- */

static const char *load(void)
{
    void *ucp = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
    bool whole = true;

    if (!ucp)
        return "libucp.so.0 cannot be loaded";
#define X(result, name, parameters) whole &= (net.name = (result(*) parameters)dlsym(ucp, #name)) != NULL;
    UCP_FUNCTIONS(X)
#undef X
    return whole ? NULL : "this UCX is older than 1.10";
}

static const char *open_worker(void)
{
    const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_RMA | UCP_FEATURE_TAG};
    const ucp_worker_params_t worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                        .thread_mode = UCS_THREAD_MODE_SERIALIZED};

    if (net.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, NULL, &net.context) != UCS_OK)
        return "UCX does not start";
    if (net.ucp_worker_create(net.context, &worker, &net.worker) == UCS_OK)
        return NULL;
    net.ucp_cleanup(net.context);
    return "UCX makes no worker";
}

static void start(void)
{
    const char *why = pw_env_choice(PW_ENV_NET) > 0 ? load() : "it is off";

    net.tried = true;
    if (!why)
        why = open_worker();
    if (why)
        pw_log(PW_LOG_WARN, "PACKWRIGHT_NET: no network: %s", why);
    else
        pw_registrations_open(add_memory, drop_memory);
}

bool pw_net_start(void)
{
    bool there;

    lock();
    if (!net.tried)
        start();
    there = net.worker;
    unlock();
    return there;
}

void pw_net_stop(void)
{
    lock();
    if (net.worker) {
        pw_registrations_close();
        net.ucp_worker_destroy(net.worker); /* with its endpoints */
        net.ucp_cleanup(net.context);
        net.worker = NULL;
    }
    while (net.peers) {
        pw_net_peer *p = net.peers;

        net.peers = p->next;
        free(p);
    }
    net.tried = false;
    unlock();
}

/* ---- other processes --------------------------------------------------------------------------------------------- */
size_t pw_net_address(void *out, size_t max)
{
    ucp_address_t *address;
    size_t bytes = 0;

    lock();
    if (net.worker && net.ucp_worker_get_address(net.worker, &address, &bytes) == UCS_OK) {
        if (bytes <= max)
            memcpy(out, address, bytes);
        net.ucp_worker_release_address(net.worker, address);
    }
    unlock();
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
    net.ucp_ep_print_info(ep, stream);
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
    if (net.ucp_ep_create(net.worker, &params, &p->ep) != UCS_OK) {
        free(p);
        return NULL;
    }
    *p->transports = '\0';
    transports_of(p->ep, p->transports);
    p->next = net.peers;
    net.peers = p;
    return p;
}

pw_net_peer *pw_net_connect(const void *address, size_t bytes)
{
    pw_net_peer *p = NULL;

    lock();
    if (net.worker)
        p = find_peer(address, bytes);
    if (net.worker && !p)
        p = add_peer(address, bytes);
    unlock();
    return p;
}

const char *pw_net_transports(const pw_net_peer *peer)
{
    return peer->transports;
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static void end(void *request, ucs_status_t status, pw_net_op *op)
{
    op->open--;
    op->failed |= status != UCS_OK;
    net.ucp_request_free(request);
}

static void sent(void *request, ucs_status_t status, void *op)
{
    end(request, status, op);
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
                                 .cb.send = sent,
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

bool pw_net_is_over(const pw_net_op *op)
{
    bool over;

    lock();
    over = op->open == 0;
    unlock();
    return over;
}

void pw_net_progress(void)
{
    lock();
    net.ucp_worker_progress(net.worker);
    unlock();
}

void pw_net_send(pw_net_peer *to, uint64_t tag, const void *data, int64_t bytes, pw_net_op *op)
{
    ucp_request_param_t param;

    lock();
    param = param_of(op);
    begun(net.ucp_tag_send_nbx(to->ep, data, (size_t)bytes, tag, &param), op);
    unlock();
}

void pw_net_receive(uint64_t tag, void *data, int64_t most, pw_net_op *op)
{
    ucp_request_param_t param;

    lock();
    param = param_of(op);
    param.cb.recv = received;
    begun(net.ucp_tag_recv_nbx(net.worker, data, (size_t)most, tag, UINT64_MAX, &param), op);
    unlock();
}

/* UCX up to 1.21 has no gets with lists. */
void pw_net_read(pw_net_source *source, const pw_net_piece *pieces, int64_t n, pw_net_op *op)
{
    lock();
    for (const pw_net_piece *p = pieces; p < pieces + n && !op->failed; p++) {
        const ucp_request_param_t param = param_of(op);

        begun(net.ucp_get_nbx(source->owner, p->to, (size_t)p->bytes, p->from, source->key, &param), op);
    }
    unlock();
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */
bool pw_net_offer(const void *memory, int64_t bytes, pw_net_key *out)
{
    const pw_net_key *key;

    lock();
    key = net.worker ? pw_registrations_take(memory, bytes) : NULL;
    if (key)
        *out = *key;
    unlock();
    return key;
}

void pw_net_withdraw(uint64_t number)
{
    lock();
    pw_registrations_give(number);
    unlock();
}

pw_net_source *pw_net_source_open(pw_net_peer *owner, const void *key, size_t bytes)
{
    pw_net_source *s = bytes > 0 ? malloc(sizeof *s) : NULL;
    bool is_key;

    if (!s)
        return NULL;
    s->owner = owner->ep;
    lock();
    is_key = net.ucp_ep_rkey_unpack(owner->ep, key, &s->key) == UCS_OK;
    unlock();
    if (is_key)
        return s;
    free(s);
    return NULL;
}

void pw_net_source_close(pw_net_source *source)
{
    if (!source)
        return;
    lock();
    net.ucp_rkey_destroy(source->key);
    unlock();
    free(source);
}
