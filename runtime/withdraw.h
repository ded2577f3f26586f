/*
 * Out of the way, in a process of another MPI than this library was built for: its handles and constants are others, so
 * even passing a call on would spoil its arguments.
 */
#ifndef PW_RUNTIME_WITHDRAW_H
#define PW_RUNTIME_WITHDRAW_H

#include <stdbool.h>

/* Is the MPI of this process, as far as one is mapped and in the global scope, of the other kind? Calls no MPI. */
bool pw_withdraw_is_due(void);

/*
 * Has the calls of everything that is mapped lead past this library, to the next definitions. What is mapped later, or
 * has asked for an address, still comes here.
 */
void pw_withdraw(void);

#endif
