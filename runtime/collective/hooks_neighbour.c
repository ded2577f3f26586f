/* Neighbourhood collectives (MPI 4.0 sections 8.6 to 8.8). */
#include "runtime/collective/hooks_collective.h"

/* The only call with displacements that are addresses in both forms. */
#define TO_NEIGHBOURS_PARAMS                                                                                          \
    const void *sendbuf, pw_counts sendcounts, const MPI_Aint *sdispls, const MPI_Datatype *sendtypes, void *recvbuf, \
        pw_counts recvcounts, const MPI_Aint *rdispls, const MPI_Datatype *recvtypes
#define TO_NEIGHBOURS_SIDES                                                            \
    .send = pw_side_typed(sendbuf, sendcounts, (pw_displs){sdispls, true}, sendtypes), \
    .recv = pw_side_typed(recvbuf, recvcounts, (pw_displs){rdispls, true}, recvtypes)
#define ADDRESSES_PASSED(side) c->side.buf, c->side.counts, c->side.displs.at, c->side.types
#define TO_NEIGHBOURS_ARGS ADDRESSES_PASSED(send), ADDRESSES_PASSED(recv)

/* clang-format off: a table */
PW_COLLECTIVE_HOOKS(Neighbor_allgather, Ineighbor_allgather, Neighbor_allgather_init, ONE_TO_EQUAL,
                    PW_NEIGHBOUR_ALLGATHER)
PW_COLLECTIVE_HOOKS(Neighbor_allgatherv, Ineighbor_allgatherv, Neighbor_allgatherv_init, ONE_TO_VARYING,
                    PW_NEIGHBOUR_ALLGATHER)
PW_COLLECTIVE_HOOKS(Neighbor_alltoall, Ineighbor_alltoall, Neighbor_alltoall_init, EQUAL_TO_EQUAL,
                    PW_NEIGHBOUR_ALLTOALL)
PW_COLLECTIVE_HOOKS(Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init, VARYING_TO_VARYING,
                    PW_NEIGHBOUR_ALLTOALL)
PW_COLLECTIVE_HOOKS(Neighbor_alltoallw, Ineighbor_alltoallw, Neighbor_alltoallw_init, TO_NEIGHBOURS,
                    PW_NEIGHBOUR_ALLTOALL)
/* clang-format on */
