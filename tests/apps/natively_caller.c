/* A library that calls MPI: by name, and by an address that it keeps. */
#include <mpi.h>

extern int (*const kept)(int *flag);
int (*const kept)(int *flag) = MPI_Finalized;

int ask(int by_address);

int ask(int by_address)
{
    int flag = -1;

    (void)(by_address ? kept(&flag) : MPI_Initialized(&flag));
    return flag;
}
