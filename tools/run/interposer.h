/*
 * The MPI ABIs that Packwright knows, and where the interposer of each is: in ../lib beside this program's directory,
 * or where it was to be installed.
 */
#ifndef PW_TOOLS_INTERPOSER_H
#define PW_TOOLS_INTERPOSER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pw_mpi_abi {
    const char *name;             /* "mpich", as in libpackwright-mpich.so */
    const char *title;            /* "MPICH" */
    const char *sonames[4];       /* what programs of this ABI are linked to, NULL at the end */
    const char *launcher_hint[4]; /* parts of the names of its own launchers, NULL at the end */
    const char *built_for;        /* the version that this build was made with, or NULL */
} pw_mpi_abi;

/* Returns the i-th ABI. NULL: there are fewer. */
const pw_mpi_abi *pw_mpi_abi_at(int i);
const pw_mpi_abi *pw_mpi_abi_named(const char *name);
const pw_mpi_abi *pw_mpi_abi_of_soname(const char *soname);
/* Finds the ABI by the last component of a launcher's path, with links resolved ("mpiexec.hydra"). */
const pw_mpi_abi *pw_mpi_abi_of_launcher(const char *basename);

/* Finds a library of this installation, for example "libpackwright-mpich.so", and returns its absolute path. False: it
 * is not there, and `out` lists the directories that were searched. */
bool pw_find_library(const char *file, char *out, size_t size);
/* Finds the interposer of an ABI in the same way. */
bool pw_find_interposer(const pw_mpi_abi *abi, char *out, size_t size);

#endif
