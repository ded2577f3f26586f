/* The singleton of source.h, apart from the pool: libpackwright.so has it, and must not have the pool's thread-local
 * memory, for which a library that is loaded late may find no room. */
#include "runtime/engine/memory/source.h"

_Atomic(const pw_source *) pw_shared_source;
