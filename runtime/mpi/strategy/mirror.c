/*
 * Mirrors: a buffer's copy in host memory, laid out as the buffer is, by way of a staging buffer. Gaps are zero when
 * a mirror is made, and are not copied back.
 */
#include "runtime/mpi/strategy/mirror.h"

#include "runtime/engine/layout/layout.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/strategy/aware.h"

#include <string.h>

bool pw_mirror_is_needed(const pw_message *m)
{
    return m->buffer.place.kind == PW_PLACE_DEVICE && !pw_gpu_mpi_is_aware();
}

pw_status pw_mirror_open(pw_mirror *x, const pw_staging *s)
{
    int64_t lo;

    *x = (pw_mirror){.memory = NULL};
    if (!s->buffer.layout) {
        x->buf = (char *)s->data - s->buffer.offset;
        return PW_OK;
    }
    if (!pw_layout_bounds(s->buffer.layout, s->buffer.count, &lo, &x->bytes))
        return PW_ERR_OVERFLOW;
    x->memory = pw_pool_take(x->bytes);
    if (!x->memory)
        return PW_ERR_NOMEM;
    memset(x->memory, 0, (size_t)x->bytes);
    x->buf = (char *)x->memory - lo;
    return PW_OK;
}

pw_status pw_mirror_pack(pw_mirror *x, pw_staging *s)
{
    pw_status status = pw_staging_pack(s);

    if (status == PW_OK && x->memory)
        pw_layout_unpack(s->buffer.layout, x->buf, s->buffer.count, s->data);
    return status;
}

pw_status pw_mirror_unpack(pw_mirror *x, pw_staging *s)
{
    if (x->memory)
        pw_layout_pack(s->buffer.layout, x->buf, s->buffer.count, s->data);
    return pw_staging_unpack(s, s->buffer.bytes);
}

void pw_mirror_close(pw_mirror *x)
{
    if (x->memory)
        pw_pool_give(x->memory, x->bytes);
    *x = (pw_mirror){.memory = NULL};
}
