/*
 * A simulation of one exchange: every rank packs its messages one after the other, the messages travel, and their
 * receivers unpack them. Pure arithmetic on one queue of events, without randomness: equal input, equal result.
 *
 * What is shared, and how it is contended for:
 *
 * - A core belongs to one rank. It packs the rank's messages in their order from time 0 on, and then unpacks what
 *   has arrived, first come, first served.
 * - A node's link is shared by its ranks, separately for each way. Messages follow each other in the order in which
 * they were packed (out) or their first bytes come in (in): first come, first served, each with the whole bandwidth. A
 *   message enters the receiver's link while it leaves the sender's, so alone it takes latency + bytes / bandwidth.
 * - Messages within a node, and of a rank to itself, share the bandwidth of the node's memory in the same way.
 * - Between links the network is never short.
 *
 * Times are nanoseconds, sizes bytes, bandwidths bytes per nanosecond.
 */
#ifndef PW_TOOLS_PLAN_SIM_H
#define PW_TOOLS_PLAN_SIM_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct pw_sim_machine {
    int64_t ranks, ranks_per_node; /* both > 0; ranks are placed one node after the other */
    double latency;                /* of a message to another node */
    double link;                   /* bandwidth of a node's link, each way; > 0, INFINITY: no limit */
    double memory;                 /* bandwidth of copies within a node; > 0, INFINITY: no limit */
} pw_sim_machine;

/* A message: what it is, and what it costs the cores. `copy_out` and `copy_in` are the parts of the transport that the
 * sender's and the receiver's core do themselves. */
typedef struct pw_sim_message {
    int64_t to; /* a rank */
    int64_t bytes;
    double pack, copy_out, copy_in, unpack;
} pw_sim_message;

typedef struct pw_sim_exchange {
    int messages; /* that every rank sends, and receives; at least 1 */
    bool staged;  /* all messages leave once the last one is packed, and are unpacked once the last one is there */
    /* Returns message k of a rank, 0 <= k < messages. Asked several times for each message. */
    pw_sim_message (*message)(const void *arg, int64_t rank, int k);
    const void *arg;
} pw_sim_exchange;

/* What happened to one rank. What is neither pack nor unpack of its `end` are copies and waiting. */
typedef struct pw_sim_rank {
    double pack, unpack;            /* time of its core */
    double end;                     /* when its last message has left and the last one for it is unpacked */
    int64_t sent, received, abroad; /* bytes; `abroad` are those sent to other nodes */
    int arrived;                    /* messages */
} pw_sim_rank;

/* Simulates the exchange; fills one result for each rank. PW_ERR_NOMEM. */
pw_status pw_sim_run(const pw_sim_machine *machine, const pw_sim_exchange *exchange, pw_sim_rank *ranks);

#endif
