/* Kernels for one or two loops around a block of one length. */
#include "codegen/interp/internal.h"

/* The inner loop is unrolled by hand: compilers do not unroll loops of unknown length at this size. */
#define X(suffix, min, max)                                         \
    static void grid_##suffix(const pw_grid *g)                     \
    {                                                               \
        const pw_addr d1 = (pw_addr)g->dst1, s1 = (pw_addr)g->src1; \
        const int64_t n1 = g->n1, width = g->width;                 \
        pw_addr row_dst = g->dst, row_src = g->src;                 \
                                                                    \
        for (int64_t i = 0; i < g->n0; i++) {                       \
            pw_addr d = row_dst, s = row_src;                       \
            int64_t j = n1;                                         \
                                                                    \
            for (; j >= 4; j -= 4) {                                \
                pw_copy_##suffix(d, s, width);                      \
                pw_copy_##suffix(d + d1, s + s1, width);            \
                pw_copy_##suffix(d + 2 * d1, s + 2 * s1, width);    \
                pw_copy_##suffix(d + 3 * d1, s + 3 * s1, width);    \
                d += 4 * d1;                                        \
                s += 4 * s1;                                        \
            }                                                       \
            for (; j > 0; j--) {                                    \
                pw_copy_##suffix(d, s, width);                      \
                d += d1;                                            \
                s += s1;                                            \
            }                                                       \
            row_dst += (pw_addr)g->dst0;                            \
            row_src += (pw_addr)g->src0;                            \
        }                                                           \
    }
PW_COPY_CLASSES(X)
#undef X

typedef double pair8 __attribute__((vector_size(16), aligned(1), may_alias));

/* Elements of 8 bytes that become dense: two loads make one store. */
static void dense_8(const pw_grid *g)
{
    const pw_addr s1 = (pw_addr)g->src1;
    pw_addr row_dst = g->dst, row_src = g->src;

    for (int64_t i = 0; i < g->n0; i++) {
        pw_addr d = row_dst, s = row_src;
        int64_t j = g->n1;

        for (; j >= 4; j -= 4) {
            double v[4];

            pw_move((pw_addr)&v[0], s, 8);
            pw_move((pw_addr)&v[1], s + s1, 8);
            pw_move((pw_addr)&v[2], s + 2 * s1, 8);
            pw_move((pw_addr)&v[3], s + 3 * s1, 8);
            *(pair8 *)d = (pair8){v[0], v[1]};
            *(pair8 *)(d + 16) = (pair8){v[2], v[3]};
            d += 32;
            s += 4 * s1;
        }
        for (; j > 0; j--) {
            pw_move(d, s, 8);
            d += 8;
            s += s1;
        }
        row_dst += (pw_addr)g->dst0;
        row_src += (pw_addr)g->src0;
    }
}

PW_INLINE bool is_far(int64_t stride, int64_t limit)
{
    return stride >= limit || stride <= -limit;
}

/*
 * Lines a multiple of 512 bytes apart share few sets of the first-level cache. Zen 4 then stores twice as fast when
 * two stores go to each line, so blocks of one store take kernels that make two moves, unless there are
 * more lines than TWICE_LINES, where it costs.
 * Gathering from afar is bound by misses, which the plain loop overlaps better than the one that pairs loads.
 */
enum { SET_STRIDE = 512, TWICE_LINES = 1 << 15, AFAR = 512 };

static enum pw_copy_class choose_class(const pw_grid *grid)
{
    if (grid->dst1 % SET_STRIDE != 0 || grid->n0 <= 0 || grid->n1 > TWICE_LINES / grid->n0)
        return pw_copy_class_of(grid->width);
    switch (grid->width) {
    case 1:
    case 2: return PW_COPY_ends;
    case 4:
    case 8: return PW_COPY_7;
    case 16: return PW_COPY_15;
    default: return pw_copy_class_of(grid->width);
    }
}

void pw_grid_copy(const pw_grid *grid)
{
    static void (*const kernels[PW_COPY_COUNT])(const pw_grid *) = {
#define X(suffix, min, max) [PW_COPY_##suffix] = grid_##suffix,
        PW_COPY_CLASSES(X)
#undef X
    };

    if (grid->width == 8 && grid->dst1 == 8 && !is_far(grid->src1, AFAR))
        dense_8(grid);
    else
        kernels[choose_class(grid)](grid);
}
