/* OpenUCX, "UCP API": the functions are looked up in libucp.so.0, which MPIs over UCX have loaded already. */
#include "base/log.h"
#include "runtime/engine/net/net.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <ucm/api/ucm.h>
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

/* X(result type, name, parameters): what is used of UCM, UCX's library that sees memory come and go. */
#define UCM_FUNCTIONS(X)                                                                                              \
    X(ucs_status_t, ucm_set_event_handler, (int events, int priority, ucm_event_callback_t callback, void *argument)) \
    X(void, ucm_unset_event_handler, (int events, ucm_event_callback_t callback, void *argument))

enum { REGISTRATIONS = 64, PAGE = 4096 };

struct pw_net_peer {
    pw_net_peer *next;
    ucp_ep_h ep;
    size_t bytes;
    unsigned char address[];
};

struct pw_net_source {
    pw_net_peer *owner;
    ucp_rkey_h key;
};

typedef struct registration {
    ucp_mem_h memory; /* NULL: the place is free */
    _Atomic uintptr_t begin, end;
    _Atomic bool unmapped; /* some of the memory is gone since */
    int offers;            /* that are not withdrawn; while there are any, the registration stays */
    uint64_t used;
    pw_net_key key;
} registration;

/* The singleton. The lock is held through all calls of UCX, so one thread at a time uses the worker. */
static struct {
    pthread_mutex_t lock;
    bool tried;
    ucp_context_h context;
    ucp_worker_h worker; /* NULL: there is none */
    pw_net_peer *peers;
    registration kept[REGISTRATIONS];
    uint64_t registered, uses; /* how often */
#define X(result, name, parameters) result(*name) parameters;
    UCP_FUNCTIONS(X)
    UCM_FUNCTIONS(X)
#undef X
} net = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- start and end ----------------------------------------------------------------------------------------------- */

static const char *load(void)
{
    void *ucp = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL), *ucm = dlopen("libucm.so.0", RTLD_NOW | RTLD_LOCAL);
    bool whole = true;

    if (!ucp || !ucm)
        return "libucp.so.0 and libucm.so.0 cannot be loaded";
#define X(result, name, parameters) whole &= (net.name = (result(*) parameters)dlsym(ucp, #name)) != NULL;
    UCP_FUNCTIONS(X)
#undef X
#define X(result, name, parameters) whole &= (net.name = (result(*) parameters)dlsym(ucm, #name)) != NULL;
    UCM_FUNCTIONS(X)
#undef X
    return whole ? NULL : "this UCX is older than 1.10";
}

/* Called in the midst of munmap and its kin, on any thread: takes no lock. */
static void unmapped(ucm_event_type_t type, ucm_event_t *event, void *argument)
{
    uintptr_t begin = (uintptr_t)event->vm_unmapped.address, end = begin + event->vm_unmapped.size;

    (void)type, (void)argument;
    for (int i = 0; i < REGISTRATIONS; i++)
        if (atomic_load(&net.kept[i].begin) < end && begin < atomic_load(&net.kept[i].end))
            atomic_store(&net.kept[i].unmapped, true);
}

static const char *open_worker(void)
{
    const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_RMA | UCP_FEATURE_TAG};
    const ucp_worker_params_t worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                        .thread_mode = UCS_THREAD_MODE_SERIALIZED};

    if (net.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, NULL, &net.context) != UCS_OK)
        return "UCX does not start";
    if (net.ucp_worker_create(net.context, &worker, &net.worker) == UCS_OK) {
        if (net.ucm_set_event_handler(UCM_EVENT_VM_UNMAPPED, 0, unmapped, NULL) == UCS_OK)
            return NULL;
        net.ucp_worker_destroy(net.worker);
    }
    net.worker = NULL;
    net.ucp_cleanup(net.context);
    return "UCX makes no worker, or does not see what is unmapped";
}

static void start(void)
{
    const char *why = load();

    net.tried = true;
    if (!why)
        why = open_worker();
    if (why)
        pw_log(PW_LOG_WARN, "PACKWRIGHT_NET: no network: %s", why);
}

bool pw_net_start(void)
{
    bool there;

    pthread_mutex_lock(&net.lock);
    if (!net.tried)
        start();
    there = net.worker;
    pthread_mutex_unlock(&net.lock);
    return there;
}

static void drop(registration *r)
{
    net.ucp_mem_unmap(net.context, r->memory);
    r->memory = NULL;
    r->offers = 0;
    atomic_store(&r->end, 0);
}

void pw_net_stop(void)
{
    pthread_mutex_lock(&net.lock);
    if (net.worker) {
        net.ucm_unset_event_handler(UCM_EVENT_VM_UNMAPPED, unmapped, NULL);
        for (int i = 0; i < REGISTRATIONS; i++)
            if (net.kept[i].memory)
                drop(&net.kept[i]);
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
    pthread_mutex_unlock(&net.lock);
}

/* ---- other processes --------------------------------------------------------------------------------------------- */

size_t pw_net_address(void *out, size_t max)
{
    ucp_address_t *address;
    size_t bytes = 0;

    pthread_mutex_lock(&net.lock);
    if (net.worker && net.ucp_worker_get_address(net.worker, &address, &bytes) == UCS_OK) {
        if (bytes <= max)
            memcpy(out, address, bytes);
        net.ucp_worker_release_address(net.worker, address);
    }
    pthread_mutex_unlock(&net.lock);
    return bytes <= max ? bytes : 0;
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
    pw_net_peer *p = malloc(sizeof *p + bytes);
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};

    if (!p)
        return NULL;
    memcpy(p->address, address, bytes);
    p->bytes = bytes;
    params.address = (const ucp_address_t *)p->address;
    if (net.ucp_ep_create(net.worker, &params, &p->ep) != UCS_OK) {
        free(p);
        return NULL;
    }
    p->next = net.peers;
    net.peers = p;
    return p;
}

pw_net_peer *pw_net_connect(const void *address, size_t bytes)
{
    pw_net_peer *p = NULL;

    pthread_mutex_lock(&net.lock);
    if (net.worker && !(p = find_peer(address, bytes)))
        p = add_peer(address, bytes);
    pthread_mutex_unlock(&net.lock);
    return p;
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

/* All operations end by their callback. The lock must be held from the beginning of an operation on. */
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

    pthread_mutex_lock(&net.lock);
    over = op->open == 0;
    pthread_mutex_unlock(&net.lock);
    return over;
}

void pw_net_progress(void)
{
    pthread_mutex_lock(&net.lock);
    net.ucp_worker_progress(net.worker);
    pthread_mutex_unlock(&net.lock);
}

void pw_net_send(pw_net_peer *to, uint64_t tag, const void *data, int64_t bytes, pw_net_op *op)
{
    ucp_request_param_t param;

    pthread_mutex_lock(&net.lock);
    param = param_of(op);
    begun(net.ucp_tag_send_nbx(to->ep, data, (size_t)bytes, tag, &param), op);
    pthread_mutex_unlock(&net.lock);
}

void pw_net_receive(uint64_t tag, void *data, int64_t most, pw_net_op *op)
{
    ucp_request_param_t param;

    pthread_mutex_lock(&net.lock);
    param = param_of(op);
    param.cb.recv = received;
    begun(net.ucp_tag_recv_nbx(net.worker, data, (size_t)most, tag, UINT64_MAX, &param), op);
    pthread_mutex_unlock(&net.lock);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void drop_unmapped(void)
{
    for (int i = 0; i < REGISTRATIONS; i++)
        if (net.kept[i].memory && net.kept[i].offers == 0 && atomic_load(&net.kept[i].unmapped))
            drop(&net.kept[i]);
}

static registration *find(uintptr_t begin, uintptr_t end)
{
    for (int i = 0; i < REGISTRATIONS; i++) {
        registration *r = &net.kept[i];

        if (r->memory && !atomic_load(&r->unmapped) && r->begin <= begin && end <= r->end)
            return r;
    }
    return NULL;
}

/* Returns a free place, made by dropping the registration that was not used for the longest time if there is none.
 * NULL: all are offered. */
static registration *make_room(void)
{
    registration *oldest = NULL;

    for (int i = 0; i < REGISTRATIONS; i++) {
        registration *r = &net.kept[i];

        if (!r->memory)
            return r;
        if (r->offers == 0 && (!oldest || r->used < oldest->used))
            oldest = r;
    }
    if (oldest)
        drop(oldest);
    return oldest;
}

static bool pack_key(registration *r)
{
    void *data;
    size_t bytes;

    if (net.ucp_rkey_pack(net.context, r->memory, &data, &bytes) != UCS_OK)
        return false;
    if (bytes <= PW_NET_KEY_BYTES) {
        memcpy(r->key.data, data, bytes);
        r->key.bytes = (uint32_t)bytes;
        r->key.number = ++net.registered;
    }
    net.ucp_rkey_buffer_release(data);
    return bytes <= PW_NET_KEY_BYTES;
}

static registration *add(uintptr_t begin, uintptr_t end)
{
    registration *r = make_room();
    const ucp_mem_map_params_t params = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
                                         .address = (void *)begin, // NOLINT(performance-no-int-to-ptr)
                                         .length = end - begin};

    if (!r)
        return NULL;
    atomic_store(&r->unmapped, false);
    atomic_store(&r->begin, begin);
    atomic_store(&r->end, end);
    if (net.ucp_mem_map(net.context, &params, &r->memory) != UCS_OK) {
        r->memory = NULL;
        atomic_store(&r->end, 0);
        return NULL;
    }
    if (pack_key(r))
        return r;
    drop(r);
    return NULL;
}

bool pw_net_offer(const void *memory, int64_t bytes, pw_net_key *out)
{
    uintptr_t begin = (uintptr_t)memory & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = ((uintptr_t)memory + (uintptr_t)bytes + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    registration *r = NULL;

    pthread_mutex_lock(&net.lock);
    if (net.worker) {
        drop_unmapped();
        r = find(begin, end);
        if (!r)
            r = add(begin, end);
    }
    if (r) {
        r->used = ++net.uses;
        r->offers++;
        *out = r->key;
    }
    pthread_mutex_unlock(&net.lock);
    return r;
}

void pw_net_withdraw(uint64_t number)
{
    pthread_mutex_lock(&net.lock);
    for (int i = 0; i < REGISTRATIONS; i++)
        if (net.kept[i].memory && net.kept[i].key.number == number)
            net.kept[i].offers--;
    pthread_mutex_unlock(&net.lock);
}

pw_net_source *pw_net_source_open(pw_net_peer *owner, const void *key, size_t bytes)
{
    pw_net_source *s = bytes > 0 ? malloc(sizeof *s) : NULL;
    ucs_status_t status;

    if (!s)
        return NULL;
    pthread_mutex_lock(&net.lock);
    status = net.ucp_ep_rkey_unpack(owner->ep, key, &s->key);
    pthread_mutex_unlock(&net.lock);
    if (status != UCS_OK) {
        free(s);
        return NULL;
    }
    s->owner = owner;
    return s;
}

void pw_net_source_close(pw_net_source *source)
{
    if (!source)
        return;
    pthread_mutex_lock(&net.lock);
    net.ucp_rkey_destroy(source->key);
    pthread_mutex_unlock(&net.lock);
    free(source);
}

void pw_net_read(pw_net_source *source, uint64_t address, void *to, int64_t bytes, pw_net_op *op)
{
    ucp_request_param_t param;

    pthread_mutex_lock(&net.lock);
    param = param_of(op);
    begun(net.ucp_get_nbx(source->owner->ep, to, (size_t)bytes, address, source->key, &param), op);
    pthread_mutex_unlock(&net.lock);
}
