#include "ir/nest.h"

/* Collects words and hashes them a buffer at a time. */
typedef struct hasher {
    int64_t words[64];
    int n;
    pw_hash hash;
} hasher;

static void flush(hasher *h)
{
    h->hash = pw_hash_mix(h->hash, pw_hash_bytes(h->words, (size_t)h->n * sizeof h->words[0]));
    h->n = 0;
}

static void add(hasher *h, int64_t word)
{
    if (h->n == (int)(sizeof h->words / sizeof h->words[0]))
        flush(h);
    h->words[h->n++] = word;
}

static void add_table(hasher *h, const pw_table *t)
{
    add(h, t->width);
    add(h, t->n);
    add(h, t->base);
    add(h, t->scale);
    flush(h);
    h->hash = pw_hash_mix(h->hash, pw_hash_bytes(t->data, (size_t)t->n * (size_t)t->width));
}

static void add_dim(hasher *h, const pw_dim *d)
{
    add(h, d->is_object ? -1 : d->count);
    add(h, d->mem_stride);
    add(h, d->packed_stride);
    add(h, d->table ? 1 : 0);
    if (d->table)
        add_table(h, d->table);
}

static void add_leaf(hasher *h, const pw_region *r)
{
    add(h, r->npieces);
    for (int i = 0; i < r->npieces; i++) {
        add(h, r->pieces[i].mem_off);
        add(h, r->pieces[i].packed_off);
        add(h, r->pieces[i].bytes);
    }
    add(h, r->blocks ? r->blocks->n : -1);
    if (r->blocks) {
        add_table(h, &r->blocks->offs);
        add_table(h, &r->blocks->starts);
    }
}

static void add_region(hasher *h, const pw_region *r)
{
    add(h, r->mem_off);
    add(h, r->packed_off);
    add(h, r->ndims);
    for (int i = 0; i < r->ndims; i++)
        add_dim(h, &r->dims[i]);
    add_leaf(h, r);
    add(h, r->leaf_size);
    add(h, r->align);
    add(h, r->packed_align);
    add(h, r->word);
    add(h, r->tile_outer);
    add(h, r->tile_inner);
}

pw_hash pw_nest_hash(const pw_nest *nest)
{
    hasher h = {0};

    add(&h, nest->size);
    add(&h, nest->extent);
    add(&h, nest->lo);
    add(&h, nest->hi);
    add(&h, nest->object_outer);
    add(&h, nest->nregions);
    for (int i = 0; i < nest->nregions; i++)
        add_region(&h, &nest->regions[i]);
    flush(&h);
    return h.hash;
}
