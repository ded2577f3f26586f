/* Parsing the command line. */
#include "bench/messages/options.h"

#include "bench/messages/exchange.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: mpiexec -n 2 messages_<mpi> [options]\n"
    "  --filter GLOB      only rows whose \"name params\" match, e.g. 'Blocks*' or '@(NAS|MILC)_*'\n"
    "  --mode LIST        of ping-pong, fresh, stream, overlap, in-flight, alltoall, neighbours, self (default: all)\n"
    "  --seconds S        about S seconds a row and mode (default 0.3)\n"
    "  --csv FILE         write all numbers to FILE\n"
    "  --least BYTES      no shorter messages (default 64)\n"
    "  --most BYTES       no longer messages (default 8388608)\n"
    "  --max-memory MIB   leave out what needs larger buffers in a rank (default 640)\n"
    "  --own              only the benchmark's own layouts, without the suite's\n"
    "  --memory KIND      typed messages from and to memory of malloc (default), alloc-mem, window or file\n"
    "  --strategies       also packed, in the MPI's pipeline, and with PACKWRIGHT_ONE_COPY=1 direct, whatever is "
    "chosen\n"
    "  --worst N          length of the list of the slowest (default 15)\n"
    "  --quick            two exchanges of each kind, verified; the times mean nothing\n"
    "  --list             names of the rows, and nothing else\n";

enum { FILTER = 1, MODE, SECONDS, CSV, LEAST, MOST, MEMORY, OWN, MEMORY_KIND, STRATEGIES, WORST, QUICK, LIST, HELP };

static const struct option table[] = {{"filter", required_argument, NULL, FILTER},
                                      {"mode", required_argument, NULL, MODE},
                                      {"seconds", required_argument, NULL, SECONDS},
                                      {"csv", required_argument, NULL, CSV},
                                      {"least", required_argument, NULL, LEAST},
                                      {"most", required_argument, NULL, MOST},
                                      {"max-memory", required_argument, NULL, MEMORY},
                                      {"own", no_argument, NULL, OWN},
                                      {"memory", required_argument, NULL, MEMORY_KIND},
                                      {"strategies", no_argument, NULL, STRATEGIES},
                                      {"worst", required_argument, NULL, WORST},
                                      {"quick", no_argument, NULL, QUICK},
                                      {"list", no_argument, NULL, LIST},
                                      {"help", no_argument, NULL, HELP},
                                      {0}};

static bool number(double least, double *out)
{
    char *end;

    *out = strtod(optarg, &end);
    return *optarg && !*end && *out >= least;
}

static bool modes_of(const char *text, unsigned *modes)
{
    *modes = 0;
    while (*text) {
        size_t n = strcspn(text, ",");
        int mode = 0;

        while (mode < MSG_MODES && (strlen(msg_mode_name(mode)) != n || strncmp(msg_mode_name(mode), text, n) != 0))
            mode++;
        if (mode == MSG_MODES)
            return false;
        *modes |= 1U << mode;
        text += n + (text[n] == ',');
    }
    return *modes;
}

static bool memory_of(const char *text, msg_memory *memory)
{
    static const char *const kinds[MSG_MEMORIES] = {"malloc", "alloc-mem", "window", "file"};
    int kind = 0;

    while (kind < MSG_MEMORIES && strcmp(kinds[kind], text) != 0)
        kind++;
    *memory = (msg_memory)kind;
    return kind < MSG_MEMORIES;
}

static bool set(msg_options *o, int id)
{
    double x = 0;

    switch (id) {
    case FILTER: o->filter = optarg; return true;
    case CSV: o->csv = optarg; return true;
    case MODE: return modes_of(optarg, &o->modes);
    case OWN: return o->own_only = true;
    case MEMORY_KIND: return memory_of(optarg, &o->memory);
    case STRATEGIES: return o->by_strategy = true;
    case QUICK: return o->quick = true;
    case LIST: return o->list = true;
    case SECONDS: return number(0, &o->seconds);
    case HELP: return false;
    default: break;
    }
    if (!number(id == WORST ? 0 : 1, &x))
        return false;
    switch (id) {
    case LEAST: o->least = (int64_t)x; return true;
    case MOST: o->most = (int64_t)x; return true;
    case MEMORY: o->max_memory = (int64_t)(x * 1048576); return true;
    case WORST: o->worst = (int)x; return true;
    default: return false;
    }
}

bool msg_options_parse(msg_options *o, int argc, char **argv, bool loud, int *exit_code)
{
    int id;

    *o = (msg_options){.filter = "*",
                       .modes = (1U << MSG_MODES) - 1,
                       .seconds = 0.3,
                       .least = 64,
                       .most = 8 << 20,
                       .max_memory = INT64_C(640) << 20,
                       .worst = 15};
    opterr = loud;
    while ((id = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (set(o, id))
            continue;
        if (loud)
            fputs(usage, id == HELP ? stdout : stderr);
        *exit_code = id == HELP ? 0 : 2;
        return false;
    }
    if (optind == argc)
        return true;
    if (loud)
        fprintf(stderr, "messages: unexpected argument '%s'\n%s", argv[optind], usage);
    *exit_code = 2;
    return false;
}
