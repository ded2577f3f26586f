/* What a plan says: a table of the median rank, or a line for each rank. */
#include "tools/plan/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

const char *const pw_plan_way_names[PW_PLAN_WAYS] = {"native", "ours", "contiguous"};

static int compare_ends(const void *a, const void *b)
{
    double x = ((const pw_sim_rank *)a)->end, y = ((const pw_sim_rank *)b)->end;

    return (x > y) - (x < y);
}

bool pw_plan_summarise(const pw_plan_result *r, pw_plan_way way, pw_plan_summary *out)
{
    int64_t n = r->o->ranks;
    pw_sim_rank *sorted = malloc((size_t)n * sizeof *sorted);

    if (!sorted)
        return false;
    for (int64_t i = 0; i < n; i++)
        sorted[i] = r->ranks[way][i];
    qsort(sorted, (size_t)n, sizeof *sorted, compare_ends);
    *out = (pw_plan_summary){sorted[n / 2], sorted[n - 1].end};
    free(sorted);
    return true;
}

/* ---- the header -------------------------------------------------------------------------------------------------- */

static void print_exchange(FILE *out, const pw_plan_result *r, const char *begin, const char *end)
{
    const pw_plan_options *o = r->o;
    const pw_sim_rank *first = r->ranks[PW_PLAN_NATIVE];
    int64_t abroad = 0;

    for (int64_t i = 0; i < o->ranks; i++)
        abroad += first[i].abroad;
    fprintf(out, "%s%s: %" PRId64 " ranks (", begin, o->pattern == PW_PLAN_HALO ? "halo" : "transpose", o->ranks);
    for (int i = 0; i < o->axes; i++)
        fprintf(out, "%s%" PRId64, i ? " x " : "", o->grid[i]);
    fprintf(out,
            ") on %" PRId64 " node%s of %" PRId64 "; each sends %d message%s, %" PRId64
            " bytes, on average %.0f of them to other nodes%s",
            o->nodes, o->nodes == 1 ? "" : "s", o->ranks_per_node, r->messages, r->messages == 1 ? "" : "s",
            first->sent, (double)abroad / (double)o->ranks, end);
}

/* How far apart the ranks that timed the messages were. */
static const char *const distances[] = {
    [PW_EXCHANGE_ALONE] = "",
    [PW_EXCHANGE_NEAR] = " on cores that share a cache",
    [PW_EXCHANGE_FAR] = " on cores that share no cache",
    [PW_EXCHANGE_CHANGED] = " on cores that shared a cache at times",
};

static void print_costs(FILE *out, const pw_plan_result *r, const char *begin, const char *end)
{
    const pw_plan_timed *timed = r->machine->timed;

    fprintf(out, "%scosts of packing and within a node: timed ", begin);
    if (r->o->times)
        fprintf(out, "before (%s)%s", r->o->times, end);
    else
        fprintf(out, "here by %s of %s%s%s", timed->peer ? "two ranks" : "one rank", r->o->launcher,
                distances[timed->peer], end);
}

void pw_plan_print_header(FILE *out, const pw_plan_result *r, const char *begin, const char *end)
{
    const pw_plan_machine *m = r->machine;

    print_exchange(out, r, begin, end);
    print_costs(out, r, begin, end);
    if (r->o->nodes > 1)
        fprintf(
            out,
            "%slink of a node: %.3g us, %.4g GB/s each way, shared by its ranks, first come first served; %.3g us of "
            "each core a message%s",
            begin, m->sim.latency * 1e-3, m->sim.link, m->overhead * 1e-3, end);
    fprintf(out, "%swithin a node: ", begin);
    if (isinf(m->sim.memory))
        fputs("copies do not slow each other", out);
    else
        fprintf(out, "copies share %.4g GB/s, first come first served", m->sim.memory);
    fprintf(out, "; each rank has a core of its own%s", end);
    /* tests/plan/run; docs/results.md */
    fprintf(out,
            "%schecked against runs of 1 and 2 ranks on one node, within 15 %%; of more ranks or nodes, against none%s",
            begin, end);
}

/* Copies and waiting: what is left, but for the rounding of sums. */
static double wire_of(const pw_sim_rank *r)
{
    return fmax(r->end - r->pack - r->unpack, 0);
}

static void print_own(const pw_plan_own *own)
{
    printf(
        "# Packwright itself takes on a rank at most %.3g MiB, if all is packed: %.3g MiB of packed messages, %" PRId64
        " peer%s on the node; %d descriptors\n",
        (double)own->resident / (1 << 20), (double)own->copies / (1 << 20), own->peers, own->peers == 1 ? "" : "s",
        own->descriptors);
}

/* ---- table and CSV ----------------------------------------------------------------------------------------------- */

void pw_plan_print_table(const pw_plan_result *r, const pw_plan_summary summaries[PW_PLAN_WAYS])
{
    double native = summaries[PW_PLAN_NATIVE].slowest;

    pw_plan_print_header(stdout, r, "# ", "\n");
    print_own(&r->own);
    puts("# microseconds of the rank with the median time, and of the slowest one; wire: copies and waiting\n"
         "way               pack        wire      unpack      median     slowest  native/way");
    for (int way = 0; way < PW_PLAN_WAYS; way++) {
        const pw_plan_summary *s = &summaries[way];
        const pw_sim_rank *m = &s->median;

        printf("%-10s %11.1f %11.1f %11.1f %11.1f %11.1f %11.2f\n", pw_plan_way_names[way], m->pack * 1e-3,
               wire_of(m) * 1e-3, m->unpack * 1e-3, m->end * 1e-3, s->slowest * 1e-3, native / s->slowest);
    }
}

void pw_plan_print_csv(const pw_plan_result *r)
{
    pw_plan_print_header(stdout, r, "# ", "\n");
    print_own(&r->own);
    puts("way,rank,node,messages,sent_bytes,sent_bytes_to_other_nodes,pack_us,wire_us,unpack_us,total_us");
    for (int way = 0; way < PW_PLAN_WAYS; way++)
        for (int64_t i = 0; i < r->o->ranks; i++) {
            const pw_sim_rank *k = &r->ranks[way][i];

            printf("%s,%" PRId64 ",%" PRId64 ",%d,%" PRId64 ",%" PRId64 ",%.3f,%.3f,%.3f,%.3f\n",
                   pw_plan_way_names[way], i, i / r->o->ranks_per_node, r->messages, k->sent, k->abroad, k->pack * 1e-3,
                   wire_of(k) * 1e-3, k->unpack * 1e-3, k->end * 1e-3);
        }
}
