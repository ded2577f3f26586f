#include "tests/mpi/collective/calls.h"

#include "tests/mpi/support/harness.h"

#include <stddef.h>

/* ---- arguments by shape; C and D choose the arrays of the plain or the large form -------------------------------- */

#define SAME(s) a->s.buf, a->s.count, a->s.type
#define VARYING(s, C, D) a->s.buf, a->s.C, a->s.D, a->s.type
#define TYPED(s, C, D) a->s.buf, a->s.C, a->s.D, a->s.types

#define BCAST(C, D) SAME(send), a->root
#define ROOTED(C, D) SAME(send), SAME(recv), a->root
#define GATHERV(C, D) SAME(send), VARYING(recv, C, D), a->root
#define SCATTERV(C, D) VARYING(send, C, D), SAME(recv), a->root
#define EVERY(C, D) SAME(send), SAME(recv)
#define EVERYV(C, D) SAME(send), VARYING(recv, C, D)
#define ALLV(C, D) VARYING(send, C, D), VARYING(recv, C, D)
#define ALLW(C, D) TYPED(send, C, D), TYPED(recv, C, D)
#define NEIGHBOURSW(C, D) TYPED(send, C, wide_displs), TYPED(recv, C, wide_displs)

#define DEFINE(X, I, SHAPE)                                                                                 \
    static int X##_blocking(const call_args *a, bool native)                                                \
    {                                                                                                       \
        return native ? PMPI_##X(SHAPE(counts, displs), a->comm) : MPI_##X(SHAPE(counts, displs), a->comm); \
    }                                                                                                       \
    static int X##_start(const call_args *a, MPI_Request *request, bool native)                             \
    {                                                                                                       \
        return native ? PMPI_##I(SHAPE(counts, displs), a->comm, request)                                   \
                      : MPI_##I(SHAPE(counts, displs), a->comm, request);                                   \
    }

#if TEST_MPI_4_CALLS
#define DEFINE_INIT(X, SHAPE)                                                                   \
    static int X##_do_init(const call_args *a, MPI_Request *request, bool native)               \
    {                                                                                           \
        return native ? PMPI_##X##_init(SHAPE(counts, displs), a->comm, MPI_INFO_NULL, request) \
                      : MPI_##X##_init(SHAPE(counts, displs), a->comm, MPI_INFO_NULL, request); \
    }
#define INIT(X) .init = X##_do_init
#else
#define DEFINE_INIT(X, SHAPE)
#define INIT(X) .init = NULL
#endif

#if MPI_VERSION >= 4
#define DEFINE_LARGE(X, I, SHAPE)                                                                           \
    static int X##_large(const call_args *a, bool native)                                                   \
    {                                                                                                       \
        return native ? PMPI_##X##_c(SHAPE(wide_counts, wide_displs), a->comm)                              \
                      : MPI_##X##_c(SHAPE(wide_counts, wide_displs), a->comm);                              \
    }                                                                                                       \
    static int X##_start_large(const call_args *a, MPI_Request *request, bool native)                       \
    {                                                                                                       \
        return native ? PMPI_##I##_c(SHAPE(wide_counts, wide_displs), a->comm, request)                     \
                      : MPI_##I##_c(SHAPE(wide_counts, wide_displs), a->comm, request);                     \
    }                                                                                                       \
    static int X##_init_large(const call_args *a, MPI_Request *request, bool native)                        \
    {                                                                                                       \
        return native ? PMPI_##X##_init_c(SHAPE(wide_counts, wide_displs), a->comm, MPI_INFO_NULL, request) \
                      : MPI_##X##_init_c(SHAPE(wide_counts, wide_displs), a->comm, MPI_INFO_NULL, request); \
    }
#define LARGE(X) .large = X##_large, .start_large = X##_start_large, .init_large = X##_init_large
#else
#define DEFINE_LARGE(X, I, SHAPE)
#define LARGE(X) .large = NULL
#endif

/* X(name, nonblocking name, shape, kind, neighbours, form that is sent, form that is received) */
#define CALLS(X)                                                                        \
    X(Bcast, Ibcast, BCAST, BCAST, false, ONE, NONE)                                    \
    X(Gather, Igather, ROOTED, GATHER, false, ONE, EQUAL)                               \
    X(Gatherv, Igatherv, GATHERV, GATHER, false, ONE, VARYING)                          \
    X(Scatter, Iscatter, ROOTED, SCATTER, false, EQUAL, ONE)                            \
    X(Scatterv, Iscatterv, SCATTERV, SCATTER, false, VARYING, ONE)                      \
    X(Allgather, Iallgather, EVERY, ALLGATHER, false, ONE, EQUAL)                       \
    X(Allgatherv, Iallgatherv, EVERYV, ALLGATHER, false, ONE, VARYING)                  \
    X(Alltoall, Ialltoall, EVERY, ALLTOALL, false, EQUAL, EQUAL)                        \
    X(Alltoallv, Ialltoallv, ALLV, ALLTOALL, false, VARYING, VARYING)                   \
    X(Alltoallw, Ialltoallw, ALLW, ALLTOALL, false, TYPED, TYPED)                       \
    X(Neighbor_allgather, Ineighbor_allgather, EVERY, ALLGATHER, true, ONE, EQUAL)      \
    X(Neighbor_allgatherv, Ineighbor_allgatherv, EVERYV, ALLGATHER, true, ONE, VARYING) \
    X(Neighbor_alltoall, Ineighbor_alltoall, EVERY, ALLTOALL, true, EQUAL, EQUAL)       \
    X(Neighbor_alltoallv, Ineighbor_alltoallv, ALLV, ALLTOALL, true, VARYING, VARYING)  \
    X(Neighbor_alltoallw, Ineighbor_alltoallw, NEIGHBOURSW, ALLTOALL, true, TYPED, TYPED)

#define X(name, nonblocking, shape, of_kind, neighbours_too, sent, received) \
    DEFINE(name, nonblocking, shape)                                         \
    DEFINE_INIT(name, shape)                                                 \
    DEFINE_LARGE(name, nonblocking, shape)
CALLS(X)
#undef X

const call calls[] = {
#define X(of_name, nonblocking, shape, of_kind, among_neighbours, sent, received) \
    {.name = #of_name,                                                            \
     .kind = KIND_##of_kind,                                                      \
     .neighbours = among_neighbours,                                              \
     .send = FORM_##sent,                                                         \
     .recv = FORM_##received,                                                     \
     .blocking = of_name##_blocking,                                              \
     .start = of_name##_start,                                                    \
     INIT(of_name),                                                               \
     LARGE(of_name)},
    CALLS(X)
#undef X
};

const int calls_count = sizeof calls / sizeof *calls;
