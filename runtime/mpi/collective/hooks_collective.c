/* Collectives that move data between all ranks, from and to a root, and between neighbours. */
#include "runtime/mpi/collective/hooks_collective.h"

PW_COLLECTIVES(PW_COLLECTIVE_HOOKS)
PW_NEIGHBOURHOODS(PW_COLLECTIVE_HOOKS)
