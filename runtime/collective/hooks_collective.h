/* How the hooks of collectives are written, in their three modes, from the tables of shapes.h. */
#ifndef PW_RUNTIME_HOOKS_COLLECTIVE_H
#define PW_RUNTIME_HOOKS_COLLECTIVE_H

#include "runtime/collective/shapes.h"

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

#define PW_COLLECTIVE_HOOKS(blocking, nonblocking, persistent, shape, family) \
    PW_COLLECTIVE_HOOK(blocking, shape, family, BLOCKING)                     \
    PW_COLLECTIVE_HOOK(nonblocking, shape, family, NONBLOCKING)               \
    PW_COLLECTIVE_INIT_HOOK(persistent, shape, family)

#endif
