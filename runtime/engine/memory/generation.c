#include "runtime/engine/memory/generation.h"

_Atomic uint64_t pw_generation = 1;
