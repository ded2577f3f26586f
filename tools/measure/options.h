/* The command line of `packwright measure`, and of the program that it becomes under a launcher. */
#ifndef PW_TOOLS_MEASURE_OPTIONS_H
#define PW_TOOLS_MEASURE_OPTIONS_H

#include <stdbool.h>

typedef struct pw_measure_options {
    double seconds;
    double spread;           /* of a point's samples, a part of 1 */
    bool cpu, gpu, messages; /* --only */
    bool quiet, dry_run, show, check;
    const char *mpi;    /* --mpi: "mpich" or "openmpi", or NULL */
    const char *output; /* -o, or NULL: the cache directory */
    const char *plot;   /* --plot, or NULL */
    const char *file;   /* the operand of --show, --plot and --check, or NULL */
} pw_measure_options;

/* Returns -1 to go on, else an exit status; the error has been reported then. */
int pw_measure_options_parse(int argc, char **argv, pw_measure_options *o);

#endif
