/*
 * What the parameters of collectives look like: a few shapes, and one row for each call in its three modes.
 *
 * S_PARAMS are the parameters of shape S as hooks have them, S_SIDES says what they mean, S_ARGS passes on what a
 * pw_collective has.
 */
#ifndef PW_RUNTIME_COLLECTIVE_SHAPES_H
#define PW_RUNTIME_COLLECTIVE_SHAPES_H

#include "runtime/mpi/collective/collective.h"

/* ---- sides ------------------------------------------------------------------------------------------------------- */

static inline pw_side pw_side_same(pw_side_form form, const void *buf, MPI_Count count, MPI_Datatype type)
{
    return (pw_side){.form = form, .buf = (void *)buf, .count = count, .type = type};
}

static inline pw_side pw_side_varying(const void *buf, pw_counts counts, pw_displs displs, MPI_Datatype type)
{
    return (pw_side){.form = PW_SIDE_VARYING, .buf = (void *)buf, .type = type, .counts = counts, .displs = displs};
}

static inline pw_side pw_side_typed(const void *buf, pw_counts counts, pw_displs displs, const MPI_Datatype *types)
{
    return (pw_side){.form = PW_SIDE_TYPED, .buf = (void *)buf, .counts = counts, .displs = displs, .types = types};
}

#define SAME_PASSED(side) c->side.buf, c->side.count, c->side.type
#define VARYING_PASSED(side) c->side.buf, c->side.counts, c->side.displs, c->side.type
#define TYPED_PASSED(side) c->side.buf, c->side.counts, c->side.displs, c->side.types

/* ---- shapes that several calls have ------------------------------------------------------------------------------ */

#define SEND_PARAMS const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype
#define RECV_PARAMS void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype

/* Allgather and the like: one block out, one from each in. */
#define ONE_TO_EQUAL_PARAMS SEND_PARAMS, RECV_PARAMS
#define ONE_TO_EQUAL_SIDES                                           \
    .send = pw_side_same(PW_SIDE_ONE, sendbuf, sendcount, sendtype), \
    .recv = pw_side_same(PW_SIDE_EQUAL, recvbuf, recvcount, recvtype)
#define ONE_TO_EQUAL_ARGS SAME_PASSED(send), SAME_PASSED(recv)

#define ONE_TO_VARYING_PARAMS SEND_PARAMS, void *recvbuf, pw_counts recvcounts, pw_displs displs, MPI_Datatype recvtype
#define ONE_TO_VARYING_SIDES                                         \
    .send = pw_side_same(PW_SIDE_ONE, sendbuf, sendcount, sendtype), \
    .recv = pw_side_varying(recvbuf, recvcounts, displs, recvtype)
#define ONE_TO_VARYING_ARGS SAME_PASSED(send), VARYING_PASSED(recv)

#define EQUAL_TO_EQUAL_PARAMS SEND_PARAMS, RECV_PARAMS
#define EQUAL_TO_EQUAL_SIDES                                           \
    .send = pw_side_same(PW_SIDE_EQUAL, sendbuf, sendcount, sendtype), \
    .recv = pw_side_same(PW_SIDE_EQUAL, recvbuf, recvcount, recvtype)
#define EQUAL_TO_EQUAL_ARGS SAME_PASSED(send), SAME_PASSED(recv)

#define VARYING_TO_VARYING_PARAMS                                                                       \
    const void *sendbuf, pw_counts sendcounts, pw_displs sdispls, MPI_Datatype sendtype, void *recvbuf, \
        pw_counts recvcounts, pw_displs rdispls, MPI_Datatype recvtype
#define VARYING_TO_VARYING_SIDES                                     \
    .send = pw_side_varying(sendbuf, sendcounts, sdispls, sendtype), \
    .recv = pw_side_varying(recvbuf, recvcounts, rdispls, recvtype)
#define VARYING_TO_VARYING_ARGS VARYING_PASSED(send), VARYING_PASSED(recv)

/* ---- shapes that one call has ------------------------------------------------------------------------------------ */

/* A broadcast has one buffer. */
#define BCAST_PARAMS void *buffer, MPI_Count count, MPI_Datatype datatype, int root
#define BCAST_SIDES .send = pw_side_same(PW_SIDE_ONE, buffer, count, datatype), .root = root
#define BCAST_ARGS SAME_PASSED(send), c->root

#define GATHER_PARAMS ONE_TO_EQUAL_PARAMS, int root
#define GATHER_SIDES ONE_TO_EQUAL_SIDES, .root = root
#define GATHER_ARGS ONE_TO_EQUAL_ARGS, c->root

#define GATHERV_PARAMS ONE_TO_VARYING_PARAMS, int root
#define GATHERV_SIDES ONE_TO_VARYING_SIDES, .root = root
#define GATHERV_ARGS ONE_TO_VARYING_ARGS, c->root

#define SCATTER_PARAMS SEND_PARAMS, RECV_PARAMS, int root
#define SCATTER_SIDES                                                  \
    .send = pw_side_same(PW_SIDE_EQUAL, sendbuf, sendcount, sendtype), \
    .recv = pw_side_same(PW_SIDE_ONE, recvbuf, recvcount, recvtype), .root = root
#define SCATTER_ARGS SAME_PASSED(send), SAME_PASSED(recv), c->root

#define SCATTERV_PARAMS \
    const void *sendbuf, pw_counts sendcounts, pw_displs displs, MPI_Datatype sendtype, RECV_PARAMS, int root
#define SCATTERV_SIDES                                              \
    .send = pw_side_varying(sendbuf, sendcounts, displs, sendtype), \
    .recv = pw_side_same(PW_SIDE_ONE, recvbuf, recvcount, recvtype), .root = root
#define SCATTERV_ARGS VARYING_PASSED(send), SAME_PASSED(recv), c->root

#define TYPED_TO_TYPED_PARAMS                                                                                   \
    const void *sendbuf, pw_counts sendcounts, pw_displs sdispls, const MPI_Datatype *sendtypes, void *recvbuf, \
        pw_counts recvcounts, pw_displs rdispls, const MPI_Datatype *recvtypes
#define TYPED_TO_TYPED_SIDES                                        \
    .send = pw_side_typed(sendbuf, sendcounts, sdispls, sendtypes), \
    .recv = pw_side_typed(recvbuf, recvcounts, rdispls, recvtypes)
#define TYPED_TO_TYPED_ARGS TYPED_PASSED(send), TYPED_PASSED(recv)

/* The only call with displacements that are addresses in both forms. */
#define TO_NEIGHBOURS_PARAMS                                                                                          \
    const void *sendbuf, pw_counts sendcounts, const MPI_Aint *sdispls, const MPI_Datatype *sendtypes, void *recvbuf, \
        pw_counts recvcounts, const MPI_Aint *rdispls, const MPI_Datatype *recvtypes
#define TO_NEIGHBOURS_SIDES                                                            \
    .send = pw_side_typed(sendbuf, sendcounts, (pw_displs){sdispls, true}, sendtypes), \
    .recv = pw_side_typed(recvbuf, recvcounts, (pw_displs){rdispls, true}, recvtypes)
#define ADDRESSES_PASSED(side) c->side.buf, c->side.counts, c->side.displs.at, c->side.types
#define TO_NEIGHBOURS_ARGS ADDRESSES_PASSED(send), ADDRESSES_PASSED(recv)

/* ---- the calls --------------------------------------------------------------------------------------------------- */

/* clang-format off: tables */
/* X(blocking, nonblocking, persistent, shape, family); the names differ in more than a prefix. Between all ranks, or
 * from and to a root (MPI 4.0 sections 6.4 to 6.8, 6.12, 6.13): */
#define PW_COLLECTIVES(X)                                                     \
    X(Bcast, Ibcast, Bcast_init, BCAST, PW_BCAST)                             \
    X(Gather, Igather, Gather_init, GATHER, PW_GATHER)                        \
    X(Gatherv, Igatherv, Gatherv_init, GATHERV, PW_GATHER)                    \
    X(Scatter, Iscatter, Scatter_init, SCATTER, PW_SCATTER)                   \
    X(Scatterv, Iscatterv, Scatterv_init, SCATTERV, PW_SCATTER)               \
    X(Allgather, Iallgather, Allgather_init, ONE_TO_EQUAL, PW_ALLGATHER)      \
    X(Allgatherv, Iallgatherv, Allgatherv_init, ONE_TO_VARYING, PW_ALLGATHER) \
    X(Alltoall, Ialltoall, Alltoall_init, EQUAL_TO_EQUAL, PW_ALLTOALL)        \
    X(Alltoallv, Ialltoallv, Alltoallv_init, VARYING_TO_VARYING, PW_ALLTOALL) \
    X(Alltoallw, Ialltoallw, Alltoallw_init, TYPED_TO_TYPED, PW_ALLTOALL)

/* Between neighbours (sections 8.6 to 8.8): */
#define PW_NEIGHBOURHOODS(X)                                                                                       \
    X(Neighbor_allgather, Ineighbor_allgather, Neighbor_allgather_init, ONE_TO_EQUAL, PW_NEIGHBOUR_ALLGATHER)      \
    X(Neighbor_allgatherv, Ineighbor_allgatherv, Neighbor_allgatherv_init, ONE_TO_VARYING, PW_NEIGHBOUR_ALLGATHER) \
    X(Neighbor_alltoall, Ineighbor_alltoall, Neighbor_alltoall_init, EQUAL_TO_EQUAL, PW_NEIGHBOUR_ALLTOALL)        \
    X(Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init, VARYING_TO_VARYING, PW_NEIGHBOUR_ALLTOALL) \
    X(Neighbor_alltoallw, Ineighbor_alltoallw, Neighbor_alltoallw_init, TO_NEIGHBOURS, PW_NEIGHBOUR_ALLTOALL)
/* clang-format on */

#endif
