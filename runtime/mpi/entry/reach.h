/*
 * Tells whether calls of the program come to this library. An operation that this library starts must also complete
 * here. A tool in front of this library that takes a completing call and goes on to its PMPI_ form, or a language
 * binding that calls PMPI_ itself, would leave the data in staging memory for ever.
 */
#ifndef PW_RUNTIME_REACH_H
#define PW_RUNTIME_REACH_H

#include <stdbool.h>

/* Returns whether the program's `symbol` is the one of this library. Looks the symbol up in the global scope, which is
 * slow: for decisions that are made once. */
bool pw_reach_is_ours(const char *symbol);

#endif
