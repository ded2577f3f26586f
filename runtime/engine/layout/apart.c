/*
 * From which number on objects of a layout certainly write on each other. MPI calls unpacking such objects erroneous,
 * yet MPI libraries unpack one after another, the last one wins, and programs rely on it. Nests may have their loops in
 * any order, so such objects are moved in pieces of as many as lie apart.
 */
#include "runtime/engine/layout/internal.h"

enum { MOST_STEPS = 16 /* of a loop, that are looked at */ };

static int64_t magnitude(int64_t v)
{
    return v == INT64_MIN ? INT64_MAX : v < 0 ? -v : v;
}

/* Returns the least number i >= 1 so that object i has a block of `bytes` bytes on one that lies `far` from the first
 * of object 0; INT64_MAX: there is none. */
static int64_t meets(int64_t extent, int64_t far, int64_t bytes)
{
    int64_t i = far < bytes ? 1 : (far - bytes) / extent + 1, at;

    return __builtin_mul_overflow(i, extent, &at) || magnitude(at - far) >= bytes ? INT64_MAX : i;
}

static int64_t apart_in(const pw_region *r, int64_t extent)
{
    int64_t bytes = r->pieces[0].bytes, apart = meets(extent, 0, bytes);

    for (int d = 0; d < r->ndims; d++) {
        const pw_dim *dim = &r->dims[d];

        for (int64_t k = 1; !dim->is_object && !dim->table && k < dim->count && k <= MOST_STEPS; k++) {
            int64_t far;

            if (__builtin_mul_overflow(k, magnitude(dim->mem_stride), &far))
                break;
            apart = pw_layout_least(apart, meets(extent, far, bytes));
        }
    }
    return apart;
}

int64_t pw_layout_objects_apart(const pw_nest *nest)
{
    int64_t extent = magnitude(nest->extent), apart = INT64_MAX;

    if (nest->joined)
        return INT64_MAX;
    if (extent == 0)
        return 1;
    for (int i = 0; i < nest->nregions; i++)
        if (nest->regions[i].npieces > 0)
            apart = pw_layout_least(apart, apart_in(&nest->regions[i], extent));
    return apart;
}
