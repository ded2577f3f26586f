/*
 * The cost model: what moving a non-contiguous message costs one rank, in nanoseconds. Linear in bytes and in
 * contiguous blocks; the constants are defaults measured as docs/mpi.md tells.
 */
#ifndef PW_RUNTIME_COST_H
#define PW_RUNTIME_COST_H

#include "runtime/call_sort.h"

#include <stdint.h>

/* `bytes` in `blocks` contiguous blocks, both of the whole message and positive. */
double pw_cost_native(pw_call_sort sort, int64_t bytes, int64_t blocks);
double pw_cost_packed(pw_call_sort sort, int64_t bytes, int64_t blocks);

#endif
