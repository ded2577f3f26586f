/*
 * The exchanges, each done by one of the peers: `ours` calls MPI_X, which is Packwright's; `native` calls PMPI_X on
 * the same buffers, which is the MPI's own; `hand` packs with a loop, calls PMPI_X for contiguous bytes and unpacks
 * with a loop, as programs do; `plain` calls PMPI_X for as many contiguous bytes, the limit for all. `moved` is no
 * exchange: each rank packs with the loop what it would send, and unpacks from there as much as it would receive, which
 * is the limit for who packs. Further peers do as `ours`, by a strategy that is named and not chosen.
 */
#ifndef PW_BENCH_MESSAGES_EXCHANGE_H
#define PW_BENCH_MESSAGES_EXCHANGE_H

#include "bench/messages/buffers.h"

typedef enum msg_peer {
    MSG_NATIVE,
    MSG_OURS,
    MSG_HAND,
    MSG_PLAIN,
    MSG_MOVED,
    MSG_PACKED,
    MSG_PIPELINE,
    MSG_DIRECT,
    MSG_PEERS
} msg_peer;

const char *msg_mode_name(int mode);
/* There and back? */
bool msg_mode_returns(msg_mode mode);
/* Only the benchmark's own rows of blocks are made afresh. */
bool msg_mode_can(msg_mode mode, const msg_parcel *p);
const char *msg_peer_name(int peer);
/* Not all rows have loops, and not all peers take part. */
bool msg_peer_can(msg_peer peer, msg_mode mode, const msg_world *w, const msg_parcel *p);

/* Makes `times` exchanges, for a ping-pong there and back. Returns how long they took this rank, in ns. For `overlap`
 * that is the sender's time in its calls. */
double msg_exchange(msg_mode mode, msg_peer peer, const msg_world *w, const msg_buffers *b, int times);

/* Do ours, hand and named strategies leave in memory, gaps included, what native does? On this rank. */
bool msg_verify(msg_mode mode, const msg_world *w, const msg_buffers *b);

#endif
