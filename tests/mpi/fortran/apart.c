/*
 * A program without an MPI of its own, which loads Fortran code that has one. So a preloaded library finds no MPI when
 * it is loaded. The bindings call most of MPI, MPI_Init for one, past such a library; what it sees first are the calls
 * of run_checks for which it has a function of the bindings' name, such as Fortran's MPI_Type_commit.
 *
 * usage: apart <the library with bindings.F90>
 */
#include <dlfcn.h>
#include <stdio.h>

typedef void fortran_call(int *error);

int main(int argc, char **argv)
{
    void *module = argc > 1 ? dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL) : NULL;
    fortran_call *init = module ? (fortran_call *)dlsym(module, "mpi_init_") : NULL;
    fortran_call *finalize = module ? (fortran_call *)dlsym(module, "mpi_finalize_") : NULL;
    int (*run_checks)(void) = module ? (int (*)(void))dlsym(module, "run_checks") : NULL;
    int wrong, error;

    if (!init || !finalize || !run_checks) {
        fprintf(stderr, "FAILED: %s\n", argc > 1 ? dlerror() : "no library named");
        return 2;
    }
    init(&error);
    wrong = run_checks();
    finalize(&error);
    return wrong != 0;
}
