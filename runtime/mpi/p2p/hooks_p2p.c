/*
 * Blocking point-to-point calls. A call looks up the type, takes a staging buffer for the user's, and lets the MPI
 * below move the staging buffer.
 * Staging buffers travel as MPI_BYTE: MPI matches the envelope and the length, and the peer's type gives the bytes
 * their meaning (docs/mpi-libraries.md says why not MPI_PACKED).
 */
#include "runtime/mpi/errors.h"
#include "runtime/mpi/p2p/p2p.h"
#include "runtime/mpi/requests/received.h"

#include "hooks.h"
#include "next.h"

#include <limits.h>

typedef int send_fn(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    bool large);

/* ---- send ----------------------------------------------------------------------------------------------------- */

typedef bool stage_fn(pw_staging *s, pw_call_kind kind, pw_role role, const pw_entry *entry, const void *buf,
                      MPI_Count count, int peer, MPI_Comm comm);

/* MPI gets an empty message. */
static int send_moved(send_fn *next, pw_loopback_move *moved, int dest, int tag, MPI_Comm comm)
{
    static const char nothing;
    int rc = next(&nothing, 0, MPI_BYTE, dest, tag, comm, false);
    pw_status status = pw_loopback_finish(moved);

    pw_loopback_give(moved);
    return rc == MPI_SUCCESS ? pw_mpi_fail(comm, status) : rc;
}

static pw_verdict send(send_fn *next, stage_fn *stage, const void *buf, MPI_Count count, MPI_Datatype datatype,
                       int dest, int tag, MPI_Comm comm, int *rc)
{
    pw_entry *entry = pw_p2p_entry(datatype, PW_SEND, buf, count, dest, 1);
    pw_loopback_move *moved = pw_loopback_is(comm, dest) ? pw_p2p_to_self(entry, buf, count, tag, comm, true) : NULL;
    pw_staging s;

    if (moved) {
        *rc = send_moved(next, moved, dest, tag, comm);
        return PW_DONE;
    }
    if (!stage(&s, PW_CALL_BLOCKING, PW_SEND, entry, buf, count, dest, comm))
        return pw_p2p_pass(entry, count, dest);
    *rc = pw_mpi_fail(comm, pw_staging_pack(&s));
    if (*rc == MPI_SUCCESS)
        *rc = next(s.data, s.buffer.bytes, MPI_BYTE, dest, tag, comm, s.buffer.bytes > INT_MAX);
    pw_staging_close(&s);
    return PW_DONE;
}

#define SEND(mode, stage)                                                                                 \
    pw_verdict pw_hook_##mode(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, \
                              MPI_Comm comm, bool large, int *rc)                                         \
    {                                                                                                     \
        (void)large;                                                                                      \
        return send(pw_call_##mode, stage, buf, count, datatype, dest, tag, comm, rc);                    \
    }

SEND(Send, pw_p2p_stage_once)
SEND(Ssend, pw_p2p_stage_once)
SEND(Bsend, pw_p2p_stage)
SEND(Rsend, pw_p2p_stage_once)

/* ---- receive -------------------------------------------------------------------------------------------------- */

static int unpack(pw_staging *s, int grain, const MPI_Status *status, MPI_Comm comm)
{
    int rc = pw_received_unpack(s, grain, status);

    return rc == MPI_SUCCESS ? rc : pw_pending_report(comm, rc);
}

/* A send has waited for this receive. */
static void follow_received(const pw_staging *s, MPI_Comm comm, int source, int tag, int rc)
{
    pw_loopback_receive r = {.in = s};

    if (rc != MPI_SUCCESS || s->buffer.place.kind != PW_PLACE_DEVICE || !pw_loopback_is(comm, source)) {
        pw_loopback_miss(comm, source);
        return;
    }
    pw_loopback_post(&r, comm, tag);
    pw_loopback_done(&r, true);
}

pw_verdict pw_hook_Recv(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                        MPI_Status *status, bool large, int *rc)
{
    pw_entry *entry = pw_p2p_entry(datatype, PW_RECV, buf, count, source, 1);
    MPI_Status own;
    pw_staging s;
    int grain;

    (void)large;
    if (!pw_p2p_stage(&s, PW_CALL_BLOCKING, PW_RECV, entry, buf, count, source, comm)) {
        pw_loopback_miss(comm, source);
        return pw_p2p_pass(entry, count, source);
    }
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    grain = pw_received_grain(entry);
    pw_staging_expect(&s);
    *rc = pw_call_Recv(s.data, s.buffer.bytes, MPI_BYTE, source, tag, comm, status, s.buffer.bytes > INT_MAX);
    follow_received(&s, comm, source, tag, *rc);
    if (*rc == MPI_SUCCESS)
        *rc = unpack(&s, grain, status, comm);
    pw_staging_close(&s);
    return PW_DONE;
}

/* The communicator of a matched message is not known, so failures of the runtime go to the error handler of
 * MPI_COMM_SELF. */
pw_verdict pw_hook_Mrecv(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status,
                         bool large, int *rc)
{
    int source = message && *message == MPI_MESSAGE_NO_PROC ? MPI_PROC_NULL : MPI_ANY_SOURCE;
    pw_entry *entry = pw_p2p_entry(datatype, PW_RECV, buf, count, source, 1);
    MPI_Status own;
    pw_staging s;
    int grain;

    (void)large;
    if (!message || !pw_p2p_stage(&s, PW_CALL_BLOCKING, PW_RECV, entry, buf, count, source, MPI_COMM_NULL))
        return pw_p2p_pass(entry, count, source);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    grain = pw_received_grain(entry);
    pw_staging_expect(&s);
    *rc = pw_call_Mrecv(s.data, s.buffer.bytes, MPI_BYTE, message, status, s.buffer.bytes > INT_MAX);
    if (*rc == MPI_SUCCESS)
        *rc = unpack(&s, grain, status, MPI_COMM_SELF);
    pw_staging_close(&s);
    return PW_DONE;
}

/* ---- both ----------------------------------------------------------------------------------------------------- */

/* The buffers of a call that sends to this process what it receives. */
typedef struct pair {
    pw_message out, in;
    pw_buffer to; /* as much of `in` as the message has bytes */
    MPI_Comm comm;
    int tag;
} pair;

static bool describe_on_device(pw_message *m)
{
    return m->entry && pw_message_describe(m) && m->buffer.place.kind == PW_PLACE_DEVICE;
}

static pw_loopback_state pair_state(pair *p)
{
    return describe_on_device(&p->out) && describe_on_device(&p->in) &&
                   pw_loopback_fits(&p->out.buffer, &p->in.buffer, &p->to)
               ? pw_loopback_state_of(p->comm, p->tag)
               : PW_LOOPBACK_BUSY;
}

/* MPI gets an empty message. */
static int move_pair(const pair *p, int self, MPI_Status *status)
{
    char nothing = 0;
    MPI_Status own;
    pw_move move;
    pw_status moved = pw_move_open(&move, &p->out.buffer, &p->to) ? PW_OK : PW_ERR_UNSUPPORTED;
    int rc = pw_mpi_fail(p->comm, moved);

    if (rc != MPI_SUCCESS)
        return rc;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    pw_message_count_joined(&p->out, &p->in);
    pw_move_begin(&move);
    rc = pw_call_Sendrecv(&nothing, 0, MPI_BYTE, self, p->tag, &nothing, 0, MPI_BYTE, self, p->tag, p->comm, status,
                          false);
    moved = pw_move_finish(&move);
    pw_move_close(&move);
    if (rc != MPI_SUCCESS)
        return rc;
    pw_loopback_tell(status, p->to.bytes);
    return pw_mpi_fail(p->comm, moved);
}

pw_verdict pw_hook_Sendrecv(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                            void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
                            MPI_Comm comm, MPI_Status *status, bool large, int *rc)
{
    pw_entry *out = pw_p2p_entry(sendtype, PW_SEND, sendbuf, sendcount, dest, 1);
    pw_entry *in = pw_p2p_entry(recvtype, PW_RECV, recvbuf, recvcount, source, 1);
    MPI_Status own;
    pw_staging s, r;
    int grain = 0;
    bool proves = false;

    if (pw_loopback_is(comm, dest) || pw_loopback_is(comm, source)) {
        pair p = {.out = {.role = PW_SEND, .entry = out, .buffer = {.base = (void *)sendbuf, .count = sendcount}},
                  .in = {.role = PW_RECV, .entry = in, .buffer = {.base = recvbuf, .count = recvcount}},
                  .comm = comm,
                  .tag = sendtag};

        switch (dest == source && sendtag == recvtag ? pair_state(&p) : PW_LOOPBACK_BUSY) {
        case PW_LOOPBACK_PROVEN: *rc = move_pair(&p, dest, status); return PW_DONE;
        case PW_LOOPBACK_NEW: proves = true; break;
        case PW_LOOPBACK_BUSY: pw_loopback_lose(comm);
        }
    } else {
        pw_loopback_miss(comm, source);
    }
    pw_p2p_stage_once(&s, PW_CALL_BLOCKING, PW_SEND, out, sendbuf, sendcount, dest, comm);
    pw_p2p_stage(&r, PW_CALL_BLOCKING, PW_RECV, in, recvbuf, recvcount, source, comm);
    if (!pw_staging_is_open(&s) && !pw_staging_is_open(&r))
        return pw_p2p_pass(out, sendcount, dest) == PW_LEARN || pw_p2p_pass(in, recvcount, source) == PW_LEARN
                   ? PW_LEARN
                   : PW_PASS;
    if (pw_staging_is_open(&s))
        sendbuf = s.data, sendcount = s.buffer.bytes, sendtype = MPI_BYTE;
    if (pw_staging_is_open(&r)) {
        grain = pw_received_grain(in);
        pw_staging_expect(&r);
        recvbuf = r.data, recvcount = r.buffer.bytes, recvtype = MPI_BYTE;
        status = status == MPI_STATUS_IGNORE ? &own : status;
    }
    large = large || sendcount > INT_MAX || recvcount > INT_MAX;
    *rc = pw_staging_is_open(&s) ? pw_mpi_fail(comm, pw_staging_pack(&s)) : MPI_SUCCESS;
    if (*rc == MPI_SUCCESS)
        *rc = pw_call_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,
                               recvtag, comm, status, large);
    if (*rc == MPI_SUCCESS) {
        pw_p2p_accepted(out, sendcount, sendtype, dest);
        pw_p2p_accepted(in, recvcount, recvtype, source);
    }
    if (*rc == MPI_SUCCESS && proves)
        pw_loopback_prove(comm, sendtag);
    if (*rc == MPI_SUCCESS && pw_staging_is_open(&r))
        *rc = unpack(&r, grain, status, comm);
    pw_staging_close(&s);
    pw_staging_close(&r);
    return PW_DONE;
}

/* One staging buffer is both sent and received into. */
pw_verdict pw_hook_Sendrecv_replace(void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
                                    int source, int recvtag, MPI_Comm comm, MPI_Status *status, bool large, int *rc)
{
    pw_entry *entry = pw_p2p_entry(datatype, PW_BOTH, buf, count, source, 1);
    MPI_Status own;
    pw_staging s;
    int grain;

    (void)large;
    pw_loopback_miss(comm, dest);
    pw_loopback_miss(comm, source);
    if (dest == MPI_PROC_NULL || !pw_p2p_stage(&s, PW_CALL_BLOCKING, PW_BOTH, entry, buf, count, source, comm))
        return pw_p2p_pass(entry, count, dest);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    grain = pw_received_grain(entry);
    *rc = pw_mpi_fail(comm, pw_staging_pack(&s));
    if (*rc == MPI_SUCCESS)
        *rc = pw_call_Sendrecv_replace(s.data, s.buffer.bytes, MPI_BYTE, dest, sendtag, source, recvtag, comm, status,
                                       s.buffer.bytes > INT_MAX);
    if (*rc == MPI_SUCCESS)
        *rc = unpack(&s, grain, status, comm);
    pw_staging_close(&s);
    return PW_DONE;
}
