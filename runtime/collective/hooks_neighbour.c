/* Neighbourhood collectives. */
#include "runtime/collective/hooks_collective.h"

PW_NEIGHBOURHOODS(PW_COLLECTIVE_HOOKS)
