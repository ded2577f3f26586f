/*
 * Between the files of the join: join.c (the walk over both trees), join_cut.c (parts of trees), join_leaf.c (what the
 * walk leaves at its ends).
 */
#ifndef PW_IR_JOIN_INTERNAL_H
#define PW_IR_JOIN_INTERNAL_H

#include "ir/join.h"
#include "ir/nest_build.h"

enum {
    PW_JOIN_LOOPS = PW_NEST_MAX_DIMS - 1, /* besides the loop over objects */
    PW_JOIN_REGIONS = 64,
    PW_JOIN_PIECES = 16 /* blocks that are written out as the pieces of a leaf */
};

/* A node and where its origin is, relative to the loops around it. */
typedef struct pw_placed {
    const pw_node *node;
    int64_t off;
} pw_placed;

/* Both sides of a join: [0] is the memory side, [1] the packed side of the nest. */
typedef struct pw_pair {
    pw_placed side[2];
} pw_pair;

/* Blocks of which both ends are known, in packed order. Neighbours that touch on both sides are one. */
typedef struct pw_ends {
    int64_t n, cap;
    int64_t *offs[2], *lens;
} pw_ends;

bool pw_ends_add(pw_ends *e, int64_t a, int64_t b, int64_t bytes);
void pw_ends_free(pw_ends *e);

/* What is inside of the same loops: their path, and the blocks that are to become its leaf. */
typedef struct pw_body {
    int64_t off[2];
    int ndims;
    pw_dim dims[PW_JOIN_LOOPS];
    pw_ends ends;
} pw_body;

typedef struct pw_joiner {
    pw_builder builder; /* its arena is the nest's */
    int nregions;
    pw_region regions[PW_JOIN_REGIONS];
    int64_t spent; /* blocks written out so far */
    int steps;     /* pairs of nodes so far */
} pw_joiner;

/* ---- join_cut.c ---------------------------------------------------------------------------------------- */

/* Without repetitions that happen once and sequences of one. */
pw_placed pw_placed_peel(pw_builder *b, pw_placed p);
/* Packed bytes [first, last) of a node; a NULL node when the builder has failed. */
pw_placed pw_placed_part(pw_builder *b, pw_placed p, int64_t first, int64_t last);

/* ---- join_leaf.c --------------------------------------------------------------------------------------- */

/* Adds both nodes' blocks, cut at each other's ends; PW_ERR_UNSUPPORTED when there are too many. */
pw_status pw_join_expand(pw_joiner *j, pw_body *body, const pw_pair *p);
/* The region, if any, of the blocks that the body has gathered. */
pw_status pw_join_flush(pw_joiner *j, pw_body *body);

#endif
