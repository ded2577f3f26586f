/*
 * Collectives with random types on communicators and topologies of many kinds.
 *
 *   collectives ranks|between|neighbours [trials of each call] [first seed] [rank without Packwright, or -1]
 *               [only this seed]
 */
#include "tests/mpi/collective/groups.h"
#include "tests/mpi/support/harness.h"

int main(int argc, char **argv)
{
    int trials = argc > 2 ? atoi(argv[2]) : 40, rc;
    uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 0) : 100000;
    uint64_t only = argc > 5 ? strtoull(argv[5], NULL, 0) : 0;

    if (argc > 4 && atoi(argv[4]) == test_launch_rank())
        setenv("PACKWRIGHT_DISABLE", "1", 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (!trial_restarts() && test_launch_rank() == 0)
        printf("persistent collectives of this MPI are not tried\n");
    groups_make(argc > 1 ? argv[1] : "ranks");
    groups_try(trials, first, only);
    groups_free();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
