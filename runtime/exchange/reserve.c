/*
 * Purpose: addresses without memory behind them. Data: none. Invariant: what is mapped besides the aligned part is
 * given back at once.
 */
#include "runtime/exchange/reserve.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

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

/* Whether the system counts writable addresses as memory, though they have no pages (vm.overcommit_memory is 2). */
static bool is_strict(void)
{
    int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
    char mode = 0;
    bool strict = fd >= 0 && read(fd, &mode, 1) == 1 && mode == '2';

    if (fd >= 0)
        close(fd);
    return strict;
}

bool pw_reserve_is_free(void)
{
    struct rlimit all, data;

    return getrlimit(RLIMIT_AS, &all) == 0 && all.rlim_cur == RLIM_INFINITY && getrlimit(RLIMIT_DATA, &data) == 0 &&
           data.rlim_cur == RLIM_INFINITY && !is_strict();
}
