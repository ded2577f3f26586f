/* Subarrays (MPI 4.0 section 5.1.3): one stream a dimension, fastest dimension innermost. */
#include "frontend/combiner_internal.h"

static bool fits(int64_t size, int64_t subsize, int64_t start)
{
    return size >= 0 && subsize >= 0 && start >= 0 && subsize <= size && start <= size - subsize;
}

pw_dt pw_dt_subarray(pw_builder *b, int64_t ndims, const int64_t *sizes, const int64_t *subsizes, const int64_t *starts,
                     pw_order order, pw_dt old)
{
    if (ndims < 1)
        return pw_dt_fail(b, PW_ERR_INVALID);
    const pw_node *node = old.node;
    int64_t pitch = pw_dt_extent(&old); /* between neighbours in the current dimension */
    int64_t origin = 0;
    for (int64_t k = 0; k < ndims; k++) {
        int64_t d = order == PW_ORDER_FORTRAN ? k : ndims - 1 - k;
        if (!fits(sizes[d], subsizes[d], starts[d]))
            return pw_dt_fail(b, PW_ERR_INVALID);
        if (subsizes[d] != 1)
            node = pw_build_stream(b, subsizes[d], pitch, node);
        origin = pw_dt_add(b, origin, pw_dt_mul(b, starts[d], pitch));
        pitch = pw_dt_mul(b, pitch, sizes[d]);
    }
    pw_dt_bounds bounds = {.lb = 0, .ub = pitch, .any = true, .marked = true};
    return pw_dt_make(b, pw_build_shift(b, origin, node), &bounds, old.align);
}
