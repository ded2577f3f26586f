/* The number of the epoch. */
#include "base/epoch.h"

_Atomic unsigned pw_epoch = 1; /* tables that are all zeroes have nothing of this epoch */
