/* The number of the epoch. */
#include "base/epoch.h"

_Atomic unsigned pw_epoch;
