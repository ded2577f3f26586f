/*
 * A seeded generator of layouts for tests. No global state; the same seed and options give the same type.
 *
 * Types satisfy every invariant of docs/ir.md: alignments hold, since all offsets, strides and the extent are
 * multiples of one unit that the leaves' alignments divide. Packed size and touched span are bounded, so tests
 * can allocate the buffers. Overlapping blocks do occur; pw_random_overlaps tells, since unpacking them has no
 * single right answer.
 */
#ifndef PW_TESTS_SUPPORT_RANDOM_IR_H
#define PW_TESTS_SUPPORT_RANDOM_IR_H

#include "ir/ir.h"
#include "tests/support/rng.h"

typedef enum pw_random_style {
    PW_RANDOM_MIXED,     /* one of the two others, by seed */
    PW_RANDOM_TREE,      /* every kind of node nested in every other one, with negative and zero numbers everywhere */
    PW_RANDOM_STRUCTURED /* what programs make: vectors, subarrays, structs, regular index lists, transposes */
} pw_random_style;

/* Zero fields take the defaults. */
typedef struct pw_random_options {
    pw_random_style style;
    int64_t max_size; /* packed bytes of one object; default 4096, never less than 16 */
    int64_t max_span; /* touched bytes lie within [-max_span, max_span]; default 16 * max_size, never less than 64 */
    int max_depth;    /* default 6 */
} pw_random_options;

/* Builds into b's arena; look at b->status afterwards, as after any build. `options` may be NULL. */
pw_type pw_random_type(pw_builder *b, uint64_t seed, const pw_random_options *options);

/* Returns whether some byte of memory belongs to two packed bytes of `count` objects. Walks all blocks, so the type
 * must be bounded. */
bool pw_random_overlaps(const pw_type *type, int64_t count);

/* The memory that `count` objects touch: [*lo, *hi) relative to the address of the first. Both 0 when none. */
void pw_random_bounds(const pw_type *type, int64_t count, int64_t *lo, int64_t *hi);

#endif
