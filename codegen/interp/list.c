/* Kernels for a table of offsets of blocks of one length. */
#include "codegen/interp/internal.h"

#define STEP(copy, k, mem_is_src)                       \
    do {                                                \
        pw_addr at = mem + scale * (pw_addr)entries[k]; \
                                                        \
        if (mem_is_src)                                 \
            copy(packed + (k) * stride, at, width);     \
        else                                            \
            copy(at, packed + (k) * stride, width);     \
    } while (0)

/* One kernel for a class of lengths, a width of entries and a direction. */
#define KERNEL(suffix, bits, name, mem_is_src)                                                  \
    static void name##_##suffix##_##bits(const pw_list *l)                                      \
    {                                                                                           \
        const uint##bits##_t *entries = (const uint##bits##_t *)l->table->data + l->first;      \
        const pw_addr mem = l->mem + (pw_addr)l->table->base, scale = (pw_addr)l->table->scale; \
        const pw_addr stride = (pw_addr)l->stride;                                              \
        const int64_t width = l->width;                                                         \
        pw_addr packed = l->packed;                                                             \
        int64_t n = l->n;                                                                       \
                                                                                                \
        for (; n >= 4; n -= 4) {                                                                \
            STEP(pw_copy_##suffix, 0, mem_is_src);                                              \
            STEP(pw_copy_##suffix, 1, mem_is_src);                                              \
            STEP(pw_copy_##suffix, 2, mem_is_src);                                              \
            STEP(pw_copy_##suffix, 3, mem_is_src);                                              \
            packed += 4 * stride;                                                               \
            entries += 4;                                                                       \
        }                                                                                       \
        for (; n > 0; n--) {                                                                    \
            STEP(pw_copy_##suffix, 0, mem_is_src);                                              \
            packed += stride;                                                                   \
            entries++;                                                                          \
        }                                                                                       \
    }

/* Copies long blocks, for which the look-up of offsets costs little. */
static void copy_any(const pw_list *l, pw_direction direction)
{
    pw_addr packed = l->packed;

    for (int64_t i = 0; i < l->n; i++) {
        pw_copy_block(direction, l->mem + (pw_addr)pw_table_get(l->table, l->first + i), packed, l->width);
        packed += (pw_addr)l->stride;
    }
}

#define X(suffix, min, max)            \
    KERNEL(suffix, 16, gather, true)   \
    KERNEL(suffix, 32, gather, true)   \
    KERNEL(suffix, 64, gather, true)   \
    KERNEL(suffix, 16, scatter, false) \
    KERNEL(suffix, 32, scatter, false) \
    KERNEL(suffix, 64, scatter, false)
PW_COPY_SHORT_CLASSES(X)
#undef X

void pw_list_copy(const pw_list *list, pw_direction direction)
{
    static void (*const kernels[][2][3])(const pw_list *) = {
#define X(suffix, min, max)                                              \
    {{gather_##suffix##_16, gather_##suffix##_32, gather_##suffix##_64}, \
     {scatter_##suffix##_16, scatter_##suffix##_32, scatter_##suffix##_64}},
        PW_COPY_SHORT_CLASSES(X)
#undef X
    };
    enum pw_copy_class class = pw_copy_class_of(list->width);

    if (class > PW_COPY_64)
        copy_any(list, direction);
    else
        kernels[class][direction == PW_UNPACK][list->table->width / 4](list);
}
