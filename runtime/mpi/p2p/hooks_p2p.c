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

static pw_verdict send(send_fn *next, stage_fn *stage, const void *buf, MPI_Count count, MPI_Datatype datatype,
                       int dest, int tag, MPI_Comm comm, int *rc)
{
    pw_entry *entry = pw_p2p_entry(datatype, PW_SEND, buf, count, dest, 1);
    pw_staging s;

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

pw_verdict pw_hook_Recv(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                        MPI_Status *status, bool large, int *rc)
{
    pw_entry *entry = pw_p2p_entry(datatype, PW_RECV, buf, count, source, 1);
    MPI_Status own;
    pw_staging s;
    int grain;

    (void)large;
    if (!pw_p2p_stage(&s, PW_CALL_BLOCKING, PW_RECV, entry, buf, count, source, comm))
        return pw_p2p_pass(entry, count, source);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    grain = pw_received_grain(entry);
    pw_staging_expect(&s);
    *rc = pw_call_Recv(s.data, s.buffer.bytes, MPI_BYTE, source, tag, comm, status, s.buffer.bytes > INT_MAX);
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

pw_verdict pw_hook_Sendrecv(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                            void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
                            MPI_Comm comm, MPI_Status *status, bool large, int *rc)
{
    pw_entry *out = pw_p2p_entry(sendtype, PW_SEND, sendbuf, sendcount, dest, 1);
    pw_entry *in = pw_p2p_entry(recvtype, PW_RECV, recvbuf, recvcount, source, 1);
    MPI_Status own;
    pw_staging s, r;
    int grain = 0;

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
