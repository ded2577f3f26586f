/*
 * Memory that the ranks of a node have in common: one block of zeroes, which each of them may read and write. Ranks are
 * processes with one parent, as launchers start them; the one with the least process number brings the memory, as an
 * anonymous file that the others find in /proc, so nothing remains however they end, and no rank sends a message.
 *
 * Another process may have written anything there, so nothing may depend on its contents but how well choices are made.
 */
#ifndef PW_RUNTIME_COMMONS_H
#define PW_RUNTIME_COMMONS_H

#include <stddef.h>

/* Offers `bytes` bytes to the other ranks. To be called before any rank calls pw_commons_map, so from MPI_Init or
 * before: MPI_Init returns in no rank before it has begun in all of them. */
void pw_commons_offer(size_t bytes);
/* Returns the memory, which stays as long as this process; the first call looks for it. NULL: there is none, or it is
 * of another size. */
void *pw_commons_map(size_t bytes);

#endif
