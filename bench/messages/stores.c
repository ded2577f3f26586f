#include "bench/messages/stores.h"

#include "base/samples.h"
#include "tools/measure/stores.h"

enum { TIMES = 31 };

double msg_stores(const msg_world *w)
{
    double ns[TIMES];

    pw_measure_stores(w->all, w->partner, ns, TIMES);
    return w->partner == MPI_PROC_NULL ? 0 : pw_samples_median(ns, TIMES);
}

msg_distance msg_distance_of(double before, double after)
{
    bool far[] = {before > PW_MEASURE_FAR_NS, after > PW_MEASURE_FAR_NS};

    if (far[0] != far[1])
        return MSG_CHANGED;
    return far[0] ? MSG_FAR : MSG_NEAR;
}

const char *msg_distance_name(msg_distance d)
{
    static const char *const names[MSG_DISTANCES] = {"-", "near", "far"};

    return names[d];
}
