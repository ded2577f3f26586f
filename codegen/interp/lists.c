/*
 * Blocks of one length at a table's offsets on both sides, which joined nests have. Entries are decoded some at a time,
 * which takes a loop for each width of entries rather than a kernel for each pair of widths.
 */
#include "codegen/interp/internal.h"

enum { DECODED = 64 };

#define DECODE(bits)                                                                                  \
    static void decode_##bits(const pw_table *t, int64_t first, int64_t n, pw_addr side, pw_addr *at) \
    {                                                                                                 \
        const uint##bits##_t *entries = (const uint##bits##_t *)t->data + first;                      \
        const pw_addr scale = (pw_addr)t->scale;                                                      \
                                                                                                      \
        side += (pw_addr)t->base;                                                                     \
        for (int64_t i = 0; i < n; i++)                                                               \
            at[i] = side + scale * (pw_addr)entries[i];                                               \
    }
DECODE(16)
DECODE(32)
DECODE(64)

/* The addresses of blocks [first, first + n). */
static void decode(const pw_table *t, int64_t first, int64_t n, pw_addr side, pw_addr *at)
{
    switch (t->width) {
    case 2: decode_16(t, first, n, side, at); break;
    case 4: decode_32(t, first, n, side, at); break;
    default: decode_64(t, first, n, side, at); break;
    }
}

#define X(suffix, min, max)                                                                     \
    static void move_##suffix(const pw_addr *dst, const pw_addr *src, int64_t n, int64_t width) \
    {                                                                                           \
        for (int64_t i = 0; i < n; i++)                                                         \
            pw_copy_##suffix(dst[i], src[i], width);                                            \
    }
PW_COPY_CLASSES(X)
#undef X

void pw_lists_copy(const pw_lists *l)
{
    static void (*const kernels[PW_COPY_COUNT])(const pw_addr *, const pw_addr *, int64_t, int64_t) = {
#define X(suffix, min, max) [PW_COPY_##suffix] = move_##suffix,
        PW_COPY_CLASSES(X)
#undef X
    };
    void (*kernel)(const pw_addr *, const pw_addr *, int64_t, int64_t) = kernels[pw_copy_class_of(l->width)];
    pw_addr dst[DECODED], src[DECODED];

    for (int64_t done = 0; done < l->n; done += DECODED) {
        int64_t n = l->n - done < DECODED ? l->n - done : DECODED;

        decode(l->dst_table, l->first + done, n, l->dst, dst);
        decode(l->src_table, l->first + done, n, l->src, src);
        kernel(dst, src, n, l->width);
    }
}
