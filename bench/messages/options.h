/* The command line of bench/messages. */
#ifndef PW_BENCH_MESSAGES_OPTIONS_H
#define PW_BENCH_MESSAGES_OPTIONS_H

#include "bench/messages/buffers.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct msg_options {
    const char *filter;  /* glob over "name params" */
    const char *csv;     /* NULL: none */
    unsigned modes;      /* bits 1 << msg_mode */
    double seconds;      /* for a row and mode */
    int64_t most, least; /* bytes of a message */
    int64_t max_memory;  /* bytes of buffers that a rank may have */
    int worst;           /* rows in the list of the slowest */
    bool own_only, quick, list;
    bool by_strategy;  /* also by named strategies */
    msg_memory memory; /* of typed buffers */
} msg_options;

/* False: `*exit_code` is what the program ends with; `loud` ranks say why. */
bool msg_options_parse(msg_options *o, int argc, char **argv, bool loud, int *exit_code);

#endif
