/*
 * The parts of the runtime that start and end with MPI. parts.c lists them all, in order. pw_parts_start,
 * which the gate calls, is declared in runtime/mpi/entry/gate.h.
 */
#ifndef PW_RUNTIME_START_PARTS_H
#define PW_RUNTIME_START_PARTS_H

/* The last user of MPI is about to end it: gives back the objects of MPI's that parts hold, and ends their threads,
 * since a tool may call MPI when a thread ends. MPI still works. */
void pw_parts_leave(void);
/* MPI has ended: releases the memory that parts hold. */
void pw_parts_close(void);

#endif
