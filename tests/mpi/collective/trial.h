/* One collective with random types and data, carried out once with Packwright and once without: memory must be the same
 * afterwards. */
#ifndef PW_TESTS_INTERPOSER_COLLECTIVE_TRIAL_H
#define PW_TESTS_INTERPOSER_COLLECTIVE_TRIAL_H

#include "tests/mpi/collective/calls.h"

#include <stdint.h>

/*
 * A communicator with the neighbours of this process: all processes, in order, where there is no topology.
 * MPI_PROC_NULL is none. Ranks distinguish processes; between groups, those of the second group come after those of the
 * first.
 */
typedef struct trial_group {
    const char *name;
    MPI_Comm comm; /* MPI_COMM_NULL: this rank takes no part */
    MPI_Comm all;  /* the same processes, in one group */
    int me, size, in, out;
    bool between, second; /* whether there are two groups, and whether this process is in the second */
    int first_size;       /* of the first of two groups */
    bool lopsided;        /* some rank has more sources than destinations, or fewer */
    int sources[CALL_MOST_BLOCKS], destinations[CALL_MOST_BLOCKS];
} trial_group;

/* Returns whether the MPI itself can start persistent collectives more than once; MPICH 4.0 and Intel MPI cannot. */
bool trial_restarts(void);

/* The number of trials that were skipped because the MPI below fails in them. */
extern int trial_skipped;

/* Runs a trial. Everything follows from the seed, which is the same on all ranks. */
void trial_run(const trial_group *group, const call *c, uint64_t seed);

#endif
