/*
 * The canonical text of a shape. Baked numbers are printed as they are, arguments as $slot, tables as
 * @slot. Example, a vector of doubles with a large stride:
 *
 *     shape(size $0, extent $1, stream $2) {
 *       region(mem $3, packed 0, leaf 8, word 8, align 8/8) {
 *         loop object mem $4 packed $5
 *         loop $6 mem $7 packed 8
 *         piece mem 0 packed 0 bytes 8
 *       }
 *     }
 */
#include "codegen/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_num(FILE *f, const char *label, pw_num n)
{
    if (n.slot < 0)
        fprintf(f, "%s%" PRId64, label, n.value);
    else
        fprintf(f, "%s$%d", label, n.slot);
}

static void put_table(FILE *f, const char *label, const pw_shape_table *t)
{
    fprintf(f, "%s@%d:u%d", label, t->slot, 8 * t->width);
    put_num(f, " scale ", t->scale);
    put_num(f, " base ", t->base);
}

static void put_dim(FILE *f, const pw_shape_dim *d)
{
    fputs("    loop ", f);
    if (d->is_object)
        fputs("object", f);
    else
        put_num(f, "", d->count);
    if (d->table.slot >= 0)
        put_table(f, " mem ", &d->table);
    else
        put_num(f, " mem ", d->mem_stride);
    if (d->packed_table.width > 0)
        put_table(f, " packed ", &d->packed_table);
    else
        put_num(f, " packed ", d->packed_stride);
    fputc('\n', f);
}

static void put_leaf(FILE *f, const pw_shape_region *r)
{
    for (int i = 0; i < r->npieces; i++) {
        put_num(f, "    piece mem ", r->pieces[i].mem_off);
        put_num(f, " packed ", r->pieces[i].packed_off);
        put_num(f, " bytes ", r->pieces[i].bytes);
        fputc('\n', f);
    }
    if (r->npieces == 0) {
        put_num(f, "    blocks ", r->nblocks);
        put_table(f, " mem ", &r->block_offs);
        put_table(f, " packed ", &r->block_starts);
        if (r->block_packed.width > 0)
            put_table(f, " at ", &r->block_packed);
        fputc('\n', f);
    }
}

static void put_region(FILE *f, const pw_shape_region *r)
{
    put_num(f, "  region(mem ", r->mem_off);
    put_num(f, ", packed ", r->packed_off);
    put_num(f, ", leaf ", r->leaf_size);
    fprintf(f, ", word %d, align %" PRId64 "/%" PRId64, r->word, r->align, r->packed_align);
    if (r->tile_outer)
        fprintf(f, ", tile %" PRId64 "x%" PRId64, r->tile_outer, r->tile_inner);
    fputs(") {\n", f);
    for (int i = 0; i < r->ndims; i++)
        put_dim(f, &r->dims[i]);
    put_leaf(f, r);
    fputs("  }\n", f);
}

static void put_shape(FILE *f, const pw_shape *shape)
{
    put_num(f, "shape(size ", shape->size);
    put_num(f, ", extent ", shape->extent);
    if (shape->joined)
        put_num(f, ", joined to extent ", shape->packed_extent);
    put_num(f, ", stream ", shape->stream_bytes);
    fprintf(f, "%s) {\n", shape->object_outer ? ", objects outermost" : "");
    for (int r = 0; r < shape->nregions; r++)
        put_region(f, &shape->regions[r]);
    fputs("}\n", f);
}

char *pw_shape_print(const pw_shape *shape)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    put_shape(f, shape);
    bool failed = ferror(f) != 0;
    failed |= fclose(f) != 0;
    if (!failed)
        return text;
    free(text);
    return NULL;
}
