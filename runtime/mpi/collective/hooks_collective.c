/* Collectives that move data between all ranks, or from and to a root. */
#include "runtime/mpi/collective/hooks_collective.h"

PW_COLLECTIVES(PW_COLLECTIVE_HOOKS)
