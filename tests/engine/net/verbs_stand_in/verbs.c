/* libibverbs' functions, as far as they are used. */
#include "tests/engine/net/verbs_stand_in/card.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr

#define EXPORT __attribute__((visibility("default")))
#pragma GCC visibility push(default)

/* One process has one device open, so counts of its objects are the device's. */
static struct ibv_device device = {.name = "stand_in"};
static struct ibv_context context;
static uint32_t domains;
static uint64_t registered;

static bool is_ethernet(void)
{
    return getenv("PW_STAND_IN_ETHERNET");
}

/* Processes have different addresses as if each had a card of its own. */
static uint16_t own_lid(void)
{
    return is_ethernet() ? 0 : (uint16_t)(1 + getpid() % 0xbfff);
}

static union ibv_gid own_gid(void)
{
    union ibv_gid gid = {.raw = {[10] = 0xff, [11] = 0xff}};
    uint32_t pid = htonl((uint32_t)getpid());

    memcpy(gid.raw + 12, &pid, sizeof pid);
    return gid;
}

/* ---- the device -------------------------------------------------------------------------------------------------- */

int ibv_fork_init(void)
{
    if (registered > 0)
        return EINVAL;
    verbs_stand_in_counts.fork_inits++;
    return 0;
}

struct ibv_device **ibv_get_device_list(int *n)
{
    struct ibv_device **list = calloc(2, sizeof *list);

    *n = getenv("PW_STAND_IN_FABRIC") != NULL;
    if (list && *n)
        list[0] = &device;
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
    free(list);
}

const char *ibv_get_device_name(struct ibv_device *of)
{
    return of->name;
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *out)
{
    fabric *f = fabric_lock();
    shared_cq *q = &f->cqs[cq->handle];
    int n = 0;

    card_step(f);
    for (; n < most && q->first != q->end; n++)
        out[n] = q->entries[q->first++ % ENTRIES];
    fabric_unlock();
    return n;
}

static bool is_sound(const card_qp *q, const struct ibv_send_wr *wr)
{
    bool is_datagram = q->qp.qp_type == IBV_QPT_UD;

    return wr->num_sge <= (int)q->cap.max_send_sge && (wr->send_flags & IBV_SEND_SIGNALED) &&
           (wr->opcode == IBV_WR_SEND ||
            (wr->opcode == IBV_WR_RDMA_READ && !is_datagram && wr->num_sge <= READ_PIECES));
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    card_qp *q = (card_qp *)qp;
    work *w = &q->works[q->end % WORKS];

    *bad = wr;
    if ((qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_ERR) || wr->next || !is_sound(q, wr))
        return EINVAL;
    if (q->end - q->first == q->cap.max_send_wr)
        return ENOMEM;
    *w = (work){.id = wr->wr_id, .opcode = wr->opcode, .n = wr->num_sge};
    memcpy(w->pieces, wr->sg_list, (size_t)wr->num_sge * sizeof *w->pieces);
    if (qp->qp_type == IBV_QPT_UD) {
        w->route = ((const route *)wr->wr.ud.ah)->attr;
        w->number = wr->wr.ud.remote_qpn;
        w->key = wr->wr.ud.remote_qkey;
    } else {
        w->address = wr->wr.rdma.remote_addr;
        w->rkey = wr->wr.rdma.rkey;
    }
    q->end++;
    return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    fabric *f = fabric_lock();
    shared_qp *q = fabric_qp(f, qp->qp_num);
    int rc = q->state == IBV_QPS_RESET || wr->next || wr->num_sge != 1 ? EINVAL
             : q->end - q->first == q->most_receives                   ? ENOMEM
                                                                       : 0;

    *bad = wr;
    if (rc == 0)
        q->receives[q->end++ % RECEIVES] =
            (shared_receive){wr->wr_id, wr->sg_list->addr, wr->sg_list->length, wr->sg_list->lkey};
    fabric_unlock();
    return rc;
}

struct ibv_context *ibv_open_device(struct ibv_device *of)
{
    context =
        (struct ibv_context){.device = of, .ops = {.poll_cq = poll_cq, .post_send = post_send, .post_recv = post_recv}};
    return &context;
}

static bool has_none(pid_t self)
{
    fabric *f = fabric_lock();
    bool none = true;

    for (int i = 0; i < QPS; i++)
        none &= f->qps[i].owner != self;
    for (int i = 0; i < CQS; i++)
        none &= f->cqs[i].owner != self;
    for (int i = 0; i < MRS; i++)
        none &= f->mrs[i].owner != self;
    fabric_unlock();
    return none;
}

int ibv_close_device(struct ibv_context *c)
{
    (void)c;
    if (domains != 0 || !has_none(getpid()))
        stand_in_misused("the device is closed and has objects");
    return 0;
}

int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *out)
{
    (void)c;
    *out = (struct ibv_device_attr){.max_qp_wr = WORKS,
                                    .max_sge = PIECES,
                                    .max_sge_rd = READ_PIECES,
                                    .max_cqe = ENTRIES,
                                    .max_qp_rd_atom = SERVED,
                                    .max_qp_init_rd_atom = READS,
                                    .phys_port_cnt = 2};
    return 0;
}

/* The first port is down. Not more is written than the library's oldest callers know of. */
int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *attr)
{
    struct ibv_port_attr out = {.state = port == 2 ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
                                .active_mtu = IBV_MTU_2048,
                                .gid_tbl_len = 3,
                                .max_msg_sz = MESSAGE,
                                .lid = own_lid(),
                                .link_layer = is_ethernet() ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND};

    (void)c;
    memcpy(attr, &out, offsetof(struct ibv_port_attr, flags));
    return 0;
}

int ibv_query_gid(struct ibv_context *c, uint8_t port, int index, union ibv_gid *out)
{
    (void)c;
    if (port != 2 || index > 2)
        return -1;
    *out = index == 2 ? own_gid() : (union ibv_gid){.raw = {0xfe, 0x80}};
    return 0;
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
    static const char *const names[] = {[IBV_WC_SUCCESS] = "success",
                                        [IBV_WC_LOC_PROT_ERR] = "local protection error",
                                        [IBV_WC_WR_FLUSH_ERR] = "Work Request Flushed Error",
                                        [IBV_WC_REM_INV_REQ_ERR] = "remote invalid request error",
                                        [IBV_WC_REM_ACCESS_ERR] = "remote access error",
                                        [IBV_WC_RETRY_EXC_ERR] = "transport retry counter exceeded"};

    return status < sizeof names / sizeof *names && names[status] ? names[status] : "another error";
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
    static uint32_t last;
    struct ibv_pd *pd = calloc(1, sizeof *pd);

    *pd = (struct ibv_pd){.context = c, .handle = ++last};
    domains++;
    return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    fabric *f = fabric_lock();

    for (int i = 0; i < MRS; i++)
        if (f->mrs[i].owner == getpid() && f->mrs[i].pd == pd->handle)
            stand_in_misused("a protection domain is freed and has memory");
    for (int i = 0; i < QPS; i++)
        if (f->qps[i].owner == getpid() && f->qps[i].pd == pd->handle)
            stand_in_misused("a protection domain is freed and has queue pairs");
    fabric_unlock();
    domains--;
    free(pd);
    return 0;
}

static bool is_mapped(void *begin, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)begin & -page;
    size_t pages = ((uintptr_t)begin + bytes - first + page - 1) / page;
    unsigned char *resident = malloc(pages);
    int rc = mincore((char *)begin - ((uintptr_t)begin - first), pages * page, resident);

    free(resident);
    return rc == 0;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *begin, size_t bytes, int access)
{
    const char *limit = getenv("PW_STAND_IN_MEMORY");
    struct ibv_mr *mr;
    fabric *f;
    int i;

    if (!is_mapped(begin, bytes)) {
        errno = EFAULT;
        return NULL;
    }
    if (limit && registered + bytes > strtoull(limit, NULL, 10)) {
        errno = ENOMEM;
        return NULL;
    }
    f = fabric_lock();
    i = fabric_new_mr(f);
    if (i < 0)
        stand_in_misused("there is too much memory");
    f->mrs[i].pd = pd->handle;
    f->mrs[i].begin = (uintptr_t)begin;
    f->mrs[i].bytes = bytes;
    f->mrs[i].access = access;
    mr = calloc(1, sizeof *mr);
    *mr = (struct ibv_mr){.context = pd->context, .pd = pd, .addr = begin, .length = bytes, .handle = (uint32_t)i};
    mr->lkey = mr->rkey = fabric_key(f, i);
    registered += bytes;
    fabric_unlock();
    return mr;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    fabric *f = fabric_lock();

    f->mrs[mr->handle].owner = 0;
    fabric_unlock();
    registered -= mr->length;
    free(mr);
    return 0;
}

/* ---- completion queues ------------------------------------------------------------------------------------------- */

static void set_capacity(struct ibv_cq *cq, int entries)
{
    fabric *f = fabric_lock();

    f->cqs[cq->handle].capacity = (unsigned)entries;
    fabric_unlock();
    cq->cqe = entries;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *c, int entries, void *user, struct ibv_comp_channel *channel,
                             int vector)
{
    struct ibv_cq *cq = calloc(1, sizeof *cq);
    fabric *f = fabric_lock();
    int i = fabric_new_cq(f);

    (void)channel, (void)vector;
    fabric_unlock();
    if (i < 0)
        stand_in_misused("there are too many completion queues");
    cq->context = c;
    cq->cq_context = user;
    cq->handle = (uint32_t)i;
    set_capacity(cq, entries);
    return cq;
}

int ibv_resize_cq(struct ibv_cq *cq, int entries)
{
    if (entries > ENTRIES)
        return EINVAL;
    set_capacity(cq, entries);
    return 0;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    fabric *f = fabric_lock();

    for (int i = 0; i < QPS; i++)
        if (f->qps[i].owner == getpid() && (f->qps[i].send_cq == cq->handle || f->qps[i].receive_cq == cq->handle))
            stand_in_misused("a completion queue is destroyed and has queue pairs");
    f->cqs[cq->handle].owner = 0;
    fabric_unlock();
    free(cq);
    return 0;
}

/* ---- queue pairs ------------------------------------------------------------------------------------------------- */

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    card_qp *q;
    shared_qp *s;
    fabric *f;
    int i;

    if (attr->cap.max_send_wr > WORKS || attr->cap.max_recv_wr > RECEIVES || attr->cap.max_send_sge > PIECES ||
        attr->cap.max_recv_sge > 1) {
        errno = EINVAL;
        return NULL;
    }
    q = calloc(1, sizeof *q);
    f = fabric_lock();
    i = fabric_new_qp(f);
    if (i < 0)
        stand_in_misused("there are too many queue pairs");
    s = &f->qps[i];
    s->type = attr->qp_type;
    s->pd = pd->handle;
    s->send_cq = attr->send_cq->handle;
    s->receive_cq = attr->recv_cq->handle;
    s->lid = own_lid();
    s->gid = own_gid();
    s->most_receives = attr->cap.max_recv_wr;
    q->qp = (struct ibv_qp){.context = pd->context, .pd = pd, .qp_num = s->number, .qp_type = attr->qp_type};
    q->cap = attr->cap;
    card_add(q);
    fabric_unlock();
    return &q->qp;
}

/* What a change of state must be told, after the state itself. */
static int needed(enum ibv_qp_type type, enum ibv_qp_state to)
{
    bool is_rc = type == IBV_QPT_RC;

    switch (to) {
    case IBV_QPS_INIT: return IBV_QP_PKEY_INDEX | IBV_QP_PORT | (is_rc ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY);
    case IBV_QPS_RTR:
        return is_rc ? IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                           IBV_QP_MIN_RNR_TIMER | IBV_QP_AV
                     : 0;
    case IBV_QPS_RTS:
        return IBV_QP_SQ_PSN |
               (is_rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0);
    default: return 0;
    }
}

static bool may_change(const struct ibv_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
    bool follows = (qp->state == IBV_QPS_RESET && attr->qp_state == IBV_QPS_INIT) ||
                   (qp->state == IBV_QPS_INIT && attr->qp_state == IBV_QPS_RTR) ||
                   (qp->state == IBV_QPS_RTR && attr->qp_state == IBV_QPS_RTS);

    return attr->qp_state == IBV_QPS_ERR || (follows && mask == (IBV_QP_STATE | needed(qp->qp_type, attr->qp_state)));
}

static void change(shared_qp *q, const struct ibv_qp_attr *attr)
{
    q->state = attr->qp_state;
    switch (attr->qp_state) {
    case IBV_QPS_INIT:
        q->access = (int)attr->qp_access_flags;
        q->key = attr->qkey;
        break;
    case IBV_QPS_RTR:
        q->other = attr->dest_qp_num;
        q->serves = attr->max_dest_rd_atomic;
        break;
    case IBV_QPS_RTS:
        q->reads = attr->max_rd_atomic;
        q->retries = attr->rnr_retry;
        break;
    default:
    }
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    fabric *f;

    if (!may_change(qp, attr, mask) || (attr->qp_state == IBV_QPS_INIT && attr->port_num != 2) ||
        attr->max_rd_atomic > READS || attr->max_dest_rd_atomic > SERVED)
        return EINVAL;
    f = fabric_lock();
    change(fabric_qp(f, qp->qp_num), attr);
    fabric_unlock();
    qp->state = attr->qp_state;
    return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    fabric *f = fabric_lock();

    fabric_qp(f, qp->qp_num)->owner = 0;
    card_remove((card_qp *)qp);
    fabric_unlock();
    free(qp);
    return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    route *r = calloc(1, sizeof *r);

    if (attr->port_num != 2 || attr->is_global != is_ethernet() || (attr->is_global && attr->grh.sgid_index != 2))
        stand_in_misused("a route is wrong");
    *r = (route){.ah = {.context = pd->context, .pd = pd}, .attr = *attr};
    return &r->ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
    free(ah);
    return 0;
}
