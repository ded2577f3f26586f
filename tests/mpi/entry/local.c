/*
 * A program that is not linked with MPI and loads it with RTLD_LOCAL, as language bindings do. Packwright, preloaded,
 * must find the MPI that is in nobody's scope. Argument: the MPI's library.
 */
#include <mpi.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Predefined handles: constants, or the addresses of data in the library. */
#ifdef OPEN_MPI
#define HANDLE(module, name, symbol) dlsym(module, symbol)
#else
#define HANDLE(module, name, symbol) name
#endif

int main(int argc, char **argv)
{
    void *module = argc > 1 ? dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL) : NULL;
    __typeof__(MPI_Init) *init;
    __typeof__(MPI_Finalize) *finalize;
    __typeof__(MPI_Type_vector) *vector;
    __typeof__(MPI_Type_commit) *commit;
    __typeof__(MPI_Pack) *pack;
    MPI_Datatype type;
    double memory[64], packed[8];
    int position = 0, wrong = 0;

    if (!module || argc < 2) {
        fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "no library named");
        return 1;
    }
    /* Looks up what references of the program would bind to: the global scope first, then the module. */
    init = (__typeof__(init))dlsym(RTLD_DEFAULT, "MPI_Init");
    finalize = (__typeof__(finalize))dlsym(RTLD_DEFAULT, "MPI_Finalize");
    commit = (__typeof__(commit))dlsym(RTLD_DEFAULT, "MPI_Type_commit");
    pack = (__typeof__(pack))dlsym(RTLD_DEFAULT, "MPI_Pack");
    vector = (__typeof__(vector))dlsym(module, "MPI_Type_vector");
    if (!init || !finalize || !commit || !pack || !vector) {
        fprintf(stderr, "not preloaded\n");
        return 1;
    }
    init(&argc, &argv);
    for (int i = 0; i < 64; i++)
        memory[i] = i;
    vector(8, 1, 8, HANDLE(module, MPI_DOUBLE, "ompi_mpi_double"), &type);
    commit(&type);
    pack(memory, 1, type, packed, sizeof packed, &position, HANDLE(module, MPI_COMM_WORLD, "ompi_mpi_comm_world"));
    for (int i = 0; i < 8; i++)
        wrong += packed[i] != 8 * i;
    finalize();
    printf("%s\n", wrong || position != sizeof packed ? "FAILED" : "passed");
    return wrong != 0;
}
