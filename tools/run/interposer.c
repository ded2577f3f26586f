#include "tools/run/interposer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* libmpi.so.12 is the soname of the MPICH ABI (MPICH itself, Intel MPI, MVAPICH, Cray MPICH); Debian calls it libmpich.
 */
static const pw_mpi_abi abis[] = {
    {"mpich", "MPICH", {"libmpich.so.12", "libmpi.so.12"}, {"hydra", "mpich", "gforker"}, PW_BUILT_FOR_MPICH},
    {"openmpi", "Open MPI", {"libmpi.so.40"}, {"orterun", "prterun", "openmpi"}, PW_BUILT_FOR_OPENMPI},
};

const pw_mpi_abi *pw_mpi_abi_at(int i)
{
    return i < (int)(sizeof abis / sizeof *abis) ? &abis[i] : NULL;
}

const pw_mpi_abi *pw_mpi_abi_named(const char *name)
{
    const pw_mpi_abi *abi;

    for (int i = 0; (abi = pw_mpi_abi_at(i)); i++)
        if (!strcmp(abi->name, name))
            return abi;
    return NULL;
}

const pw_mpi_abi *pw_mpi_abi_of_soname(const char *soname)
{
    const pw_mpi_abi *abi;

    for (int i = 0; (abi = pw_mpi_abi_at(i)); i++)
        for (const char *const *s = abi->sonames; *s; s++)
            if (!strcmp(*s, soname))
                return abi;
    return NULL;
}

const pw_mpi_abi *pw_mpi_abi_of_launcher(const char *basename)
{
    const pw_mpi_abi *abi;

    for (int i = 0; (abi = pw_mpi_abi_at(i)); i++)
        for (const char *const *hint = abi->launcher_hint; *hint; hint++)
            if (strstr(basename, *hint))
                return abi;
    return NULL;
}

/* Finds the directory of this executable; "." if the system does not report it. */
static void own_directory(char *out, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", out, size - 1);
    char *slash;

    out[n > 0 ? n : 0] = '\0';
    slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
    else
        snprintf(out, size, ".");
}

bool pw_find_library(const char *file, char *out, size_t size)
{
    char bin[4096], prefix[4096];
    char *slash;

    own_directory(bin, sizeof bin);
    snprintf(prefix, sizeof prefix, "%s", bin);
    slash = strrchr(prefix, '/');
    if (slash)
        *slash = '\0';
    snprintf(out, size, "%s/lib/%s", prefix, file);
    if (!access(out, R_OK))
        return true;
    snprintf(out, size, "%s/%s/%s", prefix, PW_LIBDIR, file);
    if (!access(out, R_OK))
        return true;
    snprintf(out, size, "%s/%s", PW_FULL_LIBDIR, file);
    if (!access(out, R_OK))
        return true;
    snprintf(out, size, "%s/lib and %s", prefix, PW_FULL_LIBDIR);
    return false;
}

bool pw_find_interposer(const pw_mpi_abi *abi, char *out, size_t size)
{
    char file[64];

    snprintf(file, sizeof file, "libpackwright-%s.so", abi->name);
    return pw_find_library(file, out, size);
}
