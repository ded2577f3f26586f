/* The system tells which pages of a mapping exist, and enters those only: a page that nobody has written is not made.
 */
#include "runtime/exchange/pages.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ /* Linux 5.14 */
#define MADV_POPULATE_READ 22
#endif

enum { LOOKED_AT = 512 }; /* pages */

/* Returns the end of the run of pages that begins with page `first` and are all there, or all not. */
static size_t end_of_run(const unsigned char *there, size_t first, size_t n)
{
    size_t i = first + 1;

    while (i < n && (there[i] & 1) == (there[first] & 1))
        i++;
    return i;
}

/* Enters those of `n` pages that are there. Returns how many these are; 0 also if the system does not do it. */
static size_t enter(char *base, size_t n, size_t page)
{
    unsigned char there[LOOKED_AT];
    size_t entered = 0;

    if (mincore(base, n * page, there) != 0)
        return 0;
    for (size_t first = 0, end; first < n; first = end) {
        end = end_of_run(there, first, n);
        if (there[first] & 1 && madvise(base + first * page, (end - first) * page, MADV_POPULATE_READ) == 0)
            entered += end - first;
    }
    return entered;
}

size_t pw_pages_enter(const void *base, size_t bytes, size_t most)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), all = (bytes + page - 1) / page, entered = 0;

    for (size_t at = 0, n; at < all && entered < most / page; at += n) {
        n = most / page - entered;
        n = n < LOOKED_AT ? n : LOOKED_AT;
        n = n < all - at ? n : all - at;
        entered += enter((char *)base + at * page, n, page);
    }
    return entered * page;
}
