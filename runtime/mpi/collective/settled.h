/*
 * MPI_Alltoallw, MPI_Neighbor_alltoallw and their nonblocking forms that were left to MPI the last time. A thread
 * remembers its last few such calls with all their arguments, so that the next one with the same arguments needs no
 * look at each type. The rules are those of single messages (runtime/mpi/strategy/is_native.h).
 */
#ifndef PW_RUNTIME_COLLECTIVE_SETTLED_H
#define PW_RUNTIME_COLLECTIVE_SETTLED_H

#include "runtime/choice/site.h"
#include "runtime/mpi/counts.h"
#include "runtime/mpi/mpi_compat.h"

#include <stdbool.h>

/* Which of the calls it is, and how wide the numbers in its arrays are. */
enum { PW_SETTLED_LARGE = 1, PW_SETTLED_NEIGHBOUR = 2 };

/* Returns whether the call is certain to be left to MPI; a yes counts as a use of its sites. The parameters are in the
 * order of the calls'. */
typedef bool pw_settled_fn(const void *sendbuf, const void *sendcounts, const void *sdispls,
                           const MPI_Datatype *sendtypes, const void *recvbuf, const void *recvcounts,
                           const void *rdispls, const MPI_Datatype *recvtypes, MPI_Comm comm);

pw_settled_fn pw_settled_Alltoallw, pw_settled_Alltoallw_c, pw_settled_Neighbor_alltoallw,
    pw_settled_Neighbor_alltoallw_c;

/* The sites that leave a call to MPI, each with its uses. */
typedef struct pw_settled_sites {
    int n; /* below 0: too many to be remembered */
    struct {
        pw_site *site;
        int64_t uses;
    } at[16];
} pw_settled_sites;

static inline void pw_settled_add(pw_settled_sites *s, pw_site *site)
{
    int i = 0;

    while (i < s->n && s->at[i].site != site)
        i++;
    if (i == (int)(sizeof s->at / sizeof *s->at) || s->n < 0) {
        s->n = -1;
        return;
    }
    if (i == s->n) {
        s->at[i].uses = 0;
        s->at[s->n++].site = site;
    }
    s->at[i].uses++;
}

/* A side of such a call: an array of each, with so many entries. */
typedef struct pw_settled_side {
    const void *buf;
    pw_counts counts;
    pw_displs displs;
    const MPI_Datatype *types;
    int n;
} pw_settled_side;

/* Remembers a call that is left to MPI. `deaths`: the number of pw_gate_deaths from before its types were looked up. */
void pw_settle_call(const pw_settled_side *send, const pw_settled_side *recv, MPI_Comm comm, unsigned form,
                    const pw_settled_sites *sites, unsigned deaths);

#endif
