/*
 * Single blocks of a collective's side, for what moves them without MPI: blocks to oneself (self.h) and blocks that are
 * read over a network (remote.h).
 */
#ifndef PW_RUNTIME_COLLECTIVE_BLOCK_H
#define PW_RUNTIME_COLLECTIVE_BLOCK_H

#include "runtime/mpi/collective/collective.h"

/* Describes block i of a side that pw_collective_check has found sound. Contiguous types have no layout, and
 * buffer.offset says where they begin. False: the block is empty, or must be left to MPI. */
bool pw_block_describe(const pw_side *side, int i, pw_message *m);

/* The memory of a described block from which copies count: layouts count from the base. */
static inline char *pw_block_memory(const pw_message *m)
{
    return (char *)m->buffer.base + (m->buffer.layout ? 0 : m->buffer.offset);
}

/* Gives the side a count of 0 for block i, in a copy of its counts in `array`, which has room for an MPI_Count for each
 * block. Only for sides with counts. */
void pw_block_take_out(pw_side *side, void *array, int i);

#endif
