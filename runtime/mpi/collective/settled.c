/*
 * Purpose: the last calls of each thread that were left to MPI. Data: `places`, in memory of the thread's own, with a
 * copy of the arrays. Invariant: a call whose place is taken is forgotten.
 */
#include "runtime/mpi/collective/settled.h"

#include "runtime/engine/memory/thread_end.h"
#include "runtime/mpi/strategy/is_native.h"

#include <stdlib.h>

enum { PLACES_BITS = 2, MOST_BLOCKS = 64 };

typedef struct block {
    MPI_Datatype type;
    int64_t count, displ;
} block;

typedef struct remembered {
    const void *sendbuf, *recvbuf;
    MPI_Comm comm;
    unsigned form, deaths;
    int send, recv; /* blocks */
    pw_settled_sites sites;
    block blocks[]; /* of the send side, then of the other */
} remembered;

static _Thread_local remembered *places[1 << PLACES_BITS];

static void forget_all(void)
{
    for (int i = 0; i < 1 << PLACES_BITS; i++) {
        free(places[i]);
        places[i] = NULL;
    }
}

static inline remembered **place_of(const void *sendbuf, const void *recvbuf, unsigned form)
{
    uint64_t h = pw_handle_hash((uintptr_t)sendbuf + 3 * (uintptr_t)recvbuf + form);

    return &places[h >> (64 - PLACES_BITS)];
}

/* ---- the same again ---------------------------------------------------------------------------------------------- */

#define INLINE static inline __attribute__((always_inline))

INLINE bool is_same_side(const block *kept, pw_counts counts, pw_displs displs, const MPI_Datatype *types, int n)
{
    if (n > 0 && (!counts.at || !displs.at || !types))
        return false;
    for (int i = 0; i < n; i++)
        if (kept[i].type != types[i] || kept[i].count != (int64_t)pw_count_at(counts, i) ||
            kept[i].displ != (int64_t)pw_displ_at(displs, i))
            return false;
    return true;
}

INLINE bool sites_pass(const pw_settled_sites *s)
{
    for (int i = 0; i < s->n; i++)
        if (!pw_site_keeps(s->at[i].site, pw_way_left, s->at[i].uses))
            return false;
    for (int i = 0; i < s->n; i++)
        pw_site_passes(s->at[i].site, s->at[i].uses);
    return true;
}

INLINE bool is_settled(const pw_settled_side *send, const pw_settled_side *recv, MPI_Comm comm, unsigned form)
{
    const remembered *r = *place_of(send->buf, recv->buf, form);

    return r && r->sendbuf == send->buf && r->recvbuf == recv->buf && r->comm == comm && r->form == form &&
           pw_settled_holds(r->deaths) && is_same_side(r->blocks, send->counts, send->displs, send->types, r->send) &&
           is_same_side(r->blocks + r->send, recv->counts, recv->displs, recv->types, r->recv) && sites_pass(&r->sites);
}

/* A function for each form, in which the widths of numbers are constants. */
#define SETTLED(name, form)                                                                            \
    bool pw_settled_##name(const void *sendbuf, const void *sendcounts, const void *sdispls,           \
                           const MPI_Datatype *sendtypes, const void *recvbuf, const void *recvcounts, \
                           const void *rdispls, const MPI_Datatype *recvtypes, MPI_Comm comm)          \
    {                                                                                                  \
        const bool large = (form) & PW_SETTLED_LARGE, wide = (form) != 0;                              \
        const pw_settled_side send = {sendbuf, {sendcounts, large}, {sdispls, wide}, sendtypes, 0},    \
                              recv = {recvbuf, {recvcounts, large}, {rdispls, wide}, recvtypes, 0};    \
                                                                                                       \
        return is_settled(&send, &recv, comm, form);                                                   \
    }

SETTLED(Alltoallw, 0)
SETTLED(Alltoallw_c, PW_SETTLED_LARGE)
SETTLED(Neighbor_alltoallw, PW_SETTLED_NEIGHBOUR)
SETTLED(Neighbor_alltoallw_c, PW_SETTLED_NEIGHBOUR | PW_SETTLED_LARGE)

/* ---- remembering ------------------------------------------------------------------------------------------------- */

static void keep_side(block *to, const pw_settled_side *side)
{
    for (int i = 0; i < side->n; i++)
        to[i] = (block){side->types[i], pw_count_at(side->counts, i), pw_displ_at(side->displs, i)};
}

/* A call with as many blocks as the one before it in its place takes over its memory. */
void pw_settle_call(const pw_settled_side *send, const pw_settled_side *recv, MPI_Comm comm, unsigned form,
                    const pw_settled_sites *sites, unsigned deaths)
{
    remembered **place = place_of(send->buf, recv->buf, form), *r = *place;

    if (sites->n < 0 || send->n > MOST_BLOCKS || recv->n > MOST_BLOCKS || !pw_thread_end_call(forget_all))
        return;
    if (!r || r->send + r->recv != send->n + recv->n) {
        *place = NULL;
        free(r);
        r = malloc(sizeof *r + (size_t)(send->n + recv->n) * sizeof(block));
        if (!r)
            return;
    }
    *r = (remembered){.sendbuf = send->buf,
                      .recvbuf = recv->buf,
                      .comm = comm,
                      .form = form,
                      .deaths = deaths,
                      .send = send->n,
                      .recv = recv->n,
                      .sites = *sites};
    keep_side(r->blocks, send);
    keep_side(r->blocks + send->n, recv);
    *place = r;
}
