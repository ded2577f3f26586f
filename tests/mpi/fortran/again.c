/*
 * Calls of Fortran bindings lead to Packwright each time that the bindings are loaded, also where they come back to an
 * address that had them before. A library of C stands for the bindings.
 *
 * usage: again <the library with sealed_bindings.c>
 */
#include "sealed_bindings.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { TIMES = 8 }; /* a thread that maps memory in between may take the address once */

/* The bindings are noticed when a type is learned, which a forced strategy has done at once. */
static void learn_a_type(int stride)
{
    MPI_Datatype type;

    MPI_Type_vector(5, 1, stride, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&type);
}

/* Returns where the bindings are mapped; NULL: they cannot be loaded, or their calls do not lead to Packwright. */
static void *load_and_unload(const char *path, int stride)
{
    void *bindings = dlopen(path, RTLD_NOW | RTLD_LOCAL), *base = NULL;
    sealed_commit_fn *(*target)(void);
    Dl_info at, of;

    if (!bindings)
        return NULL;
    target = (sealed_commit_fn * (*)(void)) dlsym(bindings, "sealed_commit_target");
    learn_a_type(stride);
    if (target && dladdr((void *)target, &of) && dladdr((void *)target(), &at) && strstr(at.dli_fname, "libpackwright"))
        base = of.dli_fbase;
    dlclose(bindings);
    return base;
}

int main(int argc, char **argv)
{
    void *base[TIMES];
    int bad = argc < 2, same = 0;

    MPI_Init(&argc, &argv);
    for (int i = 0; i < TIMES && !bad; i++) {
        base[i] = load_and_unload(argv[1], 3 + i);
        bad = !base[i];
        same += i > 0 && base[i] == base[0];
    }
    MPI_Finalize();
    printf("%s, %d of %d times at the first address\n", bad || !same ? "FAILED" : "passed", same, TIMES - 1);
    return bad || !same;
}
