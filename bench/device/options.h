/* How the benchmarks of messages between GPUs read their options, and begin. */
#ifndef PW_BENCH_DEVICE_OPTIONS_H
#define PW_BENCH_DEVICE_OPTIONS_H

#include <stdbool.h>

typedef struct device_options {
    double seconds;            /* -t: of a row; 0: it is only verified */
    const char *only, *driver; /* -f: of one layout or application; -d: the stand-in. NULL: all; the system's */
    const char *sizes;         /* -s: KiB, or edges and particles, by commas */
    const char *mode;          /* -m: which calls; NULL: the first ones */
    int flight;                /* -n: messages in flight */
} device_options;

/* Reads the options of `known`, as getopt has them, over the defaults in *o. False: there is another one. */
bool device_read_options(int argc, char **argv, const char *known, device_options *o);

/* Initialises MPI and makes a GPU current; ranks take the GPUs of the machine in turn, and those beyond them share,
 * which is said. False: there is none, and MPI has ended. */
bool device_begin(int *argc, char ***argv, const char *driver, int *rank, int *ranks);

#endif
