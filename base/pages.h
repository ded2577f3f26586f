/*
 * Pages of memory.
 */
#ifndef PW_BASE_PAGES_H
#define PW_BASE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Lets the system make the pages of `bytes` bytes, as writing to each would, without changing them. False, with the
 * reason in errno: they cannot be written, or Linux is older than 5.14. */
static inline bool pw_pages_make(const void *memory, size_t bytes)
{
    uintptr_t begin = (uintptr_t)memory & -(uintptr_t)sysconf(_SC_PAGESIZE);

    return madvise((void *)begin, (uintptr_t)memory + bytes - begin, MADV_POPULATE_WRITE) == 0;
}

#endif
