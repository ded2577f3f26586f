/* The command line of packwright plan. */
#include "tools/plan/plan.h"

#include "tools/command.h"
#include "tools/draw/draw.h"
#include "tools/measure/rank.h"

#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char pw_plan_help[] =
    "usage: mpiexec -n 2 packwright plan --grid=XxYxZ --nodes=N [options] TYPES\n"
    "       packwright plan --times=FILE --grid=XxYxZ --nodes=N [options] TYPES|-\n"
    "\n"
    "Says how long an exchange would take on a machine that is not there: a halo exchange or a transpose of types,\n"
    "left to the MPI (native), with Packwright (ours), and of contiguous messages of the same bytes. Two ranks of a\n"
    "node time the messages of the exchange; what travels between nodes is simulated message by message.\n"
    "TYPES is a file in the datatype language or a trace (packwright trace).\n"
    "\n"
    "      --grid=XxYxZ        ranks on each axis of the process grid, 1 to 4 axes, the last one fastest\n"
    "      --nodes=N           how many nodes the ranks are on\n"
    "      --ranks-per-node=N  the same, said otherwise\n"
    "      --pattern=WORD      halo: to the neighbours of a periodic grid (default);\n"
    "                          transpose: to all ranks along the first axis\n"
    "      --to=OFFSET=TYPE    the neighbour at OFFSET (such as 1,0,-1) gets the type of this name; may be repeated.\n"
    "                          Without it types count by order: 1 for all faces, one for each axis, for each face\n"
    "                          (-x, +x, -y, ...) or for each neighbour (the first axis fastest)\n"
    "      --from=OFFSET=TYPE  what the neighbour at OFFSET sends is received as this type, into the array that is "
    "sent\n"
    "                          from: the ghost layer there. With --to, once for each\n"
    "      --count=N           objects in each message (default 1)\n"
    "      --save=FILE         keep the times of the messages in a file\n"
    "      --times=FILE        take the times of such a file instead of ranks; for the same messages, on other nodes\n"
    "      --mpi=WORD          mpich or openmpi, if the launcher does not tell\n"
    "      --latency=US        microseconds of a short message between nodes\n"
    "      --bandwidth=GB      10^9 bytes a second of a node's link, each way\n"
    "      --overhead=US       microseconds of each core for a message between nodes\n"
    "      --memory=GB         10^9 bytes a second that all copies within a node share (default: no limit)\n"
    "      --csv               one line for each way and rank\n"
    "      --plot=FILE         draw the phases; FILE.png is PNG, by rsvg-convert\n";

enum {
    GRID = 1,
    NODES,
    PER_NODE,
    PATTERN,
    TO,
    FROM,
    COUNT,
    TIMES,
    SAVE,
    MPI,
    LATENCY,
    BANDWIDTH,
    OVERHEAD,
    MEMORY,
    CSV,
    PLOT
};

static const struct option known[] = {{"grid", required_argument, NULL, GRID},
                                      {"nodes", required_argument, NULL, NODES},
                                      {"ranks-per-node", required_argument, NULL, PER_NODE},
                                      {"pattern", required_argument, NULL, PATTERN},
                                      {"to", required_argument, NULL, TO},
                                      {"from", required_argument, NULL, FROM},
                                      {"count", required_argument, NULL, COUNT},
                                      {"times", required_argument, NULL, TIMES},
                                      {"save", required_argument, NULL, SAVE},
                                      {"mpi", required_argument, NULL, MPI},
                                      {"latency", required_argument, NULL, LATENCY},
                                      {"bandwidth", required_argument, NULL, BANDWIDTH},
                                      {"overhead", required_argument, NULL, OVERHEAD},
                                      {"memory", required_argument, NULL, MEMORY},
                                      {"csv", no_argument, NULL, CSV},
                                      {"plot", required_argument, NULL, PLOT},
                                      {0}};

static const char *name_of(int option)
{
    return known[option - GRID].name;
}

/* ---- values: -1 to go on, else an exit status -------------------------------------------------------------------- */

static int take_number(int option, int64_t *out)
{
    int status = pw_take_number(&pw_command_plan, name_of(option), optarg, 1, PW_PLAN_RANKS, out);

    return status == PW_EXIT_OK ? -1 : status;
}

static int take_quantity(int option, bool zero, double *out)
{
    char *end;

    *out = strtod(optarg, &end);
    if (end == optarg || *end || !isfinite(*out) || *out < 0 || (*out == 0 && !zero))
        return pw_usage_error(&pw_command_plan, "--%s takes a number %s 0, got '%s'", name_of(option),
                              zero ? "from" : "above", optarg);
    return -1;
}

static int take_grid(pw_plan_options *o)
{
    const char *p = optarg;
    char *end;

    o->ranks = 1;
    for (o->axes = 0; o->axes < PW_PLAN_AXES; p = end + 1) {
        long long n = strtoll(p, &end, 10);

        if (end == p || n < 1 || n > PW_PLAN_RANKS)
            break;
        o->grid[o->axes++] = n;
        o->ranks *= n;
        if (o->ranks > PW_PLAN_RANKS)
            return pw_usage_error(&pw_command_plan, "--grid=%s is more than %d ranks", optarg, PW_PLAN_RANKS);
        if (!*end)
            return -1;
        if (*end != 'x')
            break;
    }
    return pw_usage_error(&pw_command_plan, "--grid takes 1 to %d numbers from 1 to %d, such as 16x16x12, got '%s'",
                          PW_PLAN_AXES, PW_PLAN_RANKS, optarg);
}

static int take_mpi(pw_plan_options *o)
{
    if (strcmp(optarg, "mpich") != 0 && strcmp(optarg, "openmpi") != 0)
        return pw_usage_error(&pw_command_plan, "--mpi takes mpich or openmpi, got '%s'", optarg);
    o->mpi = optarg;
    return -1;
}

static int take_pattern(pw_plan_options *o)
{
    if (strcmp(optarg, "halo") != 0 && strcmp(optarg, "transpose") != 0)
        return pw_usage_error(&pw_command_plan, "--pattern takes halo or transpose, got '%s'", optarg);
    o->pattern = *optarg == 'h' ? PW_PLAN_HALO : PW_PLAN_TRANSPOSE;
    return -1;
}

static int take_neighbour(int option, pw_plan_to *list, int *n)
{
    pw_plan_to *to = &list[*n];
    const char *p = optarg;
    char *end;

    if (*n == PW_PLAN_DIRECTIONS)
        return pw_usage_error(&pw_command_plan, "--%s: there are more than %d", name_of(option), PW_PLAN_DIRECTIONS);
    for (to->axes = 0; to->axes < PW_PLAN_AXES; p = end + 1) {
        long offset = strtol(p, &end, 10);

        if (end == p || offset < -PW_PLAN_RANKS || offset > PW_PLAN_RANKS)
            break;
        to->offset[to->axes++] = (int)offset;
        if (*end == '=' && end[1]) {
            to->type = end + 1;
            ++*n;
            return -1;
        }
        if (*end != ',')
            break;
    }
    return pw_usage_error(&pw_command_plan, "--%s takes an offset and a type's name such as 1,0,0=east, got '%s'",
                          name_of(option), optarg);
}

static int take(int option, pw_plan_options *o)
{
    switch (option) {
    case GRID: return take_grid(o);
    case NODES: return take_number(option, &o->nodes);
    case PER_NODE: return take_number(option, &o->ranks_per_node);
    case PATTERN: return take_pattern(o);
    case TO: return take_neighbour(option, o->to, &o->nto);
    case FROM: return take_neighbour(option, o->from, &o->nfrom);
    case COUNT: return take_number(option, &o->count);
    case TIMES: o->times = optarg; return -1;
    case SAVE: o->save = optarg; return -1;
    case MPI: return take_mpi(o);
    case LATENCY: return take_quantity(option, true, &o->latency);
    case BANDWIDTH: return take_quantity(option, false, &o->bandwidth);
    case OVERHEAD: return take_quantity(option, true, &o->overhead);
    case MEMORY: return take_quantity(option, false, &o->memory);
    case CSV: o->csv = true; return -1;
    default: o->plot = optarg; return -1;
    }
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* Finds what of nodes and ranks on each is not given. */
static int place_ranks(pw_plan_options *o)
{
    if (!o->axes)
        return pw_usage_error(&pw_command_plan, "--grid is missing: the ranks on each axis, such as --grid=16x16x12");
    if (!o->nodes && !o->ranks_per_node)
        return pw_usage_error(&pw_command_plan, "--nodes is missing: how many nodes the %lld ranks are on",
                              (long long)o->ranks);
    if (o->nodes > o->ranks)
        return pw_usage_error(&pw_command_plan, "there are more nodes, %lld, than ranks in the grid, %lld",
                              (long long)o->nodes, (long long)o->ranks);
    if (!o->ranks_per_node) {
        if (o->ranks % o->nodes)
            return pw_usage_error(&pw_command_plan,
                                  "%lld ranks of the grid do not divide among %lld nodes; --ranks-per-node=N says how "
                                  "many are on each but the last",
                                  (long long)o->ranks, (long long)o->nodes);
        o->ranks_per_node = o->ranks / o->nodes;
    }
    if (!o->nodes)
        o->nodes = (o->ranks + o->ranks_per_node - 1) / o->ranks_per_node;
    if (o->nodes != (o->ranks + o->ranks_per_node - 1) / o->ranks_per_node)
        return pw_usage_error(&pw_command_plan, "%lld ranks, %lld on each node, are not on %lld nodes",
                              (long long)o->ranks, (long long)o->ranks_per_node, (long long)o->nodes);
    return -1;
}

static int check_axes(const pw_plan_options *o, const pw_plan_to *list, int n)
{
    for (int i = 0; i < n; i++)
        if (list[i].axes != o->axes)
            return pw_usage_error(&pw_command_plan, "the offset of '%s' has %d numbers, the grid has %d axes",
                                  list[i].type, list[i].axes, o->axes);
    return -1;
}

static int check_offsets(const pw_plan_options *o)
{
    int result;

    if ((o->nto || o->nfrom) && o->pattern != PW_PLAN_HALO)
        return pw_usage_error(&pw_command_plan, "--to and --from are for --pattern=halo");
    if (o->nfrom && !o->nto)
        return pw_usage_error(&pw_command_plan, "--from needs --to, which says what is sent");
    if ((result = check_axes(o, o->to, o->nto)) >= 0)
        return result;
    return check_axes(o, o->from, o->nfrom);
}

int pw_plan_parse(int argc, char **argv, pw_plan_options *o)
{
    int option, result;

    *o = (pw_plan_options){.launcher = pw_measure_launcher(),
                           .count = 1,
                           .latency = NAN,
                           .bandwidth = NAN,
                           .overhead = NAN,
                           .memory = NAN};
    optind = 0;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (option == '?')
            return pw_wrong_argument(&pw_command_plan, argv[optind - 1]);
        if ((result = take(option, o)) >= 0)
            return result;
    }
    if (optind == argc)
        return pw_usage_error(&pw_command_plan, "TYPES is missing: the file with the types of the messages");
    if (argc - optind > 1)
        return pw_usage_error(&pw_command_plan, "one file of types at a time, got %d", argc - optind);
    o->input = argv[optind];
    if (o->plot && !pw_draw_is_picture(o->plot))
        return pw_usage_error(&pw_command_plan, "--plot takes a name that ends in .svg or .png, got '%s'", o->plot);
    if (o->times && (o->launcher || o->save))
        return pw_usage_error(&pw_command_plan, "--times is for plans without ranks, which time the messages");
    if (!o->times && !o->launcher)
        return pw_usage_error(&pw_command_plan,
                              "two ranks time the messages: mpiexec -n 2 packwright plan ...; --times=FILE takes times "
                              "that --save=FILE has kept");
    if (!strcmp(o->input, "-") && o->launcher)
        return pw_usage_error(&pw_command_plan, "ranks need a file of types: there is one standard input for them all");
    if (o->launcher && o->mpi)
        o->launcher = o->mpi;
    if ((result = place_ranks(o)) >= 0)
        return result;
    return check_offsets(o);
}
