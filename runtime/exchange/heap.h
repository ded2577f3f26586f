/*
 * Memory for the program's buffers that other processes of the node can map: blocks of the segment (segment.h). It is
 * for MPI_Alloc_mem, if PACKWRIGHT_ONE_COPY says so. All pages of a block are made when it is taken.
 *
 * The memory is shared with whoever maps the segment. A child of fork nevertheless gets a copy of its own, as of other
 * memory: all blocks that are in use are copied for it.
 *
 * All functions are thread safe.
 */
#ifndef PW_RUNTIME_HEAP_H
#define PW_RUNTIME_HEAP_H

#include <stdbool.h>
#include <stddef.h>

/* Takes `bytes` bytes. NULL: there is no segment, or no room; up to 256 MiB in a block, and 2 GiB in all. */
void *pw_heap_take(size_t bytes);
/* Takes a block back. False: the memory is none. */
bool pw_heap_give(void *block);
/* Whether one block holds these bytes. */
bool pw_heap_holds(const void *memory, size_t bytes);

#endif
