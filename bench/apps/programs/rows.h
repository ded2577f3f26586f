/*
 * What the programs of this folder share: the rows that they print. A row is an exchange, how long it takes, and a
 * digest of what it leaves behind, by which bench/apps tells whether two runs agree:
 *
 *   {"row": "write 64^3 to one block", "seconds": 0.00123, "result": "0123456789abcdef"}
 *
 * Processes differ more than ways do: with --turns a row is timed in turns of one process, with its calls as they are
 * and turned past Packwright: "native" are the seconds of the latter, and "first" those of one of its first uses, in
 * which ways are tried.
 *
 * Options of every program: --only=ROW (a shell pattern, or several, as @(ROW|ROW)), --seconds=TIME of a row, --hand
 * (packs by itself), --turns, --uses=N (makes so many before those whose result counts, and prints 0 seconds).
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
    bool hand, turns;
    int uses; /* -1: as many as a time takes */
    int rank, ranks;
} rows;

/* An exchange, as calls with `data`. */
typedef struct row {
    void *data;
    void (*prepare)(void *data);               /* sets memory to what it is before an exchange */
    void (*exchange)(void *data);              /* what is timed */
    uint64_t (*digest)(void *data);            /* of this rank's memory, or of its part of a file */
    void (*turned)(void *data, bool natively); /* told before the calls of exchanges go elsewhere, or NULL */
} row;

/* Starts MPI and reads the options that all programs have; ends the program if it does not understand one of them. */
rows rows_begin(int argc, char **argv, const char *own_options);
void rows_end(void);

/* Returns the value of an option of the program's own, or `otherwise`. */
const char *rows_option(int argc, char **argv, const char *name, const char *otherwise);

/* Has the calls of MPI functions in this process and its libraries go past Packwright, or through it again. Nothing
 * that was begun in one way may be completed in the other. */
void rows_call_natively(bool natively);

/* Times and prints a row, unless it is not wanted. */
void rows_do(const rows *all, const char *name, const row *r);
bool rows_wanted(const rows *all, const char *name);

uint64_t rows_digest(uint64_t before, const void *memory, size_t bytes);
void *rows_allocate(size_t bytes); /* page-aligned and zeroed; ends the program if there is none */

#endif
