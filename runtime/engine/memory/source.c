/* The singleton of source.h: the source of memory that other processes can read. */
#include "runtime/engine/memory/source.h"

_Atomic(const pw_source *) pw_shared_source;
