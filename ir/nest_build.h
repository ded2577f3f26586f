/* What lowering and the nest passes need besides ir/nest.h: making tables and looking at regions. */
#ifndef PW_IR_NEST_BUILD_H
#define PW_IR_NEST_BUILD_H

#include "ir/nest.h"

/* A table of n 64-bit offsets that borrows `values`. */
pw_table pw_table_borrow(int64_t n, const int64_t *values);

/* A table of n offsets in `arena`, as narrow as it can be. PW_ERR_NOMEM only. */
pw_status pw_table_narrow(int64_t n, const int64_t *values, pw_arena *arena, pw_table *out);

/* The table of the sums of the first 0, 1, … n lengths (at least 0), in `arena`, as narrow as it can be. PW_ERR_NOMEM
 * only. */
pw_status pw_table_sums(int64_t n, const int64_t *lens, pw_arena *arena, pw_table *out);

/* The length that n blocks (n > 0, all longer than 0) are cut to so that they have equal lengths, if each then becomes
 * at most `most` blocks in the mean; else 0. Blocks of unpredictable lengths cost a mispredicted branch each, in the
 * time of which several short blocks of one length are moved. */
int64_t pw_cut_length(int64_t n, const int64_t *lens, int64_t most);

/* Smallest and largest value; 0 and 0 when there are none. */
void pw_table_bounds(const pw_table *t, int64_t *min, int64_t *max);

/* Offsets relative to an origin may wrap on the way (see ir/walk.c); these add and multiply without overflow. */
static inline int64_t pw_wrap_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t pw_wrap_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Memory offset of iteration i of a loop. */
static inline int64_t pw_dim_offset(const pw_dim *d, int64_t i)
{
    return d->table ? pw_table_get(d->table, i) : pw_wrap_mul(i, d->mem_stride);
}

/* Packed offset of iteration i of a loop. */
static inline int64_t pw_dim_packed_offset(const pw_dim *d, int64_t i)
{
    return d->packed_table ? pw_table_get(d->packed_table, i) : pw_wrap_mul(i, d->packed_stride);
}

static inline bool pw_dim_has_table(const pw_dim *d)
{
    return d->table || d->packed_table;
}

/* Packed offset of a block within its leaf. */
static inline int64_t pw_block_packed_offset(const pw_block_list *b, int64_t i)
{
    return pw_table_get(b->packed_offs.data ? &b->packed_offs : &b->starts, i);
}

/* The numbers of which every offset of the region in memory, and every one on the packed side, is a sum, or-ed
 * together: a power of two divides all of these offsets if it divides the result. */
void pw_region_offset_bits(const pw_nest *nest, const pw_region *r, int64_t *mem, int64_t *packed);

/* A nest in `arena`, which it then owns, of `n` regions without a loop over the objects. They are copied, their loops
 * are not; a single region gets that loop, outermost, for which its `dims` have room. `object` says what else a nest
 * has. PW_ERR_NOMEM only. */
pw_status pw_nest_create(pw_arena *arena, const pw_nest *object, const pw_region *regions, int n, pw_nest **out);

static inline void pw_region_remove_dim(pw_region *r, int i)
{
    r->ndims--;
    for (; i < r->ndims; i++)
        r->dims[i] = r->dims[i + 1];
}

/* Indices of the region's loops in descending order of packed stride (stable); `order` has r->ndims entries. */
void pw_region_packed_order(const pw_region *r, int *order);

#endif
