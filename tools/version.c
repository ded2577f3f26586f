/* packwright version: what this build is and what it finds. */
#include "codegen/backend.h"
#include "tools/command.h"
#include "tools/interposer.h"

#include <stdio.h>
#include <string.h>

static void print_interposers(void)
{
    const pw_mpi_abi *abi;
    char path[4096];

    for (int i = 0; (abi = pw_mpi_abi_at(i)); i++) {
        if (!abi->built_for)
            printf("%s: not built\n", abi->title);
        else if (pw_find_interposer(abi, path, sizeof path))
            printf("%s: built for %s, %s\n", abi->title, abi->built_for, path);
        else
            printf("%s: built for %s, interposer missing in %s\n", abi->title, abi->built_for, path);
    }
}

static void print_generator(void)
{
    char path[4096];

    printf("code generator: %s, ", pw_backend_version("llvm"));
    if (pw_find_library("libpackwright-llvm.so", path, sizeof path))
        puts(path);
    else
        printf("module missing in %s\n", path);
}

/* Loads the compiler, which takes a moment; so only when asked. */
static void print_details(void)
{
    const pw_target *host = pw_target_host();
    pw_diag diag = {0};
    const pw_backend *backend = pw_backend_load("llvm", &diag);

    printf("this machine: %s %s\n", host->arch, host->cpu);
    if (backend)
        printf("code generator loads: %s %s\n", backend->name, backend->version);
    else
        printf("code generator does not load: %s\n", diag.text);
}

static int run(int argc, char **argv)
{
    bool verbose = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-v") && strcmp(argv[i], "--verbose"))
            return pw_usage_error(&pw_command_version, "unknown argument '%s'", argv[i]);
        verbose = true;
    }
    puts("packwright " PW_VERSION);
    print_interposers();
    print_generator();
    if (verbose)
        print_details();
    return PW_EXIT_OK;
}

const pw_command pw_command_version = {"version", "print the version and what it was built with",
                                       "usage: packwright version [--verbose]\n\n"
                                       "Prints the version, the MPIs and the code generator that this build has.\n\n"
                                       "  -v, --verbose   also load the code generator, and name this machine's CPU\n",
                                       run};
