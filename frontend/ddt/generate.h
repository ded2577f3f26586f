/* Generators of long index lists. Deterministic: the same arguments give the same numbers everywhere. */
#ifndef PW_FRONTEND_DDT_GENERATE_H
#define PW_FRONTEND_DDT_GENERATE_H

#include "base/status.h"

#include <stdint.h>

/* out[i] = start + i * step. PW_ERR_OVERFLOW when that does not fit. */
pw_status pw_generate_range(int64_t start, int64_t step, int64_t n, int64_t *out);
/* n different numbers from [0, of), increasing. PW_ERR_INVALID when n > of. */
pw_status pw_generate_sample(int64_t n, int64_t of, uint64_t seed, int64_t *out);
/* A permutation of [0, n). */
void pw_generate_shuffle(int64_t n, uint64_t seed, int64_t *out);

#endif
