/* The command line of `packwright measure`, and of the program that it becomes under a launcher. */
#ifndef PW_TOOLS_MEASURE_OPTIONS_H
#define PW_TOOLS_MEASURE_OPTIONS_H

#include "tools/command.h"

typedef struct pw_measure_options {
    double seconds;
    double spread;     /* how far a probe's samples may differ, as a part of 1 */
    bool gpu, network; /* named by --only */
    bool quiet, dry_run, show;
    const char *mpi;    /* --mpi: "mpich" or "openmpi", or NULL */
    const char *output; /* -o, or NULL: the cache directory */
    const char *file;   /* the operand of --show, or NULL */
} pw_measure_options;

/* Reads the options; errors are the command's. Returns -1 to go on, or an exit status after reporting an error. */
int pw_measure_options_parse(const pw_command *command, int argc, char **argv, pw_measure_options *o);

#endif
