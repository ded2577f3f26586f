/* One collective with random types and data, once with Packwright and once without: memory must come out the same. */
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
    MPI_Comm comm; /* MPI_COMM_NULL: this rank has no part */
    MPI_Comm all;  /* the same processes, in one group */
    int me, size, in, out;
    bool between, second; /* groups; which one this process is in */
    int first_size;       /* of the first group */
    bool lopsided;        /* some rank has not as many sources as destinations */
    int sources[CALL_MOST_BLOCKS], destinations[CALL_MOST_BLOCKS];
} trial_group;

/* Whether the MPI itself can start persistent collectives more than once; MPICH 4.0 cannot. Asks by trying, natively.
 */
bool trial_restarts(void);

/* Trials that the MPI below does not manage by itself. */
extern int trial_skipped;

/* Everything else follows from the seed, on all ranks alike. */
void trial_run(const trial_group *group, const call *c, uint64_t seed);

#endif
