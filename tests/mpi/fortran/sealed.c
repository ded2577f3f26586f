/* Calls through a read-only linkage table lead to Packwright when it is there ("ours" as argument), and else to the
 * MPI. */
#include "sealed_bindings.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int ours = argc > 1 && !strcmp(argv[1], "ours"), size = 0, bad = 0;
    Dl_info target;
    MPI_Datatype type;

    MPI_Init(&argc, &argv);
    MPI_Type_vector(5, 1, 3, MPI_DOUBLE, &type);
    bad += sealed_commit(&type) != MPI_SUCCESS;
    bad += sealed_size(type, &size) != MPI_SUCCESS || size != 40;
    bad += !dladdr((void *)sealed_commit_target(), &target) || ours == !strstr(target.dli_fname, "libpackwright");
    MPI_Type_free(&type);
    MPI_Finalize();
    printf("%s\n", bad ? "FAILED" : "passed");
    return bad != 0;
}
