/*
 * Tells whether calls of the program come to this library. An operation that this library starts must also complete
 * here. A tool in front of this library that takes a completing call and goes on to its PMPI_ form, or a language
 * binding that calls PMPI_ itself, would leave the data in staging memory for ever.
 */
#ifndef PW_RUNTIME_CALLS_H
#define PW_RUNTIME_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>

/* Names of functions, ended by NULL, and what is known of them: 0, then 1 + the answer, the same in all threads. */
typedef struct pw_calls {
    const char *const *symbols;
    _Atomic int known;
} pw_calls;

/* Returns whether all of the program's `symbols` are those of this library. The first call looks them up in the global
 * scope, which is slow. Thread safe. */
bool pw_calls_are_ours(pw_calls *list);

/* Returns the file of the library whose definition of `symbol` comes before this library's; NULL: there is none. */
const char *pw_calls_taken_by(const char *symbol);
/* Returns whether this library contains a function. */
bool pw_calls_is_here(const void *function);

#endif
