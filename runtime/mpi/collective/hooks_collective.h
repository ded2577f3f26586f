/*
 * Macros that write the hooks of collectives in their three modes, from tables of calls and shapes (shapes.h). A hook
 * fills in a pw_collective, and passes it to the function <to>_call.
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

#define PW_MODE_HOOK(to, name, shape, of_family, of_mode)                                                    \
    static int next_##name(const pw_collective *c)                                                           \
    {                                                                                                        \
        return pw_call_##name(PW_SHAPE_ARGS shape of_mode##_ARGS, c->way.large);                             \
    }                                                                                                        \
                                                                                                             \
    pw_verdict pw_hook_##name(PW_SHAPE_PARAMS shape of_mode##_PARAMS, bool large, int *rc)                   \
    {                                                                                                        \
        pw_collective c = {                                                                                  \
            .family = of_family,                                                                             \
            .next = next_##name,                                                                             \
            PW_SHAPE_SIDES shape.way = {.mode = PW_##of_mode, .comm = comm, .large = large of_mode##_MORE}}; \
                                                                                                             \
        return to##_call(&c, rc);                                                                            \
    }

#if PW_MPI_HAS(4, 0)
#define PW_INIT_HOOK(to, name, shape, family) PW_MODE_HOOK(to, name, shape, family, PERSISTENT)
#else
#define PW_INIT_HOOK(to, name, shape, family)
#endif

/* ---- the hooks of a row ------------------------------------------------------------------------------------------ */

#define PW_HOOKS(to, blocking, nonblocking, persistent, from, onto, peers, family) \
    PW_MODE_HOOK(to, blocking, (from, onto, peers), family, BLOCKING)              \
    PW_MODE_HOOK(to, nonblocking, (from, onto, peers), family, NONBLOCKING)        \
    PW_INIT_HOOK(to, persistent, (from, onto, peers), family)

#define PW_COLLECTIVE_HOOKS(...) PW_HOOKS(pw_collective, __VA_ARGS__)

#endif
