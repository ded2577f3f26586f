/*
 * A row's exchange, carried out by one of the peers: `native` calls PMPI_X, which is the MPI's own; `ours` calls MPI_X,
 * which is Packwright's, with the same arguments; `hand` packs with loops, calls PMPI_X for contiguous bytes and
 * unpacks, as a program without derived datatypes does. Only cubes are exchanged by hand.
 */
#ifndef PW_BENCH_NODE_EXCHANGE_H
#define PW_BENCH_NODE_EXCHANGE_H

#include "bench/node/plan.h"

typedef enum node_peer { NODE_NATIVE, NODE_OURS, NODE_HAND, NODE_PEERS } node_peer;

/* Makes and frees what a row keeps between exchanges: persistent requests. */
void node_exchange_begin(node_plan *p);
void node_exchange_end(node_plan *p);
bool node_peer_can(node_peer peer, const node_plan *p);
void node_exchange_do(node_plan *p, node_peer peer);
/* Makes one exchange; returns whether it leaves each byte of the receive buffer as it has to be: what the other ranks
 * sent, and gaps as they were. Native has to be verified first. */
bool node_verify(node_plan *p, node_peer peer);

#endif
