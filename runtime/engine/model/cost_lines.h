/* The constants of runtime/engine/model/cost.h: what MPIs and packing cost on the machines where it was measured. */
#ifndef PW_RUNTIME_COST_LINES_H
#define PW_RUNTIME_COST_LINES_H

#include "runtime/engine/model/cost.h"

/* fixed + per_block * blocks + per_byte * bytes, nanoseconds. */
typedef struct pw_cost_line {
    double fixed, per_block, per_byte;
} pw_cost_line;

/* Over blocks shorter than this many bytes any MPI's walk is dearer than packing. */
enum { PW_COST_TINY = 6 };

/* Messages of up to so many bytes are packed when their blocks are shorter than `cross`, and no shorter than `least` or
 * shorter than PW_COST_TINY. */
typedef struct pw_cost_range {
    int64_t up_to;
    double cross, least;
} pw_cost_range;

/* An MPI's own way. */
typedef struct pw_cost_walk {
    pw_cost_line short_ones, long_ones;
    double spared;               /* of it, by packing, for each block of a longer message */
    const pw_cost_range *copied; /* what is packed of longer ones where the MPI copies packed messages; the last holds
                                    all, as in pw_cost_lines */
} pw_cost_walk;

/* ... and packing, on some machine. */
typedef struct pw_cost_lines {
    const pw_cost_walk *walk;
    int64_t short_to; /* bytes */
    pw_cost_line packed_short;
    const pw_cost_range *shared, *apart; /* what is packed of longer ones, ascending; the last holds all */
} pw_cost_lines;

/* The sort must be one of a message's: up to PW_CALL_NEIGHBOUR. */
const pw_cost_lines *pw_cost_lines_of(bool open_mpi, pw_cost_cores cores, pw_call_sort sort);

#endif
