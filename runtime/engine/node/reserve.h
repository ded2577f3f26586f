/* Addresses at a multiple of a power of two. Thread safe. */
#ifndef PW_RUNTIME_RESERVE_H
#define PW_RUNTIME_RESERVE_H

#include <stddef.h>

/* Maps `bytes` bytes of private memory without reserving swap for them, at a multiple of `alignment`. `bytes` and
 * `alignment` are multiples of a page; `protection` is mmap's. The caller unmaps them. NULL: there is no room. */
char *pw_reserve(size_t bytes, size_t alignment, int protection);

#endif
