/*
 * The options of commands that start programs, `packwright run` and `packwright compare`: everything up to the command
 * to start.
 */
#ifndef PW_TOOLS_RUN_OPTIONS_H
#define PW_TOOLS_RUN_OPTIONS_H

#include "base/env.h"
#include "tools/command.h"
#include "tools/run/words.h"

/* What the help says of the options that both commands have. */
#define PW_RUN_OPTIONS_HELP                                                                                         \
    "  --jit=MODE          sync, async or off (PACKWRIGHT_JIT)\n"                                                   \
    "  --cache-dir=DIR     directory of compiled kernels (PACKWRIGHT_CACHE_DIR)\n"                                  \
    "  --log=LEVEL         error, warn, info or debug (PACKWRIGHT_LOG)\n"                                           \
    "  --strategy=NAME     force a transfer strategy wherever it can carry the message (PACKWRIGHT_STRATEGY)\n"     \
    "  --mpi=NAME          mpich, openmpi or mpi-abi (the standard ABI), for programs that are not linked to one, " \
    "such as scripts\n"

/* Takes an option that only this command has. Returns PW_EXIT_OK, PW_RUN_OTHER if it is none of those, or, after
 * reporting an error, the status to exit with. */
enum { PW_RUN_OTHER = -1 };
typedef int pw_run_take(void *options, const char *arg);

typedef struct pw_run_options {
    const pw_command *command;
    bool timed; /* refuses the options by which a run writes down what it does, since that takes time */
    pw_run_take *take;
    void *own;                 /* handed to `take` */
    pw_run_settings *settings; /* what the shared options ask for; the caller frees its texts, after an error, too */
} pw_run_options;

/* Reads the options. *first: the place of the command to start, or argc if there is none. Returns PW_EXIT_OK or, after
 * reporting an error, the status to exit with. */
int pw_run_parse(const pw_run_options *o, int argc, char **argv, int *first);

/* Adds "NAME=value" of a variable. There must be room. */
void pw_run_set(pw_run_settings *settings, pw_env_id id, const char *value);

/* Has the ranks write the data of a page that PACKWRIGHT_REPORT names, unless an option does. */
void pw_run_set_page(pw_run_settings *settings);

void pw_run_settings_free(pw_run_settings *settings);

#endif
