/*
 * What the programs of this folder share: the rows that they print. A row is an exchange, how long it takes, and a
 * digest of what it leaves behind, by which bench/apps tells whether two runs agree:
 *
 *   {"row": "write 64^3 to one block", "seconds": 0.00123, "result": "0123456789abcdef"}
 *
 * Where processes differ more than ways do, a row is timed in turns of one process, by MPI_ and by PMPI_ functions:
 * "native" are the seconds by PMPI_, and "first" those of one of its first uses, in which ways are tried.
 *
 * Options of every program: --only=ROW (a shell pattern), --seconds=TIME of a row, --hand (packs by itself), --uses=N
 * (makes so many before those whose result counts, and prints 0 seconds).
 */
#ifndef PW_BENCH_APPS_ROWS_H
#define PW_BENCH_APPS_ROWS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rows {
    const char *only;
    double seconds;
    bool hand;
    int uses; /* -1: as many as a time takes */
    int rank, ranks;
} rows;

/* An exchange, as calls with `data`. */
typedef struct row {
    void *data;
    void (*prepare)(void *data);    /* sets memory to what it is before an exchange */
    void (*exchange)(void *data);   /* what is timed */
    uint64_t (*digest)(void *data); /* of this rank's memory, or of its part of a file */
    void (*natively)(void *data);   /* the same by PMPI_ functions, which Packwright does not see, or NULL */
} row;

/* Starts MPI and reads the options that all programs have; ends the program if it does not understand one of them. */
rows rows_begin(int argc, char **argv, const char *own_options);
void rows_end(void);

/* Returns the value of an option of the program's own, or `otherwise`. */
const char *rows_option(int argc, char **argv, const char *name, const char *otherwise);

/* Times and prints a row, unless it is not wanted. */
void rows_do(const rows *all, const char *name, const row *r);
bool rows_wanted(const rows *all, const char *name);

uint64_t rows_digest(uint64_t before, const void *memory, size_t bytes);
void *rows_allocate(size_t bytes); /* page-aligned and zeroed; ends the program if there is none */

#endif
