/*
 * What the parameters of collectives look like: one row for each call in its three modes, which names the form of its
 * sides.
 *
 * For a form F, F_PARAMS(pointer, side) are the parameters of a side as hooks have them, F_SIDE(side) says what they
 * mean, F_ARGS(side) passes on what a pw_collective has. Each ends with a comma, so that a side may be missing.
 */
#ifndef PW_RUNTIME_COLLECTIVE_SHAPES_H
#define PW_RUNTIME_COLLECTIVE_SHAPES_H

#include "runtime/mpi/collective/collective.h"

/* ---- sides ------------------------------------------------------------------------------------------------------- */

/* clang-format off */
#define NONE_PARAMS(pointer, side)
#define NONE_SIDE(side)
#define NONE_ARGS(side)

#define SAME_SIDE(of_form, side) \
    .side = {.form = of_form, .buf = (void *)side##buf, .count = side##count, .type = side##type},

#define ONE_PARAMS(pointer, side) pointer side##buf, MPI_Count side##count, MPI_Datatype side##type,
#define ONE_SIDE(side) SAME_SIDE(PW_SIDE_ONE, side)
#define ONE_ARGS(side) c->side.buf, c->side.count, c->side.type,

#define EQUAL_PARAMS ONE_PARAMS
#define EQUAL_SIDE(side) SAME_SIDE(PW_SIDE_EQUAL, side)
#define EQUAL_ARGS ONE_ARGS

#define VARYING_PARAMS(pointer, side) \
    pointer side##buf, pw_counts side##counts, pw_displs side##displs, MPI_Datatype side##type,
#define VARYING_SIDE(side) \
    .side = {.form = PW_SIDE_VARYING, .buf = (void *)side##buf, .type = side##type, \
             .counts = side##counts, .displs = side##displs},
#define VARYING_ARGS(side) c->side.buf, c->side.counts, c->side.displs, c->side.type,

#define TYPES_SIDE(side, of_displs) \
    .side = {.form = PW_SIDE_TYPED, .buf = (void *)side##buf, .counts = side##counts, .displs = of_displs, \
             .types = side##types},

#define TYPED_PARAMS(pointer, side) \
    pointer side##buf, pw_counts side##counts, pw_displs side##displs, const MPI_Datatype *side##types,
#define TYPED_SIDE(side) TYPES_SIDE(side, side##displs)
#define TYPED_ARGS(side) c->side.buf, c->side.counts, c->side.displs, c->side.types,

/* The form of the only call with displacements that are addresses whether counts are large or not. */
#define ADDRESSED_PARAMS(pointer, side) \
    pointer side##buf, pw_counts side##counts, const MPI_Aint *side##displs, const MPI_Datatype *side##types,
#define ADDRESSED_SIDE(side) TYPES_SIDE(side, ((pw_displs){side##displs, true}))
#define ADDRESSED_ARGS(side) c->side.buf, c->side.counts, c->side.displs.at, c->side.types,

#define ALL_PARAMS
#define ALL_SIDE
#define ALL_ARGS
#define ROOT_PARAMS int root,
#define ROOT_SIDE .root = root,
#define ROOT_ARGS c->root,

/* The parameters up to the communicator, what they mean, and what is passed on in their place. */
#define PW_SHAPE_PARAMS(from, to, peers) \
    from##_PARAMS(const void *, send) to##_PARAMS(void *, recv) peers##_PARAMS MPI_Comm comm
#define PW_SHAPE_SIDES(from, to, peers) from##_SIDE(send) to##_SIDE(recv) peers##_SIDE
#define PW_SHAPE_ARGS(from, to, peers) from##_ARGS(send) to##_ARGS(recv) peers##_ARGS c->way.comm

/* ---- the calls --------------------------------------------------------------------------------------------------- */

/* X(blocking, nonblocking, persistent, from, to, peers, family); the names differ in more than a prefix. Between all
 * ranks, or from and to a root (MPI 4.0 sections 6.4 to 6.8, 6.12, 6.13): */
#define PW_COLLECTIVES(X)                                                                                             \
    X(Bcast, Ibcast, Bcast_init, NONE, ONE, ROOT, PW_BCAST)                                                           \
    X(Gather, Igather, Gather_init, ONE, EQUAL, ROOT, PW_GATHER)                                                      \
    X(Gatherv, Igatherv, Gatherv_init, ONE, VARYING, ROOT, PW_GATHER)                                                 \
    X(Scatter, Iscatter, Scatter_init, EQUAL, ONE, ROOT, PW_SCATTER)                                                  \
    X(Scatterv, Iscatterv, Scatterv_init, VARYING, ONE, ROOT, PW_SCATTER)                                             \
    X(Allgather, Iallgather, Allgather_init, ONE, EQUAL, ALL, PW_ALLGATHER)                                           \
    X(Allgatherv, Iallgatherv, Allgatherv_init, ONE, VARYING, ALL, PW_ALLGATHER)                                      \
    X(Alltoall, Ialltoall, Alltoall_init, EQUAL, EQUAL, ALL, PW_ALLTOALL)                                             \
    X(Alltoallv, Ialltoallv, Alltoallv_init, VARYING, VARYING, ALL, PW_ALLTOALL)                                      \
    X(Alltoallw, Ialltoallw, Alltoallw_init, TYPED, TYPED, ALL, PW_ALLTOALL)

/* Between neighbours (sections 8.6 to 8.8): */
#define PW_NEIGHBOURHOODS(X)                                                                                          \
    X(Neighbor_allgather, Ineighbor_allgather, Neighbor_allgather_init, ONE, EQUAL, ALL, PW_NEIGHBOUR_ALLGATHER)      \
    X(Neighbor_allgatherv, Ineighbor_allgatherv, Neighbor_allgatherv_init, ONE, VARYING, ALL, PW_NEIGHBOUR_ALLGATHER) \
    X(Neighbor_alltoall, Ineighbor_alltoall, Neighbor_alltoall_init, EQUAL, EQUAL, ALL, PW_NEIGHBOUR_ALLTOALL)        \
    X(Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init, VARYING, VARYING, ALL, PW_NEIGHBOUR_ALLTOALL) \
    X(Neighbor_alltoallw, Ineighbor_alltoallw, Neighbor_alltoallw_init, ADDRESSED, ADDRESSED, ALL, PW_NEIGHBOUR_ALLTOALL)
/* clang-format on */

#endif
