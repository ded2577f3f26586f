/*
 * The times of one row. A time is that of the slowest rank, from a barrier on.
 *
 * Packwright learns in a program's first uses of a type, by trials among other things, and so do these measurements
 * see it: `first` are the first uses that this process makes of the row's types, one behind the other. Only then, and
 * after `warm` uses in all, do the peers take turns (bench/turns.h).
 */
#ifndef PW_BENCH_NODE_MEASURE_H
#define PW_BENCH_NODE_MEASURE_H

#include "bench/node/exchange.h"

enum { NODE_FIRST = 64 };

/* Microseconds. */
typedef struct node_times {
    double first[2];           /* NODE_FIRST uses together: native (the median of three times as many) and ours */
    double median[NODE_PEERS]; /* 0 for a peer that takes no part */
    double ratio, quartile[2]; /* of native by ours, over the rounds: median; quartiles */
    int rounds;
    bool good; /* all ranks received what they had to, from all peers, before and after */
} node_times;

typedef struct node_effort {
    double seconds; /* for the turns of a row */
    int warm;       /* uses before them, at least NODE_FIRST */
    bool quick;     /* two rounds of one use */
    bool untimed;   /* ours alone, without turns: as many uses as warm ones and once more as many */
} node_effort;

/* Collective; the result is the same on all ranks. */
node_times node_measure(node_plan *p, const node_effort *effort);

#endif
