/*
 * Receives into staging memory whose message may be unpacked while it comes: when the bytes that MPI would copy lie
 * where this process can see them (runtime/engine/node/peers.h), they go to the user's buffer at once, and the copy
 * into staging memory and the pass over it are saved. Which bytes are in place already is kept with the receive; what
 * did not come this way is in the staging memory, to be unpacked from there.
 *
 * MPIs ask for long messages piece by piece. The sender has packed all of it before it told its MPI, and nobody writes
 * there before the last piece has been read. So where the length is known (runtime/engine/node/segment.h) all is
 * unpacked when the first piece is asked for, and the others find it done.
 *
 * Only for memory that MPI writes and never reads: point to point. A collective may pass on from the receive buffer, so
 * for it the bytes are only copied.
 *
 * A pw_inbound belongs to who expects the message. Pieces may arrive in any thread that MPI works in, one after the
 * other, and all of them before MPI says that its operation is complete: no lock is needed beyond what MPI orders.
 */
#ifndef PW_RUNTIME_INBOUND_H
#define PW_RUNTIME_INBOUND_H

#include "runtime/engine/layout/layout.h"
#include "runtime/engine/node/peers.h"

typedef struct pw_inbound pw_inbound;

/* A message of at most `bytes` bytes into `data`, aligned to 64, for as many objects of `layout` at `buf`. NULL: there
 * are too many already, and it comes as ever. */
pw_inbound *pw_inbound_expect(void *data, int64_t bytes, pw_layout *layout, void *buf);
/* For a collective: what MPI reads into `data`, at most `bytes`, is copied there and stays there. Memory that is not
 * expected must be asked first whether it can be written, which takes as long as the copy. */
pw_inbound *pw_inbound_expect_copies(void *data, int64_t bytes);
/*
 * As pw_inbound_expect, for memory that is not the CPU's: `take` brings the first `bytes` bytes of the message, all of
 * it, which lie at `from` in the block of another process, to where they belong, and is through when it returns. False:
 * the message is to come as ever, and what it has written does not count. It gets a copy of the `arg_bytes` bytes at
 * `arg`. Called in whatever thread MPI works in.
 */
typedef bool pw_inbound_taker(const void *arg, const void *from, int64_t bytes, const pw_peer_block *block);
enum { PW_INBOUND_ARG = 128 };
pw_inbound *pw_inbound_expect_by(void *data, int64_t bytes, pw_inbound_taker *take, const void *arg, size_t arg_bytes);
/* How many messages are expected so, at the moment. */
int pw_inbound_takers(void);
/* The next message into the same. */
void pw_inbound_expect_again(pw_inbound *in);
/* How many bytes, from the first on, are in the user's buffer: if a taker brought them there, all or 0. *ns: how long
 * that took, if a taker did it, or with PACKWRIGHT_STATS. */
int64_t pw_inbound_in_place(const pw_inbound *in, int64_t *ns);
/* NULL is allowed. */
void pw_inbound_forget(pw_inbound *in);

/* ---- for who copies ---------------------------------------------------------------------------------------------- */

/* Is any message expected? This and the next function may be called anywhere, in signal handlers, too. */
bool pw_inbound_is_expected(void);
/* The receive in whose memory `to` is. NULL: none. */
pw_inbound *pw_inbound_at(const void *to);
/* How many bytes there are from `to` to the end of that memory. */
int64_t pw_inbound_room(const pw_inbound *in, const void *to);
/* `bytes` bytes, no more than there is room for, that MPI wants to have at `to` and that can be read at `from`, in this
 * block; NULL: not known. */
void pw_inbound_arrive(pw_inbound *in, void *to, const void *from, int64_t bytes, const pw_peer_block *block);

#endif
