/*
 * Jobs in lock step: several runs of one program take turns on the same cores, each with another build of the library.
 * Only one runs at a time, and the others sleep, so that whatever else the machine does falls on all of them alike. The
 * jobs must do the same in the same order.
 *
 * BENCH_LOCKSTEP=FILE:JOB:JOBS, from 0, says that a program is one of them (bench/messages/lockstep sets it). FILE
 * begins with zeros. A job that ends passes its turn on.
 */
#ifndef PW_BENCH_LOCKSTEP_H
#define PW_BENCH_LOCKSTEP_H

#include <mpi.h>
#include <stdbool.h>

/* Returns whether this is one of several jobs. The first call waits for the job's turn. */
bool bench_lockstep_is_on(void);
/* Lets each other job take its turn. Collective. */
void bench_lockstep_yield(MPI_Comm comm);
/* Returns the first job's value, in all ranks of all jobs. Collective; the job must yield before it asks again. */
int bench_lockstep_agree(MPI_Comm comm, int value);

#endif
