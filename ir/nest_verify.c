/* Checks every invariant of a nest; names the region and the reason. */
#include "ir/nest_build.h"

#include <inttypes.h>

/* Where a failure is described: the region under test. */
typedef struct checker {
    const pw_nest *nest;
    pw_diag *diag;
    int region;
} checker;

#define require(c, condition, text)                                                                  \
    do {                                                                                             \
        if (!(condition))                                                                            \
            return pw_diag_set((c)->diag, PW_ERR_INVALID, "nest.region[%d]: %s", (c)->region, text); \
    } while (0)

#define TRY(call)                \
    do {                         \
        pw_status try_ = (call); \
        if (try_ != PW_OK)       \
            return try_;         \
    } while (0)

static bool is_small_power(int64_t v)
{
    return v == 1 || v == 2 || v == 4 || v == 8 || v == 16;
}

static pw_status check_table(checker *c, const pw_table *t, int64_t n)
{
    require(c, t->width == 2 || t->width == 4 || t->width == 8, "a table's width is not 2, 4 or 8");
    require(c, t->width < 8 || (t->base == 0 && t->scale == 1), "a table of 64-bit entries has base or scale");
    require(c, t->n == n, "a table's length is not its loop's count");
    require(c, n == 0 || t->data, "a table has no entries");
    return PW_OK;
}

static pw_status check_dims(checker *c, const pw_region *r)
{
    int objects = 0;

    require(c, r->ndims >= 0 && r->ndims <= PW_NEST_MAX_DIMS, "number of loops out of range");
    for (int i = 0; i < r->ndims; i++) {
        const pw_dim *d = &r->dims[i];

        if (d->is_object) {
            objects++;
            require(c, !pw_dim_has_table(d), "the loop over objects has a table");
            require(c, d->mem_stride == c->nest->extent && d->packed_stride == c->nest->packed_extent,
                    "the loop over objects does not step by extent and size");
            continue;
        }
        require(c, d->count >= 1, "a loop's count is not positive");
        require(c, !d->table || d->mem_stride == 0, "a loop has a stride and a table");
        require(c, !d->packed_table || d->packed_stride == 0, "a loop has a packed stride and a packed table");
        require(c, !d->packed_table || c->nest->joined, "a packed table, but the nest is not joined");
        if (d->table)
            TRY(check_table(c, d->table, d->count));
        if (d->packed_table)
            TRY(check_table(c, d->packed_table, d->count));
    }
    require(c, objects == (c->nest->object_outer ? 0 : 1), "wrong number of loops over objects");
    return PW_OK;
}

static pw_status check_pieces(checker *c, const pw_region *r)
{
    int64_t at = 0;

    for (int i = 0; i < r->npieces; i++) {
        const pw_piece *p = &r->pieces[i];

        require(c, p->bytes >= 1, "an empty piece");
        require(c, p->packed_off == at || c->nest->joined, "pieces do not follow each other in packed order");
        require(c, !__builtin_add_overflow(at, p->bytes, &at), "a leaf's size overflows");
        require(c, r->word >= 1 && p->bytes % r->word == 0, "word does not divide a piece");
    }
    require(c, at == r->leaf_size, "leaf size is not the sum of its pieces");
    return PW_OK;
}

static pw_status check_blocks(checker *c, const pw_region *r)
{
    const pw_block_list *b = r->blocks;

    require(c, b->n >= 1, "an empty list of blocks");
    TRY(check_table(c, &b->offs, b->n));
    TRY(check_table(c, &b->starts, b->n + 1));
    require(c, (b->packed_offs.data != NULL) == c->nest->joined, "packed offsets of blocks belong to joined nests");
    if (b->packed_offs.data)
        TRY(check_table(c, &b->packed_offs, b->n));
    require(c, pw_table_get(&b->starts, 0) == 0, "the first block does not start at 0");
    for (int64_t i = 0; i < b->n; i++)
        require(c, pw_table_get(&b->starts, i) < pw_table_get(&b->starts, i + 1), "a block is empty");
    require(c, pw_table_get(&b->starts, b->n) == r->leaf_size, "leaf size is not the sum of its blocks");
    return PW_OK;
}

/* Packed side: loops in descending stride enclose each other, inside the region's object. Adds to *total. */
static pw_status check_packed(checker *c, const pw_region *r, int64_t *total)
{
    int order[PW_NEST_MAX_DIMS];
    int64_t span = r->leaf_size, bytes = r->leaf_size, end;

    pw_region_packed_order(r, order);
    for (int k = r->ndims - 1; k >= 0; k--) {
        const pw_dim *d = &r->dims[order[k]];
        int64_t reach;

        require(c, d->is_object || d->count == 1 || d->packed_stride >= span,
                "packed strides do not enclose what is below them");
        if (d->is_object)
            continue;
        require(c,
                !__builtin_mul_overflow(d->count - 1, d->packed_stride, &reach) &&
                    !__builtin_add_overflow(span, reach, &span) && !__builtin_mul_overflow(bytes, d->count, &bytes),
                "packed size overflows");
    }
    require(c, r->packed_off >= 0 && !__builtin_add_overflow(r->packed_off, span, &end) && end <= c->nest->size,
            "packed bytes outside the object");
    require(c, !__builtin_add_overflow(*total, bytes, total), "packed size overflows");
    return PW_OK;
}

/* Adds the bytes that the region of a joined nest moves for an object to *total. */
static pw_status check_bytes(checker *c, const pw_region *r, int64_t *total)
{
    int64_t bytes = r->leaf_size;

    for (int i = 0; i < r->ndims; i++)
        if (!r->dims[i].is_object)
            require(c, !__builtin_mul_overflow(bytes, r->dims[i].count, &bytes), "size overflows");
    require(c, !__builtin_add_overflow(*total, bytes, total), "size overflows");
    return PW_OK;
}

static void widen(int64_t *lo, int64_t *hi, int64_t min, int64_t max)
{
    *lo = pw_wrap_add(*lo, min);
    *hi = pw_wrap_add(*hi, max);
}

/* One side of a region. */
typedef enum side { MEMORY, PACKED } side;

static int64_t leaf_offset(const pw_region *r, side at, int64_t i)
{
    if (r->blocks)
        return at == MEMORY ? pw_table_get(&r->blocks->offs, i) : pw_block_packed_offset(r->blocks, i);
    return at == MEMORY ? r->pieces[i].mem_off : r->pieces[i].packed_off;
}

static void leaf_bounds(const pw_region *r, side at, int64_t *lo, int64_t *hi)
{
    int64_t n = r->blocks ? r->blocks->n : r->npieces;

    *lo = INT64_MAX;
    *hi = INT64_MIN;
    for (int64_t i = 0; i < n; i++) {
        int64_t off = leaf_offset(r, at, i);
        int64_t len = r->blocks ? pw_table_get(&r->blocks->starts, i + 1) - pw_table_get(&r->blocks->starts, i)
                                : r->pieces[i].bytes;
        int64_t end = pw_wrap_add(off, len);

        *lo = off < *lo ? off : *lo;
        *hi = end > *hi ? end : *hi;
    }
}

static void region_bounds(const pw_region *r, side at, int64_t *lo, int64_t *hi)
{
    int64_t origin = at == MEMORY ? r->mem_off : r->packed_off;

    leaf_bounds(r, at, lo, hi);
    widen(lo, hi, origin, origin);
    for (int i = 0; i < r->ndims; i++) {
        const pw_dim *d = &r->dims[i];
        const pw_table *table = at == MEMORY ? d->table : d->packed_table;
        int64_t min = 0, max;

        if (d->is_object)
            continue;
        if (table) {
            pw_table_bounds(table, &min, &max);
        } else {
            max = pw_wrap_mul(d->count - 1, at == MEMORY ? d->mem_stride : d->packed_stride);
            if (max < 0) {
                min = max;
                max = 0;
            }
        }
        widen(lo, hi, min, max);
    }
}

static pw_status check_alignment(checker *c, const pw_region *r)
{
    int64_t mem, packed;

    require(c, is_small_power(r->align) && is_small_power(r->packed_align) && is_small_power(r->word),
            "an alignment is not 1, 2, 4, 8 or 16");
    pw_region_offset_bits(c->nest, r, &mem, &packed);
    require(c, (mem & (r->align - 1)) == 0, "align does not hold");
    require(c, (packed & (r->packed_align - 1)) == 0, "packed_align does not hold");
    return PW_OK;
}

static pw_status check_tile(checker *c, const pw_region *r)
{
    if (r->tile_outer == 0 && r->tile_inner == 0)
        return PW_OK;
    require(c, r->tile_outer > 0 && r->tile_inner > 0, "half a tile");
    require(c, r->ndims >= 2 && r->npieces == 1, "a tile needs two loops and one piece");
    require(c, !pw_dim_has_table(&r->dims[r->ndims - 1]) && !pw_dim_has_table(&r->dims[r->ndims - 2]),
            "a tiled loop has a table");
    return PW_OK;
}

static pw_status check_region(checker *c, const pw_region *r, int64_t *total)
{
    TRY(check_dims(c, r));
    require(c, (r->npieces > 0) != (r->blocks != NULL), "a leaf is either pieces or a list of blocks");
    TRY(r->blocks ? check_blocks(c, r) : check_pieces(c, r));
    TRY(c->nest->joined ? check_bytes(c, r, total) : check_packed(c, r, total));
    TRY(check_alignment(c, r));
    return check_tile(c, r);
}

/* Do the regions touch what the nest says that they touch? */
static pw_status check_bounds(const pw_nest *nest, side at, int64_t say_lo, int64_t say_hi, pw_diag *diag)
{
    int64_t lo = INT64_MAX, hi = INT64_MIN;

    for (int i = 0; i < nest->nregions; i++) {
        int64_t l, h;

        region_bounds(&nest->regions[i], at, &l, &h);
        lo = l < lo ? l : lo;
        hi = h > hi ? h : hi;
    }
    if (nest->nregions > 0 && (lo != say_lo || hi != say_hi))
        return pw_diag_set(diag, PW_ERR_INVALID,
                           "nest: regions touch [%" PRId64 ", %" PRId64 ")%s, bounds say [%" PRId64 ", %" PRId64 ")",
                           lo, hi, at == PACKED ? " of the destination" : "", say_lo, say_hi);
    return PW_OK;
}

pw_status pw_nest_verify(const pw_nest *nest, pw_diag *diag)
{
    checker c = {.nest = nest, .diag = diag};
    int64_t total = 0;

    if (!nest->joined && nest->packed_extent != nest->size)
        return pw_diag_set(diag, PW_ERR_INVALID, "nest: packed objects are not their size apart");
    if (nest->nregions < 0 || (nest->nregions > 1 && !nest->object_outer))
        return pw_diag_set(diag, PW_ERR_INVALID, "nest: several regions without object_outer");
    for (c.region = 0; c.region < nest->nregions; c.region++)
        TRY(check_region(&c, &nest->regions[c.region], &total));
    if (total != nest->size)
        return pw_diag_set(diag, PW_ERR_INVALID, "nest: regions move %" PRId64 " bytes of %" PRId64, total, nest->size);
    TRY(check_bounds(nest, MEMORY, nest->lo, nest->hi, diag));
    return nest->joined ? check_bounds(nest, PACKED, nest->packed_lo, nest->packed_hi, diag) : PW_OK;
}
