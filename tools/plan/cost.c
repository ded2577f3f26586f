/*
 * What a message costs. `move` is the part of a core that packs or unpacks, `copy` its part of the transport. MPI_Pack
 * and MPI_Unpack tell what packing and unpacking take, and the rest of the time that the message takes in its exchange
 * is copied, half by either core.
 *
 * A message to another node is packed and unpacked in the same way, and then the link and an overhead of both cores
 * take the place of the copies.
 */
#include "tools/plan/plan.h"

#include "tools/command.h"

#include <math.h>

/* The time of one side of a message: its core packs or unpacks, and copies. */
typedef struct side {
    double move, copy;
} side;

/* Packwright leaves to the MPI what this packs sooner. */
static const pw_exchange_times *times_of(const pw_plan_timed *t, pw_plan_way way, int k, pw_plan_distance distance)
{
    const pw_exchange_times *native = &t->at[PW_PLAN_NATIVE][k], *own = &t->at[way][k];

    if (way == PW_PLAN_OURS && distance == PW_PLAN_ABROAD && native->pack + native->unpack < own->pack + own->unpack)
        return native;
    return own;
}

static void look_up(const pw_plan_timed *t, pw_plan_way way, int k, pw_plan_distance distance, side *out, side *in)
{
    const pw_exchange_times *times = times_of(t, way, k, distance);
    double moves = times->pack + times->unpack;
    double whole = distance == PW_PLAN_ABROAD ? moves : distance == PW_PLAN_SELF ? times->self : times->peer;
    double scale = moves > whole ? whole / moves : 1;

    *out = (side){scale * times->pack, (whole - scale * moves) / 2};
    *in = (side){scale * times->unpack, (whole - scale * moves) / 2};
}

bool pw_plan_is_staged(pw_plan_way way, const pw_plan_exchange *x)
{
    return x->o->pattern == PW_PLAN_TRANSPOSE && way == PW_PLAN_OURS;
}

pw_sim_message pw_plan_cost(const pw_plan_machine *m, pw_plan_way way, const pw_plan_exchange *x, int k,
                            pw_plan_distance distance)
{
    bool abroad = distance == PW_PLAN_ABROAD;
    side out, in;

    look_up(m->timed, way, k, distance, &out, &in);
    return (pw_sim_message){.bytes = x->types[x->ndirections ? x->directions[k].type : 0].bytes,
                            .pack = out.move,
                            .copy_out = abroad ? m->overhead : out.copy,
                            .copy_in = abroad ? m->overhead : in.copy,
                            .unpack = in.move};
}

/* ---- the machine ------------------------------------------------------------------------------------------------- */

/* What a core does for a short message, where nobody has timed it. */
static const double overhead_ns = 500;

/* Takes what the timing ranks have found, if they were on different nodes. */
static void take_timed(const pw_plan_timed *timed, pw_plan_machine *m)
{
    if (timed->link.latency == 0)
        return;
    m->sim.latency = timed->link.latency;
    m->sim.link = timed->link.bandwidth;
    m->overhead = timed->link.overhead;
}

static bool find_link(const pw_plan_options *o, pw_plan_machine *m)
{
    m->sim.latency = m->sim.link = NAN;
    m->overhead = overhead_ns;
    take_timed(m->timed, m);
    if (!isnan(o->latency))
        m->sim.latency = o->latency * 1e3;
    if (!isnan(o->bandwidth))
        m->sim.link = o->bandwidth;
    if (!isnan(o->overhead))
        m->overhead = o->overhead * 1e3;
    if (o->nodes > 1 && (isnan(m->sim.latency) || isnan(m->sim.link)))
        return pw_command_error(
            "plan",
            "nothing is known of the network between the %lld nodes: give --latency=US and --bandwidth=GB, or start "
            "the two ranks on two nodes",
            (long long)o->nodes);
    return true;
}

bool pw_plan_machine_make(const pw_plan_options *o, const pw_plan_timed *timed, pw_plan_machine *out)
{
    *out = (pw_plan_machine){.timed = timed};
    out->sim.ranks = o->ranks;
    out->sim.ranks_per_node = o->ranks_per_node;
    out->sim.memory = isnan(o->memory) ? INFINITY : o->memory;
    return find_link(o, out);
}
