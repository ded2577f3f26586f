/*
 * Do calls of the program come to this library? What is started here must be finished here: a tool in front of us that
 * takes a completing call and goes on to its PMPI_ form, or a language binding that calls PMPI_ itself, would leave
 * data in staging memory for ever.
 */
#ifndef PW_RUNTIME_REACH_H
#define PW_RUNTIME_REACH_H

#include <stdbool.h>

/* Whether the program's `symbol` is this library's. Looks it up in the global scope: for decisions made once. */
bool pw_reach_is_ours(const char *symbol);

#endif
