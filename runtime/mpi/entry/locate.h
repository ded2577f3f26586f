/* Finding the MPI below this library, and checking that the application's calls come here first. */
#ifndef PW_RUNTIME_LOCATE_H
#define PW_RUNTIME_LOCATE_H

#include <stdbool.h>

/* Makes the MPI of the process visible to symbol lookup, also when it was loaded with RTLD_LOCAL (as language
 * bindings do). Once, before pw_locate_next. */
void pw_locate_mpi(void);

/* The next definition after ours: `symbol` itself, so that a tool below stays in the chain, else its PMPI_ name.
 * NULL: none. */
void *pw_locate_next(const char *symbol);

/* The self-test: is there an MPI, is it of the ABI and version this was built for, and do MPI_ symbols resolve to
 * this library? When not, says why in one line and returns false. */
bool pw_locate_check(void);

#endif
