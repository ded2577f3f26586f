/*
 * Out of the way, in a process whose MPI this library was not built for. If it is another MPI, its handles and
 * constants are others, so even passing a call on would spoil its arguments. If it is an older one, it lacks calls that
 * are exported here, and a program that looks whether they are there would call them.
 */
#ifndef PW_RUNTIME_WITHDRAW_H
#define PW_RUNTIME_WITHDRAW_H

#include <stdbool.h>

/* Is the MPI of this process, as far as one is mapped and in the global scope, of the other kind? Calls no MPI. */
bool pw_withdraw_is_due(void);

/*
 * Has the calls of everything that is mapped lead past this library, to the next definitions, and weak references to
 * what has none to NULL. The loader does not find our definitions any more, so what is mapped or asked for later does
 * not, either. Addresses that the program has asked for before still lead here.
 */
void pw_withdraw(void);

#endif
