#include "runtime/mpi/strategy/mirror.h"

#include "runtime/engine/layout/layout.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/strategy/aware.h"

#include <string.h>

bool pw_mirror_is_needed(const pw_message *m)
{
    return m->buffer.place.kind == PW_PLACE_DEVICE && !pw_gpu_mpi_is_aware();
}

/* Finds the span from the lowest to the highest byte of all objects, relative to the first object's address. */
static bool span_of(const pw_staging *s, int64_t *lo, int64_t *bytes)
{
    const pw_nest *nest = s->buffer.layout->nest;
    int64_t last, hi;

    if (__builtin_mul_overflow(s->buffer.count - 1, s->buffer.layout->extent, &last) ||
        __builtin_add_overflow(nest->lo, last < 0 ? last : 0, lo) ||
        __builtin_add_overflow(nest->hi, last > 0 ? last : 0, &hi))
        return false;
    return !__builtin_sub_overflow(hi, *lo, bytes);
}

pw_status pw_mirror_open(pw_mirror *x, const pw_staging *s)
{
    int64_t lo;

    *x = (pw_mirror){.memory = NULL};
    if (!s->buffer.layout) {
        x->buf = (char *)s->data - s->buffer.offset;
        return PW_OK;
    }
    if (!span_of(s, &lo, &x->bytes))
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
