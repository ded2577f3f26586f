/*
 * Purpose: the last calls of each thread that were left to MPI. Data: `remembered`, in memory of the thread's own, with
 * a copy of the arrays. Invariant: a call whose place is taken is forgotten.
 */
#include "runtime/mpi/collective/settled.h"

#include "runtime/engine/memory/thread_end.h"
#include "runtime/mpi/strategy/settled.h"

#include <stdlib.h>
#include <string.h>

enum { PLACES_BITS = 2, MOST_BLOCKS = 64 };

typedef struct remembered {
    const void *sendbuf, *recvbuf;
    MPI_Comm comm;
    unsigned form, deaths;
    int send, recv; /* blocks */
    pw_settled_sites sites;
    char arrays[]; /* of the send side: counts, displacements, types; then those of the other side; in whole words */
} remembered;

static _Thread_local remembered *places[1 << PLACES_BITS];

static void forget_all(void)
{
    for (int i = 0; i < 1 << PLACES_BITS; i++) {
        free(places[i]);
        places[i] = NULL;
    }
}

static remembered **place_of(const void *sendbuf, const void *recvbuf, unsigned form)
{
    uint64_t h = pw_handle_hash((uintptr_t)sendbuf + 3 * (uintptr_t)recvbuf + form);

    return &places[h >> (64 - PLACES_BITS)];
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

static size_t in_words(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

static size_t count_bytes(unsigned form)
{
    return form & PW_SETTLED_LARGE ? sizeof(MPI_Count) : sizeof(int);
}

static size_t displ_bytes(unsigned form)
{
    return form ? sizeof(MPI_Aint) : sizeof(int);
}

static size_t side_bytes(int n, unsigned form)
{
    size_t blocks = (size_t)n;

    return in_words(blocks * count_bytes(form)) + in_words(blocks * displ_bytes(form)) +
           in_words(blocks * sizeof(MPI_Datatype));
}

/* Returns whether the arrays are equal, and moves *kept behind the one that is remembered. Short arrays are compared
 * here, since calling memcmp takes as long. */
static inline __attribute__((always_inline)) bool is_same(const char **kept, const void *array, size_t bytes)
{
    enum { SHORT = 64 };
    const char *a = *kept, *b = array;
    uint64_t x, y;
    uint32_t u, v;

    *kept += in_words(bytes);
    if (bytes > SHORT)
        return !memcmp(a, b, bytes);
    for (; bytes >= sizeof x; bytes -= sizeof x, a += sizeof x, b += sizeof x) {
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        if (x != y)
            return false;
    }
    if (bytes == 0)
        return true;
    memcpy(&u, a, sizeof u); /* the elements of all arrays have four or eight bytes */
    memcpy(&v, b, sizeof v);
    return u == v;
}

static inline __attribute__((always_inline)) bool is_same_side(const char **kept, const void *counts,
                                                               const void *displs, const MPI_Datatype *types, int n,
                                                               unsigned form)
{
    size_t blocks = (size_t)n;

    return n == 0 || (counts && displs && types && is_same(kept, counts, blocks * count_bytes(form)) &&
                      is_same(kept, displs, blocks * displ_bytes(form)) &&
                      is_same(kept, types, blocks * sizeof(MPI_Datatype)));
}

static char *keep(char *to, const void *array, size_t bytes)
{
    memcpy(to, array, bytes);
    return to + in_words(bytes);
}

static char *keep_side(char *to, const pw_settled_side *side, unsigned form)
{
    size_t blocks = (size_t)side->n;

    if (blocks == 0)
        return to;
    to = keep(to, side->counts, blocks * count_bytes(form));
    to = keep(to, side->displs, blocks * displ_bytes(form));
    return keep(to, side->types, blocks * sizeof(MPI_Datatype));
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static bool sites_pass(const pw_settled_sites *s)
{
    for (int i = 0; i < s->n; i++)
        if (!pw_site_keeps(s->at[i].site, PW_STRATEGY_NATIVE, s->at[i].uses))
            return false;
    for (int i = 0; i < s->n; i++)
        pw_site_passes(s->at[i].site, s->at[i].uses);
    return true;
}

bool pw_call_is_settled(const void *sendbuf, const void *sendcounts, const void *sdispls, const MPI_Datatype *sendtypes,
                        const void *recvbuf, const void *recvcounts, const void *rdispls, const MPI_Datatype *recvtypes,
                        MPI_Comm comm, unsigned form)
{
    const remembered *r = *place_of(sendbuf, recvbuf, form);
    const char *kept;

    if (!r || r->sendbuf != sendbuf || r->recvbuf != recvbuf || r->comm != comm || r->form != form ||
        !pw_settled_holds(r->deaths))
        return false;
    kept = r->arrays;
    return is_same_side(&kept, sendcounts, sdispls, sendtypes, r->send, form) &&
           is_same_side(&kept, recvcounts, rdispls, recvtypes, r->recv, form) && sites_pass(&r->sites);
}

/* A call with as many blocks as the one before it in its place takes over its memory. */
void pw_settle_call(const pw_settled_side *send, const pw_settled_side *recv, MPI_Comm comm, unsigned form,
                    const pw_settled_sites *sites, unsigned deaths)
{
    remembered **place = place_of(send->buf, recv->buf, form), *r = *place;
    char *end;

    if (sites->n < 0 || send->n > MOST_BLOCKS || recv->n > MOST_BLOCKS || !pw_thread_end_call(forget_all))
        return;
    if (!r || r->form != form || r->send != send->n || r->recv != recv->n) {
        *place = NULL;
        free(r);
        r = malloc(sizeof *r + side_bytes(send->n, form) + side_bytes(recv->n, form));
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
    end = keep_side(r->arrays, send, form);
    keep_side(end, recv, form);
    *place = r;
}
