/*
 * Connections between processes. The two ends of a reliable connection must know each other's queue pair before data is
 * sent. They tell each other by datagrams, which may be lost: a process asks again until it knows what it wants to
 * know.
 */
#include "base/clock.h"
#include "base/log.h"
#include "runtime/engine/net/verbs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
    INBOX = 64,          /* datagrams that are received */
    OUTBOX = 16,         /* datagrams that are under way */
    ROUTE_HEADER = 40,   /* bytes before each datagram that is received */
    PATIENCE = 20000000, /* ns after which a process asks again */
    PAUSE = 5000000,     /* ns between looks at all connections */
    MOST_ASKED = 500     /* times after which it warns */
};

/* A datagram: what its sender knows of a connection. */
typedef struct hello {
    pw_verbs_address from;
    uint32_t number, psn; /* of the connection's queue pair */
    uint8_t is_answered, is_broken;
    uint8_t is_asking; /* the sender wants a hello */
} hello;

typedef struct inbound_hello {
    unsigned char header[ROUTE_HEADER];
    hello hello;
} inbound_hello;

typedef struct hellos {
    inbound_hello in[INBOX];
    hello out[OUTBOX];
} hellos;

typedef struct box {
    pw_verbs_event event;
    bool is_used;
} box;

/* The singleton. */
static struct {
    struct ibv_cq *cq; /* of connections */
    struct ibv_cq *hello_cq;
    struct ibv_qp *hello_qp;
    struct ibv_mr *mr; /* of the datagrams */
    hellos *hellos;
    box in[INBOX], out[OUTBOX];
    pw_verbs_peer *peers;
    int n;       /* peers */
    int64_t due; /* when to look at them */
} connections;

/* ---- datagrams --------------------------------------------------------------------------------------------------- */

static struct ibv_ah_attr route_to(const pw_verbs_address *address)
{
    struct ibv_ah_attr attr = {.dlid = address->lid, .port_num = pw_verbs.port, .is_global = pw_verbs.is_ethernet};

    attr.grh.dgid = address->gid;
    attr.grh.sgid_index = pw_verbs.gid_index;
    attr.grh.hop_limit = 64;
    return attr;
}

static bool is_asking(const pw_verbs_peer *p)
{
    return p->is_broken ? !p->is_told : !p->is_open;
}

static void hello_sent(pw_verbs_event *event, const struct ibv_wc *wc)
{
    (void)wc;
    ((box *)event)->is_used = false;
}

/* Sends what is known of a connection. If the outbox is full the peer asks again. */
static void say_hello(pw_verbs_peer *p)
{
    struct ibv_sge sge = {.length = sizeof(hello), .lkey = connections.mr->lkey};
    struct ibv_send_wr *bad,
        wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
    int i = 0;

    p->due = pw_clock_ns() + PATIENCE;
    while (i < OUTBOX && connections.out[i].is_used)
        i++;
    if (i == OUTBOX)
        return;
    connections.hellos->out[i] = (hello){.from = pw_verbs.own,
                                         .number = p->qp->qp_num,
                                         .psn = p->psn,
                                         .is_answered = p->is_answered,
                                         .is_broken = p->is_broken,
                                         .is_asking = is_asking(p)};
    sge.addr = (uintptr_t)&connections.hellos->out[i];
    wr.wr_id = (uintptr_t)&connections.out[i].event;
    wr.wr.ud.ah = p->route;
    wr.wr.ud.remote_qpn = p->address.number;
    wr.wr.ud.remote_qkey = p->address.key;
    connections.out[i].is_used = ibv_post_send(connections.hello_qp, &wr, &bad) == 0;
}

static bool post_inbound(box *b)
{
    inbound_hello *to = &connections.hellos->in[b - connections.in];
    struct ibv_sge sge = {.addr = (uintptr_t)to, .length = sizeof *to, .lkey = connections.mr->lkey};
    struct ibv_recv_wr *bad, wr = {.wr_id = (uintptr_t)&b->event, .sg_list = &sge, .num_sge = 1};

    return ibv_post_recv(connections.hello_qp, &wr, &bad) == 0;
}

/* ---- states of a connection -------------------------------------------------------------------------------------- */

static uint8_t less(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

/* Connects this process's end to the one that the peer has told. */
static bool answer(pw_verbs_peer *p, const hello *h)
{
    struct ibv_qp_attr receive = {.qp_state = IBV_QPS_RTR,
                                  .path_mtu = (enum ibv_mtu)less(pw_verbs.own.mtu, p->address.mtu),
                                  .dest_qp_num = h->number,
                                  .rq_psn = h->psn,
                                  .max_dest_rd_atomic = pw_verbs.own.reads,
                                  .min_rnr_timer = 12, /* 0.64 ms */
                                  .ah_attr = route_to(&p->address)};
    /* The hardware repeats a packet after some 67 ms without an answer, 7 times; while the peer has no receive posted,
     * for ever. Credits see to it that it has one. */
    struct ibv_qp_attr send = {.qp_state = IBV_QPS_RTS,
                               .timeout = 14,
                               .retry_cnt = 7,
                               .rnr_retry = 7,
                               .sq_psn = p->psn,
                               .max_rd_atomic = less(pw_verbs.reads, p->address.reads)};

    p->is_answered = true;
    return pw_verbs.modify_qp(p->qp, &receive,
                              IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | IBV_QP_AV) == 0 &&
           pw_verbs.modify_qp(p->qp, &send,
                              IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                  IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

void pw_verbs_break(pw_verbs_peer *p, const char *why)
{
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};

    if (p->is_broken)
        return;
    pw_log(PW_LOG_WARN, "PACKWRIGHT_NET: a connection to another process is broken: %s", why);
    p->is_broken = true;
    pw_verbs.modify_qp(p->qp, &error, IBV_QP_STATE); /* completes all that is posted */
    pw_verbs_queue_fail(p);
    say_hello(p);
}

static void hear(const hello *h)
{
    pw_net_peer *peer = pw_net_peer_at(&h->from, sizeof h->from);
    pw_verbs_peer *p = peer ? peer->state : NULL;

    if (!p)
        return;
    if (h->is_broken && !p->is_told) {
        pw_verbs_break(p, "the other process says so");
        p->is_told = true;
    }
    if (!p->is_broken && !p->is_answered && !answer(p, h))
        pw_verbs_break(p, "the device does not take the other one's address");
    if (!p->is_broken && !p->is_open && h->is_answered) {
        p->is_open = true;
        pw_verbs_queue_advance(p);
    }
    if (h->is_asking)
        say_hello(p);
}

static void hello_came(pw_verbs_event *event, const struct ibv_wc *wc)
{
    box *b = (box *)event;
    hello h = connections.hellos->in[b - connections.in].hello;

    if (wc->status != IBV_WC_SUCCESS)
        return;
    post_inbound(b);
    if (wc->byte_len == sizeof(inbound_hello))
        hear(&h);
}

static void ask_again(pw_verbs_peer *p)
{
    if (++p->asked == MOST_ASKED)
        pw_log(PW_LOG_WARN, "PACKWRIGHT_NET: another process has not answered for 10 s: are both on one network?");
    say_hello(p);
}

/* A process that breaks a connection may not hear questions until its next call, nor repeat what it has said. So one
 * that waits for a message of it asks the card. */
static void look_at(pw_verbs_peer *p, int64_t now)
{
    if (p->due > now)
        return;
    if (is_asking(p))
        ask_again(p);
    else if (!p->is_broken)
        pw_verbs_queue_probe(p);
    p->due = now + PATIENCE;
}

void pw_verbs_connections_progress(void)
{
    int64_t now;

    pw_verbs_poll(connections.cq);
    pw_verbs_poll(connections.hello_cq);
    now = pw_clock_ns();
    if (now < connections.due)
        return;
    connections.due = now + PAUSE;
    for (pw_verbs_peer *p = connections.peers; p; p = p->next)
        look_at(p, now);
}

/* ---- peers ------------------------------------------------------------------------------------------------------- */

static void close_peer(pw_verbs_peer *p)
{
    if (p->qp)
        pw_verbs.destroy_qp(p->qp);
    pw_verbs_queue_close(p);
    if (p->route)
        pw_verbs.destroy_ah(p->route);
    free(p);
}

/* Makes room for all completions that can be there at a time. */
static bool grow_cq(int peers)
{
    int needed = peers * (PW_VERBS_WORKS + PW_VERBS_MESSAGES);

    return needed <= connections.cq->cqe || pw_verbs.resize_cq(connections.cq, 2 * needed) == 0 ||
           pw_verbs.resize_cq(connections.cq, needed) == 0;
}

static bool open_qp(pw_verbs_peer *p)
{
    struct ibv_qp_init_attr init = {.send_cq = connections.cq,
                                    .recv_cq = connections.cq,
                                    .cap = {.max_send_wr = PW_VERBS_WORKS,
                                            .max_recv_wr = PW_VERBS_MESSAGES,
                                            .max_send_sge = (uint32_t)pw_verbs.pieces,
                                            .max_recv_sge = 1},
                                    .qp_type = IBV_QPT_RC,
                                    .sq_sig_all = 1};
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = pw_verbs.port, .qp_access_flags = IBV_ACCESS_REMOTE_READ};
    struct ibv_ah_attr route = route_to(&p->address);

    p->route = pw_verbs.create_ah(pw_verbs.pd, &route);
    p->qp = p->route ? pw_verbs.create_qp(pw_verbs.pd, &init) : NULL;
    return p->qp &&
           pw_verbs.modify_qp(p->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0;
}

void *pw_verbs_connect(const pw_net_peer *peer)
{
    pw_verbs_peer *p = peer->bytes == sizeof p->address ? calloc(1, sizeof *p) : NULL;

    if (!p)
        return NULL;
    memcpy(&p->address, peer->address, sizeof p->address);
    getrandom(&p->psn, sizeof p->psn, 0);
    p->psn &= 0xffffff;
    if (!grow_cq(connections.n + 1) || !open_qp(p) || !pw_verbs_queue_open(p)) {
        close_peer(p);
        return NULL;
    }
    p->next = connections.peers;
    connections.peers = p;
    connections.n++;
    say_hello(p);
    return p;
}

/* ---- start and end ----------------------------------------------------------------------------------------------- */

static bool open_hello_qp(void)
{
    struct ibv_qp_init_attr init = {
        .send_cq = connections.hello_cq,
        .recv_cq = connections.hello_cq,
        .cap = {.max_send_wr = OUTBOX, .max_recv_wr = INBOX, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_UD,
        .sq_sig_all = 1};
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = pw_verbs.port};

    getrandom(&attr.qkey, sizeof attr.qkey, 0);
    attr.qkey &= INT32_MAX; /* others are for privileged users */
    pw_verbs.own.key = attr.qkey;
    connections.hello_qp = pw_verbs.create_qp(pw_verbs.pd, &init);
    if (!connections.hello_qp || pw_verbs.modify_qp(connections.hello_qp, &attr,
                                                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) != 0)
        return false;
    pw_verbs.own.number = connections.hello_qp->qp_num;
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR};
    if (pw_verbs.modify_qp(connections.hello_qp, &attr, IBV_QP_STATE) != 0)
        return false;
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS};
    return pw_verbs.modify_qp(connections.hello_qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0;
}

static bool open_boxes(void)
{
    connections.hellos = pw_verbs_pages(sizeof(hellos));
    if (!connections.hellos)
        return false;
    connections.mr = pw_verbs.reg_mr(pw_verbs.pd, connections.hellos, sizeof(hellos), IBV_ACCESS_LOCAL_WRITE);
    for (int i = 0; i < OUTBOX; i++)
        connections.out[i] = (box){.event.over = hello_sent};
    for (int i = 0; i < INBOX; i++) {
        connections.in[i] = (box){.event.over = hello_came};
        if (!connections.mr || !post_inbound(&connections.in[i]))
            return false;
    }
    return true;
}

const char *pw_verbs_connections_open(void)
{
    connections.cq = pw_verbs.create_cq(pw_verbs.context, 4 * (PW_VERBS_WORKS + PW_VERBS_MESSAGES), NULL, NULL, 0);
    connections.hello_cq = pw_verbs.create_cq(pw_verbs.context, INBOX + OUTBOX, NULL, NULL, 0);
    if (!connections.cq || !connections.hello_cq)
        return "the device gives no completion queue";
    return open_hello_qp() && open_boxes() ? NULL : "the device gives no queue pair";
}

void pw_verbs_connections_close(void)
{
    while (connections.peers) {
        pw_verbs_peer *p = connections.peers;

        connections.peers = p->next;
        close_peer(p);
    }
    connections.n = 0;
    if (connections.hello_qp)
        pw_verbs.destroy_qp(connections.hello_qp);
    if (connections.mr)
        pw_verbs.dereg_mr(connections.mr);
    if (connections.hello_cq)
        pw_verbs.destroy_cq(connections.hello_cq);
    if (connections.cq)
        pw_verbs.destroy_cq(connections.cq);
    pw_verbs_pages_free(connections.hellos, sizeof(hellos));
    connections.hellos = NULL;
    connections.hello_qp = NULL;
    connections.mr = NULL;
    connections.hello_cq = connections.cq = NULL;
}
