/*
 * Views: what a pw_buffer says of its bytes. Objects of a contiguous layout are dense, as bytes without a layout are.
 */
#ifndef PW_RUNTIME_VIEW_H
#define PW_RUNTIME_VIEW_H

#include "runtime/engine/layout/layout.h"
#include "runtime/engine/memory/buffer.h"

/* Whether the bytes follow each other in packed order, from pw_view_first on. */
static inline bool pw_view_is_dense(const pw_buffer *v)
{
    return !v->layout || v->layout->contiguous;
}

/* The lowest byte of the first object; of a dense view its first byte. */
static inline char *pw_view_first(const pw_buffer *v)
{
    return (char *)v->base + (v->layout ? v->layout->nest->lo : v->offset);
}

/* The address from which the displacements of a layout count; the first byte where there is no layout. */
static inline char *pw_view_origin(const pw_buffer *v)
{
    return v->layout ? v->base : pw_view_first(v);
}

/* The same bytes without the layout if they are dense. */
static inline pw_buffer pw_view_plain(pw_buffer v)
{
    if (v.layout && v.layout->contiguous) {
        v.offset = v.layout->nest->lo;
        v.layout = NULL;
    }
    return v;
}

/* Finds the bytes from the lowest to the highest that the view touches: *bytes of them, *lo from its base on. False:
 * there are none, or 64 bits do not hold these numbers. */
static inline bool pw_view_bounds(const pw_buffer *v, int64_t *lo, int64_t *bytes)
{
    *lo = v->offset;
    *bytes = v->bytes;
    return (!v->layout || pw_layout_bounds(v->layout, v->count, lo, bytes)) && *bytes > 0;
}

#endif
