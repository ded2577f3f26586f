/*
 * Small objects of one size that come and go with every call: what describes an operation under way. Taken and given
 * back by any thread; those given back are kept for the next taker in the same thread, so a steady state allocates
 * nothing, and takes no lock.
 */
#ifndef PW_RUNTIME_CELLS_H
#define PW_RUNTIME_CELLS_H

#include <stdint.h>

enum { PW_CELL_BYTES = 320 };

/* PW_CELL_BYTES bytes, aligned for anything, with what was last written there. NULL: out of memory. */
void *pw_cell_take(void);
/* NULL is allowed. */
void pw_cell_give(void *cell);

/* Frees what the calling thread has kept. */
void pw_cell_trim(void);

/* Allocations since the start: constant in a steady state. */
int64_t pw_cell_allocations(void);

#endif
