/*
 * A C program that loads Fortran code, and with it the Fortran bindings of its MPI, when everything is under way, as
 * Python does with a module written in Fortran.
 *
 * usage: late <the library with bindings.F90> [alone: only Fortran commits types]
 */
#include <mpi.h>

#include <dlfcn.h>
#include <stdio.h>

static int commit_something(void)
{
    MPI_Datatype type;

    MPI_Type_vector(3, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    return MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    void *module;
    int (*run_checks)(void);
    int wrong;

    MPI_Init(&argc, &argv);
    if (argc <= 2)
        commit_something();
    module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    run_checks = module ? (int (*)(void))dlsym(module, "run_checks") : NULL;
    if (!run_checks) {
        fprintf(stderr, "FAILED: %s\n", argc > 1 ? dlerror() : "no library named");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (argc <= 2)
        commit_something(); /* the bindings are noticed when C commits the next type */
    wrong = run_checks();
    MPI_Finalize();
    return wrong != 0;
}
