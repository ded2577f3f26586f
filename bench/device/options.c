#include "bench/device/options.h"

#include "tests/mpi/gpu/memory.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool device_read_options(int argc, char **argv, const char *known, device_options *o)
{
    int option;

    while ((option = getopt(argc, argv, known)) >= 0)
        switch (option) {
        case 't': o->seconds = atof(optarg); break;
        case 'f': o->only = optarg; break;
        case 'd': o->driver = optarg; break;
        case 's': o->sizes = optarg; break;
        case 'm': o->mode = optarg; break;
        case 'n': o->flight = atoi(optarg); break;
        default: return false;
        }
    return true;
}

bool device_begin(int *argc, char ***argv, const char *driver, int *rank, int *ranks)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, ranks);
    if (!gpu_start(driver)) {
        MPI_Finalize();
        return false;
    }
    gpu_set_current(gpu_primary(*rank % gpu_devices()));
    if (*rank == 0 && *ranks > gpu_devices())
        printf("%d ranks share %d GPU%s\n", *ranks, gpu_devices(), gpu_devices() > 1 ? "s" : "");
    return true;
}
