/*
 * Macros that write the hooks of collectives in their three modes, from tables of calls and shapes (shapes.h). A hook
 * fills in a struct of type `call`, pw_collective or pw_reduction, and passes it to the function <call>_call.
 */
#ifndef PW_RUNTIME_HOOKS_COLLECTIVE_H
#define PW_RUNTIME_HOOKS_COLLECTIVE_H

#include "runtime/mpi/collective/shapes.h"

#include "hooks.h"
#include "next.h"

/* ---- modes ------------------------------------------------------------------------------------------------------- */

#define BLOCKING_PARAMS
#define BLOCKING_MORE
#define BLOCKING_ARGS
#define NONBLOCKING_PARAMS , MPI_Request *request
#define NONBLOCKING_MORE , .request = request
#define NONBLOCKING_ARGS , c->way.request
#define PERSISTENT_PARAMS , MPI_Info info, MPI_Request *request
#define PERSISTENT_MORE , .info = info, .request = request
#define PERSISTENT_ARGS , c->way.info, c->way.request

/* ---- one hook ---------------------------------------------------------------------------------------------------- */

#define PW_MODE_HOOK(call, name, shape, of_family, of_mode)                                        \
    static int next_##name(const call *c)                                                          \
    {                                                                                              \
        return pw_call_##name(shape##_ARGS, c->way.comm of_mode##_ARGS, c->way.large);             \
    }                                                                                              \
                                                                                                   \
    pw_verdict pw_hook_##name(shape##_PARAMS, MPI_Comm comm of_mode##_PARAMS, bool large, int *rc) \
    {                                                                                              \
        call c = {.family = of_family,                                                             \
                  .next = next_##name,                                                             \
                  shape##_SIDES,                                                                   \
                  .way = {.mode = PW_##of_mode, .comm = comm, .large = large of_mode##_MORE}};     \
                                                                                                   \
        return call##_call(&c, rc);                                                                \
    }

#if PW_MPI_HAS(4, 0)
#define PW_INIT_HOOK(call, name, shape, family) PW_MODE_HOOK(call, name, shape, family, PERSISTENT)
#else
#define PW_INIT_HOOK(call, name, shape, family)
#endif

/* ---- the hooks of a row ------------------------------------------------------------------------------------------ */

#define PW_HOOKS(call, blocking, nonblocking, persistent, shape, family) \
    PW_MODE_HOOK(call, blocking, shape, family, BLOCKING)                \
    PW_MODE_HOOK(call, nonblocking, shape, family, NONBLOCKING)          \
    PW_INIT_HOOK(call, persistent, shape, family)

#define PW_COLLECTIVE_HOOKS(...) PW_HOOKS(pw_collective, __VA_ARGS__)
#define PW_REDUCTION_HOOKS(...) PW_HOOKS(pw_reduction, __VA_ARGS__)

#endif
