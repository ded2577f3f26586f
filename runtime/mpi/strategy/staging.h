/* A message on its way by a strategy that stages it: opened, packed, expected, unpacked, closed. */
#ifndef PW_RUNTIME_STAGING_H
#define PW_RUNTIME_STAGING_H

#include "runtime/mpi/strategy/strategy.h"

/* Chooses a strategy and takes its memory. False: the message is native, and *s is empty. */
bool pw_staging_open(pw_staging *s, const pw_message *m);
/* Stages the message by this strategy, without asking it whether it can; remembers nothing. On failure *s is empty. */
pw_status pw_staging_open_by(pw_staging *s, const pw_message *m, const pw_strategy *strategy);
/* To be called before a staging is packed in parts: tells other processes of the node what all of it is going to be. */
void pw_staging_announce(pw_staging *s);
/* Packs the user's buffer. */
pw_status pw_staging_pack(pw_staging *s);
/* To be called before each point-to-point receive, and for each block that is exchanged: MPI will write the memory and
 * not read it, so the message may be unpacked while it arrives. */
void pw_staging_expect(pw_staging *s);
/* Unpacks the first `received` bytes. Does nothing if that is <= 0 or exceeds the message, as after an error of MPI. */
pw_status pw_staging_unpack(pw_staging *s, int64_t received);
/* Returns how many bytes have arrived in a receive of MPI_BYTE; -1 if MPI cannot tell. */
int64_t pw_received_bytes(const MPI_Status *status);
/* Unpacks what has arrived. Returns an MPI error code, which the caller reports. */
int pw_received_unpack(pw_staging *s, const MPI_Status *status);
/*
 * Starts packing (or unpacking) without waiting, for callers with several stagings. False: it cannot start now. In both
 * cases the caller must still call pw_staging_pack (pw_staging_unpack), which waits for what was started and does the
 * rest.
 */
bool pw_staging_begin_pack(pw_staging *s);
bool pw_staging_begin_unpack(pw_staging *s, int64_t received);
/* Whether this packing should begin together with others, as one launch. */
bool pw_staging_is_fusable(const pw_staging *s);
/* Whether packing has begun and is over, so that pw_staging_pack does not wait. */
bool pw_staging_is_packed(const pw_staging *s);
/* Waits until nobody reads a message that MPI has sent: then its buffer is the program's again. */
void pw_staging_await(const pw_staging *s);
/* Does what pw_staging_await does and releases all that *s holds, which is empty then. Does nothing if it is empty. */
void pw_staging_close(pw_staging *s);

static inline bool pw_staging_is_open(const pw_staging *s)
{
    return s->strategy;
}

#endif
