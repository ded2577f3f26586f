/*
 * How far apart two ranks' cores are: what a plain store costs to a line of a message that the other has read.
 * In virtual machines it changes while a program runs, and with it most of what is measured, so it is reported for
 * every row.
 */
#ifndef PW_BENCH_MESSAGES_STORES_H
#define PW_BENCH_MESSAGES_STORES_H

#include "bench/messages/exchange.h"

typedef enum msg_distance { MSG_CHANGED, MSG_NEAR, MSG_FAR, MSG_DISTANCES } msg_distance;

/* Nanoseconds, the median of some; collective over w->all. 0 for a rank without a partner. */
double msg_stores(const msg_world *w);

/* Returns how far apart the cores were during a row, from the stores that were timed before and after it. */
msg_distance msg_distance_of(double before, double after);
const char *msg_distance_name(msg_distance d); /* "near", "far", "-" */

#endif
