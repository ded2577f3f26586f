/* Kernels for blocks of varying length. */
#include "codegen/interp/internal.h"

#define KERNEL(offs_bits, starts_bits, name, mem_is_src)                                                \
    static void name##_##offs_bits##_##starts_bits(const pw_block_list *b, pw_addr mem, pw_addr packed) \
    {                                                                                                   \
        const uint##offs_bits##_t *offs = b->offs.data;                                                 \
        const uint##starts_bits##_t *starts = b->starts.data;                                           \
        const pw_addr scale = (pw_addr)b->offs.scale, unit = (pw_addr)b->starts.scale;                  \
        pw_addr at = packed;                                                                            \
                                                                                                        \
        mem += (pw_addr)b->offs.base;                                                                   \
        for (int64_t i = 0; i < b->n; i++) {                                                            \
            pw_addr end = packed + unit * (pw_addr)starts[i + 1];                                       \
            pw_addr block = mem + scale * (pw_addr)offs[i];                                             \
                                                                                                        \
            if (mem_is_src)                                                                             \
                pw_copy(at, block, (int64_t)(end - at));                                                \
            else                                                                                        \
                pw_copy(block, at, (int64_t)(end - at));                                                \
            at = end;                                                                                   \
        }                                                                                               \
    }

#define KERNELS(offs_bits, starts_bits)          \
    KERNEL(offs_bits, starts_bits, gather, true) \
    KERNEL(offs_bits, starts_bits, scatter, false)

KERNELS(16, 16)
KERNELS(16, 32)
KERNELS(32, 16)
KERNELS(32, 32)

static int64_t start_of(const pw_block_list *b, int64_t i)
{
    return pw_table_get(&b->starts, i);
}

/* Copies blocks of any mixture of lengths. */
static void copy_wide(const pw_block_list *b, pw_direction direction, pw_addr mem, pw_addr packed)
{
    for (int64_t i = 0; i < b->n; i++)
        pw_copy_block(direction, mem + (pw_addr)pw_table_get(&b->offs, i), packed + (pw_addr)start_of(b, i),
                      start_of(b, i + 1) - start_of(b, i));
}

/* Both ends by tables. */
static void copy_joined(const pw_block_list *b, pw_direction direction, pw_addr mem, pw_addr packed)
{
    int64_t end = start_of(b, 0);

    for (int64_t i = 0; i < b->n; i++) {
        int64_t start = end;

        end = start_of(b, i + 1);
        pw_copy_block(direction, mem + (pw_addr)pw_table_get(&b->offs, i),
                      packed + (pw_addr)pw_table_get(&b->packed_offs, i), end - start);
    }
}

void pw_blocks_copy(const pw_block_list *blocks, pw_direction direction, pw_addr mem, pw_addr packed)
{
    static void (*const kernels[2][2][2])(const pw_block_list *, pw_addr, pw_addr) = {
        {{gather_16_16, gather_16_32}, {gather_32_16, gather_32_32}},
        {{scatter_16_16, scatter_16_32}, {scatter_32_16, scatter_32_32}},
    };

    if (blocks->packed_offs.data)
        copy_joined(blocks, direction, mem, packed);
    else if (blocks->offs.width > 4 || blocks->starts.width > 4 || blocks->starts.base != 0)
        copy_wide(blocks, direction, mem, packed);
    else
        kernels[direction == PW_UNPACK][blocks->offs.width == 4][blocks->starts.width == 4](blocks, mem, packed);
}

int64_t pw_blocks_find(const pw_block_list *b, int64_t at)
{
    int64_t lo = 0, hi = b->n - 1;

    while (lo < hi) {
        int64_t mid = lo + (hi - lo + 1) / 2;

        if (start_of(b, mid) <= at)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

void pw_blocks_range(const pw_block_list *blocks, pw_direction direction, pw_addr mem, pw_addr packed, int64_t i,
                     int64_t first, int64_t last)
{
    for (; first < last; i++) {
        int64_t start = start_of(blocks, i), end = start_of(blocks, i + 1);

        end = end < last ? end : last;
        pw_copy_block(direction, mem + (pw_addr)pw_table_get(&blocks->offs, i) + (pw_addr)(first - start),
                      packed + (pw_addr)first, end - first);
        first = end;
    }
}
