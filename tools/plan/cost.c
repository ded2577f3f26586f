/*
 * What a message costs. `move` is the part of a core that packs or unpacks, `copy` its part of the transport.
 *
 * Timed messages: MPI_Pack and MPI_Unpack tell what packing and unpacking take, and the rest of the time that the
 * message takes in its exchange is copied, half by either core.
 *
 * By a model: it has whole messages between two ranks of a node that both send and receive, so the time of one is what
 * a core spends for one that it sends and one that it receives. It is divided:
 *
 *     native      what it takes beyond a contiguous message: half of it packs, half unpacks; the rest is copied
 *     ours        pack and unpack of the kernels; the rest is copied. Native where the model says that it is cheaper
 *     contiguous  copied, half by either core
 *
 * A message to oneself has no copies; where Packwright packs a transpose, one kernel moves it at once.
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

pw_call_kind pw_plan_kind(pw_plan_pattern pattern)
{
    return pattern == PW_PLAN_TRANSPOSE ? PW_CALL_COLLECTIVE : PW_CALL_NONBLOCKING;
}

static side native_side(double whole, double contiguous)
{
    return (side){fmax(whole - contiguous, 0) / 2, fmin(whole, contiguous) / 2};
}

/* Kernels take no longer than the whole message, of which they were measured to be parts. */
static side our_side(const pw_model *m, const pw_model_query *q, pw_direction direction, double whole)
{
    double pack = pw_model_move(m, PW_MODEL_HOST, PW_PACK, q->shape);
    double unpack = pw_model_move(m, PW_MODEL_HOST, PW_UNPACK, q->shape);
    double scale = fmin(1, whole / (pack + unpack));

    return (side){scale * (direction == PW_PACK ? pack : unpack), fmax(whole - pack - unpack, 0) / 2};
}

/* The model's collectives are of two ranks, and their bytes those of both blocks: one to oneself, one to the peer. */
static int blocks_of(pw_plan_pattern pattern)
{
    return pattern == PW_PLAN_TRANSPOSE ? 2 : 1;
}

static pw_model_query query_of(pw_plan_pattern pattern, const pw_plan_type *type)
{
    pw_model_query q = {.kind = pw_plan_kind(pattern),
                        .memory = PW_MODEL_HOST,
                        .shape = type->shape,
                        .contiguous = type->contiguous,
                        .shared = true};

    q.shape.bytes *= blocks_of(pattern);
    return q;
}

static bool packs(const pw_model *m, pw_plan_way way, const pw_model_query *q)
{
    return way == PW_PLAN_OURS && !q->contiguous && pw_model_cost(m, PW_MODEL_HOST, q) < pw_model_cost_native(m, q);
}

/* One side of a message between two ranks of a node. */
static side side_of(const pw_model *m, pw_plan_way way, pw_plan_pattern pattern, const pw_plan_type *type,
                    pw_direction direction)
{
    pw_model_query q = query_of(pattern, type);
    double contiguous = pw_model_send(m, PW_MODEL_HOST, q.kind, q.shape.bytes);
    double whole = way == PW_PLAN_CONTIGUOUS ? contiguous : pw_model_cost_native(m, &q);
    side s = packs(m, way, &q) ? our_side(m, &q, direction, pw_model_cost(m, PW_MODEL_HOST, &q))
                               : native_side(whole, contiguous);

    /* A transpose sends one contiguous block to the peer, which is copied twice, and keeps one, which is copied once:
     * the first takes two thirds of the time. */
    if (way == PW_PLAN_CONTIGUOUS && pattern == PW_PLAN_TRANSPOSE)
        s.copy *= 2.0 / 3;
    return (side){s.move / blocks_of(pattern), s.copy};
}

static bool is_one_kernel(const pw_model *m, pw_plan_way way, const pw_plan_exchange *x)
{
    pw_model_query q = query_of(x->o->pattern, &x->types[0]);

    return x->o->pattern == PW_PLAN_TRANSPOSE && packs(m, way, &q);
}

/* Two cores do half a copy each, while a message to oneself is copied once. */
static void keep(const pw_model *m, pw_plan_way way, const pw_plan_exchange *x, side *out, side *in)
{
    double longer = fmax(out->move, in->move);

    if (is_one_kernel(m, way, x))
        out->move = in->move = longer / 2;
    if (way == PW_PLAN_CONTIGUOUS)
        out->copy = in->copy = (out->copy + in->copy) / 4;
    else
        out->copy = in->copy = 0;
}

static const pw_plan_type *type_of(const pw_plan_exchange *x, int k, pw_direction direction)
{
    if (!x->ndirections)
        return &x->types[direction == PW_PACK ? 0 : x->ntypes - 1];
    return &x->types[direction == PW_PACK ? x->directions[k].type : x->directions[k].received];
}

static void estimate(const pw_model *m, pw_plan_way way, const pw_plan_exchange *x, int k, pw_plan_distance distance,
                     side *out, side *in)
{
    *out = side_of(m, way, x->o->pattern, type_of(x, k, PW_PACK), PW_PACK);
    *in = side_of(m, way, x->o->pattern, type_of(x, k, PW_UNPACK), PW_UNPACK);
    if (distance == PW_PLAN_SELF)
        keep(m, way, x, out, in);
}

/* ---- timed messages ---------------------------------------------------------------------------------------------- */

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

/* ---- either ------------------------------------------------------------------------------------------------------ */

bool pw_plan_is_staged(const pw_plan_machine *m, pw_plan_way way, const pw_plan_exchange *x)
{
    if (m->timed)
        return x->o->pattern == PW_PLAN_TRANSPOSE && way == PW_PLAN_OURS;
    return is_one_kernel(m->model, way, x);
}

pw_sim_message pw_plan_cost(const pw_plan_machine *m, pw_plan_way way, const pw_plan_exchange *x, int k,
                            pw_plan_distance distance)
{
    bool abroad = distance == PW_PLAN_ABROAD;
    side out, in;

    if (m->timed)
        look_up(m->timed, way, k, distance, &out, &in);
    else
        estimate(m->model, way, x, k, distance, &out, &in);
    return (pw_sim_message){.bytes = type_of(x, k, PW_PACK)->shape.bytes,
                            .pack = out.move,
                            .copy_out = abroad ? m->overhead : out.copy,
                            .copy_in = abroad ? m->overhead : in.copy,
                            .unpack = in.move};
}

/* ---- the machine ------------------------------------------------------------------------------------------------- */

/* Takes latency, bandwidth and overhead from a model that was measured between two nodes: its shortest message, the two
 * longest ones, and the shortest one of several in flight. */
static void take_network(const pw_model *network, pw_plan_machine *m)
{
    const pw_model_table *t = &network->tables[PW_TABLE_SEND_HOST];
    int last = t->nx - 1;

    m->sim.latency = t->t[0];
    m->sim.link = (t->x[last] - t->x[last - 1]) / (t->t[last] - t->t[last - 1]);
    m->overhead = pw_model_send(network, PW_MODEL_HOST, PW_CALL_NONBLOCKING, 1) / 2;
}

static bool has_network(const pw_model *network)
{
    const pw_model_table *t = &network->tables[PW_TABLE_SEND_HOST];

    return t->nx > 1 && t->t[t->nx - 1] > t->t[t->nx - 2];
}

/* Takes what the timing ranks have found, if they were on different nodes. */
static void take_timed(const pw_plan_timed *timed, pw_plan_machine *m)
{
    if (timed->link.latency == 0)
        return;
    m->sim.latency = timed->link.latency;
    m->sim.link = timed->link.bandwidth;
    m->overhead = timed->link.overhead;
}

static bool find_link(const pw_plan_options *o, const pw_model *network, pw_plan_machine *m)
{
    m->sim.latency = m->sim.link = NAN;
    m->overhead = pw_model_send(m->model, PW_MODEL_HOST, PW_CALL_NONBLOCKING, 1) / 2;
    if (network && !has_network(network))
        return pw_command_error("plan", "%s has no times of contiguous messages (send.host.blocking)", o->network);
    if (network)
        take_network(network, m);
    else if (m->timed)
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
            "nothing is known of the network between the %lld nodes: give --latency=US and "
            "--bandwidth=GB, or --network=FILE, which 'packwright measure --only=messages -o FILE' writes when it is "
            "started as two ranks on two nodes",
            (long long)o->nodes);
    return true;
}

bool pw_plan_machine_make(const pw_plan_options *o, const pw_model *model, const pw_model *network,
                          const pw_plan_timed *timed, pw_plan_machine *out)
{
    *out = (pw_plan_machine){.model = model, .timed = timed};
    out->sim.ranks = o->ranks;
    out->sim.ranks_per_node = o->ranks_per_node;
    out->sim.memory = isnan(o->memory) ? INFINITY : o->memory;
    return find_link(o, network, out);
}
