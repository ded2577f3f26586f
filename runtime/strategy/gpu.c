#include "runtime/strategy/gpu.h"

#include "base/env.h"
#include "base/log.h"
#include "runtime/gpu/aware.h"
#include "runtime/pool.h"
#include "runtime/registry.h"

#include <limits.h>

/* An MPI that takes GPU memory is given messages beyond PACKWRIGHT_STAGING; another would not know what to do. */
bool pw_strategy_gpu_can(const pw_message *m)
{
    return m->place.kind == PW_PLACE_DEVICE && (m->bytes <= INT_MAX || PW_MPI_LARGE) &&
           (!pw_gpu_mpi_is_aware() || m->bytes <= pw_env_int(PW_ENV_STAGING));
}

static char *base_of(const pw_gpu_block *block)
{
    return block->host ? block->host : (char *)(uintptr_t)block->device;
}

/* A part of a stage has its data behind the stage's. Without a block the data is ordinary host memory. */
static pw_gpu_packed packed_of(const pw_stage *s)
{
    const pw_gpu_block *block = s->own;

    if (!block)
        return (pw_gpu_packed){.host = s->data};
    return pw_gpu_packed_at(pw_gpu_packed_in(block), (char *)s->data - base_of(block));
}

pw_status pw_strategy_gpu_take(pw_stage *s)
{
    pw_gpu_memory memory = (pw_gpu_memory)s->strategy->memory;
    pw_gpu_block *block = NULL;
    pw_status status = pw_gpu_take(s->place.gpu, memory, s->bytes, &block);

    if (status == PW_OK) {
        s->own = block;
        s->data = base_of(block);
        return PW_OK;
    }
    pw_warn_once("no memory for staging of %s memory on GPU %d (%s); slower ways are taken",
                 memory == PW_GPU_DEVICE_MEMORY ? "device" : "pinned", s->place.device, pw_status_text(status));
    return status;
}

/* The message of a stage, or of a part of one, as runtime/gpu has it. */
static pw_gpu_order order_of(const pw_stage *s, pw_model_action action, int64_t bytes)
{
    return (pw_gpu_order){.user = {.gpu = s->place.gpu,
                                   .layout = s->layout,
                                   .offset = s->offset,
                                   .buf = s->buf,
                                   .count = s->count,
                                   .bytes = s->bytes},
                          .packed = packed_of(s),
                          .bytes = bytes,
                          .unpack = action == PW_MODEL_UNPACK,
                          .way = (pw_gpu_way)s->strategy->way};
}

pw_status pw_strategy_gpu_pack(pw_stage *s)
{
    pw_gpu_order order = order_of(s, PW_MODEL_PACK, s->bytes);

    return pw_gpu_carry_out(&order);
}

pw_status pw_strategy_gpu_unpack(pw_stage *s, int64_t received)
{
    pw_gpu_order order = order_of(s, PW_MODEL_UNPACK, received);

    return pw_gpu_carry_out(&order);
}

bool pw_strategy_gpu_begin(pw_stage *s, pw_model_action action, int64_t received)
{
    pw_gpu_order order = order_of(s, action, received);

    s->under_way = pw_gpu_begin(&order);
    return s->under_way;
}

pw_status pw_strategy_gpu_finish(pw_stage *s)
{
    pw_gpu_transfer *t = s->under_way;

    s->under_way = NULL;
    return pw_gpu_finish(t);
}

void pw_strategy_gpu_give(pw_stage *s)
{
    if (s->own)
        pw_gpu_give(s->place.gpu, s->own);
    else
        pw_pool_give(s->data, s->bytes);
}
