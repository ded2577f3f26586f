/*
 * How the hooks of collectives are written: one line for each call, in its three modes. What differs is the shape of
 * the parameters, of which there are few; X_PARAMS are those of hooks, X_SIDES what they say, X_ARGS how they are
 * passed on.
 */
#ifndef PW_RUNTIME_HOOKS_COLLECTIVE_H
#define PW_RUNTIME_HOOKS_COLLECTIVE_H

#include "runtime/collective/collective.h"

#include "hooks.h"
#include "next.h"

/* ---- modes ------------------------------------------------------------------------------------------------------ */

#define BLOCKING_PARAMS
#define BLOCKING_MORE
#define BLOCKING_ARGS
#define NONBLOCKING_PARAMS , MPI_Request *request
#define NONBLOCKING_MORE , .request = request
#define NONBLOCKING_ARGS , c->request
#define PERSISTENT_PARAMS , MPI_Info info, MPI_Request *request
#define PERSISTENT_MORE , .info = info, .request = request
#define PERSISTENT_ARGS , c->info, c->request

/* ---- one hook --------------------------------------------------------------------------------------------------- */

#define PW_COLLECTIVE_HOOK(name, shape, of_family, of_mode)                                        \
    static int next_##name(const pw_collective *c)                                                 \
    {                                                                                              \
        return pw_call_##name(shape##_ARGS, c->comm of_mode##_ARGS, c->large);                     \
    }                                                                                              \
                                                                                                   \
    pw_verdict pw_hook_##name(shape##_PARAMS, MPI_Comm comm of_mode##_PARAMS, bool large, int *rc) \
    {                                                                                              \
        pw_collective c = {.family = of_family,                                                    \
                           .mode = PW_##of_mode,                                                   \
                           .next = next_##name,                                                    \
                           shape##_SIDES,                                                          \
                           .comm = comm,                                                           \
                           .large = large of_mode##_MORE};                                         \
                                                                                                   \
        return pw_collective_call(&c, rc);                                                         \
    }

#if PW_MPI_SINCE(4, 0)
#define PW_COLLECTIVE_INIT_HOOK(name, shape, family) PW_COLLECTIVE_HOOK(name, shape, family, PERSISTENT)
#else
#define PW_COLLECTIVE_INIT_HOOK(name, shape, family)
#endif

/* The three modes of a call; their names differ in more than a prefix. */
#define PW_COLLECTIVE_HOOKS(blocking, nonblocking, persistent, shape, family) \
    PW_COLLECTIVE_HOOK(blocking, shape, family, BLOCKING)                     \
    PW_COLLECTIVE_HOOK(nonblocking, shape, family, NONBLOCKING)               \
    PW_COLLECTIVE_INIT_HOOK(persistent, shape, family)

/* ---- sides ------------------------------------------------------------------------------------------------------ */

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

#endif
