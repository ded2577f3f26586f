/* Collectives that move data between all ranks, or from and to a root (MPI 4.0 sections 6.4 to 6.8, 6.12, 6.13). */
#include "runtime/collective/hooks_collective.h"

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

/* clang-format off: a table */
PW_COLLECTIVE_HOOKS(Bcast, Ibcast, Bcast_init, BCAST, PW_BCAST)
PW_COLLECTIVE_HOOKS(Gather, Igather, Gather_init, GATHER, PW_GATHER)
PW_COLLECTIVE_HOOKS(Gatherv, Igatherv, Gatherv_init, GATHERV, PW_GATHER)
PW_COLLECTIVE_HOOKS(Scatter, Iscatter, Scatter_init, SCATTER, PW_SCATTER)
PW_COLLECTIVE_HOOKS(Scatterv, Iscatterv, Scatterv_init, SCATTERV, PW_SCATTER)
PW_COLLECTIVE_HOOKS(Allgather, Iallgather, Allgather_init, ONE_TO_EQUAL, PW_ALLGATHER)
PW_COLLECTIVE_HOOKS(Allgatherv, Iallgatherv, Allgatherv_init, ONE_TO_VARYING, PW_ALLGATHER)
PW_COLLECTIVE_HOOKS(Alltoall, Ialltoall, Alltoall_init, EQUAL_TO_EQUAL, PW_ALLTOALL)
PW_COLLECTIVE_HOOKS(Alltoallv, Ialltoallv, Alltoallv_init, VARYING_TO_VARYING, PW_ALLTOALL)
PW_COLLECTIVE_HOOKS(Alltoallw, Ialltoallw, Alltoallw_init, TYPED_TO_TYPED, PW_ALLTOALL)
/* clang-format on */
