/*
 * Point-to-point calls with requests. A call takes a staging buffer as in hooks_p2p.c. The staging buffer lives in a
 * transfer, which is a pending operation (runtime/mpi/requests/pending.h) until the request completes.
 */
#include "runtime/engine/gpu/memory.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/errors.h"
#include "runtime/mpi/p2p/p2p.h"
#include "runtime/mpi/requests/deferred.h"
#include "runtime/mpi/requests/kept.h"
#include "runtime/mpi/requests/loopback.h"

#include "hooks.h"
#include "next.h"

#include <limits.h>

typedef int send_fn(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    MPI_Request *request, bool large);

typedef struct transfer {
    pw_pending pending;
    union {
        struct { /* of a receive */
            pw_staging in;
            pw_loopback_receive from_own; /* of a receive from this process */
            bool holds;                   /* its buffer is known to stay where it is (pw_memory_hold) */
        };
        struct {                     /* of a send */
            pw_staging out;          /* empty: MPI gets an empty message */
            pw_loopback_move *moved; /* to this process; NULL: MPI brings the message */
            pw_deferred deferred;    /* of a send that is deferred */
            pw_kept kept;
        };
    };
    int peer, tag;   /* of a persistent operation, or of a receive */
    bool is_self;    /* an operation in GPU memory whose peer is this process */
    pw_entry *entry; /* of a persistent operation, which has a reference to it; NULL: of any other one */
    void *buf;       /* the program's buffer, of so many objects */
    MPI_Count count;
    send_fn *send; /* starts a persistent send that is staged */
} transfer;

_Static_assert(sizeof(transfer) <= PW_CELL_BYTES, "a transfer fits a cell");

/* ---- what happens to a transfer --------------------------------------------------------------------------------- */

static int pack_or_move(pw_pending *p)
{
    transfer *t = (transfer *)p;
    const pw_message m = {.entry = t->entry, .buffer = t->out.buffer, .role = PW_SEND};

    if (t->is_self)
        t->moved = pw_loopback_send(p->comm, t->tag, &m);
    return t->moved ? MPI_SUCCESS : pw_mpi_error(pw_staging_pack(&t->out));
}

/* Ends what loopback.h knows of a message: it is over, its operation is, or its start has failed. */
static void end_following(transfer *t, bool well)
{
    if (t->pending.ops->receives) {
        pw_loopback_done(&t->from_own, well);
    } else {
        pw_loopback_give(t->moved, well);
        t->moved = NULL;
    }
}

/* A send may be complete for the program before it is destroyed (MPI_Request_get_status). It waits here for readers. */
static int finish_send(pw_pending *p, const MPI_Status *status)
{
    transfer *t = (transfer *)p;
    int rc = t->moved ? pw_mpi_error(pw_loopback_finish(t->moved)) : MPI_SUCCESS;

    (void)status;
    end_following(t, true);
    pw_staging_await(&t->out);
    return rc;
}

/* The order of the calls no longer tells which receive takes which message. */
static void fail(pw_pending *p)
{
    transfer *t = (transfer *)p;

    end_following(t, false);
    if (t->is_self && p->comm != MPI_COMM_NULL)
        pw_loopback_lose(p->comm);
}

/* Until a receive is over, its buffer stays where it is. With few operations under way there is nothing to gain. */
static void hold(transfer *t)
{
    t->holds = atomic_load_explicit(&pw_pending_live, memory_order_relaxed) > 1 && pw_memory_hold(&t->in.buffer);
}

static void let_go(transfer *t)
{
    if (t->holds)
        pw_memory_release();
    t->holds = false;
}

static int unpack_arrived(pw_pending *p, const MPI_Status *status)
{
    transfer *t = (transfer *)p;
    pw_loopback_move *moved = t->from_own.move;
    int rc;

    if (moved && !moved->withdrawn) {
        rc = pw_mpi_error(pw_loopback_finish(moved));
        p->moved_bytes = moved->move.to.bytes;
    } else {
        rc = pw_received_unpack(&t->in, status);
    }
    end_following(t, true);
    let_go(t);
    return rc;
}

static bool is_on_device(const pw_staging *s)
{
    return pw_staging_is_open(s) && pw_buffer_is_on_device(&s->buffer);
}

static int expect(pw_pending *p)
{
    transfer *t = (transfer *)p;

    p->moved_bytes = 0;
    if (t->is_self)
        pw_loopback_post(&t->from_own, p->comm, t->tag);
    pw_staging_expect(&t->in);
    p->is_read_by_gpu = is_on_device(&t->in) && t->in.inbound;
    return MPI_SUCCESS;
}

static bool begin_packing(pw_pending *p)
{
    transfer *t = (transfer *)p;

    return t->is_self || pw_staging_begin_pack(&t->out);
}

static bool begin_unpacking(pw_pending *p, const MPI_Status *status)
{
    transfer *t = (transfer *)p;

    return t->from_own.move || pw_staging_begin_unpack(&t->in, pw_received_bytes(status));
}

static void destroy(transfer *t, pw_staging *s)
{
    pw_staging_close(s);
    if (t->entry)
        pw_entries_unref(t->entry);
    pw_cell_give(t);
}

static void destroy_receive(pw_pending *p)
{
    transfer *t = (transfer *)p;

    end_following(t, false);
    let_go(t);
    destroy(t, &t->in);
}

static void destroy_send(pw_pending *p)
{
    transfer *t = (transfer *)p;

    if (p->kept) {
        pw_staging_await(&t->out);
        pw_kept_put(&t->kept);
        return;
    }
    end_following(t, false);
    destroy(t, &t->out);
}

static bool choose(pw_pending *p);
static int post(pw_pending *p);

/* What all operations have by which persistent ones are started, and what all sends and all receives have. */
#define STARTED .choose = choose, .post = post, .fail = fail
#define SENT STARTED, .start = pack_or_move, .begin_start = begin_packing, .destroy = destroy_send
#define RECEIVED STARTED, .start = expect, .complete = unpack_arrived, .destroy = destroy_receive, .receives = true

static const pw_pending_ops send_ops = {SENT};
/* The operations of sends whose readers are waited for, or that are moved: they may read late, or the user's buffer. */
static const pw_pending_ops awaited_send_ops = {SENT, .complete = finish_send};
static const pw_pending_ops recv_ops = {RECEIVED};
/* The operations of receives into GPU memory. */
static const pw_pending_ops gpu_recv_ops = {RECEIVED, .begin_complete = begin_unpacking};

/* Makes a transfer that takes over a staging buffer. NULL: there is no memory; the staging buffer is closed, and the
 * call is left to MPI. */
static transfer *create(const pw_pending_ops *ops, MPI_Comm comm, pw_staging *s)
{
    transfer *t = pw_cell_take();

    if (!t) {
        pw_staging_close(s);
        return NULL;
    }
    t->pending = (pw_pending){.ops = ops, .comm = comm};
    t->is_self = false;
    t->entry = NULL;
    if (ops->receives) {
        t->in = *s;
        t->from_own = (pw_loopback_receive){.channel = NULL};
        t->holds = false;
    } else {
        t->out = *s;
        t->moved = NULL;
    }
    return t;
}

/* Follows an operation to this process in GPU memory (loopback.h), and no other one. */
static void follow(transfer *t, const pw_staging *s)
{
    t->is_self = is_on_device(s) && pw_loopback_is(t->pending.comm, t->peer);
    if (!t->is_self)
        pw_loopback_miss(t->pending.comm, t->peer);
}

/* Sets what depends on the memory that a receive is staged for. */
static void set_up(transfer *t, const pw_entry *entry)
{
    t->pending.ops = is_on_device(&t->in) ? &gpu_recv_ops : &recv_ops;
    t->from_own = (pw_loopback_receive){.in = &t->in, .entry = entry};
}

/* Called after MPI: tracks the request if the call has succeeded, and destroys the transfer otherwise. */
static pw_verdict launched(transfer *t, const MPI_Request *request, int rc)
{
    if (rc == MPI_SUCCESS)
        pw_pending_track(*request, &t->pending);
    else
        t->pending.ops->destroy(&t->pending);
    return PW_DONE;
}

/* ---- persistent operations -------------------------------------------------------------------------------------- */

/*
 * A start chooses its way as the nonblocking call would that sends or receives the message. The program holds a
 * persistent request of MPI for its own buffer and type. MPI starts it if the message is left to MPI; otherwise the
 * bytes are sent or received by a nonblocking call, whose request stands in. What is staged stays so between starts,
 * unless it is for one message.
 */

/* Makes a persistent operation. NULL: all starts are left to MPI. */
static transfer *repeat(const pw_pending_ops *ops, void *buf, MPI_Count count, MPI_Datatype datatype, int peer, int tag,
                        MPI_Comm comm)
{
    pw_role role = ops->receives ? PW_RECV : PW_SEND;
    pw_entry *entry = pw_p2p_entry(datatype, role, buf, count, peer, PW_NOTE_REPEATED);
    pw_message m = {.role = role, .entry = entry, .buffer = {.base = buf, .count = count}};
    transfer *t = entry && peer != MPI_PROC_NULL && pw_pending_is_seen() && pw_message_describe(&m) &&
                          !pw_split_is_own(role, entry, buf, count, peer, comm)
                      ? create(ops, comm, &(pw_staging){.strategy = NULL})
                      : NULL;

    if (!t)
        return NULL;
    pw_entries_ref(entry);
    t->pending.persistent = true;
    t->entry = entry;
    t->buf = buf;
    t->count = count;
    t->peer = peer;
    t->tag = tag;
    return t;
}

/* MPI keeps a communicator that the program has freed for its own request, but takes no other request there. */
static bool choose(pw_pending *p)
{
    transfer *t = (transfer *)p;
    pw_staging *s = p->ops->receives ? &t->in : &t->out;

    p->left = NULL;
    if (p->comm != MPI_COMM_NULL && (!is_on_device(s) || pw_memory_is_where_it_was(&s->buffer)) &&
        pw_staging_again(s)) {
        if (!t->is_self)
            pw_loopback_miss(p->comm, t->peer);
        p->left = pw_staging_is_open(s) ? NULL : s->site;
        return !p->left;
    }
    pw_staging_close(s);
    *s = (pw_staging){.strategy = NULL};
    if (p->comm == MPI_COMM_NULL)
        return false;
    pw_p2p_stage(s, PW_CALL_NONBLOCKING, p->ops->receives ? PW_RECV : PW_SEND, t->entry, t->buf, t->count, t->peer,
                 p->comm, !p->ops->receives && t->send != pw_call_Ibsend, true);
    follow(t, s);
    if (p->ops->receives) {
        set_up(t, t->entry);
    } else {
        p->ops = is_on_device(s) ? &awaited_send_ops : &send_ops;
        s->awaited = t->send != pw_call_Ibsend;
    }
    return pw_staging_is_open(s);
}

static int receive(transfer *t, MPI_Message *message, MPI_Request *request)
{
    int64_t bytes = t->in.buffer.bytes;

    return message
               ? pw_call_Imrecv(t->in.data, bytes, MPI_BYTE, message, request, bytes > INT_MAX)
               : pw_call_Irecv(t->in.data, bytes, MPI_BYTE, t->peer, t->tag, t->pending.comm, request, bytes > INT_MAX);
}

static int post(pw_pending *p)
{
    transfer *t = (transfer *)p;
    int64_t bytes = !p->ops->receives && !t->moved ? t->out.buffer.bytes : 0;

    return p->ops->receives
               ? receive(t, NULL, &p->stand_in)
               : t->send(t->out.data, bytes, MPI_BYTE, t->peer, t->tag, p->comm, &p->stand_in, bytes > INT_MAX);
}

/* MPI has made a request whose starts nobody sees. */
static void leave_starts(MPI_Request request, MPI_Comm comm, int peer)
{
    pw_pending_made(request);
    pw_loopback_miss_starts(comm, peer);
}

#define INIT(mode, constant, ops, starts)                                                                    \
    pw_verdict pw_hook_##mode(constant void *buf, MPI_Count count, MPI_Datatype datatype, int peer, int tag, \
                              MPI_Comm comm, MPI_Request *request, bool large, int *rc)                      \
    {                                                                                                        \
        transfer *t = repeat(ops, (void *)buf, count, datatype, peer, tag, comm);                            \
                                                                                                             \
        *rc = pw_call_##mode(buf, count, datatype, peer, tag, comm, request, large);                         \
        if (t)                                                                                               \
            t->send = starts;                                                                                \
        else if (*rc == MPI_SUCCESS)                                                                         \
            leave_starts(*request, comm, peer);                                                              \
        return t ? launched(t, request, *rc) : PW_DONE;                                                      \
    }

INIT(Send_init, const, &send_ops, pw_call_Isend)
INIT(Ssend_init, const, &send_ops, pw_call_Issend)
INIT(Bsend_init, const, &send_ops, pw_call_Ibsend)
INIT(Rsend_init, const, &send_ops, pw_call_Irsend)
INIT(Recv_init, , &recv_ops, NULL)

/* ---- send ------------------------------------------------------------------------------------------------------- */

/* Sends by a kept operation, if one sent such a message before, and that way is still the one. False: it does not.
 * Statistics count each message where its way is chosen, and so do trials. */
static bool send_again(const pw_kept *like, const pw_entry *entry, const void *buf, MPI_Request *request)
{
    pw_message m = {.role = PW_SEND, .entry = entry, .buffer = {.base = (void *)buf, .count = like->count}};
    pw_kept *k = pw_kept_take(like);
    transfer *t = k ? (transfer *)k->pending : NULL;

    if (!t)
        return false;
    t->out.buffer.base = m.buffer.base;
    if (!pw_message_describe(&m) || m.buffer.place.gpu != t->out.buffer.place.gpu || !pw_staging_again(&t->out)) {
        pw_kept_drop(k);
        return false;
    }
    t->pending.kept = false;
    *request = t->pending.request;
    pw_pending_track(*request, &t->pending);
    pw_deferred_add(&t->deferred, &t->pending, &t->out);
    return true;
}

/* The request is made now, and MPI starts it when the message is packed. */
static pw_verdict send_deferred(const pw_kept *like, pw_staging *s, MPI_Request *request, int *rc)
{
    bool shown = !s->strategy->begin;
    transfer *t = create(shown ? &awaited_send_ops : &send_ops, like->comm, s);

    if (!t) {
        pw_deferred_flush();
        return PW_PASS;
    }
    t->pending.once = true;
    t->pending.keeps = t->out.site && (shown || t->out.buffer.bytes <= PW_KEPT_BYTES);
    t->kept = *like;
    t->kept.layout = t->out.buffer.layout; /* that of the type may have become another one */
    t->kept.pending = &t->pending;
    *rc = like->init(t->out.data, t->out.buffer.bytes, MPI_BYTE, like->peer, like->tag, like->comm, request,
                     t->out.buffer.bytes > INT_MAX);
    launched(t, request, *rc);
    if (*rc == MPI_SUCCESS)
        pw_deferred_add(&t->deferred, &t->pending, &t->out);
    return PW_DONE;
}

/* MPI gets an empty message, by a request of its own: others share the one request of all that are done at once. */
static int send_moved(send_fn *next, send_fn *init, pw_loopback_move *moved, int dest, int tag, MPI_Comm comm,
                      MPI_Request *request)
{
    static const char nothing;
    transfer *t = create(&awaited_send_ops, comm, &(pw_staging){.strategy = NULL});
    int rc;

    if (!t) {
        rc = next(&nothing, 0, MPI_BYTE, dest, tag, comm, request, false);
        pw_loopback_give(moved, rc == MPI_SUCCESS);
        return rc;
    }
    t->moved = moved;
    t->pending.once = true;
    rc = init(&nothing, 0, MPI_BYTE, dest, tag, comm, request, false);
    launched(t, request, rc);
    if (rc == MPI_SUCCESS && (t->pending.error = pw_next.MPI_Start(request)) != MPI_SUCCESS)
        end_following(t, false);
    return rc;
}

/* `init`: makes a persistent send of the same mode, by which this may be deferred; NULL for those that MPI copies. */
static pw_verdict send(send_fn *next, send_fn *init, const void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                       int tag, MPI_Comm comm, MPI_Request *request, int *rc)
{
    pw_entry *entry = pw_p2p_entry(datatype, PW_SEND, buf, count, dest, 1);
    bool is_self = pw_loopback_is(comm, dest);
    pw_loopback_move *moved = NULL;
    const pw_kept like = {.init = init,
                          .comm = comm,
                          .peer = dest,
                          .tag = tag,
                          .layout = entry ? entry->layout : NULL,
                          .size = entry ? entry->size : 0,
                          .offset = entry ? entry->lowest : 0,
                          .count = count};
    pw_staging s;
    transfer *t;

    if (is_self)
        moved = pw_p2p_to_self(entry, buf, count, tag, comm, init && pw_pending_is_seen());
    if (moved) {
        *rc = send_moved(next, init, moved, dest, tag, comm, request);
        return PW_DONE;
    }
    if (entry && init && !is_self && send_again(&like, entry, buf, request)) {
        *rc = MPI_SUCCESS;
        return PW_DONE;
    }
    if (!pw_p2p_stage(&s, PW_CALL_NONBLOCKING, PW_SEND, entry, buf, count, dest, comm, init != NULL, false)) {
        pw_deferred_flush(); /* the deferred ones come first */
        return PW_PASS;
    }
    if (!is_self && is_on_device(&s) && pw_loopback_is(comm, dest)) /* the first one of the process */
        pw_loopback_send(comm, tag, NULL);
    if (init && !is_self && pw_deferred_can(&s))
        return send_deferred(&like, &s, request, rc);
    pw_deferred_flush();
    t = create(is_on_device(&s) ? &awaited_send_ops : &send_ops, comm, &s);
    if (!t)
        return PW_PASS;
    *rc = pw_mpi_fail(comm, pw_staging_pack(&t->out));
    if (*rc == MPI_SUCCESS)
        *rc = next(t->out.data, t->out.buffer.bytes, MPI_BYTE, dest, tag, comm, request, t->out.buffer.bytes > INT_MAX);
    return launched(t, request, *rc);
}

#define SEND(mode, init)                                                                                  \
    pw_verdict pw_hook_##mode(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, \
                              MPI_Comm comm, MPI_Request *request, bool large, int *rc)                   \
    {                                                                                                     \
        (void)large;                                                                                      \
        return send(pw_call_##mode, init, buf, count, datatype, dest, tag, comm, request, rc);            \
    }

SEND(Isend, pw_call_Send_init)
SEND(Issend, pw_call_Ssend_init)
SEND(Ibsend, NULL)
SEND(Irsend, pw_call_Rsend_init)

/* ---- receive ---------------------------------------------------------------------------------------------------- */

/* `message`: the matched one, NULL: the next one of the communicator. */
static pw_verdict recv(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                       MPI_Message *message, MPI_Request *request, int *rc)
{
    pw_entry *entry = pw_p2p_entry(datatype, PW_RECV, buf, count, source, 1);
    pw_staging s;
    transfer *t;

    pw_deferred_poll();
    t = pw_p2p_stage(&s, PW_CALL_NONBLOCKING, PW_RECV, entry, buf, count, source, comm, false, false)
            ? create(&recv_ops, comm, &s)
            : NULL;
    if (!t) {
        if (!message)
            pw_loopback_miss(comm, source);
        return PW_PASS;
    }
    t->peer = source;
    t->tag = tag;
    if (!message)
        follow(t, &t->in);
    set_up(t, entry);
    expect(&t->pending);
    *rc = receive(t, message, request);
    if (*rc == MPI_SUCCESS && is_on_device(&t->in))
        hold(t);
    return launched(t, request, *rc);
}

pw_verdict pw_hook_Irecv(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                         MPI_Request *request, bool large, int *rc)
{
    (void)large;
    return recv(buf, count, datatype, source, tag, comm, NULL, request, rc);
}

/* The communicator of a matched message is not known, so failures of the runtime go to the error handler of
 * MPI_COMM_SELF. */
pw_verdict pw_hook_Imrecv(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request,
                          bool large, int *rc)
{
    (void)large;
    if (!message)
        return PW_PASS;
    return recv(buf, count, datatype, *message == MPI_MESSAGE_NO_PROC ? MPI_PROC_NULL : MPI_ANY_SOURCE, MPI_ANY_TAG,
                MPI_COMM_NULL, message, request, rc);
}
