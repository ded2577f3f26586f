/* `packwright cache seed`: kernels and models for all users. */
#ifndef PW_TOOLS_CACHE_SEED_H
#define PW_TOOLS_CACHE_SEED_H

#include <stdbool.h>

/* Copies the entries and models of the cache directory `from` that `to` has not. Prints what was done and returns an
 * exit status. */
int pw_seed(const char *from, const char *to, bool json);

#endif
