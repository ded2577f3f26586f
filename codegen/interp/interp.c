#include "codegen/interp/interp.h"

#include "codegen/interp/internal.h"

static void run_all(const pw_nest *nest, pw_direction direction, pw_addr mem, pw_addr packed, int64_t count)
{
    if (count > 0 && nest->size > 0)
        pw_run_objects(nest, direction, mem, packed, count);
}

static void run_range(const pw_nest *nest, pw_direction direction, pw_addr mem, pw_addr packed, int64_t first,
                      int64_t last)
{
    int64_t object, end;

    if (first >= last || nest->size == 0)
        return;
    packed -= (pw_addr)first; /* where packed byte 0 would be */
    object = first / nest->size;
    end = last / nest->size;
    if (object * nest->size < first || object == end) {
        int64_t start = object * nest->size, stop = last - start < nest->size ? last - start : nest->size;

        pw_range_object(nest, direction, mem + (pw_addr)object * (pw_addr)nest->extent, packed + (pw_addr)start,
                        first - start, stop, NULL, NULL);
        object++;
    }
    if (object < end)
        pw_run_objects(nest, direction, mem + (pw_addr)object * (pw_addr)nest->extent,
                       packed + (pw_addr)object * (pw_addr)nest->size, end - object);
    if (object <= end && end * nest->size < last)
        pw_range_object(nest, direction, mem + (pw_addr)end * (pw_addr)nest->extent,
                        packed + (pw_addr)end * (pw_addr)nest->size, 0, last - end * nest->size, NULL, NULL);
}

void pw_interp_pack(const pw_nest *nest, const void *mem, int64_t count, void *packed)
{
    run_all(nest, PW_PACK, (pw_addr)mem, (pw_addr)packed, count);
}

void pw_interp_unpack(const pw_nest *nest, void *mem, int64_t count, const void *packed)
{
    run_all(nest, PW_UNPACK, (pw_addr)mem, (pw_addr)packed, count);
}

void pw_interp_pack_range(const pw_nest *nest, const void *mem, int64_t count, int64_t first, int64_t last,
                          void *packed)
{
    (void)count;
    run_range(nest, PW_PACK, (pw_addr)mem, (pw_addr)packed, first, last);
}

void pw_interp_unpack_range(const pw_nest *nest, void *mem, int64_t count, int64_t first, int64_t last,
                            const void *packed)
{
    (void)count;
    run_range(nest, PW_UNPACK, (pw_addr)mem, (pw_addr)packed, first, last);
}

void pw_interp_range_by(const pw_nest *nest, pw_direction direction, void *mem, void *packed, int64_t first,
                        int64_t last, pw_interp_mover *move, const void *arg)
{
    pw_range_object(nest, direction, (pw_addr)mem, (pw_addr)packed - (pw_addr)first, first, last, move, arg);
}
