/* What the programs of this folder share: layouts with known bytes, and how much memory the ranks take. */
#ifndef PW_TESTS_SOAK_H
#define PW_TESTS_SOAK_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* A committed datatype of ints, as those of programs: strided, a list, a face of a box, a structure. */
typedef struct soak_type {
    MPI_Datatype handle;
    int span;   /* ints from the first to the end of the extent */
    int n;      /* ints that it has */
    int *where; /* their places, in packed order; malloc'ed */
} soak_type;

enum { SOAK_KINDS = 6 };

/* Makes the type of a kind (0 to SOAK_KINDS - 1) with about `scale` blocks. Types of different `variant` have
 * different layouts. */
soak_type soak_make(int kind, int scale, int variant);
void soak_free(soak_type *type);

/* Writes base, base + 1, … to the places of the type, and -1 everywhere else. */
void soak_fill(const soak_type *type, int *buffer, int base);
/* Does the buffer have base, base + 1, … in these places, and -1 everywhere else? */
bool soak_holds(const soak_type *type, const int *buffer, int base);

/* Counts a failure and prints the first few. */
void soak_expect(bool ok, const char *what);

/* The number behind a name in a file of lines "name: number kB". 0: there is none. */
long soak_read_kib(const char *path, const char *name);

/* Collective. Rank 0 prints the ranks' memory as one line: "memory WHEN rss R pss P vm V", sums in KiB. */
void soak_tell_memory(const char *when, MPI_Comm comm);

/* Collective. Rank 0 prints "passed" if no rank has a failure. Returns the exit status. */
int soak_end(MPI_Comm comm);

/* Argument i as a number, or `otherwise`. */
long soak_argument(int argc, char **argv, int i, long otherwise);

#endif
