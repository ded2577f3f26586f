/*
 * The command line that runs a program with Packwright, also for other commands than `packwright run`: the words as the
 * user gave them, with the interposer and settings before each program.
 */
#ifndef PW_TOOLS_WORDS_H
#define PW_TOOLS_WORDS_H

#include "tools/run/interposer.h"
#include "tools/run/stage.h"

#include <stdbool.h>
#include <stdint.h>

/* The exit statuses of shells: the command was found but cannot run in this way, or it was not found. */
enum { PW_RUN_CANNOT = 126, PW_RUN_NOT_FOUND = 127 };

enum { PW_RUN_SETTINGS = 16 };

typedef struct pw_run_settings {
    const pw_mpi_abi *mpi; /* the MPI that the user names; NULL: none */
    char *page;            /* the page of the report, which is made of PAGE.json; NULL: none; malloc'ed */
    pw_stage stage;        /* of `packwright run --stage` */
    int n;
    char *setting[PW_RUN_SETTINGS]; /* each "NAME=value", malloc'ed */
} pw_run_settings;

/* A command line that grows by what is put before each program. Ends with NULL for execvp. */
typedef struct pw_words {
    int n;
    int64_t room;
    const char **word;
    bool failed; /* out of memory */
} pw_words;

/* Adds the words of a command with Packwright to `out`, which begins as zero. Returns PW_EXIT_OK, or reports why the
 * command cannot be run and returns the status to exit with. Packs what is staged. The caller frees out->word. */
int pw_run_words(pw_run_settings *settings, int argc, char *const *argv, pw_words *out);

/* Returns whether the words preload an interposer: not where all programs are left alone. */
bool pw_words_preload(const pw_words *words);

/* Returns the place of the launcher: behind words such as `time` or `numactl -N 0`, which are programs without MPI. -1:
 * there is none. */
int pw_run_launcher_at(int argc, char *const *argv);

/* Finds the MPI whose own launcher this is. NULL: it is not known. */
const pw_mpi_abi *pw_run_mpi_of_launcher(const char *launcher);
/* How to call the launcher of an MPI here: "mpiexec", or a name that only this MPI's has. */
const char *pw_run_launcher_of(const pw_mpi_abi *mpi);

/* Returns the four texts as one, malloc'ed. NULL: out of memory. */
char *pw_words_join(const char *a, const char *b, const char *c, const char *d);

#endif
