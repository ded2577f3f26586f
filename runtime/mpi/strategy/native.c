/*
 * native: the MPI below does it, with the caller's own arguments; there is no stage. Impossible only with GPU memory
 * and an MPI that does not take it.
 */
#include "runtime/mpi/strategy/aware.h"
#include "runtime/mpi/strategy/strategy.h"

/* It is what remains when everything else has been refused, so it has a cost all the same. */
#define IMPOSSIBLE 1e18

static bool can(const pw_message *m)
{
    return m->buffer.place.kind != PW_PLACE_DEVICE || pw_gpu_mpi_is_aware();
}

static double cost(const pw_message *m)
{
    pw_model_query q = pw_message_query(m);

    return can(m) ? pw_model_cost_native(pw_model_now(), &q) : IMPOSSIBLE;
}

const pw_strategy pw_strategy_native = {.name = "native", .can = can, .cost = cost};
