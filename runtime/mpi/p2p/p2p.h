/*
 * What blocking and nonblocking point-to-point calls have in common: they look up the type of a buffer and stage the
 * buffer, or leave the call to MPI.
 */
#ifndef PW_RUNTIME_P2P_H
#define PW_RUNTIME_P2P_H

#include "runtime/mpi/requests/loopback.h"
#include "runtime/mpi/requests/pending.h"
#include "runtime/mpi/strategy/mpich_split.h"
#include "runtime/mpi/strategy/staging.h"
#include "runtime/mpi/types/registry.h"

/* Looks up the type of a buffer that goes to or comes from `peer`. `times`: how many uses of it the call stands for. */
static inline pw_entry *pw_p2p_entry(MPI_Datatype type, pw_role role, const void *buf, MPI_Count count, int peer,
                                     int times)
{
    count = peer == MPI_PROC_NULL ? 0 : count;
    return pw_registry_use(
        type, (pw_note_use){.buf = buf, .count = count, .role = role, .times = times, .staged = PW_NOTE_STAGED_NS});
}

/* Opens a staging buffer for one buffer of a call. Returns false if MPI gets the buffer itself; *s is empty then.
 * `once`: as pw_message.once (MPI_Bsend copies); `started`: MPI_Start and MPI_Startall send or receive it. */
static inline bool pw_p2p_stage(pw_staging *s, pw_call_kind kind, pw_role role, const pw_entry *entry, const void *buf,
                                MPI_Count count, int peer, MPI_Comm comm, bool once, bool started)
{
    pw_message m;

    s->strategy = NULL;
    if (!entry || pw_entry_is_left(entry) || peer == MPI_PROC_NULL ||
        (kind != PW_CALL_BLOCKING && !pw_pending_is_seen()))
        return false;
    m = (pw_message){.kind = kind,
                     .role = role,
                     .entry = entry,
                     .buffer = {.base = (void *)buf, .count = count},
                     .channel = role == PW_BOTH ? 0 : pw_message_channel(comm, peer, role),
                     .is_started = started,
                     .once = once};
    if (pw_split_is_own(role, entry, buf, count, peer, comm)) {
        pw_message_leave(&m);
        return false;
    }
    if (!pw_message_describe(&m))
        return false;
    m.is_followed = pw_loopback_is(comm, peer); /* perhaps only since this message showed that the driver is in use */
    return pw_staging_open(s, &m);
}

/* Follows a message to this process (loopback.h). Not NULL: its move has begun, and MPI must get an empty message. */
static inline pw_loopback_move *pw_p2p_to_self(const pw_entry *entry, const void *buf, MPI_Count count, int tag,
                                               MPI_Comm comm, bool may_move)
{
    pw_message m = {.role = PW_SEND, .entry = entry, .buffer = {.base = (void *)buf, .count = count}};

    if (entry && pw_message_describe(&m) && pw_buffer_is_on_device(&m.buffer))
        return pw_loopback_send(comm, tag, may_move ? &m : NULL);
    pw_loopback_lose(comm);
    return NULL;
}

#endif
