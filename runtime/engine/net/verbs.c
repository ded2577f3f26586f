/* "InfiniBand Architecture Specification", vol. 1; the functions are looked up in libibverbs.so.1 (rdma-core). */
#include "runtime/engine/net/verbs.h"

#include "base/log.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

pw_verbs_device pw_verbs;

/* ---- start and end ----------------------------------------------------------------------------------------------- */

static const char *load(void)
{
    void *library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
    bool whole = true;

    if (!library)
        return "libibverbs.so.1 cannot be loaded";
#define X(result, name, parameters) \
    whole &= (pw_verbs.name = (result(*) parameters)dlsym(library, "ibv_" #name)) != NULL;
    VERBS_FUNCTIONS(X)
#undef X
    return whole ? NULL : "this libibverbs.so.1 lacks functions";
}

/*
 * Keeps the memory that is registered in place when the program forks: without this, some kernels give a page that
 * this process writes next to the child, while the card goes on with the old one. The MPI does the same. It must come
 * before anything is registered, and does nothing where the kernel copies such pages at the fork (Linux 5.12).
 */
static void prepare_for_fork(void)
{
    if (pw_verbs.fork_init() != 0)
        pw_log(PW_LOG_INFO, "PACKWRIGHT_NET: libibverbs cannot be prepared for fork");
}

/* Takes the first port of an open device that is active and of this kind. */
static bool take_port(struct ibv_context *context, int link_layer)
{
    struct ibv_device_attr device;

    if (pw_verbs.query_device(context, &device) != 0)
        return false;
    for (uint8_t port = 1; port <= device.phys_port_cnt; port++) {
        struct ibv_port_attr attr = {.lid = 0}; /* the library fills in the part that it knows */
        int pieces = device.max_sge_rd > 0 && device.max_sge_rd < device.max_sge ? device.max_sge_rd : device.max_sge;

        if (pw_verbs.query_port(context, port, &attr) != 0 || attr.state != IBV_PORT_ACTIVE ||
            attr.link_layer != link_layer)
            continue;
        pw_verbs.port = port;
        pw_verbs.pieces = pieces < PW_VERBS_PIECES ? pieces : PW_VERBS_PIECES;
        pw_verbs.reads = (uint8_t)(device.max_qp_init_rd_atom < UINT8_MAX ? device.max_qp_init_rd_atom : UINT8_MAX);
        pw_verbs.most = attr.max_msg_sz;
        pw_verbs.own.lid = attr.lid;
        pw_verbs.own.mtu = (uint8_t)attr.active_mtu;
        pw_verbs.own.reads = (uint8_t)(device.max_qp_rd_atom < UINT8_MAX ? device.max_qp_rd_atom : UINT8_MAX);
        return pieces > 0 && pw_verbs.most > 0 && pw_verbs.reads > 0 && pw_verbs.own.reads > 0;
    }
    return false;
}

/* Opens the first device that has such a port. */
static bool open_device(struct ibv_device **devices, int n, int link_layer)
{
    for (int i = 0; i < n; i++) {
        struct ibv_context *context = pw_verbs.open_device(devices[i]);

        if (context && take_port(context, link_layer)) {
            pw_verbs.context = context;
            pw_verbs.is_ethernet = link_layer == IBV_LINK_LAYER_ETHERNET;
            pw_log(PW_LOG_INFO, "PACKWRIGHT_NET: port %d of %s; a read goes to %d pieces", pw_verbs.port,
                   pw_verbs.get_device_name(devices[i]), pw_verbs.pieces);
            return true;
        }
        if (context)
            pw_verbs.close_device(context);
    }
    return false;
}

/* InfiniBand goes before Ethernet (RoCE), which is often there for other purposes. */
static bool choose_device(void)
{
    int n = 0;
    struct ibv_device **devices = pw_verbs.get_device_list(&n);
    bool found;

    if (!devices)
        return false;
    found = open_device(devices, n, IBV_LINK_LAYER_INFINIBAND) || open_device(devices, n, IBV_LINK_LAYER_ETHERNET);
    pw_verbs.free_device_list(devices);
    return found;
}

/* Finds the GID of an Ethernet port by which packets are routed: the last one that stands for an IPv4 address (RoCE v1
 * and v2 have one each, in this order), else the first one. */
static bool find_gid(void)
{
    static const unsigned char ipv4[12] = {[10] = 0xff, [11] = 0xff};
    enum { MOST = 16 };

    for (int i = MOST - 1; i >= 0; i--) {
        union ibv_gid gid;

        if (pw_verbs.query_gid(pw_verbs.context, pw_verbs.port, i, &gid) == 0 &&
            (i == 0 || memcmp(gid.raw, ipv4, sizeof ipv4) == 0)) {
            pw_verbs.own.gid = gid;
            pw_verbs.gid_index = (uint8_t)i;
            return true;
        }
    }
    return false;
}

static void close_verbs(void)
{
    pw_verbs_connections_close();
    if (pw_verbs.pd)
        pw_verbs.dealloc_pd(pw_verbs.pd);
    if (pw_verbs.context)
        pw_verbs.close_device(pw_verbs.context);
    pw_verbs = (pw_verbs_device){.context = NULL};
}

static const char *open_parts(void)
{
    const char *why = load();

    if (why)
        return why;
    prepare_for_fork();
    if (!choose_device())
        return "no InfiniBand or RoCE device has an active port";
    if (pw_verbs.is_ethernet && !find_gid())
        return "the RoCE port has no GID";
    pw_verbs.pd = pw_verbs.alloc_pd(pw_verbs.context);
    return pw_verbs.pd ? pw_verbs_connections_open() : "the device gives no protection domain";
}

static const char *open_verbs(void)
{
    const char *why = open_parts();

    if (why)
        close_verbs();
    return why;
}

static size_t own_address(void *out, size_t max)
{
    if (max < sizeof pw_verbs.own)
        return 0;
    memcpy(out, &pw_verbs.own, sizeof pw_verbs.own);
    return sizeof pw_verbs.own;
}

/* ---- completions ------------------------------------------------------------------------------------------------- */

void pw_verbs_poll(struct ibv_cq *cq)
{
    enum { MOST = 16 };
    struct ibv_wc all[MOST];
    int n = ibv_poll_cq(cq, MOST, all);

    for (int i = 0; i < n; i++) {
        pw_verbs_event *event = (pw_verbs_event *)(uintptr_t)all[i].wr_id; // NOLINT(performance-no-int-to-ptr)

        event->over(event, &all[i]);
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

void *pw_verbs_pages(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

void pw_verbs_pages_free(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

static void *add_memory(void *begin, size_t bytes, bool written, pw_net_key *out)
{
    int access = IBV_ACCESS_REMOTE_READ | (written ? IBV_ACCESS_LOCAL_WRITE : 0);
    struct ibv_mr *mr = pw_verbs.reg_mr(pw_verbs.pd, begin, bytes, access);

    if (!mr)
        return NULL;
    out->bytes = sizeof mr->rkey;
    memcpy(out->data, &mr->rkey, sizeof mr->rkey);
    return mr;
}

static void drop_memory(void *memory)
{
    pw_verbs.dereg_mr(memory);
}

static void *open_key(pw_net_peer *owner, const void *key, size_t bytes)
{
    uint32_t *rkey = bytes == sizeof *rkey ? malloc(sizeof *rkey) : NULL;

    (void)owner;
    if (rkey)
        memcpy(rkey, key, bytes);
    return rkey;
}

static void transports_of(const pw_net_peer *peer, char out[PW_NET_TRANSPORTS_BYTES])
{
    (void)peer;
    memcpy(out, "verbs", sizeof "verbs");
}

static void read_pieces(pw_net_source *source, const pw_net_piece *pieces, int64_t n, pw_net_op *op)
{
    pw_verbs_read(source->owner, *(const uint32_t *)source->key, pieces, n, op);
}

const pw_net_backend pw_net_verbs = {
    .open = open_verbs,
    .close = close_verbs,
    .address = own_address,
    .connect = pw_verbs_connect,
    .transports = transports_of,
    .progress = pw_verbs_connections_progress,
    .send = pw_verbs_send,
    .receive = pw_verbs_receive,
    .read = read_pieces,
    .reads_to_registered = true,
    .add_memory = add_memory,
    .drop_memory = drop_memory,
    .open_key = open_key,
    .close_key = free,
};
