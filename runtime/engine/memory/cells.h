/*
 * Small objects of one size, each of which describes an operation under way and lives as long as that. Any thread takes
 * them and gives them back. A thread keeps the cells that it gets back for its next operations, so a steady state
 * allocates nothing and takes no lock.
 */
#ifndef PW_RUNTIME_CELLS_H
#define PW_RUNTIME_CELLS_H

#include <stdint.h>

enum { PW_CELL_BYTES = 384 };

/* Takes a cell: PW_CELL_BYTES bytes, aligned for any type, not cleared. NULL: out of memory. */
void *pw_cell_take(void);
/* Gives a cell back, in any thread. NULL is allowed. */
void pw_cell_give(void *cell);

/* Frees the cells that the calling thread keeps. */
void pw_cell_trim(void);

/* The number of allocations since the start, which is constant in a steady state. */
int64_t pw_cell_allocations(void);

#endif
