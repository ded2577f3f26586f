/* What the files of `packwright plan` share, by the file that defines it. Times are nanoseconds and sizes bytes, but
 * for options, which are in the units of the command line. */
#ifndef PW_TOOLS_PLAN_H
#define PW_TOOLS_PLAN_H

#include "runtime/engine/model/tables.h"
#include "tools/input/input.h"
#include "tools/plan/sim.h"

#include <stdio.h>

enum {
    PW_PLAN_AXES = 4,        /* the most axes of a process grid */
    PW_PLAN_DIRECTIONS = 80, /* all neighbours in that many axes */
    PW_PLAN_RANKS = 10000000,
    PW_PLAN_MESSAGES = 20000000 /* the most messages of all ranks together: some seconds, and 1 GB */
};

/* The ways of which a plan compares. CONTIGUOUS: messages of the same bytes without a layout. */
typedef enum pw_plan_way { PW_PLAN_NATIVE, PW_PLAN_OURS, PW_PLAN_CONTIGUOUS, PW_PLAN_WAYS } pw_plan_way;

extern const char *const pw_plan_way_names[PW_PLAN_WAYS];

typedef enum pw_plan_pattern { PW_PLAN_HALO, PW_PLAN_TRANSPOSE } pw_plan_pattern;

/* ---- options.c --------------------------------------------------------------------------------------------------- */

/* From one option --to: the neighbour at this offset in the process grid gets this type. */
typedef struct pw_plan_to {
    int offset[PW_PLAN_AXES], axes;
    const char *type;
} pw_plan_to;

typedef struct pw_plan_options {
    const char *input, *model, *network, *mpi, *plot; /* NULL: not given */
    pw_plan_pattern pattern;
    int64_t grid[PW_PLAN_AXES], ranks;
    int axes;
    int64_t nodes, ranks_per_node;               /* both are set, given or from the other */
    int64_t cores, count;                        /* cores of a node, 0: one for each rank; objects of a message */
    double latency, bandwidth, overhead, memory; /* us, GB/s, us, GB/s; NaN: not given */
    bool csv;
    int nto;
    pw_plan_to to[PW_PLAN_DIRECTIONS];
} pw_plan_options;

/* Reads the command line. Returns -1 to go on, else an exit status after reporting what is wrong. */
int pw_plan_parse(int argc, char **argv, pw_plan_options *o);

extern const char pw_plan_help[];

/* ---- exchange.c: who sends what to whom -------------------------------------------------------------------------- */

/* A type of the input as messages of it look to the model. */
typedef struct pw_plan_type {
    pw_model_shape shape;
    bool contiguous;
} pw_plan_type;

typedef struct pw_plan_direction {
    int offset[PW_PLAN_AXES];
    int type;
} pw_plan_direction;

typedef struct pw_plan_exchange {
    const pw_plan_options *o;
    int ntypes, ndirections; /* a transpose has no directions */
    pw_plan_type *types;     /* halo: by direction; transpose: what is sent, and what is received */
    pw_plan_direction directions[PW_PLAN_DIRECTIONS];
} pw_plan_exchange;

/* Reads the types of the input and finds who gets them. Errors are reported. Free with pw_plan_exchange_free. */
bool pw_plan_exchange_make(const pw_plan_options *o, pw_plan_exchange *out);
void pw_plan_exchange_free(pw_plan_exchange *x);

int pw_plan_messages(const pw_plan_exchange *x); /* that each rank sends */
/* Where message k of a rank goes, and its types: what the sender packs and what the receiver unpacks. */
int64_t pw_plan_route(const pw_plan_exchange *x, int64_t rank, int k, int *sent, int *received);

/* ---- cost.c: what a message costs -------------------------------------------------------------------------------- */

/* The parameters of the machine that is planned for. */
typedef struct pw_plan_machine {
    const pw_model *model;
    pw_sim_machine sim;
    double overhead; /* of a message to another node, for each of the two cores */
    double crowd;    /* how many ranks share a core: core times are that many times as long */
} pw_plan_machine;

/* Fills in the link from the options and `network`, which may be NULL. False: they do not say enough, which is
 * reported. */
bool pw_plan_machine_make(const pw_plan_options *o, const pw_model *model, const pw_model *network,
                          pw_plan_machine *out);

pw_call_kind pw_plan_kind(pw_plan_pattern pattern); /* the calls that exchange it */

/* Whether messages of the type are packed by Packwright. */
bool pw_plan_packs(const pw_plan_machine *m, pw_plan_way way, pw_plan_pattern pattern, const pw_plan_type *type);

/* The cost of a message by one way, without its destination. `abroad`: to another node. */
pw_sim_message pw_plan_cost(const pw_plan_machine *m, pw_plan_way way, pw_plan_pattern pattern,
                            const pw_plan_type *sent, const pw_plan_type *received, bool abroad);

/* ---- report.c, chart.c ------------------------------------------------------------------------------------------- */

typedef struct pw_plan_result {
    const pw_plan_options *o;
    const pw_plan_machine *machine;
    int messages; /* of a rank */
    const char *model_path;
    pw_sim_rank *ranks[PW_PLAN_WAYS];
} pw_plan_result;

/* The rank whose time is the median, and the longest time of all. */
typedef struct pw_plan_summary {
    pw_sim_rank median;
    double slowest;
} pw_plan_summary;

/* Returns false if memory is short. */
bool pw_plan_summarise(const pw_plan_result *r, pw_plan_way way, pw_plan_summary *out);

/* What all reports say first: what was exchanged, and what was assumed. Each line begins with `begin`. */
void pw_plan_print_header(FILE *out, const pw_plan_result *r, const char *begin, const char *end);
void pw_plan_print_table(const pw_plan_result *r, const pw_plan_summary summaries[PW_PLAN_WAYS]);
void pw_plan_print_csv(const pw_plan_result *r);
/* Writes the chart as SVG. */
void pw_plan_chart(FILE *out, const pw_plan_result *r, const pw_plan_summary summaries[PW_PLAN_WAYS]);

#endif
