/* packwright version: prints what this build is and which parts it finds. */
#include "codegen/backend.h"
#include "codegen/nvrtc/nvrtc.h"
#include "tools/command.h"
#include "tools/run/interposer.h"

#include <packwright/packwright.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void print_interposer(const char *title, const pw_built *built)
{
    char path[4096];

    if (pw_find_built(built, path, sizeof path))
        printf("%s: built for %s, %s\n", title, built->mpi, path);
    else
        printf("%s: built for %s, interposer missing in %s\n", title, built->mpi, path);
}

static void print_interposers(void)
{
    const pw_mpi_abi *abi;
    const pw_built *built;

    for (int i = 0; (abi = pw_mpi_abi_at(i)); i++) {
        if (!pw_mpi_is_built(abi))
            printf("%s: not built\n", abi->title);
        for (int k = 0; (built = pw_built_at(k)); k++)
            if (!strcmp(built->kind, abi->name))
                print_interposer(abi->title, built);
    }
}

static void print_generator(const char *title, const char *name, const char *file)
{
    char path[4096];

    printf("%s: %s, ", title, pw_backend_version(name));
    if (pw_find_library(file, path, sizeof path))
        puts(path);
    else
        printf("module missing in %s\n", path);
}

static void print_loading(const char *title, const char *name)
{
    pw_diag diag = {0};
    const pw_backend *backend = pw_backend_load(name, &diag);

    if (backend)
        printf("%s loads: %s %s\n", title, backend->name, backend->version);
    else
        printf("%s does not load: %s\n", title, diag.text);
}

static void print_cuda(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    int (*get_version)(int *) = driver ? (int (*)(int *))dlsym(driver, "cuDriverGetVersion") : NULL;
    pw_nvrtc_version nvrtc;
    pw_diag diag = {0};
    int version;

    if (get_version && get_version(&version) == 0)
        printf("CUDA driver: %d.%d\n", version / 1000, version % 1000 / 10);
    else
        puts("CUDA driver: none found");
    if (pw_nvrtc_load(&nvrtc, &diag) == PW_OK)
        printf("NVRTC: %d.%d\n", nvrtc.major, nvrtc.minor);
    else
        printf("NVRTC: %s\n", diag.text);
}

/* Prints details. This loads the compilers, which takes a moment, so it is done only when asked for. */
static void print_details(void)
{
    const pw_target *host = pw_target_host();

    printf("this machine: %s %s\n", host->arch, host->cpu);
    print_loading("code generator", "llvm");
    print_loading("GPU code generator", "nvrtc");
    print_cuda();
}

static int run(int argc, char **argv)
{
    bool verbose = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-v") && strcmp(argv[i], "--verbose"))
            return pw_wrong_argument(&pw_command_version, argv[i]);
        verbose = true;
    }
    printf("packwright %s\n", packwright_version());
    print_interposers();
    print_generator("code generator", "llvm", "libpackwright-llvm.so");
    print_generator("GPU code generator", "nvrtc", "libpackwright-nvrtc.so");
    if (verbose)
        print_details();
    return PW_EXIT_OK;
}

const pw_command pw_command_version = {
    "version", "print the version and what it was built with",
    "usage: packwright version [--verbose]\n\n"
    "Prints the version, the MPIs and the code generators that this build has.\n\n"
    "  -v, --verbose   also load the code generators, name this machine's CPU, and say\n"
    "                  which CUDA driver and NVRTC are found\n",
    run};
