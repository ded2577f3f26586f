/*
 * What the files of the combiner algebra share: arithmetic with the builder's sticky error, the bounds
 * of a typemap under construction, and arrays.
 */
#ifndef PW_FRONTEND_COMBINER_INTERNAL_H
#define PW_FRONTEND_COMBINER_INTERNAL_H

#include "frontend/combiner.h"

/* Remembers `status` unless an error came before; returns the empty type for `return`. */
pw_dt pw_dt_fail(pw_builder *b, pw_status status);

/* Checked arithmetic: 0 and PW_ERR_OVERFLOW in the builder when the result does not fit. */
static inline int64_t pw_dt_mul(pw_builder *b, int64_t x, int64_t y)
{
    int64_t r;
    if (!__builtin_mul_overflow(x, y, &r))
        return r;
    pw_dt_fail(b, PW_ERR_OVERFLOW);
    return 0;
}

static inline int64_t pw_dt_add(pw_builder *b, int64_t x, int64_t y)
{
    int64_t r;
    if (!__builtin_add_overflow(x, y, &r))
        return r;
    pw_dt_fail(b, PW_ERR_OVERFLOW);
    return 0;
}

/* Bounds of the blocks seen so far. Zero-initialise. */
typedef struct pw_dt_bounds {
    int64_t lb, ub;
    bool any;    /* some block counted */
    bool marked; /* ... and it had markers */
} pw_dt_bounds;

/* Takes in `blocklen` consecutive elements of `old` at byte displacement `disp`. */
void pw_dt_bounds_add(pw_builder *b, pw_dt_bounds *bounds, int64_t disp, int64_t blocklen, const pw_dt *old);

/* The type with this tree and these bounds; the empty pw_dt when the builder has failed or there is
 * no node. */
pw_dt pw_dt_make(pw_builder *b, const pw_node *node, const pw_dt_bounds *bounds, int64_t align);

/* `blocklen` consecutive elements. */
const pw_node *pw_dt_block(pw_builder *b, int64_t blocklen, const pw_dt *old);

/* Bytes of one element when elements are contiguous and fill their extent, so that a block of k is k times
 * as many bytes in a row; else -1. */
int64_t pw_dt_dense_bytes(const pw_dt *old);

/* n items in the builder's arena, not cleared. NULL, with the reason in the builder, when n is negative or there is no
 * memory. */
void *pw_dt_array(pw_builder *b, int64_t n, size_t bytes);

#endif
