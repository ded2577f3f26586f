#include "tests/engine/net/verbs_stand_in/card.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ROUTE_HEADER = 40 };

stand_in_counts verbs_stand_in_counts;
stand_in_failures verbs_stand_in_failures;

static card_qp *all;
static uint32_t chance = 2463534242;

static bool one_of(uint32_t n)
{
    chance ^= chance << 13;
    chance ^= chance >> 17;
    chance ^= chance << 5;
    return chance % n == 0;
}

void card_add(card_qp *q)
{
    q->next = all;
    all = q;
}

void card_remove(card_qp *q)
{
    card_qp **link = &all;

    while (*link != q)
        link = &(*link)->next;
    *link = q->next;
}

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
}

static uint64_t bytes_of(const work *w)
{
    uint64_t bytes = 0;

    for (int i = 0; i < w->n; i++)
        bytes += w->pieces[i].length;
    return bytes;
}

/* The process's own pieces of a work. False: a key does not fit. */
static bool local_pieces(const fabric *f, const shared_qp *self, const work *w, int access, struct iovec *out)
{
    for (int i = 0; i < w->n; i++) {
        const struct ibv_sge *p = &w->pieces[i];

        if (!fabric_memory(f, self->owner, self->pd, p->lkey, p->addr, p->length, access))
            return false;
        out[i] = (struct iovec){pointer(p->addr), p->length};
    }
    return true;
}

/* ---- the other end ----------------------------------------------------------------------------------------------- */

/* Errors break both ends where the other one can tell. */
static void flush(fabric *f, shared_qp *q)
{
    q->state = IBV_QPS_ERR;
    for (; q->first != q->end; q->first++)
        fabric_complete(f, q->receive_cq,
                        (struct ibv_wc){.wr_id = q->receives[q->first % RECEIVES].id, .status = IBV_WC_WR_FLUSH_ERR});
}

/* Puts a message into the next receive, behind `header` bytes. */
static enum ibv_wc_status deliver(fabric *f, shared_qp *to, const struct iovec *from, int n, uint64_t bytes,
                                  uint64_t header)
{
    const shared_receive *r = &to->receives[to->first % RECEIVES];
    struct iovec place = {pointer(r->address + header), bytes};

    if (header + bytes > r->bytes ||
        !fabric_memory(f, to->owner, to->pd, r->lkey, r->address, r->bytes, IBV_ACCESS_LOCAL_WRITE)) {
        flush(f, to);
        return IBV_WC_REM_INV_REQ_ERR;
    }
    if (process_vm_writev(to->owner, from, (unsigned long)n, &place, 1, 0) != (ssize_t)bytes)
        return IBV_WC_RETRY_EXC_ERR;
    to->first++;
    fabric_complete(
        f, to->receive_cq,
        (struct ibv_wc){
            .wr_id = r->id, .opcode = IBV_WC_RECV, .byte_len = (uint32_t)(bytes + header), .qp_num = to->number});
    return IBV_WC_SUCCESS;
}

/* The end to which a queue pair is connected. NULL: it does not answer. */
static shared_qp *other_end(fabric *f, const shared_qp *self)
{
    shared_qp *to = fabric_qp(f, self->other);

    return to && to->type == IBV_QPT_RC && to->other == self->number &&
                   (to->state == IBV_QPS_RTR || to->state == IBV_QPS_RTS)
               ? to
               : NULL;
}

/* ---- works ------------------------------------------------------------------------------------------------------- */

/* Datagrams are lost where nobody takes them, and otherwise, too. */
static enum ibv_wc_status send_datagram(fabric *f, const shared_qp *self, const work *w)
{
    shared_qp *to = fabric_qp(f, w->number);
    struct iovec from[PIECES];
    bool is_routed;

    if (!local_pieces(f, self, w, 0, from))
        return IBV_WC_LOC_PROT_ERR;
    is_routed = to && (w->route.is_global ? memcmp(&to->gid, &w->route.grh.dgid, sizeof to->gid) == 0
                                          : to->lid != 0 && to->lid == w->route.dlid);
    if (!is_routed || to->type != IBV_QPT_UD || to->state != IBV_QPS_RTS || to->key != w->key || to->first == to->end ||
        one_of(4) || deliver(f, to, from, w->n, bytes_of(w), ROUTE_HEADER) != IBV_WC_SUCCESS)
        verbs_stand_in_counts.lost++;
    return IBV_WC_SUCCESS;
}

/* *again: the other end is not ready, and the work is to be tried again. */
static enum ibv_wc_status send_message(fabric *f, const shared_qp *self, const work *w, bool *again)
{
    shared_qp *to = other_end(f, self);
    struct iovec from[PIECES];

    if (!local_pieces(f, self, w, 0, from))
        return IBV_WC_LOC_PROT_ERR;
    if (!to)
        return IBV_WC_RETRY_EXC_ERR;
    if (to->first == to->end) {
        verbs_stand_in_counts.not_ready++;
        *again = self->retries == 7;
        return IBV_WC_RNR_RETRY_EXC_ERR;
    }
    return deliver(f, to, from, w->n, bytes_of(w), 0);
}

static enum ibv_wc_status read_memory(fabric *f, const shared_qp *self, const work *w)
{
    shared_qp *of = other_end(f, self);
    uint64_t bytes = bytes_of(w);
    struct iovec to[PIECES], from = {pointer(w->address), bytes};

    if (!local_pieces(f, self, w, IBV_ACCESS_LOCAL_WRITE, to))
        return IBV_WC_LOC_PROT_ERR;
    if (!of)
        return IBV_WC_RETRY_EXC_ERR;
    if (self->reads > of->serves || !(of->access & IBV_ACCESS_REMOTE_READ)) {
        flush(f, of);
        return IBV_WC_REM_INV_REQ_ERR;
    }
    if (bytes == 0) /* then a card does not look at the key */
        return IBV_WC_SUCCESS;
    if (!fabric_memory(f, of->owner, of->pd, w->rkey, w->address, bytes, IBV_ACCESS_REMOTE_READ)) {
        flush(f, of);
        return IBV_WC_REM_ACCESS_ERR;
    }
    verbs_stand_in_counts.reads++;
    verbs_stand_in_counts.pieces += w->n;
    return process_vm_readv(of->owner, to, (unsigned long)w->n, &from, 1, 0) == (ssize_t)bytes ? IBV_WC_SUCCESS
                                                                                               : IBV_WC_RETRY_EXC_ERR;
}

/* Counts down to a failure that a test has ordered. */
static bool fails_now(int *ordered)
{
    return *ordered > 0 && --*ordered == 0;
}

/* Carries out a work of a connection, and fails where that is ordered. */
static enum ibv_wc_status carry_over(fabric *f, const shared_qp *self, const work *w, bool *again)
{
    bool is_message = w->opcode == IBV_WR_SEND;
    enum ibv_wc_status status;

    if (fails_now(is_message ? &verbs_stand_in_failures.message : &verbs_stand_in_failures.read))
        return IBV_WC_RETRY_EXC_ERR;
    status = is_message ? send_message(f, self, w, again) : read_memory(f, self, w);
    if (is_message && !*again && fails_now(&verbs_stand_in_failures.unacknowledged))
        return IBV_WC_RETRY_EXC_ERR;
    return status;
}

/* Carries out the first work of a queue pair. */
static enum ibv_wc_status carry_out(fabric *f, shared_qp *self, const work *w, bool *again)
{
    if (self->state == IBV_QPS_ERR)
        return IBV_WC_WR_FLUSH_ERR;
    if (bytes_of(w) > MESSAGE)
        return IBV_WC_LOC_LEN_ERR;
    return self->type == IBV_QPT_UD ? send_datagram(f, self, w) : carry_over(f, self, w, again);
}

static void step(fabric *f, card_qp *q)
{
    const work *w = &q->works[q->first % WORKS];
    shared_qp *self = fabric_qp(f, q->qp.qp_num);
    enum ibv_wc_status status;
    bool again = false;

    if (self->state == IBV_QPS_ERR)
        flush(f, self);
    if (q->first == q->end)
        return;
    status = carry_out(f, self, w, &again);
    if (again)
        return;
    q->first++;
    fabric_complete(f, self->send_cq,
                    (struct ibv_wc){.wr_id = w->id,
                                    .status = status,
                                    .opcode = w->opcode == IBV_WR_SEND ? IBV_WC_SEND : IBV_WC_RDMA_READ,
                                    .qp_num = self->number});
    if (status != IBV_WC_SUCCESS)
        flush(f, self);
}

void card_step(fabric *f)
{
    for (card_qp *q = all; q; q = q->next)
        if (!one_of(3))
            step(f, q);
}
