/* An MPI program that ends as its argument says: by MPI_Finalize, by "abort" or by "exit" without either. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    MPI_Init(&argc, &argv);
    if (!strcmp(how, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (!strcmp(how, "exit"))
        _exit(5);
    MPI_Finalize();
    return 0;
}
