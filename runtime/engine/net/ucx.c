/* OpenUCX, "UCP API": the functions are looked up in libucp.so.0, which MPIs over UCX have loaded already. */
#include "runtime/engine/net/backend.h"

#include <dlfcn.h>
#include <errno.h>
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

/* The singleton. One thread at a time uses the worker. */
static struct {
    ucp_context_h context;
    ucp_worker_h worker;
#define X(result, name, parameters) result(*name) parameters;
    UCP_FUNCTIONS(X)
#undef X
} ucx;

/* ---- start and end ----------------------------------------------------------------------------------------------- */

static const char *load(void)
{
    void *ucp = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
    bool whole = true;

    if (!ucp)
        return "libucp.so.0 cannot be loaded";
#define X(result, name, parameters) whole &= (ucx.name = (result(*) parameters)dlsym(ucp, #name)) != NULL;
    UCP_FUNCTIONS(X)
#undef X
    return whole ? NULL : "this UCX is older than 1.10";
}

static const char *open_worker(void)
{
    const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_RMA | UCP_FEATURE_TAG};
    const ucp_worker_params_t worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                        .thread_mode = UCS_THREAD_MODE_SERIALIZED};

    if (ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, NULL, &ucx.context) != UCS_OK)
        return "UCX does not start";
    if (ucx.ucp_worker_create(ucx.context, &worker, &ucx.worker) == UCS_OK)
        return NULL;
    ucx.ucp_cleanup(ucx.context);
    return "UCX makes no worker";
}

static const char *open_ucx(void)
{
    const char *why = load();

    return why ? why : open_worker();
}

static void close_ucx(void)
{
    ucx.ucp_worker_destroy(ucx.worker); /* with its endpoints */
    ucx.ucp_cleanup(ucx.context);
}

/* ---- other processes --------------------------------------------------------------------------------------------- */

static size_t address_of_worker(void *out, size_t max)
{
    ucp_address_t *address;
    size_t bytes = 0;

    if (ucx.ucp_worker_get_address(ucx.worker, &address, &bytes) != UCS_OK)
        return 0;
    if (bytes <= max)
        memcpy(out, address, bytes);
    ucx.ucp_worker_release_address(ucx.worker, address);
    return bytes <= max ? bytes : 0;
}

/* A peer's state is its endpoint. */
static void *connect_peer(const pw_net_peer *peer)
{
    const ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
                                    .address = (const ucp_address_t *)peer->address};
    ucp_ep_h ep;

    return ucx.ucp_ep_create(ucx.worker, &params, &ep) == UCS_OK ? ep : NULL;
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
static void transports_of(const pw_net_peer *peer, char out[PW_NET_TRANSPORTS_BYTES])
{
    enum { MOST = 16 };
    char names[MOST][16], *text = NULL, *rest = NULL;
    size_t size, n = 0;
    FILE *stream = open_memstream(&text, &size);

    if (!stream)
        return;
    ucx.ucp_ep_print_info(peer->state, stream);
    fclose(stream);
    for (char *line = strtok_r(text, "\n", &rest); line && n < MOST; line = strtok_r(NULL, "\n", &rest))
        n += transport_in(line, names[n]);
    list_names(names, n, out);
    free(text);
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static void end(void *request, ucs_status_t status, pw_net_op *op)
{
    pw_net_op_end(op, status != UCS_OK);
    ucx.ucp_request_free(request);
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
    pw_net_op_begin(op);
    return (ucp_request_param_t){.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                                                 UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
                                 .cb.send = sent,
                                 .user_data = op};
}

/* An operation that did not begin has no callback. */
static void begun(ucs_status_ptr_t request, pw_net_op *op)
{
    if (UCS_PTR_IS_ERR(request))
        pw_net_op_end(op, true);
}

static void progress(void)
{
    ucx.ucp_worker_progress(ucx.worker);
}

static void send_message(pw_net_peer *to, uint64_t tag, const void *data, int64_t bytes, pw_net_op *op)
{
    const ucp_request_param_t param = param_of(op);

    begun(ucx.ucp_tag_send_nbx(to->state, data, (size_t)bytes, tag, &param), op);
}

/* UCX receives by tag alone, which tells the peer. */
static void receive_message(pw_net_peer *from, uint64_t tag, void *data, int64_t most, pw_net_op *op)
{
    ucp_request_param_t param = param_of(op);

    (void)from;
    param.cb.recv = received;
    begun(ucx.ucp_tag_recv_nbx(ucx.worker, data, (size_t)most, tag, UINT64_MAX, &param), op);
}

/* UCX has no gets with lists, and finds by itself where they go. */
static void read_pieces(pw_net_source *source, const pw_net_piece *pieces, int64_t n, pw_net_op *op)
{
    for (const pw_net_piece *p = pieces; p < pieces + n && !op->failed; p++) {
        const ucp_request_param_t param = param_of(op);

        begun(ucx.ucp_get_nbx(source->owner->state, p->to, (size_t)p->bytes, p->from, source->key, &param), op);
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static bool pack_key(ucp_mem_h memory, pw_net_key *out)
{
    void *data;
    size_t bytes;

    if (ucx.ucp_rkey_pack(ucx.context, memory, &data, &bytes) != UCS_OK)
        return false;
    if (bytes <= PW_NET_KEY_BYTES) {
        memcpy(out->data, data, bytes);
        out->bytes = (uint32_t)bytes;
    }
    ucx.ucp_rkey_buffer_release(data);
    return bytes <= PW_NET_KEY_BYTES;
}

static void *add_memory(void *begin, size_t bytes, bool written, pw_net_key *out)
{
    const ucp_mem_map_params_t params = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                                         .address = begin,
                                         .length = bytes};
    ucp_mem_h memory;
    ucs_status_t status = ucx.ucp_mem_map(ucx.context, &params, &memory);

    (void)written;
    errno = status == UCS_ERR_NO_MEMORY ? ENOMEM : EINVAL;
    if (status != UCS_OK)
        return NULL;
    if (pack_key(memory, out))
        return memory;
    ucx.ucp_mem_unmap(ucx.context, memory);
    return NULL;
}

static void drop_memory(void *memory)
{
    ucx.ucp_mem_unmap(ucx.context, memory);
}

static void *open_key(pw_net_peer *owner, const void *key, size_t bytes)
{
    ucp_rkey_h rkey;

    (void)bytes;
    return ucx.ucp_ep_rkey_unpack(owner->state, key, &rkey) == UCS_OK ? rkey : NULL;
}

static void close_key(void *key)
{
    ucx.ucp_rkey_destroy(key);
}

const pw_net_backend pw_net_ucx = {
    .open = open_ucx,
    .close = close_ucx,
    .address = address_of_worker,
    .connect = connect_peer,
    .transports = transports_of,
    .progress = progress,
    .send = send_message,
    .receive = receive_message,
    .read = read_pieces,
    .add_memory = add_memory,
    .drop_memory = drop_memory,
    .open_key = open_key,
    .close_key = close_key,
};
