/*
 * Looks whether the MPI has a call that Open MPI (before 6) has not, as bindings do that are built for several MPIs: by
 * a weak reference, and by asking the loader. Says which library has MPI_Send.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

extern int weakly(void) __asm__("MPI_Sendrecv_c") __attribute__((weak));

static void look(const char *when)
{
    void *send = dlsym(RTLD_DEFAULT, "MPI_Send");
    const char *name = "";
    Dl_info info;

    if (send && dladdr(send, &info) && (name = strrchr(info.dli_fname, '/')))
        name++;
    printf("%s: weak reference %s, loader %s, MPI_Send of %s\n", when, weakly ? "found" : "null",
           dlsym(RTLD_DEFAULT, "MPI_Sendrecv_c") ? "finds it" : "finds nothing", name ? name : "nobody");
}

int main(int argc, char **argv)
{
    look("before MPI_Init");
    MPI_Init(&argc, &argv);
    look("after MPI_Init");
    MPI_Finalize();
    return 0;
}
