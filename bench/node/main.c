/* bench/node: what a node's exchanges take with Packwright and without it. bench/node/run starts it. */
#include "bench/node/measure.h"

#include <fnmatch.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] = "usage: mpiexec -n RANKS node_<mpi> [options]; prints a line of JSON for each row\n"
                            "  --filter GLOB   only rows whose name matches, e.g. 'alltoallw *'\n"
                            "  --seconds S     S seconds for the turns of a row (default 0.15)\n"
                            "  --warm N        uses of ours before that, at least 64 (default 64)\n"
                            "  --short         fewer and shorter rows\n"
                            "  --quick         two uses of each kind, verified; the times mean nothing\n"
                            "  --untimed       ours alone, to see by PACKWRIGHT_REPORT which ways it takes\n"
                            "  --list          names of the rows, and nothing else\n";

enum { FILTER = 1, SECONDS, WARM, SHORT, QUICK, UNTIMED, LIST, HELP };

static const struct option table[] = {{"filter", required_argument, NULL, FILTER},
                                      {"seconds", required_argument, NULL, SECONDS},
                                      {"warm", required_argument, NULL, WARM},
                                      {"short", no_argument, NULL, SHORT},
                                      {"quick", no_argument, NULL, QUICK},
                                      {"untimed", no_argument, NULL, UNTIMED},
                                      {"list", no_argument, NULL, LIST},
                                      {"help", no_argument, NULL, HELP},
                                      {0}};

typedef struct options {
    const char *filter;
    node_effort effort;
    bool few, list;
} options;

static bool set(options *o, int id)
{
    char *end = "";

    switch (id) {
    case FILTER: o->filter = optarg; return true;
    case SECONDS: o->effort.seconds = strtod(optarg, &end); return !*end && o->effort.seconds > 0;
    case WARM: o->effort.warm = (int)strtol(optarg, &end, 10); return !*end && o->effort.warm >= NODE_FIRST;
    case SHORT: return o->few = true;
    case QUICK: return o->effort.quick = true;
    case UNTIMED: return o->effort.untimed = true;
    case LIST: return o->list = true;
    default: return false;
    }
}

static bool parse(options *o, int argc, char **argv, bool loud)
{
    int id;

    *o = (options){.filter = "*", .effort = {.seconds = 0.15, .warm = NODE_FIRST}};
    opterr = loud;
    while ((id = getopt_long(argc, argv, "", table, NULL)) != -1)
        if (!set(o, id)) {
            if (loud && id != '?' && id != HELP)
                fprintf(stderr, "node: --%s cannot be %s\n", table[id - 1].name, optarg ? optarg : "given");
            if (loud)
                fputs(usage, id == HELP ? stdout : stderr);
            return false;
        }
    if (optind < argc && loud)
        fprintf(stderr, "node: what is '%s'?\n%s", argv[optind], usage);
    return optind >= argc;
}

static void print_head(void)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n = 0, ranks;

    PMPI_Get_library_version(library, &n);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (char *c = library; *c; c++)
        if (*c == '\t' || *c == '"' || *c == '\\')
            *c = ' ';
    library[strcspn(library, "\n,")] = '\0';
    printf("{\"library\": \"%s\", \"ranks\": %d}\n", library, ranks);
}

static void print_row(const node_row *row, const node_times *t)
{
    printf("{\"name\": \"%s\", \"exchange\": \"%s\", \"bytes\": %lld, \"block\": %lld, \"good\": %s", row->name,
           node_exchange_name(row->exchange), (long long)row->bytes, (long long)row->block, t->good ? "true" : "false");
    if (t->rounds)
        printf(", \"native\": %.3f, \"ours\": %.3f, \"ratio\": %.4f, \"quartiles\": [%.4f, %.4f], \"rounds\": %d, "
               "\"first_native\": %.3f, \"first_ours\": %.3f",
               t->median[NODE_NATIVE], t->median[NODE_OURS], t->ratio, t->quartile[0], t->quartile[1], t->rounds,
               t->first[NODE_NATIVE], t->first[NODE_OURS]);
    if (t->median[NODE_HAND] > 0)
        printf(", \"hand\": %.3f", t->median[NODE_HAND]);
    puts("}");
    fflush(stdout);
}

/* Returns the number of rows in which a rank received something else than was sent. */
static int run_rows(const options *o, MPI_Comm grid, int rank)
{
    node_row rows[NODE_MOST_ROWS];
    int n = node_rows_fill(rows, o->few), wrong = 0;

    for (int i = 0; i < n; i++) {
        node_plan plan;
        node_times times;

        if (fnmatch(o->filter, rows[i].name, FNM_EXTMATCH) != 0)
            continue;
        if (o->list) {
            if (rank == 0)
                puts(rows[i].name);
            continue;
        }
        if (!node_plan_make(&plan, &rows[i], MPI_COMM_WORLD, grid)) {
            fprintf(stderr, "node: no memory for %s\n", rows[i].name);
            PMPI_Abort(MPI_COMM_WORLD, 1);
        }
        node_exchange_begin(&plan);
        times = node_measure(&plan, &o->effort);
        node_exchange_end(&plan);
        wrong += !times.good;
        if (rank == 0)
            print_row(&rows[i], &times);
        node_plan_free(&plan);
    }
    return wrong;
}

int main(int argc, char **argv)
{
    int rank, ranks, size[3] = {0}, round[3] = {1, 1, 1}, code = 2;
    MPI_Comm grid;
    options o;

    MPI_Init(&argc, &argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (parse(&o, argc, argv, rank == 0)) {
        PMPI_Dims_create(ranks, 3, size);
        MPI_Cart_create(MPI_COMM_WORLD, 3, size, round, 0, &grid);
        if (rank == 0 && !o.list)
            print_head();
        code = run_rows(&o, grid, rank) > 0;
        MPI_Comm_free(&grid);
    }
    MPI_Finalize();
    return code;
}
