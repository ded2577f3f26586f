/*
 * Blocking point-to-point calls. A call looks up the type, takes a staging buffer for the user's, and lets the MPI
 * below move the staging buffer. Staging buffers travel as MPI_BYTE: MPI matches the envelope and the length, and the
 * peer's type gives the bytes their meaning (docs/mpi-libraries.md says why not MPI_PACKED).
 */
#include "runtime/mpi/errors.h"
#include "runtime/mpi/p2p/p2p.h"

#include "hooks.h"
#include "next.h"

#include <limits.h>

typedef int send_fn(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    bool large);

/* ---- send ----------------------------------------------------------------------------------------------------- */

/* MPI gets an empty message. */
static int send_moved(send_fn *next, pw_loopback_move *moved, int dest, int tag, MPI_Comm comm)
{
    static const char nothing;
    int rc = next(&nothing, 0, MPI_BYTE, dest, tag, comm, false);
    pw_status status = pw_loopback_give(moved, rc == MPI_SUCCESS);

    return rc == MPI_SUCCESS ? pw_mpi_fail(comm, status) : rc;
}

static pw_verdict send(send_fn *next, bool once, const void *buf, MPI_Count count, MPI_Datatype datatype, int dest,
                       int tag, MPI_Comm comm, int *rc)
{
    pw_entry *entry = pw_p2p_entry(datatype, PW_SEND, buf, count, dest, 1);
    pw_loopback_move *moved = pw_loopback_is(comm, dest) ? pw_p2p_to_self(entry, buf, count, tag, comm, true) : NULL;
    pw_staging s;

    if (moved) {
        *rc = send_moved(next, moved, dest, tag, comm);
        return PW_DONE;
    }
    if (!pw_p2p_stage(&s, PW_CALL_BLOCKING, PW_SEND, entry, buf, count, dest, comm, once, false))
        return PW_PASS;
    *rc = pw_mpi_fail(comm, pw_staging_pack(&s));
    if (*rc == MPI_SUCCESS)
        *rc = next(s.data, s.buffer.bytes, MPI_BYTE, dest, tag, comm, s.buffer.bytes > INT_MAX);
    pw_staging_close(&s);
    return PW_DONE;
}

#define SEND(mode, once)                                                                                  \
    pw_verdict pw_hook_##mode(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, \
                              MPI_Comm comm, bool large, int *rc)                                         \
    {                                                                                                     \
        (void)large;                                                                                      \
        return send(pw_call_##mode, once, buf, count, datatype, dest, tag, comm, rc);                     \
    }

SEND(Send, true)
SEND(Ssend, true)
SEND(Bsend, false)
SEND(Rsend, true)

/* ---- receive -------------------------------------------------------------------------------------------------- */

static int unpack(pw_staging *s, const MPI_Status *status, MPI_Comm comm)
{
    return pw_mpi_report(comm, pw_received_unpack(s, status));
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

/* Receives a message; `message`: the matched one, NULL: the next one of the communicator. */
static pw_verdict receive(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                          MPI_Message *message, MPI_Status *status, int *rc)
{
    pw_entry *entry = pw_p2p_entry(datatype, PW_RECV, buf, count, source, 1);
    bool large;
    MPI_Status own;
    pw_staging s;

    if (!pw_p2p_stage(&s, PW_CALL_BLOCKING, PW_RECV, entry, buf, count, source, comm, false, false)) {
        if (!message)
            pw_loopback_miss(comm, source);
        return PW_PASS;
    }
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    pw_staging_expect(&s);
    large = s.buffer.bytes > INT_MAX;
    *rc = message ? pw_call_Mrecv(s.data, s.buffer.bytes, MPI_BYTE, message, status, large)
                  : pw_call_Recv(s.data, s.buffer.bytes, MPI_BYTE, source, tag, comm, status, large);
    if (!message)
        follow_received(&s, comm, source, tag, *rc);
    if (*rc == MPI_SUCCESS)
        *rc = unpack(&s, status, comm);
    pw_staging_close(&s);
    return PW_DONE;
}

pw_verdict pw_hook_Recv(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                        MPI_Status *status, bool large, int *rc)
{
    (void)large;
    return receive(buf, count, datatype, source, tag, comm, NULL, status, rc);
}

/* The communicator of a matched message is not known, so failures of the runtime go to the error handler of
 * MPI_COMM_SELF. */
pw_verdict pw_hook_Mrecv(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status,
                         bool large, int *rc)
{
    (void)large;
    if (!message)
        return PW_PASS;
    return receive(buf, count, datatype, *message == MPI_MESSAGE_NO_PROC ? MPI_PROC_NULL : MPI_ANY_SOURCE, MPI_ANY_TAG,
                   MPI_COMM_NULL, message, status, rc);
}

/* ---- both ----------------------------------------------------------------------------------------------------- */

/* Follows a call that sends and receives, whose receive is staged in r->in or not. Not NULL: the message has a move,
 * and MPI must get an empty one. */
static pw_loopback_move *follow_both(pw_loopback_receive *r, const pw_entry *out, const void *sendbuf,
                                     MPI_Count sendcount, int dest, int sendtag, int source, int recvtag, MPI_Comm comm)
{
    if (!pw_loopback_is(comm, dest) && !pw_loopback_is(comm, source)) {
        pw_loopback_miss(comm, source);
        return NULL;
    }
    if (dest != source || sendtag != recvtag || !pw_staging_is_open(r->in) ||
        r->in->buffer.place.kind != PW_PLACE_DEVICE) {
        pw_loopback_lose(comm);
        return NULL;
    }
    pw_loopback_post(r, comm, recvtag);
    return pw_p2p_to_self(out, sendbuf, sendcount, sendtag, comm, true);
}

/* Brings a message that has come: by its move, or out of the staging buffer. */
static int bring(const pw_loopback_receive *r, pw_staging *s, MPI_Status *status, MPI_Comm comm)
{
    if (!r->move)
        return unpack(s, status, comm);
    PMPI_Status_set_elements_x(status, MPI_BYTE, r->move->move.to.bytes);
    return pw_mpi_fail(comm, pw_loopback_finish(r->move));
}

pw_verdict pw_hook_Sendrecv(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                            void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
                            MPI_Comm comm, MPI_Status *status, bool large, int *rc)
{
    pw_entry *out = pw_p2p_entry(sendtype, PW_SEND, sendbuf, sendcount, dest, 1);
    pw_entry *in = pw_p2p_entry(recvtype, PW_RECV, recvbuf, recvcount, source, 1);
    MPI_Status own;
    pw_staging s, r;
    pw_loopback_receive followed = {.in = &r, .entry = in};
    pw_loopback_move *moved;

    pw_p2p_stage(&r, PW_CALL_BLOCKING, PW_RECV, in, recvbuf, recvcount, source, comm, false, false);
    moved = follow_both(&followed, out, sendbuf, sendcount, dest, sendtag, source, recvtag, comm);
    if (moved)
        s.strategy = NULL;
    else
        pw_p2p_stage(&s, PW_CALL_BLOCKING, PW_SEND, out, sendbuf, sendcount, dest, comm, true, false);
    if (!pw_staging_is_open(&s) && !pw_staging_is_open(&r))
        return PW_PASS;
    if (moved)
        sendcount = 0, sendtype = MPI_BYTE;
    if (pw_staging_is_open(&s))
        sendbuf = s.data, sendcount = s.buffer.bytes, sendtype = MPI_BYTE;
    if (pw_staging_is_open(&r)) {
        pw_staging_expect(&r);
        recvbuf = r.data, recvcount = r.buffer.bytes, recvtype = MPI_BYTE;
        status = status == MPI_STATUS_IGNORE ? &own : status;
    }
    large = large || sendcount > INT_MAX || recvcount > INT_MAX;
    *rc = pw_staging_is_open(&s) ? pw_mpi_fail(comm, pw_staging_pack(&s)) : MPI_SUCCESS;
    if (*rc == MPI_SUCCESS)
        *rc = pw_call_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,
                               recvtag, comm, status, large);
    pw_loopback_give(moved, *rc == MPI_SUCCESS);
    if (*rc == MPI_SUCCESS && pw_staging_is_open(&r))
        *rc = bring(&followed, &r, status, comm);
    pw_loopback_done(&followed, *rc == MPI_SUCCESS);
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

    (void)large;
    pw_loopback_miss(comm, dest);
    pw_loopback_miss(comm, source);
    if (dest == MPI_PROC_NULL ||
        !pw_p2p_stage(&s, PW_CALL_BLOCKING, PW_BOTH, entry, buf, count, source, comm, false, false))
        return PW_PASS;
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    *rc = pw_mpi_fail(comm, pw_staging_pack(&s));
    if (*rc == MPI_SUCCESS)
        *rc = pw_call_Sendrecv_replace(s.data, s.buffer.bytes, MPI_BYTE, dest, sendtag, source, recvtag, comm, status,
                                       s.buffer.bytes > INT_MAX);
    if (*rc == MPI_SUCCESS)
        *rc = unpack(&s, status, comm);
    pw_staging_close(&s);
    return PW_DONE;
}
