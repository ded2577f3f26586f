/* The hash of a shape, over its fields; and its size. */
#include "base/hash_words.h"
#include "codegen/shape_internal.h"

static void add_num(pw_hash_words *h, pw_num n)
{
    pw_hash_word(h, n.slot);
    pw_hash_word(h, n.value); /* the value does not count if there is a slot */
}

static void add_table(pw_hash_words *h, const pw_shape_table *t)
{
    pw_hash_word(h, t->slot);
    pw_hash_word(h, t->width);
    add_num(h, t->scale);
    add_num(h, t->base);
}

static void add_dim(pw_hash_words *h, const pw_shape_dim *d)
{
    pw_hash_word(h, d->is_object);
    add_num(h, d->count);
    pw_hash_word(h, (d->table.slot >= 0) + 2 * (d->packed_table.width > 0));
    if (d->table.slot >= 0)
        add_table(h, &d->table);
    else
        add_num(h, d->mem_stride);
    add_num(h, d->packed_stride);
    if (d->packed_table.width > 0)
        add_table(h, &d->packed_table);
}

static void add_leaf(pw_hash_words *h, const pw_shape_region *r)
{
    pw_hash_word(h, r->npieces);
    for (int i = 0; i < r->npieces; i++) {
        add_num(h, r->pieces[i].mem_off);
        add_num(h, r->pieces[i].packed_off);
        add_num(h, r->pieces[i].bytes);
    }
    if (r->npieces == 0) {
        add_num(h, r->nblocks);
        add_table(h, &r->block_offs);
        add_table(h, &r->block_starts);
        if (r->block_packed.width > 0)
            add_table(h, &r->block_packed);
    }
}

static void add_region(pw_hash_words *h, const pw_shape_region *r)
{
    add_num(h, r->mem_off);
    add_num(h, r->packed_off);
    add_num(h, r->leaf_size);
    pw_hash_word(h, r->word);
    pw_hash_word(h, r->align);
    pw_hash_word(h, r->packed_align);
    pw_hash_word(h, r->tile_outer);
    pw_hash_word(h, r->tile_inner);
    pw_hash_word(h, r->ndims);
    for (int i = 0; i < r->ndims; i++)
        add_dim(h, &r->dims[i]);
    add_leaf(h, r);
}

pw_hash pw_shape_hash(const pw_shape *shape)
{
    pw_hash_words h = {.n = 0};
    add_num(&h, shape->size);
    add_num(&h, shape->extent);
    add_num(&h, shape->stream_bytes);
    pw_hash_word(&h, shape->object_outer + 2 * shape->joined);
    if (shape->joined)
        add_num(&h, shape->packed_extent);
    pw_hash_word(&h, shape->nregions);
    for (int r = 0; r < shape->nregions; r++)
        add_region(&h, &shape->regions[r]);
    return pw_hash_words_end(&h);
}

static size_t rounded(size_t bytes)
{
    return (bytes + 15) & ~(size_t)15;
}

size_t pw_shape_bytes(const pw_shape *shape)
{
    size_t bytes = rounded(sizeof *shape) + rounded((size_t)shape->nregions * sizeof *shape->regions);
    for (int r = 0; r < shape->nregions; r++)
        bytes += rounded((size_t)shape->regions[r].ndims * sizeof *shape->regions[r].dims) +
                 rounded((size_t)shape->regions[r].npieces * sizeof *shape->regions[r].pieces);
    return bytes;
}
