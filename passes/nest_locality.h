/* What the nest passes know of caches: the estimates that order and tile loops. */
#ifndef PW_PASSES_NEST_LOCALITY_H
#define PW_PASSES_NEST_LOCALITY_H

#include "ir/nest.h"

enum { PW_CACHE_LINE = 64, PW_PAGE = 4096 };

static inline int64_t pw_magnitude(int64_t v)
{
    return v == INT64_MIN ? INT64_MAX : v < 0 ? -v : v;
}

/* Typical distance in memory between successive iterations, never negative: the stride, or a mean over a
 * sample of a table. */
int64_t pw_dim_mem_step(const pw_dim *d);

/* Cost of one step of a loop: the parts of a cache line and of a page that are new, on both sides. PW_PAGE stands for
 * one whole line or page. */
int64_t pw_dim_step_cost(const pw_dim *d);

#endif
