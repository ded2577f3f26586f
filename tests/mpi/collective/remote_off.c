/*
 * Whether the network serves a call is asked in each Alltoallw. While there is none, the answer calls no function: this
 * program is linked alone, with the variable that says so.
 */
#include "runtime/mpi/collective/remote.h"

bool pw_remote_on;

int main(int argc, char **argv)
{
    static const pw_collective_family families[] = {PW_ALLTOALL, PW_NEIGHBOUR_ALLTOALL, PW_ALLGATHER};
    int served = 0;

    (void)argv;
    for (int on = 0; on < 2; on++) {
        pw_remote_on = on && argc > 0;
        for (int i = 0; i < 3; i++)
            served += pw_remote_serves(families[i], PW_SIDE_TYPED);
        if (served != 2 * on)
            return 1;
    }
    return 0;
}
