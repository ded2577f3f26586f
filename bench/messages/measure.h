/*
 * Times of the peers for one row and mode.
 *
 * They take turns in short batches, with a barrier before each, so that whatever else the machine does falls on all
 * of them alike. Rank 0's clock counts. Times are microseconds: half a round trip of a ping-pong, the
 * sender's time in its calls of an overlap, else an exchange.
 */
#ifndef PW_BENCH_MESSAGES_MEASURE_H
#define PW_BENCH_MESSAGES_MEASURE_H

#include "bench/messages/exchange.h"
#include "bench/messages/stores.h"

/* 0 of a peer that does not take part. */
typedef struct msg_times {
    double min[MSG_PEERS], median[MSG_PEERS];
    double paired, by_hand;     /* medians over the rounds: of native by ours, and of hand by ours */
    double by_plain[MSG_PEERS]; /* of each peer by contiguous */
    double stores[2];           /* msg_stores before and after */
    int rounds;
} msg_times;

/* Collective over w->all; the result is rank 0's. `quick`: two rounds of one exchange. */
msg_times msg_measure(msg_mode mode, const msg_world *w, msg_buffers *b, double seconds, bool quick);

#endif
