/*
 * Memory that the ranks of a node have in common: one block of zeroes, which each of them may read and write. Ranks are
 * processes with one parent, as launchers start them; the one with the least process number brings the memory, as an
 * anonymous file that the others find in /proc, so nothing remains however they end, and no rank sends a message.
 *
 * Another process of this user may have written anything there, and only such a process. So choices may become worse by
 * what lies there, and what is to be executed is verified first.
 */
#ifndef PW_RUNTIME_COMMONS_H
#define PW_RUNTIME_COMMONS_H

#include <stddef.h>

/* What the ranks of a job have in common. Each part has its place in the block. Memory that no rank writes takes none.
 */
typedef enum pw_commons_part {
    PW_COMMONS_TRIALS,
    PW_COMMONS_WINDOWS,
    PW_COMMONS_KERNELS,
    PW_COMMONS_PARTS
} pw_commons_part;

enum { PW_COMMONS_PART_BYTES = 8 << 20, PW_COMMONS_BYTES = PW_COMMONS_PARTS * PW_COMMONS_PART_BYTES };

/* Offers `bytes` bytes to the other ranks. To be called before any rank calls pw_commons_map, so from MPI_Init or
 * before: MPI_Init returns in no rank before it has begun in all of them. */
void pw_commons_offer(size_t bytes);
/* Returns the memory, which stays as long as this process; the first call looks for it. NULL: there is none, or it is
 * of another size. */
void *pw_commons_map(size_t bytes);

/* Returns one part of the block that was offered with PW_COMMONS_BYTES. NULL: there is none. */
static inline void *pw_commons_part_of(pw_commons_part part)
{
    char *memory = pw_commons_map(PW_COMMONS_BYTES);

    return memory ? memory + (size_t)part * PW_COMMONS_PART_BYTES : NULL;
}

#endif
