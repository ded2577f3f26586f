/*
 * Blocking point to point: look the type up, take a stage for the buffer, and let the MPI below move that.
 *
 * Stages travel as MPI_BYTE: what is matched is envelope and length, and the peer's type gives the bytes their meaning
 * (docs/mpi.md says why not MPI_PACKED).
 */
#include "runtime/mpi/errors.h"
#include "runtime/mpi/requests/pending.h"
#include "runtime/mpi/requests/received.h"
#include "runtime/mpi/strategy/fragile.h"
#include "runtime/mpi/strategy/strategy.h"
#include "runtime/mpi/types/registry.h"

#include "hooks.h"
#include "next.h"

#include <limits.h>

typedef int send_fn(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    bool large);

/* What is known of the type of a buffer that goes to or comes from `peer`. */
static pw_entry *look_up(MPI_Datatype type, pw_role role, const void *buf, MPI_Count count, int peer)
{
    return pw_registry_use(
        type, (pw_note_use){.buf = buf, .count = peer == MPI_PROC_NULL ? 0 : count, .role = role, .times = 1});
}

/* Opens a stage for one side of a call. False: this side is native. */
static bool stage(pw_stage *s, pw_role role, const pw_entry *entry, const void *buf, MPI_Count count, int peer,
                  MPI_Comm comm)
{
    s->strategy = NULL;
    return entry && !pw_entry_is_left(entry) && peer != MPI_PROC_NULL &&
           !pw_fragile_is_own(role, entry, buf, count, peer, comm) &&
           pw_stage_try(s, PW_CALL_BLOCKING, role, entry, buf, count);
}

/* The arguments of a call that stays native, one whose types are not all known. */
static pw_verdict pass(const pw_entry *entry, MPI_Count count, int peer)
{
    return !entry && count > 0 && peer != MPI_PROC_NULL ? PW_LEARN : PW_PASS;
}

/* The same for a type of a call that was carried out with a stage for its other buffer. */
static void accepted(const pw_entry *entry, MPI_Count count, MPI_Datatype type, int peer)
{
    if (pass(entry, count, peer) == PW_LEARN)
        pw_registry_accepted(type);
}

/* ---- send ----------------------------------------------------------------------------------------------------- */

static pw_verdict send(send_fn *next, const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                       MPI_Comm comm, int *rc)
{
    pw_entry *entry = look_up(datatype, PW_SEND, buf, count, dest);
    pw_stage s;

    if (!stage(&s, PW_SEND, entry, buf, count, dest, comm))
        return pass(entry, count, dest);
    *rc = pw_mpi_fail(comm, pw_stage_pack(&s));
    if (*rc == MPI_SUCCESS)
        *rc = next(s.data, s.bytes, MPI_BYTE, dest, tag, comm, s.bytes > INT_MAX);
    pw_stage_close(&s);
    return PW_DONE;
}

#define SEND(mode)                                                                                        \
    pw_verdict pw_hook_##mode(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, \
                              MPI_Comm comm, bool large, int *rc)                                         \
    {                                                                                                     \
        (void)large;                                                                                      \
        return send(pw_call_##mode, buf, count, datatype, dest, tag, comm, rc);                           \
    }

SEND(Send)
SEND(Ssend)
SEND(Bsend)
SEND(Rsend)

/* ---- receive -------------------------------------------------------------------------------------------------- */

static int unpack(pw_stage *s, int grain, const MPI_Status *status, MPI_Comm comm)
{
    int rc = pw_received_unpack(s, grain, status);

    return rc == MPI_SUCCESS ? rc : pw_pending_report(comm, rc);
}

pw_verdict pw_hook_Recv(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                        MPI_Status *status, bool large, int *rc)
{
    pw_entry *entry = look_up(datatype, PW_RECV, buf, count, source);
    MPI_Status own;
    pw_stage s;
    int grain;

    (void)large;
    if (!stage(&s, PW_RECV, entry, buf, count, source, comm))
        return pass(entry, count, source);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    grain = pw_received_grain(entry);
    pw_stage_expect(&s);
    *rc = pw_call_Recv(s.data, s.bytes, MPI_BYTE, source, tag, comm, status, s.bytes > INT_MAX);
    if (*rc == MPI_SUCCESS)
        *rc = unpack(&s, grain, status, comm);
    pw_stage_close(&s);
    return PW_DONE;
}

/* The communicator of a matched message is not known; its handler would be the right one for failures of ours. */
pw_verdict pw_hook_Mrecv(void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status,
                         bool large, int *rc)
{
    int source = message && *message == MPI_MESSAGE_NO_PROC ? MPI_PROC_NULL : MPI_ANY_SOURCE;
    pw_entry *entry = look_up(datatype, PW_RECV, buf, count, source);
    MPI_Status own;
    pw_stage s;
    int grain;

    (void)large;
    if (!message || !stage(&s, PW_RECV, entry, buf, count, source, MPI_COMM_NULL))
        return pass(entry, count, source);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    grain = pw_received_grain(entry);
    pw_stage_expect(&s);
    *rc = pw_call_Mrecv(s.data, s.bytes, MPI_BYTE, message, status, s.bytes > INT_MAX);
    if (*rc == MPI_SUCCESS)
        *rc = unpack(&s, grain, status, MPI_COMM_SELF);
    pw_stage_close(&s);
    return PW_DONE;
}

/* ---- both ----------------------------------------------------------------------------------------------------- */

pw_verdict pw_hook_Sendrecv(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                            void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
                            MPI_Comm comm, MPI_Status *status, bool large, int *rc)
{
    pw_entry *out = look_up(sendtype, PW_SEND, sendbuf, sendcount, dest);
    pw_entry *in = look_up(recvtype, PW_RECV, recvbuf, recvcount, source);
    MPI_Status own;
    pw_stage s, r;
    int grain = 0;

    stage(&s, PW_SEND, out, sendbuf, sendcount, dest, comm);
    stage(&r, PW_RECV, in, recvbuf, recvcount, source, comm);
    if (!pw_stage_is_open(&s) && !pw_stage_is_open(&r))
        return pass(out, sendcount, dest) == PW_LEARN || pass(in, recvcount, source) == PW_LEARN ? PW_LEARN : PW_PASS;
    if (pw_stage_is_open(&s))
        sendbuf = s.data, sendcount = s.bytes, sendtype = MPI_BYTE;
    if (pw_stage_is_open(&r)) {
        grain = pw_received_grain(in);
        pw_stage_expect(&r);
        recvbuf = r.data, recvcount = r.bytes, recvtype = MPI_BYTE;
        status = status == MPI_STATUS_IGNORE ? &own : status;
    }
    large = large || sendcount > INT_MAX || recvcount > INT_MAX;
    *rc = pw_stage_is_open(&s) ? pw_mpi_fail(comm, pw_stage_pack(&s)) : MPI_SUCCESS;
    if (*rc == MPI_SUCCESS)
        *rc = pw_call_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,
                               recvtag, comm, status, large);
    if (*rc == MPI_SUCCESS) {
        accepted(out, sendcount, sendtype, dest);
        accepted(in, recvcount, recvtype, source);
    }
    if (*rc == MPI_SUCCESS && pw_stage_is_open(&r))
        *rc = unpack(&r, grain, status, comm);
    pw_stage_close(&s);
    pw_stage_close(&r);
    return PW_DONE;
}

/* One stage is sent and received into. */
pw_verdict pw_hook_Sendrecv_replace(void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
                                    int source, int recvtag, MPI_Comm comm, MPI_Status *status, bool large, int *rc)
{
    pw_entry *entry = look_up(datatype, PW_BOTH, buf, count, source);
    MPI_Status own;
    pw_stage s;
    int grain;

    (void)large;
    if (dest == MPI_PROC_NULL || !stage(&s, PW_BOTH, entry, buf, count, source, comm))
        return pass(entry, count, dest);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    grain = pw_received_grain(entry);
    *rc = pw_mpi_fail(comm, pw_stage_pack(&s));
    if (*rc == MPI_SUCCESS)
        *rc = pw_call_Sendrecv_replace(s.data, s.bytes, MPI_BYTE, dest, sendtag, source, recvtag, comm, status,
                                       s.bytes > INT_MAX);
    if (*rc == MPI_SUCCESS)
        *rc = unpack(&s, grain, status, comm);
    pw_stage_close(&s);
    return PW_DONE;
}
