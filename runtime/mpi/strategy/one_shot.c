/*
 * one_shot: the kernel writes to (and reads from) mapped pinned host memory, which MPI sends.
 *
 * The model's times are those of whole words. Pieces of odd lengths cross the bus by single bytes at their ends (1 MiB
 * in pieces of 27 bytes: 260 us instead of 36), so their messages are reckoned worse than with a copy behind the
 * kernel.
 */
#include "runtime/mpi/strategy/gpu.h"

#include "runtime/mpi/types/registry.h"

static bool can(const pw_message *m)
{
    return pw_strategy_gpu_can(m) && m->entry->layout;
}

static double odd_cost(const pw_message *m, double words, double staged)
{
    if (!pw_gpu_is_odd(m->entry->layout, m->buffer.bytes))
        return words;
    return words > staged ? words : staged * 1.1;
}

static double cost(const pw_message *m)
{
    pw_model_query q = pw_message_query(m);
    const pw_model *model = pw_model_now();

    return odd_cost(m, pw_model_cost(model, PW_MODEL_MAPPED, &q), pw_model_cost(model, PW_MODEL_STAGED, &q));
}

static double own_cost(const pw_message *m, pw_direction direction)
{
    pw_model_query q = pw_message_query(m);
    const pw_model *model = pw_model_now();

    return odd_cost(m, pw_model_own(model, PW_MODEL_MAPPED, &q, direction),
                    pw_model_own(model, PW_MODEL_STAGED, &q, direction));
}

const pw_strategy pw_strategy_one_shot = {.name = "one_shot",
                                          .can = can,
                                          .cost = cost,
                                          .own_cost = own_cost,
                                          .take = pw_strategy_gpu_take,
                                          PW_STRATEGY_GPU,
                                          .memory = PW_GPU_PINNED_MEMORY,
                                          .path = PW_GPU_DIRECT};
