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

/* ---- withdraw.c -------------------------------------------------------------------------------------------------- */

/*
 * Out of the way, in a process whose MPI this library was not built for. If it is another MPI, its handles and
 * constants are others, so even passing a call on would spoil its arguments. If it is an older one, it lacks calls that
 * are exported here, and a program that looks whether they are there would call them.
 */

/* Is the MPI of this process, as far as one is mapped and in the global scope, of the other kind? Calls no MPI. */
bool pw_withdraw_is_due(void);

/*
 * Has the calls of everything that is mapped lead past this library, to the next definitions, and weak references to
 * what has none to NULL. The loader does not find our definitions any more, so what is mapped or asked for later does
 * not, either. Addresses that the program has asked for before still lead here.
 */
void pw_withdraw(void);

#endif
