/* Finds out how MPI uses the buffers of a reduction on this rank. */
#include "runtime/mpi/collective/reduction.h"

/* The elements of all ranks together, and those of this rank. */
typedef struct extent {
    MPI_Count all, own;
} extent;

/* Adds up counts. Returns false if they are invalid, which MPI reports. */
static bool sum_counts(pw_counts counts, int rank, int size, extent *e)
{
    if (!counts.at)
        return false;
    *e = (extent){.own = pw_count_at(counts, rank)};
    for (int i = 0; i < size; i++) {
        MPI_Count count = pw_count_at(counts, i);

        if (count < 0 || __builtin_add_overflow(e->all, count, &e->all))
            return false;
    }
    return true;
}

/* Sets the elements that are scattered over `size` ranks, of which this is `rank`. In the other families each rank gets
 * all. */
static bool extent_of(const pw_reduction *r, int rank, int size, extent *e)
{
    if (r->family == PW_REDUCE_SCATTER)
        return sum_counts(r->counts, rank, size, e);
    *e = (extent){.all = r->count, .own = r->count};
    return r->count >= 0 &&
           (r->family != PW_REDUCE_SCATTER_BLOCK || !__builtin_mul_overflow(r->count, (MPI_Count)size, &e->all));
}

/* Checks a reduction on an intracommunicator. A contribution in place lies in the receive buffer. */
static bool check_in_group(const pw_reduction *r, const pw_communicator *group, const extent *e,
                           pw_reduction_side *send, pw_reduction_side *recv)
{
    bool in_place = r->send == MPI_IN_PLACE;
    bool receives = r->family != PW_REDUCE || group->as_root == r->root;

    if (r->family == PW_REDUCE && (r->root < 0 || r->root >= group->size))
        return false;
    if (!in_place)
        *send = (pw_reduction_side){PW_USE_READ, e->all};
    if (receives)
        *recv = in_place ? (pw_reduction_side){PW_USE_READ | PW_USE_WRITE, e->all}
                         : (pw_reduction_side){PW_USE_WRITE, e->own};
    /* MPI does not write the first rank's result, but the whole mirror is copied back, so it must be filled. */
    if (r->family == PW_EXSCAN)
        recv->use = PW_USE_READ | PW_USE_WRITE;
    return receives || !in_place;
}

/* Checks a reduction on an intercommunicator. Each group gets the result of the other. */
static bool check_between_groups(const pw_reduction *r, const pw_communicator *group, const extent *e,
                                 pw_reduction_side *send, pw_reduction_side *recv)
{
    bool receives = r->family != PW_REDUCE || group->as_root == r->root, gives = r->family != PW_REDUCE || r->root >= 0;

    if (r->family >= PW_SCAN || (gives && r->send == MPI_IN_PLACE))
        return false;
    if (gives)
        *send = (pw_reduction_side){PW_USE_READ, e->all};
    if (receives)
        *recv = (pw_reduction_side){PW_USE_WRITE, e->own};
    return true;
}

bool pw_reduction_check(const pw_reduction *r, const pw_communicator *group, pw_reduction_side *send,
                        pw_reduction_side *recv)
{
    bool sound;
    extent e;

    *send = *recv = (pw_reduction_side){.use = 0};
    if (!extent_of(r, group->rank, group->size, &e))
        return false;
    sound = group->between_groups ? check_between_groups(r, group, &e, send, recv)
                                  : check_in_group(r, group, &e, send, recv);
    return sound && !(recv->use && r->recv == MPI_IN_PLACE);
}
