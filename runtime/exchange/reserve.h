/* Addresses at a multiple of a power of two. Thread safe. */
#ifndef PW_RUNTIME_RESERVE_H
#define PW_RUNTIME_RESERVE_H

#include <stdbool.h>
#include <stddef.h>

/* Maps `bytes` bytes of private memory without reserving swap for them, at a multiple of `alignment`. `bytes` and
 * `alignment` are multiples of a page; `protection` is mmap's. The caller unmaps them. NULL: there is no room. */
char *pw_reserve(size_t bytes, size_t alignment, int protection);

/* Whether writable addresses without pages take nothing that the program may need. They do where its addresses or its
 * data are limited (RLIMIT_AS, RLIMIT_DATA), and where the system promises no more memory than it has
 * (vm.overcommit_memory is 2). */
bool pw_reserve_is_free(void);

#endif
