#include "runtime/engine/node/reserve.h"

#include <stdint.h>
#include <sys/mman.h>

char *pw_reserve(size_t bytes, size_t alignment, int protection)
{
    char *all = mmap(NULL, bytes + alignment, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t before;

    if (all == MAP_FAILED)
        return NULL;
    before = (alignment - (uintptr_t)all % alignment) % alignment;
    if (before > 0)
        munmap(all, before);
    if (before < alignment)
        munmap(all + before + bytes, alignment - before);
    return all + before;
}
