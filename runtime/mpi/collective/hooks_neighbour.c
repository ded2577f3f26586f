/* Neighbourhood collectives. */
#include "runtime/mpi/collective/hooks_collective.h"

PW_NEIGHBOURHOODS(PW_COLLECTIVE_HOOKS)
