/*
 * Purpose: keeps deferred sends that are over, for later sends like them. Data: `slots`, found by a hash of
 * communicator, destination and tag. Invariant: a thread empties or fills a slot by one atomic exchange, so a kept send
 * belongs either to its slot or to one thread, and no lock is needed.
 */
#include "runtime/mpi/requests/kept.h"

#include <stdatomic.h>

/* The singleton. */
static _Atomic(pw_kept *) slots[PW_KEPT_SLOTS];

/* Neighbours and tags are mostly small numbers in a row, which fall into slots of their own. */
static _Atomic(pw_kept *) *slot_of(const pw_kept *k)
{
    unsigned comm = (unsigned)(pw_communicator_key(k->comm) >> 4);

    return &slots[((unsigned)k->peer * 29U + (unsigned)k->tag + comm) % PW_KEPT_SLOTS];
}

static bool is_like(const pw_kept *a, const pw_kept *b)
{
    return a->init == b->init && a->comm == b->comm && a->peer == b->peer && a->tag == b->tag &&
           a->layout == b->layout && a->size == b->size && a->offset == b->offset && a->count == b->count;
}

pw_kept *pw_kept_take(const pw_kept *like)
{
    _Atomic(pw_kept *) *slot = slot_of(like);
    pw_kept *k = atomic_load_explicit(slot, memory_order_relaxed)
                     ? atomic_exchange_explicit(slot, NULL, memory_order_acquire)
                     : NULL;

    if (!k || is_like(k, like))
        return k;
    pw_kept_put(k);
    return NULL;
}

void pw_kept_put(pw_kept *k)
{
    pw_kept *other = atomic_exchange_explicit(slot_of(k), k, memory_order_acq_rel);

    if (other)
        pw_kept_drop(other);
}

void pw_kept_drop(pw_kept *k)
{
    pw_pending *p = k->pending;

    PMPI_Request_free(&p->request);
    p->kept = false;
    p->ops->destroy(p);
}

void pw_kept_forget(MPI_Comm comm)
{
    for (int i = 0; i < PW_KEPT_SLOTS; i++) {
        pw_kept *k = atomic_exchange_explicit(&slots[i], NULL, memory_order_acq_rel);

        if (k && (comm == MPI_COMM_NULL || k->comm == comm))
            pw_kept_drop(k);
        else if (k)
            pw_kept_put(k);
    }
}
