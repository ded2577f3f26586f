/*
 * The MPI ABIs that Packwright knows, and where the interposer of each is: in ../lib beside this program's directory,
 * or where it was to be installed.
 */
#ifndef PW_TOOLS_INTERPOSER_H
#define PW_TOOLS_INTERPOSER_H

#include "tools/run/built.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct pw_mpi_abi {
    const char *name;             /* "mpich", as in libpackwright-mpich.so */
    const char *title;            /* "MPICH" */
    const char *sonames[4];       /* what programs of this ABI are linked to, NULL at the end */
    const char *launcher_hint[4]; /* parts of the names of its own launchers, NULL at the end */
    const char *launcher;         /* a name that only its launcher has, where several MPIs are installed; NULL: none */
} pw_mpi_abi;

/* Returns the i-th ABI. NULL: there are fewer. */
const pw_mpi_abi *pw_mpi_abi_at(int i);
const pw_mpi_abi *pw_mpi_abi_named(const char *name);
/* Returns whether this is the MPI standard's ABI, which several MPIs have besides their own. */
bool pw_mpi_abi_is_standard(const pw_mpi_abi *abi);
const pw_mpi_abi *pw_mpi_abi_of_soname(const char *soname);
/* Finds the ABI by the last component of a launcher's path, with links resolved ("mpiexec.hydra"). */
const pw_mpi_abi *pw_mpi_abi_of_launcher(const char *basename);

/* Finds the ABI of an MPI that is installed as PREFIX/bin/mpiexec and PREFIX/lib/libmpi.so.12, by the path of its
 * launcher; the standard's ABI counts where the MPI has no other. NULL: no such library is there, or those of several
 * MPIs are. */
const pw_mpi_abi *pw_mpi_abi_beside_launcher(const char *path);

/* Returns whether this build has an interposer for the ABI. */
bool pw_mpi_is_built(const pw_mpi_abi *abi);

/* Finds a library of this installation, for example "libpackwright-mpich.so", and returns its absolute path. False: it
 * is not there, and `out` lists the directories that were searched. */
bool pw_find_library(const char *file, char *out, size_t size);
/* Finds one of the interposers of this build in the same way. */
bool pw_find_built(const pw_built *built, char *out, size_t size);
/* Finds the interposer of an ABI. If there are several, the library of the MPI that the program is linked
 * to decides, or the launcher; each is a path, or "" where it is not known. */
bool pw_find_interposer(const pw_mpi_abi *abi, const char *mpi_library, const char *launcher, char *out, size_t size);

#endif
