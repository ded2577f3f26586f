/*
 * What goes over a connection: works, which are posted in the order in which they were begun. A message is posted only
 * while the peer has a receive for it, so that none is ever refused (receiver not ready): each message tells how many
 * receives its sender has posted since the last one, its credits. The last credit is for messages that have nothing
 * else to tell, so the two processes cannot wait for each other's credits.
 */
#include "runtime/engine/net/registrations.h"
#include "runtime/engine/net/verbs.h"

#include <stdlib.h>
#include <string.h>

enum { CREDITS_ONLY = -1 };

struct pw_verbs_message {
    uint64_t tag;
    int32_t bytes; /* CREDITS_ONLY: it is no message of the user */
    int32_t credits;
    char data[PW_NET_MESSAGE_BYTES];
};

/* The bytes of the memory for a connection's messages. */
enum { MEMORY = 2 * PW_VERBS_MESSAGES * sizeof(pw_verbs_message) };

struct pw_verbs_work {
    pw_verbs_event event;
    pw_verbs_work *next;
    pw_verbs_peer *peer;
    pw_net_op *op; /* NULL: nobody waits for it */
    bool is_message;
    /* A message. */
    uint64_t tag;
    const void *data;
    int32_t bytes;
    /* A read. */
    uint64_t from;
    uint32_t rkey;
    int n;
    struct ibv_sge to[];
};

struct pw_verbs_wanted {
    pw_verbs_wanted *next;
    uint64_t tag;
    void *data;
    int64_t most;
    pw_net_op *op;
};

struct pw_verbs_arrived {
    pw_verbs_arrived *next;
    uint64_t tag;
    int32_t bytes;
    char data[];
};

/* ---- works ------------------------------------------------------------------------------------------------------- */

static void end(pw_verbs_work *w, bool failed)
{
    if (w->op)
        pw_net_op_end(w->op, failed);
    free(w);
}

static void add_posted(pw_verbs_work *w)
{
    pw_verbs_peer *p = w->peer;

    w->next = NULL;
    *p->last_posted = w;
    p->last_posted = &w->next;
    p->posted++;
    p->messages += w->is_message;
}

/* Works of one connection are over in the order in which they were posted. */
static void take_posted(pw_verbs_work *w)
{
    pw_verbs_peer *p = w->peer;

    p->first_posted = w->next;
    if (!p->first_posted)
        p->last_posted = &p->first_posted;
    p->posted--;
    p->messages -= w->is_message;
}

static void work_over(pw_verbs_event *event, const struct ibv_wc *wc)
{
    pw_verbs_work *w = (pw_verbs_work *)event;
    pw_verbs_peer *p = w->peer;
    bool failed = wc->status != IBV_WC_SUCCESS;

    take_posted(w);
    end(w, failed);
    if (failed)
        pw_verbs_break(p, pw_verbs.wc_status_str(wc->status));
    else
        pw_verbs_queue_advance(p);
}

/* Returns a work with room for n pieces, which is not begun yet. NULL: out of memory, and the operation has failed. */
static pw_verbs_work *new_work(pw_verbs_peer *p, pw_net_op *op, int n)
{
    pw_verbs_work *w = calloc(1, sizeof *w + (size_t)n * sizeof *w->to);

    if (w) {
        w->event.over = work_over;
        w->peer = p;
        w->op = op;
    } else if (op) {
        op->failed = true;
    }
    return w;
}

/* Puts a work at the end of the queue. */
static void begin(pw_verbs_work *w)
{
    pw_verbs_peer *p = w->peer;

    if (w->op)
        pw_net_op_begin(w->op);
    *p->last = w;
    p->last = &w->next;
}

static bool can_be_posted(const pw_verbs_work *w)
{
    const pw_verbs_peer *p = w->peer;
    int needed = w->bytes == CREDITS_ONLY ? 1 : 2;

    return p->posted < PW_VERBS_WORKS && (!w->is_message || (p->messages < PW_VERBS_MESSAGES && p->credits >= needed));
}

/* Copies a message to where it is sent from. */
static void write_message(pw_verbs_work *w, struct ibv_sge *sge)
{
    pw_verbs_peer *p = w->peer;
    pw_verbs_message *m = &p->memory[p->next_message++ % PW_VERBS_MESSAGES];
    int32_t bytes = w->bytes == CREDITS_ONLY ? 0 : w->bytes;

    m->tag = w->tag;
    m->bytes = w->bytes;
    m->credits = p->owed;
    memcpy(m->data, w->data, (size_t)bytes);
    *sge = (struct ibv_sge){(uintptr_t)m, (uint32_t)(offsetof(pw_verbs_message, data) + (size_t)bytes), p->mr->lkey};
    p->owed = 0;
    p->credits--;
}

/* Posts a work. One that cannot be posted breaks the connection. */
static void post(pw_verbs_work *w)
{
    pw_verbs_peer *p = w->peer;
    struct ibv_send_wr *bad, wr = {.wr_id = (uintptr_t)&w->event, .send_flags = IBV_SEND_SIGNALED};
    struct ibv_sge message;

    if (w->is_message) {
        write_message(w, &message);
        wr.opcode = IBV_WR_SEND;
        wr.sg_list = &message;
        wr.num_sge = 1;
    } else {
        wr.opcode = IBV_WR_RDMA_READ;
        wr.sg_list = w->to;
        wr.num_sge = w->n;
        wr.wr.rdma.remote_addr = w->from;
        wr.wr.rdma.rkey = w->rkey;
    }
    if (ibv_post_send(p->qp, &wr, &bad) == 0) {
        add_posted(w);
        return;
    }
    end(w, true);
    pw_verbs_break(p, "the device takes no more work");
}

/* Tells the peer of receives, of which it soon has none left. */
static void return_credits(pw_verbs_peer *p)
{
    pw_verbs_work *w;

    if (p->owed < PW_VERBS_MESSAGES / 2)
        return;
    w = new_work(p, NULL, 0);
    if (!w)
        return;
    w->is_message = true;
    w->bytes = CREDITS_ONLY;
    w->data = "";
    if (can_be_posted(w))
        post(w);
    else
        free(w);
}

void pw_verbs_queue_advance(pw_verbs_peer *p)
{
    while (p->is_open && !p->is_broken && p->first && can_be_posted(p->first)) {
        pw_verbs_work *w = p->first;

        p->first = w->next;
        if (!p->first)
            p->last = &p->first;
        post(w);
    }
    if (p->is_open && !p->is_broken)
        return_credits(p);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static bool post_inbound(pw_verbs_inbound *in)
{
    pw_verbs_peer *p = in->peer;
    pw_verbs_message *to = &p->memory[PW_VERBS_MESSAGES + (in - p->inbound)];
    struct ibv_sge sge = {.addr = (uintptr_t)to, .length = sizeof *to, .lkey = p->mr->lkey};
    struct ibv_recv_wr *bad, wr = {.wr_id = (uintptr_t)&in->event, .sg_list = &sge, .num_sge = 1};

    return ibv_post_recv(p->qp, &wr, &bad) == 0;
}

static void fill(void *data, int64_t most, pw_net_op *op, const void *from, int32_t bytes)
{
    bool fits = bytes <= most;

    if (fits)
        memcpy(data, from, (size_t)bytes);
    op->received = fits ? bytes : 0;
    op->failed |= !fits;
}

/* Gives a message to the receive that waits for it. False: none does. */
static bool deliver(pw_verbs_peer *p, const pw_verbs_message *m)
{
    pw_verbs_wanted **link = &p->wanted, *w;

    while (*link && (*link)->tag != m->tag)
        link = &(*link)->next;
    w = *link;
    if (!w)
        return false;
    *link = w->next;
    if (!w->next)
        p->last_wanted = link;
    fill(w->data, w->most, w->op, m->data, m->bytes);
    pw_net_op_end(w->op, false);
    free(w);
    return true;
}

/* Keeps a message until a receive asks for it. */
static bool keep(pw_verbs_peer *p, const pw_verbs_message *m)
{
    pw_verbs_arrived *a = malloc(sizeof *a + (size_t)m->bytes);

    if (!a)
        return false;
    a->next = NULL;
    a->tag = m->tag;
    a->bytes = m->bytes;
    memcpy(a->data, m->data, (size_t)m->bytes);
    *p->last_arrived = a;
    p->last_arrived = &a->next;
    return true;
}

/* Takes in a message. NULL: it is done; else why the connection is of no use any more. */
static const char *take_in(pw_verbs_inbound *in, const struct ibv_wc *wc)
{
    pw_verbs_peer *p = in->peer;
    const pw_verbs_message *m = &p->memory[PW_VERBS_MESSAGES + (in - p->inbound)];
    size_t header = offsetof(pw_verbs_message, data);
    bool has_data;

    if (wc->status != IBV_WC_SUCCESS)
        return pw_verbs.wc_status_str(wc->status);
    has_data = wc->byte_len >= header && m->bytes != CREDITS_ONLY;
    if (wc->byte_len != header + (has_data ? (size_t)m->bytes : 0))
        return "a message has a wrong length";
    if (has_data && !deliver(p, m) && !keep(p, m))
        return "out of memory";
    p->credits += m->credits;
    p->owed++;
    return post_inbound(in) ? NULL : "the device takes no more receives";
}

static void message_came(pw_verbs_event *event, const struct ibv_wc *wc)
{
    pw_verbs_inbound *in = (pw_verbs_inbound *)event;
    const char *why = take_in(in, wc);

    if (why)
        pw_verbs_break(in->peer, why);
    else
        pw_verbs_queue_advance(in->peer);
}

void pw_verbs_send(pw_net_peer *to, uint64_t tag, const void *data, int64_t bytes, pw_net_op *op)
{
    pw_verbs_peer *p = to->state;
    pw_verbs_work *w = p->is_broken ? NULL : new_work(p, op, 0);

    if (!w) {
        op->failed = true;
        return;
    }
    w->is_message = true;
    w->tag = tag;
    w->data = data;
    w->bytes = (int32_t)bytes;
    begin(w);
    pw_verbs_queue_advance(p);
}

/* Takes a message that has arrived before. */
static bool take_arrived(pw_verbs_peer *p, uint64_t tag, void *data, int64_t most, pw_net_op *op)
{
    pw_verbs_arrived **link = &p->arrived, *a;

    while (*link && (*link)->tag != tag)
        link = &(*link)->next;
    a = *link;
    if (!a)
        return false;
    *link = a->next;
    if (!a->next)
        p->last_arrived = link;
    fill(data, most, op, a->data, a->bytes);
    free(a);
    return true;
}

void pw_verbs_receive(pw_net_peer *from, uint64_t tag, void *data, int64_t most, pw_net_op *op)
{
    pw_verbs_peer *p = from->state;
    pw_verbs_wanted *w;

    if (take_arrived(p, tag, data, most, op))
        return;
    w = p->is_broken ? NULL : malloc(sizeof *w);
    if (!w) {
        op->failed = true;
        return;
    }
    *w = (pw_verbs_wanted){.tag = tag, .data = data, .most = most, .op = op};
    pw_net_op_begin(op);
    *p->last_wanted = w;
    p->last_wanted = &w->next;
}

/* ---- reads ------------------------------------------------------------------------------------------------------- */

static bool is_within(const struct ibv_mr *mr, const char *memory, uint64_t bytes)
{
    return mr && memory >= (const char *)mr->addr && memory + bytes <= (const char *)mr->addr + mr->length;
}

static uint64_t bytes_of(const pw_verbs_work *w)
{
    uint64_t bytes = 0;

    for (int i = 0; i < w->n; i++)
        bytes += w->to[i].length;
    return bytes;
}

/* Adds the first part of a piece to a read. Returns how many bytes: 0 if it does not follow what the read has, or the
 * read is full. */
static int64_t add_part(pw_verbs_work *w, pw_net_piece piece, uint32_t lkey)
{
    uint64_t before = bytes_of(w), room = pw_verbs.most - before, bytes = (uint64_t)piece.bytes;

    if (w->n == pw_verbs.pieces || (w->n > 0 && piece.from != w->from + before))
        return 0;
    if (bytes > room)
        bytes = room;
    if (bytes == 0)
        return 0;
    if (w->n == 0)
        w->from = piece.from;
    w->to[w->n++] = (struct ibv_sge){(uintptr_t)piece.to, (uint32_t)bytes, lkey};
    return (int64_t)bytes;
}

/* A list of reads that is being made. */
typedef struct reads {
    pw_verbs_peer *peer;
    uint32_t rkey;
    pw_net_op *op;
    pw_verbs_work *now; /* NULL: none is begun */
} reads;

static void end_read(reads *r)
{
    if (r->now)
        begin(r->now);
    r->now = NULL;
}

/* Adds a piece, to several reads if it must be. False: the operation has failed. */
static bool add_piece(reads *r, pw_net_piece piece, uint32_t lkey)
{
    while (piece.bytes > 0) {
        int64_t part;

        if (!r->now) {
            r->now = new_work(r->peer, r->op, pw_verbs.pieces);
            if (!r->now)
                return false;
            r->now->rkey = r->rkey;
        }
        part = add_part(r->now, piece, lkey);
        if (part == 0)
            end_read(r);
        piece.from += (uint64_t)part;
        piece.to += part;
        piece.bytes -= part;
    }
    return true;
}

void pw_verbs_read(pw_net_peer *owner, uint32_t rkey, const pw_net_piece *pieces, int64_t n, pw_net_op *op)
{
    reads r = {.peer = owner->state, .rkey = rkey, .op = op};
    const struct ibv_mr *mr = NULL;

    op->failed |= r.peer->is_broken;
    for (int64_t i = 0; i < n && !op->failed; i++) {
        if (!is_within(mr, pieces[i].to, (uint64_t)pieces[i].bytes))
            mr = pw_registrations_find(pieces[i].to, pieces[i].bytes);
        op->failed |= !mr || !add_piece(&r, pieces[i], mr->lkey);
    }
    end_read(&r);
    pw_verbs_queue_advance(r.peer);
}

/* A read of no bytes, which asks for no memory: the peer's card answers it, and no program. */
void pw_verbs_queue_probe(pw_verbs_peer *p)
{
    pw_verbs_work *w = p->wanted && !p->first && !p->first_posted ? new_work(p, NULL, 0) : NULL;

    if (!w)
        return;
    begin(w);
    pw_verbs_queue_advance(p);
}

/* ---- start and end ----------------------------------------------------------------------------------------------- */

bool pw_verbs_queue_open(pw_verbs_peer *p)
{
    p->last = &p->first;
    p->last_posted = &p->first_posted;
    p->last_wanted = &p->wanted;
    p->last_arrived = &p->arrived;
    p->credits = PW_VERBS_MESSAGES;
    p->memory = pw_verbs_pages(MEMORY);
    if (!p->memory)
        return false;
    p->mr = pw_verbs.reg_mr(pw_verbs.pd, p->memory, MEMORY, IBV_ACCESS_LOCAL_WRITE);
    for (int i = 0; i < PW_VERBS_MESSAGES; i++) {
        p->inbound[i] = (pw_verbs_inbound){.event.over = message_came, .peer = p};
        if (!p->mr || !post_inbound(&p->inbound[i]))
            return false;
    }
    return true;
}

void pw_verbs_queue_fail(pw_verbs_peer *p)
{
    while (p->first) {
        pw_verbs_work *w = p->first;

        p->first = w->next;
        end(w, true);
    }
    p->last = &p->first;
    while (p->wanted) {
        pw_verbs_wanted *w = p->wanted;

        p->wanted = w->next;
        pw_net_op_end(w->op, true);
        free(w);
    }
    p->last_wanted = &p->wanted;
}

void pw_verbs_queue_close(pw_verbs_peer *p)
{
    if (p->last) /* the queue was opened */
        pw_verbs_queue_fail(p);
    while (p->first_posted) {
        pw_verbs_work *w = p->first_posted;

        p->first_posted = w->next;
        free(w);
    }
    while (p->arrived) {
        pw_verbs_arrived *a = p->arrived;

        p->arrived = a->next;
        free(a);
    }
    if (p->mr)
        pw_verbs.dereg_mr(p->mr);
    pw_verbs_pages_free(p->memory, MEMORY);
}
