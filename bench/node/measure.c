#include "bench/node/measure.h"

#include "base/samples.h"
#include "bench/clock.h"
#include "bench/turns.h"

/* Returns the nanoseconds of all uses. */
static double uses(node_plan *p, node_peer peer, int times)
{
    double begin, ns;

    PMPI_Barrier(p->comm);
    begin = bench_now();
    for (int i = 0; i < times; i++)
        node_exchange_do(p, peer);
    ns = bench_now() - begin;
    PMPI_Allreduce(MPI_IN_PLACE, &ns, 1, MPI_DOUBLE, MPI_MAX, p->comm);
    return ns;
}

static double batch(void *context, int peer, int times)
{
    return uses(context, (node_peer)peer, times) / times;
}

static bool is_good(node_plan *p, node_peer peer)
{
    int good = node_verify(p, peer);

    PMPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_LAND, p->comm);
    return good;
}

/* Native learns nothing, so it is timed several times, before and behind ours: the machine changes its pace. */
static void first_uses(node_plan *p, node_times *t)
{
    double native[3];

    native[0] = uses(p, NODE_NATIVE, NODE_FIRST);
    native[1] = uses(p, NODE_NATIVE, NODE_FIRST);
    t->first[NODE_OURS] = uses(p, NODE_OURS, NODE_FIRST) / 1000;
    native[2] = uses(p, NODE_NATIVE, NODE_FIRST);
    t->first[NODE_NATIVE] = pw_samples_median(native, 3) / 1000;
}

static void take_turns(node_plan *p, const node_effort *effort, node_times *t)
{
    static bench_samples samples;
    double ratios[BENCH_MOST_ROUNDS];
    bench_turns turns = {.comm = p->comm,
                         .peers = NODE_PEERS,
                         .even = {NODE_NATIVE, NODE_OURS},
                         .seconds = effort->seconds,
                         .quick = effort->quick,
                         .batch = batch,
                         .context = p};

    for (int peer = 0; peer < NODE_PEERS; peer++)
        turns.takes_part[peer] = node_peer_can((node_peer)peer, p);
    t->rounds = bench_turns_take(&turns, &samples);
    bench_turns_ratios(&samples, t->rounds, NODE_NATIVE, NODE_OURS, ratios);
    t->ratio = pw_samples_median(ratios, t->rounds);
    t->quartile[0] = ratios[t->rounds / 4];
    t->quartile[1] = ratios[t->rounds - 1 - t->rounds / 4];
    for (int peer = 0; peer < NODE_PEERS; peer++)
        t->median[peer] = pw_samples_median(samples[peer], t->rounds) / 1000;
}

node_times node_measure(node_plan *p, const node_effort *effort)
{
    node_times t = {.good = is_good(p, NODE_NATIVE)};

    if (effort->untimed) {
        uses(p, NODE_OURS, 2 * effort->warm);
        t.good = is_good(p, NODE_OURS) && t.good;
        return t;
    }
    first_uses(p, &t);
    uses(p, NODE_OURS, effort->warm - NODE_FIRST);
    for (int peer = NODE_OURS; peer < NODE_PEERS; peer++)
        if (node_peer_can((node_peer)peer, p))
            t.good = is_good(p, (node_peer)peer) && t.good;
    take_turns(p, effort, &t);
    t.good = is_good(p, NODE_OURS) && t.good;
    return t;
}
