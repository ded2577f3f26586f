/* Finds the reasons for what lowering and the nest passes made of a region, by looking at the region. */
#include "codegen/transpose.h"
#include "ir/nest_build.h"
#include "passes/nest_locality.h"
#include "tools/inspect/inspect.h"

#include <inttypes.h>
#include <stdio.h>

static void put_loop_name(FILE *out, const pw_dim *d)
{
    if (d->is_object)
        fputs("over the objects of the call", out);
    else
        fprintf(out, "%" PRId64 " times", d->count);
}

/* ---- loops -------------------------------------------------------------------------------------- */

static void put_table(FILE *out, const pw_table *t, const char *what)
{
    int64_t min, max;

    pw_table_bounds(t, &min, &max);
    fprintf(out, "    %s are in a table of %" PRId64 " entries of %d bits", what, t->n, 8 * t->width);
    if (t->width == 8)
        fprintf(out, ", because they reach from %" PRId64 " to %" PRId64, min, max);
    else if (t->scale != 1)
        fprintf(out, ", in units of %" PRId64 " bytes", t->scale);
    fputs(".\n", out);
}

static void put_loops(FILE *out, const pw_region *r)
{
    fputs("  Its loops, the outermost first:\n", out);
    for (int i = 0; i < r->ndims; i++) {
        const pw_dim *d = &r->dims[i];

        fputs("    ", out);
        put_loop_name(out, d);
        if (d->table)
            fprintf(out, ": each step goes about %" PRId64 " bytes on in memory, by a table,", pw_dim_mem_step(d));
        else
            fprintf(out, ": each step goes %" PRId64 " bytes on in memory", d->mem_stride);
        fprintf(out, " and %" PRId64 " in the packed data, which takes %.3g new cache lines and pages.\n",
                d->packed_stride, (double)pw_dim_step_cost(d) / PW_PAGE);
    }
    for (int i = 0; i < r->ndims; i++)
        if (r->dims[i].table)
            put_table(out, r->dims[i].table, "The offsets of that loop");
}

static bool in_packed_order(const pw_region *r)
{
    int order[PW_NEST_MAX_DIMS];

    pw_region_packed_order(r, order);
    for (int i = 0; i < r->ndims; i++)
        if (order[i] != i)
            return false;
    return true;
}

/* Kernels of GPUs have tiles of their own (why_gpu.c). */
static void put_tile(FILE *out, const pw_subject *s, const pw_region *r)
{
    pw_target_isa isa = pw_target_isa_of(&s->options->target);
    pw_transpose_tile pack = pw_transpose_tile_of(r, &isa, false), unpack = pw_transpose_tile_of(r, &isa, true);

    fputs("  The two innermost loops run in tiles", out);
    if (!s->options->gpu_given) {
        fprintf(out, " of %" PRId64 " x %" PRId64, pack.outer, pack.inner);
        if (!s->nest->joined && (pack.outer != unpack.outer || pack.inner != unpack.inner))
            fprintf(out, " when packing and %" PRId64 " x %" PRId64 " when unpacking", unpack.outer, unpack.inner);
    }
    fputs(": one of them goes through memory in short steps and through the packed data in long ones, the other the "
          "other way round. In a tile, each cache line is used up on both sides before it leaves the cache.\n",
          out);
}

static void put_order(FILE *out, const pw_subject *s, const pw_region *r)
{
    if (r->ndims < 2)
        return;
    if (r->tile_outer)
        put_tile(out, s, r);
    else if (in_packed_order(r))
        fputs("  The loop with the most costly step is outermost. That is also the order of the packed data.\n", out);
    else
        fputs("  The loop with the most costly step is outermost, which is not the order of the packed data: the "
              "compiler "
              "exchanged loops. Every byte keeps its place, because each loop has a stride on both sides.\n",
              out);
}

/* ---- the leaf ----------------------------------------------------------------------------------- */

static void put_piece_lengths(FILE *out, const pw_region *r)
{
    enum { SHOWN = 8 };

    fprintf(out, "  The innermost copy is %" PRId64 " bytes in %d piece%s (", r->leaf_size, r->npieces,
            r->npieces == 1 ? "" : "s");
    for (int i = 0; i < r->npieces && i < SHOWN; i++)
        fprintf(out, "%s%" PRId64, i ? ", " : "", r->pieces[i].bytes);
    fprintf(out, "%s)", r->npieces > SHOWN ? ", …" : "");
}

static void put_leaf(FILE *out, const pw_region *r)
{
    if (r->blocks)
        fprintf(out, "  The innermost copy is %" PRId64 " bytes in a list of %" PRId64 " blocks of different lengths",
                r->leaf_size, r->blocks->n);
    else
        put_piece_lengths(out, r);
    fprintf(out, ", in words of %d byte%s, the largest power of two up to 16 that divides %s.\n", r->word,
            r->word == 1 ? "" : "s", r->npieces == 1 ? "it" : "them all");
    fprintf(out,
            "  All offsets and strides are multiples of %" PRId64 " bytes in memory and %" PRId64
            " in the packed data.\n",
            r->align, r->packed_align);
    if (r->blocks) {
        put_table(out, &r->blocks->offs, "The offsets of the blocks");
        put_table(out, &r->blocks->starts, "The places of the blocks in the packed data");
    }
}

void pw_why_region(FILE *out, const pw_subject *s, int region)
{
    const pw_nest *nest = s->nest;
    const pw_region *r = &nest->regions[region];

    if (nest->nregions > 1)
        fprintf(out, "Region %d of %d begins", region + 1, nest->nregions);
    else
        fputs("The kernel is one nest of loops, which begins", out);
    fprintf(out, " at byte %" PRId64 " in memory and byte %" PRId64 " of the packed data.\n", r->mem_off,
            r->packed_off);
    if (r->ndims)
        put_loops(out, r);
    put_order(out, s, r);
    put_leaf(out, r);
}
