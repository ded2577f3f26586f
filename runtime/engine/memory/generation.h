/*
 * The generation of what is known of a process: of its types, its communicators, its memory, its operations.
 *
 * Code that remembers an answer reads the generation before it works the answer out, and uses the answer only while the
 * generation is the same. Code that changes what an answer may rest on, so that a "yes" may become a "no", begins a new
 * generation afterwards. An answer that was worked out during the change is then never used.
 */
#ifndef PW_RUNTIME_GENERATION_H
#define PW_RUNTIME_GENERATION_H

#include <stdatomic.h>
#include <stdint.h>

/* Hidden, so that it is addressed directly and not through the global offset table. */
#pragma GCC visibility push(hidden)
extern _Atomic uint64_t pw_generation; /* never 0 */
#pragma GCC visibility pop

static inline uint64_t pw_generation_now(void)
{
    return atomic_load_explicit(&pw_generation, memory_order_acquire);
}

static inline void pw_generation_begin(void)
{
    atomic_fetch_add_explicit(&pw_generation, 1, memory_order_acq_rel);
}

#endif
