/*
 * The exchanges, each done by one of the peers: `ours` calls MPI_X, which is Packwright's; `native` calls PMPI_X on
 * the same buffers, which is the MPI's own; `hand` packs with a loop, calls PMPI_X for contiguous bytes and unpacks
 * with a loop, as programs do; `plain` calls PMPI_X for as many contiguous bytes, the limit for all. `moved` is no
 * exchange: each rank packs with the loop what it would send, and unpacks from there as much as it would receive, which
 * is the limit for who packs. Further peers do as `ours`, by a strategy that is named and not chosen.
 */
#ifndef PW_BENCH_MESSAGES_EXCHANGE_H
#define PW_BENCH_MESSAGES_EXCHANGE_H

#include "bench/messages/parcel.h"

/* `fresh` is a ping-pong of messages that have a type each, made before it and freed behind it; `stream` is eight
 * blocking messages one way and an empty one back. */
typedef enum msg_mode {
    MSG_PING_PONG,
    MSG_FRESH,
    MSG_STREAM,
    MSG_IN_FLIGHT_8,
    MSG_ALLTOALL,
    MSG_NEIGHBOURS,
    MSG_SELF,
    MSG_MODES
} msg_mode;
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

/* The ranks: all of them, each one's partner (itself + 1 or - 1; MPI_PROC_NULL: it has none), a ring, and the ring
 * of this rank alone. */
typedef struct msg_world {
    MPI_Comm all, ring, alone;
    int rank, ranks, partner;
    bool alloc_mem;   /* typed buffers are from MPI_Alloc_mem */
    bool by_strategy; /* peers with named strategies take part, where the MPI has a place for them */
} msg_world;

/* Memory for one mode of one row, typed and contiguous. */
typedef struct msg_buffers {
    const msg_parcel *parcel;
    char *send, *recv, *plain_send, *plain_recv;
    bool alloc_mem;
    int64_t send_bytes, recv_bytes, plain_bytes;
} msg_buffers;

const char *msg_mode_name(int mode);
/* There and back? */
bool msg_mode_returns(msg_mode mode);
/* Only the benchmark's own rows of blocks are made afresh. */
bool msg_mode_can(msg_mode mode, const msg_parcel *p);
const char *msg_peer_name(int peer);
/* Not all rows have loops, and not all peers take part. */
bool msg_peer_can(msg_peer peer, msg_mode mode, const msg_world *w, const msg_parcel *p);

/* What is sent and received at once: for messages per exchange and the memory they need. */
int msg_sent(msg_mode mode, const msg_world *w);
int msg_received(msg_mode mode, const msg_world *w);
int64_t msg_memory(const msg_parcel *p, msg_mode mode, const msg_world *w);

/* False: no memory. Pages are touched. */
bool msg_buffers_take(msg_buffers *b, const msg_parcel *p, msg_mode mode, const msg_world *w);
void msg_buffers_give(msg_buffers *b);

/* `times` exchanges. Of a ping-pong that is there and back. */
void msg_exchange(msg_mode mode, msg_peer peer, const msg_world *w, const msg_buffers *b, int times);

/* Do ours, hand and named strategies leave in memory, gaps included, what native does? On this rank. */
bool msg_verify(msg_mode mode, const msg_world *w, const msg_buffers *b);

#endif
