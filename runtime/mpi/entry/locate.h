/* Finds the MPI below this library, and checks that the program's calls come to this library first. */
#ifndef PW_RUNTIME_LOCATE_H
#define PW_RUNTIME_LOCATE_H

#include <stdbool.h>

/* Makes the MPI of the process visible to symbol look-up, even if it was loaded with RTLD_LOCAL, as language bindings
 * do. Called once, before pw_locate_next. */
void pw_locate_mpi(void);

/* Returns the next definition of `symbol` behind this library, so that a tool there stays in the chain, or else that of
 * its PMPI_ name. NULL: there is neither. */
void *pw_locate_next(const char *symbol);

/* Returns the next definition of a function behind this library, for a caller in the library of this path: where it is
 * not in the global scope, it is among what the caller was linked to. NULL: it is nowhere. */
void *pw_locate_behind(const char *path, const char *symbol);

/* The self-test. Returns true if there is an MPI, it has the ABI and version that this library was built for, and MPI_
 * symbols resolve to this library. Otherwise logs the reason in one line and returns false. */
bool pw_locate_check(void);

/* ---- withdraw.c -------------------------------------------------------------------------------------------------- */

/*
 * Takes this library out of the way of a process whose MPI it was not built for. Another MPI has other handles and
 * constants, so passing a call on would already spoil its arguments. An older MPI lacks calls that this library
 * exports, and a program that looks whether they exist would call them.
 */

typedef enum pw_found_mpi {
    PW_FOUND_MPICH, /* or another MPI of its ABI */
    PW_FOUND_OPEN_MPI,
    PW_FOUND_STANDARD, /* of the MPI standard's ABI (libmpi_abi.so) */
    PW_FOUND_OTHER,    /* of another ABI */
    PW_FOUND_NONE      /* none is in the global scope */
} pw_found_mpi;

/* Returns which MPI is mapped and in the global scope. Makes no call of MPI whose arguments depend on the ABI. */
pw_found_mpi pw_withdraw_find(void);

/*
 * Redirects the calls of all mapped objects past this library to the next definitions; weak references without a next
 * definition become NULL. It also hides this library's definitions from the loader, and so from objects that are mapped
 * later. Addresses that the program has looked up before still lead to this library.
 */
void pw_withdraw(void);

#endif
