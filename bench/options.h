/* The command line of the pack benchmark. */
#ifndef PW_BENCH_OPTIONS_H
#define PW_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bench_options {
    const char *filter; /* glob over "name params" */
    const char *csv;    /* NULL: none */
    bool quick, warm, pack_only, explain, list;
    int reps;           /* most repetitions of a row and direction */
    double seconds;     /* time for a row and direction */
    int64_t max_memory; /* rows with larger arrays are left out */
    int worst;          /* rows in the lists of the slowest */
} bench_options;

/* False after a message: `*exit_code` is what the program ends with. */
bool bench_options_parse(bench_options *options, int argc, char **argv, int *exit_code);

#endif
