/* Transposes of small elements in tiles. */
#include "codegen/interp/internal.h"

/* Vectors for in-register transposes, at any address. */
typedef double pair8 __attribute__((vector_size(16), aligned(1), may_alias));
typedef float quad4 __attribute__((vector_size(16), aligned(1), may_alias));

PW_INLINE pair8 *pair_at(pw_addr a)
{
    return (pair8 *)a;
}

PW_INLINE quad4 *quad_at(pw_addr a)
{
    return (quad4 *)a;
}

/* 2 x 2 elements of 8 bytes: dst is dense along loop 1, src along loop 0. Bits are only moved. */
PW_INLINE void transpose_8(pw_addr dst, pw_addr src, pw_addr dst0, pw_addr src1)
{
    pair8 a = *pair_at(src), b = *pair_at(src + src1);

    *pair_at(dst) = __builtin_shufflevector(a, b, 0, 2);
    *pair_at(dst + dst0) = __builtin_shufflevector(a, b, 1, 3);
}

/* 4 x 4 elements of 4 bytes. */
PW_INLINE void transpose_4(pw_addr dst, pw_addr src, pw_addr dst0, pw_addr src1)
{
    quad4 a = *quad_at(src), b = *quad_at(src + src1), c = *quad_at(src + 2 * src1), d = *quad_at(src + 3 * src1);
    quad4 ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    quad4 ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);

    *quad_at(dst) = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    *quad_at(dst + dst0) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    *quad_at(dst + 2 * dst0) = __builtin_shufflevector(ab2, cd2, 0, 1, 4, 5);
    *quad_at(dst + 3 * dst0) = __builtin_shufflevector(ab2, cd2, 2, 3, 6, 7);
}

/* Moves the part of the grid from (i, j) on, n0 x n1. */
static void rest(const pw_grid *g, int64_t i, int64_t j, int64_t n0, int64_t n1)
{
    pw_grid r = *g;

    if (n0 <= 0 || n1 <= 0)
        return;
    r.dst += (pw_addr)i * (pw_addr)g->dst0 + (pw_addr)j * (pw_addr)g->dst1;
    r.src += (pw_addr)i * (pw_addr)g->src0 + (pw_addr)j * (pw_addr)g->src1;
    r.n0 = n0;
    r.n1 = n1;
    pw_grid_copy(&r);
}

/* Moves one tile in blocks of k x k elements of `bytes`; what is left over goes element by element. */
#define TILE(k, bytes)                                                                     \
    static void tile_##bytes(const pw_grid *g)                                             \
    {                                                                                      \
        const pw_addr dst0 = (pw_addr)g->dst0, src1 = (pw_addr)g->src1;                    \
        const int64_t n0 = g->n0 - g->n0 % (k), n1 = g->n1 - g->n1 % (k);                  \
                                                                                           \
        for (int64_t i = 0; i < n0; i += (k)) {                                            \
            pw_addr dst = g->dst + (pw_addr)i * dst0, src = g->src + (pw_addr)i * (bytes); \
                                                                                           \
            for (int64_t j = 0; j < n1; j += (k)) {                                        \
                transpose_##bytes(dst, src, dst0, src1);                                   \
                dst += (k) * (bytes);                                                      \
                src += (k) * src1;                                                         \
            }                                                                              \
        }                                                                                  \
        rest(g, 0, n1, g->n0, g->n1 - n1);                                                 \
        rest(g, n0, 0, g->n0 - n0, n1);                                                    \
    }

TILE(2, 8)
TILE(4, 4)

static void (*tile_kernel(const pw_grid *g))(const pw_grid *)
{
    if (g->dst1 != g->width || g->src0 != g->width)
        return pw_grid_copy;
    return g->width == 8 ? tile_8 : g->width == 4 ? tile_4 : pw_grid_copy;
}

/*
 * Tiles read long pieces of a row, so that what comes from far comes in few requests, and write about a line, which
 * is full before the next one is begun: rows that are a power of two apart share the few ways of a set, and only
 * the rows that are read need to stay. Elements of 16 bytes and more fill lines sooner and want more rows at once.
 * Where one loop is short, the other makes up for it.
 */
enum {
    READ_BYTES = 1024,
    READ_MIN = 16,
    READ_MAX = 128,
    WRITE_BYTES = 64,
    WRITE_MIN = 8,
    WIDE_MIN = 16,
    LONG_MAX = 512
};

static int64_t clamp(int64_t v, int64_t min, int64_t max)
{
    return v < min ? min : v > max ? max : v;
}

static void tile_sizes(const pw_grid *g, int64_t *t0, int64_t *t1)
{
    *t0 = clamp(READ_BYTES / g->width, READ_MIN, READ_MAX);
    *t1 = clamp(WRITE_BYTES / g->width, g->width < 16 ? WRITE_MIN : WIDE_MIN, WRITE_BYTES);
    if (g->n0 < *t0)
        *t1 = clamp(*t1 * (*t0 / g->n0), *t1, LONG_MAX);
    else if (g->n1 < *t1)
        *t0 = clamp(*t0 * (*t1 / g->n1), *t0, LONG_MAX);
}

void pw_tile_copy(const pw_grid *grid)
{
    void (*kernel)(const pw_grid *) = tile_kernel(grid);
    int64_t tile0, tile1;

    tile_sizes(grid, &tile0, &tile1);
    for (int64_t i = 0; i < grid->n0; i += tile0) {
        pw_grid t = *grid;

        t.n0 = grid->n0 - i < tile0 ? grid->n0 - i : tile0;
        t.dst += (pw_addr)i * (pw_addr)grid->dst0;
        t.src += (pw_addr)i * (pw_addr)grid->src0;
        for (int64_t j = 0; j < grid->n1; j += tile1) {
            t.n1 = grid->n1 - j < tile1 ? grid->n1 - j : tile1;
            kernel(&t);
            t.dst += (pw_addr)tile1 * (pw_addr)grid->dst1;
            t.src += (pw_addr)tile1 * (pw_addr)grid->src1;
        }
    }
}
