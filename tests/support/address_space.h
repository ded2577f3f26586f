/* How much of its address space this process has taken, as the system reports it. */
#ifndef PW_TESTS_ADDRESS_SPACE_H
#define PW_TESTS_ADDRESS_SPACE_H

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

/* Returns the bytes, or 0 if the system does not tell. */
static inline size_t address_space_now(void)
{
    FILE *statm = fopen("/proc/self/statm", "re");
    size_t pages = 0;

    if (statm && fscanf(statm, "%zu", &pages) != 1)
        pages = 0;
    if (statm)
        fclose(statm);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

#endif
