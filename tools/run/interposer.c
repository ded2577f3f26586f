#include "tools/run/interposer.h"

#include "tools/run/built.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* libmpi.so.12 is the soname of the MPICH ABI (MPICH itself, Intel MPI, MVAPICH, Cray MPICH); Debian calls it libmpich.
 * The standard's ABI has no launcher of its own: each MPI that has it brings one. */
static const pw_mpi_abi abis[] = {
    {"mpich", "MPICH", {"libmpich.so.12", "libmpi.so.12"}, {"hydra", "mpich", "gforker"}, "mpiexec.mpich"},
    {"openmpi", "Open MPI", {"libmpi.so.40"}, {"orterun", "prterun", "openmpi"}, "mpiexec.openmpi"},
    {"mpi-abi", "the standard ABI", {"libmpi_abi.so.1", "libmpi_abi.so.0"}, {NULL}, NULL},
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

bool pw_mpi_abi_is_standard(const pw_mpi_abi *abi)
{
    return !abi->launcher;
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

static bool has_library(const char *bin, size_t n, const pw_mpi_abi *abi)
{
    char path[4096];

    for (const char *const *s = abi->sonames; *s; s++)
        if (snprintf(path, sizeof path, "%.*s/../lib/%s", (int)n, bin, *s) < (int)sizeof path && !access(path, R_OK))
            return true;
    return false;
}

const pw_mpi_abi *pw_mpi_abi_beside_launcher(const char *path)
{
    const char *slash = strrchr(path, '/');
    const pw_mpi_abi *abi, *found = NULL;

    for (int i = 0; slash && (abi = pw_mpi_abi_at(i)); i++)
        if (!(found && pw_mpi_abi_is_standard(abi)) && has_library(path, (size_t)(slash - path), abi)) {
            if (found)
                return NULL;
            found = abi;
        }
    return found;
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

bool pw_mpi_is_built(const pw_mpi_abi *abi)
{
    const pw_built *built;

    for (int i = 0; (built = pw_built_at(i)); i++)
        if (!strcmp(built->kind, abi->name))
            return true;
    return false;
}

bool pw_find_built(const pw_built *built, char *out, size_t size)
{
    char file[256];

    snprintf(file, sizeof file, "%s%slibpackwright-%s.so", built->folder, *built->folder ? "/" : "", built->kind);
    return pw_find_library(file, out, size);
}

/* Resolves symbolic links. "" stays "", and so does what does not exist. */
static void resolve(const char *path, char out[PATH_MAX])
{
    if (!*path || !realpath(path, out))
        out[0] = '\0';
}

bool pw_find_interposer(const pw_mpi_abi *abi, const char *mpi_library, const char *launcher, char *out, size_t size)
{
    char library[PATH_MAX], dir[PATH_MAX], bin[PATH_MAX];
    const char *slash = strrchr(launcher, '/');
    const pw_built *built;
    int n = 0;

    resolve(mpi_library, library);
    /* The directory that the launcher was found in, not the one of a file that it is a link to. */
    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - launcher) : 0, launcher);
    resolve(dir, bin);
    while (pw_built_at(n))
        n++;
    built = pw_built_choose(pw_built_at(0), n, abi->name, library, bin);
    return pw_find_built(built ? built : &(pw_built){.kind = abi->name, .folder = ""}, out, size);
}
