/*
 * What kind of file the user wants to start: is it an ELF program of this machine, and to which MPI is it linked? Reads
 * the ELF headers and dynamic sections (System V ABI, chapters 4 and 5) without running or loading anything.
 */
#ifndef PW_TOOLS_PROGRAM_H
#define PW_TOOLS_PROGRAM_H

#include "tools/run/interposer.h"

typedef enum pw_program_kind {
    PW_PROGRAM_DYNAMIC, /* the only kind that LD_PRELOAD reaches directly */
    PW_PROGRAM_STATIC,
    PW_PROGRAM_FOREIGN, /* an ELF file for another machine or word size */
    PW_PROGRAM_SCRIPT,  /* starts with #! */
    PW_PROGRAM_UNKNOWN  /* unreadable or of no known format */
} pw_program_kind;

typedef struct pw_program {
    pw_program_kind kind;
    const pw_mpi_abi *mpi;  /* the MPI that it is linked to, directly or through other libraries; NULL: none */
    char mpi_library[4096]; /* where that MPI's library is found; "" if it is not */
    char other_mpi[256];    /* the name of an MPI library that it is linked to instead; "" if there is none */
    bool interposed;        /* it is linked to libpackwright-<mpi>.so already */
} pw_program;

/* Finds an executable file as execvp does: with a slash as it is, else along PATH. */
bool pw_program_find(const char *word, char *path, size_t size);
void pw_program_examine(const char *path, pw_program *out);
/* Returns whether a library takes calls of MPI for itself, as tools do: it names MPI_Init, MPI_Finalize or a function
 * of PMPI_, and is no library of an MPI. */
bool pw_program_is_tool(const char *path);

#endif
