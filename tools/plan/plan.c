/* packwright plan: how long an exchange would take on a machine that is not there. */
#include "tools/plan/plan.h"

#include "runtime/engine/model/file.h"
#include "tools/command.h"
#include "tools/draw/draw.h"
#include "tools/measure/report.h"

#include <stdlib.h>

/* ---- models ------------------------------------------------------------------------------------------------------ */

static bool read_model(const char *path, pw_model **out)
{
    pw_diag diag = {0};

    if (pw_model_read(path, out, &diag) == PW_OK)
        return true;
    return pw_command_error("plan", "%s: %s", path, diag.text);
}

/* Reads the model of the options. It must have been measured with messages: defaults would plan for another machine. */
static bool find_model(const pw_plan_options *o, char path[PW_MODEL_PATH], pw_model **out)
{
    pw_diag diag = {0};
    pw_status status;

    if (!pw_measure_find(o->model, o->mpi, path, PW_MODEL_PATH))
        return pw_command_error("plan", "there is no cache directory; --model=FILE names a model");
    status = pw_model_read(path, out, &diag);
    if (status == PW_ERR_NOT_FOUND && !o->model)
        return pw_command_error("plan",
                                "this machine has no model yet, %s; 'mpiexec -n 2 packwright measure' makes it, or "
                                "--model=FILE names one",
                                path);
    if (status != PW_OK)
        return pw_command_error("plan", "%s: %s", path, diag.text);
    if (pw_model_has(*out, PW_TABLE_NATIVE_HOST + (unsigned)pw_plan_kind(o->pattern)) &&
        pw_model_has(*out, PW_TABLE_SEND_HOST + (unsigned)pw_plan_kind(o->pattern)))
        return true;
    return pw_command_error("plan",
                            "%s has no times of %s messages in host memory; 'mpiexec -n 2 packwright measure' measures "
                            "them",
                            path, o->pattern == PW_PLAN_TRANSPOSE ? "collective" : "nonblocking");
}

/* ---- the simulation ---------------------------------------------------------------------------------------------- */

/* What a simulation asks for: the exchange by one way. A message costs what its types and its distance say. */
typedef struct way_of_exchange {
    const pw_plan_exchange *x;
    int64_t ranks_per_node;
    pw_sim_message costs[PW_PLAN_DIRECTIONS][2]; /* by the sent type, and by whether it leaves the node */
} way_of_exchange;

static pw_sim_message message_of(const void *arg, int64_t rank, int k)
{
    const way_of_exchange *w = arg;
    int sent, received;
    int64_t to = pw_plan_route(w->x, rank, k, &sent, &received);
    pw_sim_message message = w->costs[sent][rank / w->ranks_per_node != to / w->ranks_per_node];

    message.to = to;
    return message;
}

static bool simulate(const pw_plan_exchange *x, const pw_plan_machine *m, pw_plan_way way, pw_sim_rank *out)
{
    bool transpose = x->o->pattern == PW_PLAN_TRANSPOSE;
    way_of_exchange w = {.x = x, .ranks_per_node = x->o->ranks_per_node};
    pw_sim_exchange exchange = {.messages = pw_plan_messages(x),
                                .staged = transpose && pw_plan_packs(m, way, x->o->pattern, x->types),
                                .message = message_of,
                                .arg = &w};

    for (int i = 0; i < (transpose ? 1 : x->ntypes); i++)
        for (int abroad = 0; abroad < 2; abroad++)
            w.costs[i][abroad] =
                pw_plan_cost(m, way, x->o->pattern, &x->types[i], &x->types[transpose ? x->ntypes - 1 : i], abroad);
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

static bool report(const pw_plan_exchange *x, const pw_plan_machine *m, const char *path)
{
    pw_plan_result r = {.o = x->o, .machine = m, .messages = pw_plan_messages(x), .model_path = path};
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
    char path[PW_MODEL_PATH];
    pw_model *model = NULL, *network = NULL;
    pw_plan_machine machine;
    pw_plan_exchange exchange = {0};
    bool ok = find_model(o, path, &model) && (!o->network || read_model(o->network, &network)) &&
              pw_plan_machine_make(o, model, network, &machine) && pw_plan_exchange_make(o, &exchange) &&
              report(&exchange, &machine, path);

    pw_plan_exchange_free(&exchange);
    pw_model_destroy(network);
    pw_model_destroy(model);
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
