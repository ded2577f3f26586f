#include "base/hash_words.h"
#include "ir/nest.h"

static void add_table(pw_hash_words *h, const pw_table *t)
{
    pw_hash_word(h, t->width);
    pw_hash_word(h, t->n);
    pw_hash_word(h, t->base);
    pw_hash_word(h, t->scale);
    pw_hash_words_flush(h);
    h->hash = pw_hash_mix(h->hash, pw_hash_bytes(t->data, (size_t)t->n * (size_t)t->width));
}

static void add_dim(pw_hash_words *h, const pw_dim *d)
{
    pw_hash_word(h, d->is_object ? -1 : d->count);
    pw_hash_word(h, d->mem_stride);
    pw_hash_word(h, d->packed_stride);
    pw_hash_word(h, (d->table ? 1 : 0) + (d->packed_table ? 2 : 0));
    if (d->table)
        add_table(h, d->table);
    if (d->packed_table)
        add_table(h, d->packed_table);
}

static void add_leaf(pw_hash_words *h, const pw_region *r)
{
    pw_hash_word(h, r->npieces);
    for (int i = 0; i < r->npieces; i++) {
        pw_hash_word(h, r->pieces[i].mem_off);
        pw_hash_word(h, r->pieces[i].packed_off);
        pw_hash_word(h, r->pieces[i].bytes);
    }
    pw_hash_word(h, r->blocks ? r->blocks->n : -1);
    if (r->blocks) {
        add_table(h, &r->blocks->offs);
        add_table(h, &r->blocks->starts);
        if (r->blocks->packed_offs.data)
            add_table(h, &r->blocks->packed_offs);
    }
}

static void add_region(pw_hash_words *h, const pw_region *r)
{
    pw_hash_word(h, r->mem_off);
    pw_hash_word(h, r->packed_off);
    pw_hash_word(h, r->ndims);
    for (int i = 0; i < r->ndims; i++)
        add_dim(h, &r->dims[i]);
    add_leaf(h, r);
    pw_hash_word(h, r->leaf_size);
    pw_hash_word(h, r->align);
    pw_hash_word(h, r->packed_align);
    pw_hash_word(h, r->word);
    pw_hash_word(h, r->tile_outer);
    pw_hash_word(h, r->tile_inner);
}

pw_hash pw_nest_hash(const pw_nest *nest)
{
    pw_hash_words h = {.n = 0};

    pw_hash_word(&h, nest->size);
    pw_hash_word(&h, nest->extent);
    pw_hash_word(&h, nest->lo);
    pw_hash_word(&h, nest->hi);
    pw_hash_word(&h, nest->object_outer);
    pw_hash_word(&h, nest->joined);
    pw_hash_word(&h, nest->packed_extent);
    pw_hash_word(&h, nest->nregions);
    for (int i = 0; i < nest->nregions; i++)
        add_region(&h, &nest->regions[i]);
    return pw_hash_words_end(&h);
}
