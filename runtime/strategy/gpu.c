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

pw_gpu_user pw_strategy_gpu_user(const pw_stage *s)
{
    return (pw_gpu_user){.gpu = s->place.gpu,
                         .layout = s->layout,
                         .offset = s->offset,
                         .buf = s->buf,
                         .count = s->count,
                         .bytes = s->bytes};
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

/* Host memory need not be pinned for a copy of the driver, which only is slower then. */
pw_status pw_strategy_gpu_take(pw_stage *s, pw_gpu_memory memory)
{
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

pw_status pw_strategy_gpu_pack(pw_stage *s, pw_gpu_way way)
{
    pw_gpu_user user = pw_strategy_gpu_user(s);

    return pw_gpu_pack(&user, packed_of(s), way);
}

pw_status pw_strategy_gpu_unpack(pw_stage *s, int64_t received, pw_gpu_way way)
{
    pw_gpu_user user = pw_strategy_gpu_user(s);

    return pw_gpu_unpack(&user, packed_of(s), received, way);
}

void pw_strategy_gpu_give(pw_stage *s)
{
    if (s->own)
        pw_gpu_give(s->place.gpu, s->own);
    else
        pw_pool_give(s->data, s->bytes);
}
