/*
 * Text of a nest:
 *
 *     nest(size 24 extent 64 lo 0 hi 40) {
 *       region(mem 0 packed 0 leaf 8 align 8 packed_align 8 word 8) {
 *         objects mem 64 packed 24
 *         loop 3 mem 16 packed 8
 *         piece mem 0 packed 0 bytes 8
 *       }
 *     }
 *
 * "outer" before the brace of the nest: the caller loops over the objects. "tile AxB" on a region: the two innermost
 * loops run in tiles. A loop over a table has "table16 [ … ]" (or 32, 64) for its memory offsets, values written
 * out; a list of blocks is "blocks n [off:len, …]".
 *
 * A joined nest begins with "join", calls its sides "src" and "dst" instead of "mem" and "packed", and says the extent
 * and the bounds of both; its blocks are "[src:dst:len, …]":
 *
 *     join(size 24) src(extent 64 lo 0 hi 40) dst(extent 32 lo 0 hi 24) {
 */
#include "ir/nest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *memory_side(const pw_nest *nest)
{
    return nest->joined ? "src" : "mem";
}

static const char *packed_side(const pw_nest *nest)
{
    return nest->joined ? "dst" : "packed";
}

static int64_t shown(int64_t n, int64_t elide)
{
    return elide > 0 && n > elide ? elide : n;
}

static void print_table(FILE *out, const pw_table *t, int64_t elide)
{
    int64_t n = shown(t->n, elide);

    fprintf(out, "table%d [", t->width * 8);
    for (int64_t i = 0; i < n; i++)
        fprintf(out, "%s%" PRId64, i ? ", " : "", pw_table_get(t, i));
    fprintf(out, "%s]", n < t->n ? ", …" : "");
}

static void print_steps(FILE *out, const char *side, const pw_table *table, int64_t stride, int64_t elide)
{
    fprintf(out, "%s ", side);
    if (table)
        print_table(out, table, elide);
    else
        fprintf(out, "%" PRId64, stride);
}

static void print_dim(FILE *out, const pw_nest *nest, const pw_dim *d, int64_t elide)
{
    if (d->is_object)
        fprintf(out, "    objects ");
    else
        fprintf(out, "    loop %" PRId64 " ", d->count);
    if (d->table && !nest->joined)
        print_table(out, d->table, elide);
    else
        print_steps(out, memory_side(nest), d->table, d->mem_stride, elide);
    fprintf(out, " ");
    print_steps(out, packed_side(nest), d->packed_table, d->packed_stride, elide);
    fprintf(out, "\n");
}

static void print_blocks(FILE *out, const pw_block_list *b, int64_t elide)
{
    int64_t n = shown(b->n, elide);

    fprintf(out, "    blocks %" PRId64 " offs%d starts%d [", b->n, b->offs.width * 8, b->starts.width * 8);
    for (int64_t i = 0; i < n; i++) {
        fprintf(out, "%s%" PRId64 ":", i ? ", " : "", pw_table_get(&b->offs, i));
        if (b->packed_offs.data)
            fprintf(out, "%" PRId64 ":", pw_table_get(&b->packed_offs, i));
        fprintf(out, "%" PRId64, pw_table_get(&b->starts, i + 1) - pw_table_get(&b->starts, i));
    }
    fprintf(out, "%s]\n", n < b->n ? ", …" : "");
}

static void print_region(FILE *out, const pw_nest *nest, const pw_region *r, int64_t elide)
{
    const char *mem = memory_side(nest), *packed = packed_side(nest);

    fprintf(out,
            "  region(%s %" PRId64 " %s %" PRId64 " leaf %" PRId64 " align %" PRId64 " %s_align %" PRId64 " word %d",
            mem, r->mem_off, packed, r->packed_off, r->leaf_size, r->align, packed, r->packed_align, r->word);
    if (r->tile_outer)
        fprintf(out, " tile %" PRId64 "x%" PRId64, r->tile_outer, r->tile_inner);
    fprintf(out, ") {\n");
    for (int i = 0; i < r->ndims; i++)
        print_dim(out, nest, &r->dims[i], elide);
    for (int i = 0; i < r->npieces; i++)
        fprintf(out, "    piece %s %" PRId64 " %s %" PRId64 " bytes %" PRId64 "\n", mem, r->pieces[i].mem_off, packed,
                r->pieces[i].packed_off, r->pieces[i].bytes);
    if (r->blocks)
        print_blocks(out, r->blocks, elide);
    fprintf(out, "  }\n");
}

void pw_nest_print_to(FILE *out, const pw_nest *nest, int64_t elide)
{
    if (nest->joined)
        fprintf(out,
                "join(size %" PRId64 ") src(extent %" PRId64 " lo %" PRId64 " hi %" PRId64 ") dst(extent %" PRId64
                " lo %" PRId64 " hi %" PRId64 ")",
                nest->size, nest->extent, nest->lo, nest->hi, nest->packed_extent, nest->packed_lo, nest->packed_hi);
    else
        fprintf(out, "nest(size %" PRId64 " extent %" PRId64 " lo %" PRId64 " hi %" PRId64 ")", nest->size,
                nest->extent, nest->lo, nest->hi);
    fprintf(out, "%s {\n", nest->object_outer ? " outer" : "");
    for (int i = 0; i < nest->nregions; i++)
        print_region(out, nest, &nest->regions[i], elide);
    fprintf(out, "}\n");
}

char *pw_nest_print(const pw_nest *nest, int64_t elide)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    pw_nest_print_to(out, nest, elide);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
