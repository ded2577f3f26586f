/*
 * The messages of one exchange, timed for `packwright plan`. The command starts packwright-measure-<mpi> with the first
 * argument PW_EXCHANGE_WORD on each rank, and gives it on standard input a line
 *
 *     PATTERN MESSAGES COUNT PLACE
 *
 * PATTERN is "halo", or "transpose", which has one message: a block. PLACE is 1 if messages are received into the array
 * that they are sent from, else 0. A line for each message follows,
 *
 *     KEPT ENTRY VARIANT ENTRY VARIANT
 *
 * KEPT is 1 if the message goes to the rank itself, else 0. The types that it is sent and received as are entries of
 * the text in the datatype language that makes up the rest. Rank 0 prints, in nanoseconds and bytes, for the link
 * between two ranks on different nodes, and how far apart two ranks of one node are (pw_exchange_peer)
 *
 *     LATENCY BANDWIDTH OVERHEAD PEER
 *
 * and for each way and each message
 *
 *     WAY MESSAGE PACK UNPACK SELF PEER
 *
 * with 0 for what was not measured: the link, or PEER if there is one rank on each node, and SELF of messages to
 * others.
 */
#ifndef PW_TOOLS_MEASURE_EXCHANGE_H
#define PW_TOOLS_MEASURE_EXCHANGE_H

#define PW_EXCHANGE_WORD "exchange"

enum { PW_EXCHANGE_NATIVE, PW_EXCHANGE_OURS, PW_EXCHANGE_CONTIGUOUS, PW_EXCHANGE_WAYS };

/* Whether two ranks were on one node, and their cores shared a cache. In virtual machines it changes while a program
 * runs, and with it most times. */
typedef enum pw_exchange_peer {
    PW_EXCHANGE_ALONE,
    PW_EXCHANGE_NEAR,
    PW_EXCHANGE_FAR,
    PW_EXCHANGE_CHANGED
} pw_exchange_peer;

/* The times of one message. */
typedef struct pw_exchange_times {
    double pack, unpack; /* by MPI_Pack and MPI_Unpack */
    double self, peer;   /* sent and received to oneself, to the peer, in the company of all others; 0: not measured */
} pw_exchange_times;

/* What messages between nodes take, as in tools/plan/sim.h; `overhead` of each core. All 0: it was not measured. */
typedef struct pw_exchange_link {
    double latency, bandwidth, overhead;
} pw_exchange_link;

/* Called by all ranks between MPI_Init and MPI_Finalize. Returns the exit status. */
int pw_measure_exchange(void);

#endif
