/* Parsing the command line. */
#include "bench/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
    "usage: pack [options]\n"
    "  --filter GLOB       only rows whose \"name params\" match, e.g. 'NAS_*' or 'TEMPI_2D 64K*'\n"
    "  --csv FILE          write all numbers to FILE\n"
    "  --warm              nothing on cold memory\n"
    "  --pack-only         no unpack\n"
    "  --quick             verify every peer on every row, one repetition, smaller sizes where they are huge\n"
    "  --reps N            at most N repetitions a row and direction (default 31)\n"
    "  --seconds S         about S seconds a row and direction (default 0.3), a quarter more on cold memory\n"
    "  --max-memory MIB    leave out rows whose arrays take more (default 1280)\n"
    "  --worst N           length of the lists of slowest rows (default 20)\n"
    "  --explain           the nest of each row's first type, under its name\n"
    "  --list              names of the rows, and nothing else\n";

enum {
    OPT_FILTER = 1,
    OPT_CSV,
    OPT_WARM,
    OPT_PACK_ONLY,
    OPT_QUICK,
    OPT_REPS,
    OPT_SECONDS,
    OPT_MEMORY,
    OPT_WORST,
    OPT_LIST,
    OPT_EXPLAIN,
    OPT_HELP
};

static const struct option table[] = {{"filter", required_argument, NULL, OPT_FILTER},
                                      {"csv", required_argument, NULL, OPT_CSV},
                                      {"warm", no_argument, NULL, OPT_WARM},
                                      {"pack-only", no_argument, NULL, OPT_PACK_ONLY},
                                      {"quick", no_argument, NULL, OPT_QUICK},
                                      {"reps", required_argument, NULL, OPT_REPS},
                                      {"seconds", required_argument, NULL, OPT_SECONDS},
                                      {"max-memory", required_argument, NULL, OPT_MEMORY},
                                      {"worst", required_argument, NULL, OPT_WORST},
                                      {"explain", no_argument, NULL, OPT_EXPLAIN},
                                      {"list", no_argument, NULL, OPT_LIST},
                                      {"help", no_argument, NULL, OPT_HELP},
                                      {0}};

static bool number(const char *text, double least, double *out)
{
    char *end;
    *out = strtod(text, &end);
    if (*text && !*end && *out >= least)
        return true;
    fprintf(stderr, "pack: '%s' is not a number of at least %g\n", text, least);
    return false;
}

/* One option with its argument; false: malformed. */
static bool set(bench_options *o, int id)
{
    double x;
    switch (id) {
    case OPT_FILTER: o->filter = optarg; return true;
    case OPT_CSV: o->csv = optarg; return true;
    case OPT_WARM: return o->warm = true;
    case OPT_PACK_ONLY: return o->pack_only = true;
    case OPT_QUICK: return o->quick = true;
    case OPT_EXPLAIN: return o->explain = true;
    case OPT_LIST: return o->list = true;
    case OPT_REPS:
        if (!number(optarg, 1, &x))
            return false;
        o->reps = (int)x;
        return true;
    case OPT_SECONDS: return number(optarg, 0, &o->seconds);
    case OPT_MEMORY:
        if (!number(optarg, 1, &x))
            return false;
        o->max_memory = (int64_t)(x * 1048576);
        return true;
    case OPT_WORST:
        if (!number(optarg, 0, &x))
            return false;
        o->worst = (int)x;
        return true;
    default: return false;
    }
}

bool bench_options_parse(bench_options *o, int argc, char **argv, int *exit_code)
{
    *o = (bench_options){.filter = "*", .reps = 31, .seconds = 0.3, .max_memory = INT64_C(1280) << 20, .worst = 20};
    int id;
    while ((id = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (id == OPT_HELP || !set(o, id)) {
            fputs(usage, id == OPT_HELP ? stdout : stderr);
            *exit_code = id == OPT_HELP ? 0 : 2;
            return false;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "pack: unexpected argument '%s'\n%s", argv[optind], usage);
        *exit_code = 2;
        return false;
    }
    if (o->quick)
        o->reps = 1;
    return true;
}
