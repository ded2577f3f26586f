/* What the files of `packwright plan` share, by the file that defines it. Times are nanoseconds and sizes bytes, but
 * for options, which are in the units of the command line. */
#ifndef PW_TOOLS_PLAN_H
#define PW_TOOLS_PLAN_H

#include "tools/input/input.h"
#include "tools/measure/exchange.h"
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

/* From one option --to: the neighbour at this offset in the process grid gets this type; or --from: what it sends is
 * received as this type. */
typedef struct pw_plan_to {
    int offset[PW_PLAN_AXES], axes;
    const char *type;
} pw_plan_to;

typedef struct pw_plan_options {
    const char *input, *times, *save, *mpi, *plot; /* NULL: not given */
    const char *launcher;                          /* the MPI whose rank this process is; NULL: it is none */
    pw_plan_pattern pattern;
    int64_t grid[PW_PLAN_AXES], ranks;
    int axes;
    int64_t nodes, ranks_per_node;               /* both are set, given or from the other */
    int64_t count;                               /* objects of a message */
    double latency, bandwidth, overhead, memory; /* us, GB/s, us, GB/s; NaN: not given */
    bool csv;
    int nto, nfrom;
    pw_plan_to to[PW_PLAN_DIRECTIONS], from[PW_PLAN_DIRECTIONS];
} pw_plan_options;

/* Reads the command line. Returns -1 to go on, else an exit status after reporting what is wrong. */
int pw_plan_parse(int argc, char **argv, pw_plan_options *o);

extern const char pw_plan_help[];

/* ---- exchange.c: who sends what to whom -------------------------------------------------------------------------- */

typedef struct pw_plan_type {
    int64_t bytes;          /* of a message of it */
    int64_t entry, variant; /* of the text */
} pw_plan_type;

typedef struct pw_plan_direction {
    int offset[PW_PLAN_AXES];
    int type;     /* that is sent there */
    int received; /* what the receiver has for it */
} pw_plan_direction;

typedef struct pw_plan_exchange {
    const pw_plan_options *o;
    int ntypes, ndirections; /* a transpose has no directions */
    bool in_place;           /* messages of a halo are received into the array that they are sent from */
    pw_plan_type *types;     /* a transpose has one, or what is sent and what is received */
    char *text;              /* the types in the datatype language */
    pw_plan_direction directions[PW_PLAN_DIRECTIONS];
} pw_plan_exchange;

/* Reads the types of the input and finds who gets them. Errors are reported. Free with pw_plan_exchange_free. */
bool pw_plan_exchange_make(const pw_plan_options *o, pw_plan_exchange *out);
void pw_plan_exchange_free(pw_plan_exchange *x);

int pw_plan_messages(const pw_plan_exchange *x);                       /* that each rank sends */
int64_t pw_plan_route(const pw_plan_exchange *x, int64_t rank, int k); /* where message k of a rank goes */

/* ---- cost.c: what a message costs -------------------------------------------------------------------------------- */

/* The parameters of the machine that is planned for. */
typedef struct pw_plan_machine {
    const struct pw_plan_timed *timed; /* the messages as two ranks have timed them */
    pw_sim_machine sim;
    double overhead; /* of a message to another node, for each of the two cores */
} pw_plan_machine;

/* Fills in the link from the options, or else from what was timed. False: they do not say enough, which is reported.
 */
bool pw_plan_machine_make(const pw_plan_options *o, const struct pw_plan_timed *timed, pw_plan_machine *out);

/* How far a message goes. */
typedef enum pw_plan_distance { PW_PLAN_SELF, PW_PLAN_NODE, PW_PLAN_ABROAD, PW_PLAN_DISTANCES } pw_plan_distance;

/* Whether all that a rank sends is packed before the first message leaves. */
bool pw_plan_is_staged(pw_plan_way way, const pw_plan_exchange *x);

/* The cost of message k of a rank by one way, without its destination. */
pw_sim_message pw_plan_cost(const pw_plan_machine *m, pw_plan_way way, const pw_plan_exchange *x, int k,
                            pw_plan_distance distance);

/* ---- timed.c: what this machine takes for these messages -------------------------------------------------------- */

/* The messages of a halo by direction; the one of a transpose. */
typedef struct pw_plan_timed {
    pw_exchange_peer peer; /* whether there were two ranks on one node */
    pw_exchange_link link; /* the two ranks were on different nodes; else all 0 */
    pw_exchange_times at[PW_PLAN_WAYS][PW_PLAN_DIRECTIONS];
} pw_plan_timed;

/* Reads the times of a file, or, as a rank of an MPI's launcher, has the messages timed by two ranks. *first: this is
 * the rank that goes on with the plan. Errors are reported. */
bool pw_plan_time(const pw_plan_exchange *x, pw_plan_timed *out, bool *first);

/* ---- own.c: what Packwright itself takes ------------------------------------------------------------------------- */

/* What one rank takes if all its messages are packed, in bytes. */
typedef struct pw_plan_own {
    int descriptors;
    int64_t peers;  /* other ranks of its node that send to it */
    int64_t copies; /* packed messages, sent and received */
    int64_t read;   /* messages in the segments of its peers */
    int64_t resident;
} pw_plan_own;

/* Returns the most of any rank. */
pw_plan_own pw_plan_own_most(const pw_plan_exchange *x);

/* ---- report.c, chart.c ------------------------------------------------------------------------------------------- */

typedef struct pw_plan_result {
    const pw_plan_options *o;
    const pw_plan_machine *machine;
    int messages; /* of a rank */
    pw_plan_own own;
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
