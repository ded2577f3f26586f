/* packwright plan: how long an exchange would take on a machine that is not there. */
#include "tools/plan/plan.h"

#include "tools/command.h"
#include "tools/draw/draw.h"

#include <stdlib.h>

/* ---- the simulation ---------------------------------------------------------------------------------------------- */

/* What a simulation asks for: the exchange by one way. A message costs what its place in the exchange and its distance
 * say. */
typedef struct way_of_exchange {
    const pw_plan_exchange *x;
    pw_sim_message costs[PW_PLAN_DIRECTIONS][PW_PLAN_DISTANCES];
} way_of_exchange;

static pw_plan_distance distance_of(const pw_plan_exchange *x, int64_t from, int64_t to)
{
    if (from == to)
        return PW_PLAN_SELF;
    return from / x->o->ranks_per_node == to / x->o->ranks_per_node ? PW_PLAN_NODE : PW_PLAN_ABROAD;
}

static pw_sim_message message_of(const void *arg, int64_t rank, int k)
{
    const way_of_exchange *w = arg;
    int64_t to = pw_plan_route(w->x, rank, k);
    /* All blocks of a transpose are alike. */
    pw_sim_message message = w->costs[w->x->ndirections ? k : 0][distance_of(w->x, rank, to)];

    message.to = to;
    return message;
}

static bool simulate(const pw_plan_exchange *x, const pw_plan_machine *m, pw_plan_way way, pw_sim_rank *out)
{
    way_of_exchange w = {.x = x};
    pw_sim_exchange exchange = {
        .messages = pw_plan_messages(x), .staged = pw_plan_is_staged(way, x), .message = message_of, .arg = &w};

    for (int k = 0; k < (x->ndirections ? x->ndirections : 1); k++)
        for (int distance = 0; distance < PW_PLAN_DISTANCES; distance++)
            w.costs[k][distance] = pw_plan_cost(m, way, x, k, distance);
    return pw_sim_run(&m->sim, &exchange, out) == PW_OK;
}

static bool simulate_all(const pw_plan_exchange *x, pw_plan_result *r, pw_plan_summary summaries[PW_PLAN_WAYS])
{
    for (int way = 0; way < PW_PLAN_WAYS; way++) {
        r->ranks[way] = calloc((size_t)x->o->ranks, sizeof *r->ranks[way]);
        if (!r->ranks[way] || !simulate(x, r->machine, way, r->ranks[way]) ||
            !pw_plan_summarise(r, way, &summaries[way]))
            return pw_command_error("plan", "out of memory");
    }
    return true;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static bool plot(const pw_plan_result *r, const pw_plan_summary summaries[PW_PLAN_WAYS])
{
    char *svg = NULL;
    size_t size;
    FILE *out = open_memstream(&svg, &size);
    bool ok;

    if (!out)
        return pw_command_error("plan", "out of memory");
    pw_plan_chart(out, r, summaries);
    ok = fclose(out) == 0 ? pw_draw_write(pw_command_plan.name, r->o->plot, svg, size)
                          : pw_command_error("plan", "out of memory");
    free(svg);
    return ok;
}

static bool report(const pw_plan_exchange *x, const pw_plan_machine *m)
{
    pw_plan_result r = {.o = x->o, .machine = m, .messages = pw_plan_messages(x), .own = pw_plan_own_most(x)};
    pw_plan_summary summaries[PW_PLAN_WAYS];
    bool ok = simulate_all(x, &r, summaries);

    if (ok && x->o->plot)
        ok = plot(&r, summaries);
    if (ok && x->o->csv)
        pw_plan_print_csv(&r);
    else if (ok)
        pw_plan_print_table(&r, summaries);
    for (int way = 0; way < PW_PLAN_WAYS; way++)
        free(r.ranks[way]);
    return ok;
}

static bool plan(const pw_plan_options *o)
{
    pw_plan_machine machine;
    pw_plan_exchange exchange = {0};
    pw_plan_timed *timed = calloc(1, sizeof *timed);
    bool first = true;
    bool ok = (timed || pw_command_error("plan", "out of memory")) && pw_plan_exchange_make(o, &exchange) &&
              pw_plan_time(&exchange, timed, &first);

    if (ok && first)
        ok = pw_plan_machine_make(o, timed, &machine) && report(&exchange, &machine);
    pw_plan_exchange_free(&exchange);
    free(timed);
    return ok;
}

static int run_plan(int argc, char **argv)
{
    pw_plan_options o;
    int result = pw_plan_parse(argc, argv, &o);

    if (result >= 0)
        return result;
    return plan(&o) ? PW_EXIT_OK : PW_EXIT_FAILURE;
}

const pw_command pw_command_plan = {"plan", "how long an exchange would take on a machine that is not there",
                                    pw_plan_help, run_plan};
