/* A nest as C: what its pack kernel does, written as loops around memcpy. */
#include "codegen/transpose.h"
#include "tools/inspect/inspect.h"

#include <inttypes.h>

typedef struct writer {
    FILE *out;
    int depth;
    pw_target_isa isa;
    int region; /* its number, from 1; 0: there is only one, and names need no number */
} writer;

enum { ENTRIES_SHOWN = 16 };

static void line(const writer *w)
{
    fprintf(w->out, "%*s", 4 * w->depth, "");
}

/* "i1" is the innermost but one loop's variable, "o" that of objects. */
static void put_variable(const writer *w, const pw_region *r, int dim)
{
    if (r->dims[dim].is_object)
        fputc('o', w->out);
    else
        fprintf(w->out, "i%d", dim);
}

static void put_suffix(const writer *w, int dim)
{
    if (w->region)
        fprintf(w->out, "%d_", w->region);
    fprintf(w->out, "%d", dim);
}

static void put_term(const writer *w, int64_t n)
{
    if (n)
        fprintf(w->out, " %c %" PRIu64, n < 0 ? '-' : '+', n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

static void put_product(const writer *w, const pw_region *r, int dim, int64_t stride)
{
    if (!stride)
        return;
    put_term(w, stride);
    fputs(" * ", w->out);
    put_variable(w, r, dim);
}

/* ---- tables ----------------------------------------------------------------------------------------------------- */

static void put_entries(const writer *w, const pw_table *t, int64_t n)
{
    int64_t shown = n > ENTRIES_SHOWN ? ENTRIES_SHOWN : n;

    fputs(" = {", w->out);
    for (int64_t i = 0; i < shown; i++)
        fprintf(w->out, "%s%" PRId64, i ? ", " : "", pw_table_get(t, i));
    if (shown < n)
        fprintf(w->out, ", /* … %" PRId64 " more */", n - shown);
    fputs("};\n", w->out);
}

static void put_tables(const writer *w, const pw_region *r)
{
    for (int i = 0; i < r->ndims; i++) {
        if (!r->dims[i].table)
            continue;
        fputs("static const long offset", w->out);
        put_suffix(w, i);
        fprintf(w->out, "[%" PRId64 "]", r->dims[i].table->n);
        put_entries(w, r->dims[i].table, r->dims[i].table->n);
    }
    if (!r->blocks)
        return;
    fputs("static const long block_offset", w->out);
    put_suffix(w, 0);
    fprintf(w->out, "[%" PRId64 "]", r->blocks->n);
    put_entries(w, &r->blocks->offs, r->blocks->n);
    fputs("static const long block_start", w->out);
    put_suffix(w, 0);
    fprintf(w->out, "[%" PRId64 "]", r->blocks->n + 1);
    put_entries(w, &r->blocks->starts, r->blocks->n + 1);
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

static void put_loop(writer *w, const pw_region *r, int dim)
{
    const pw_dim *d = &r->dims[dim];
    bool tiled = r->tile_outer && dim >= r->ndims - 2;

    line(w);
    fputs("for (long ", w->out);
    put_variable(w, r, dim);
    fputs(" = 0; ", w->out);
    put_variable(w, r, dim);
    if (d->is_object)
        fputs(" < count; ", w->out);
    else
        fprintf(w->out, " < %" PRId64 "; ", d->count);
    put_variable(w, r, dim);
    fputs("++)", w->out);
    if (tiled) {
        pw_transpose_tile tile = pw_transpose_tile_of(r, &w->isa, false);

        fprintf(w->out, " /* in tiles of %" PRId64 " */", dim == r->ndims - 2 ? tile.outer : tile.inner);
    }
    fputc('\n', w->out);
    w->depth++;
}

/* "packed + 16 * i1, mem + 64 * i1" up to the leaf; the objects of an outer loop are `o`. */
static void put_side(const writer *w, const pw_nest *nest, const pw_region *r, bool packed, int64_t at)
{
    fputs(packed ? "packed" : "mem", w->out);
    put_term(w, at + (packed ? r->packed_off : r->mem_off));
    if (nest->object_outer) {
        put_term(w, packed ? nest->size : nest->extent);
        fputs(" * o", w->out);
    }
    for (int i = 0; i < r->ndims; i++) {
        if (!packed && r->dims[i].table) {
            fputs(" + offset", w->out);
            put_suffix(w, i);
            fputc('[', w->out);
            put_variable(w, r, i);
            fputc(']', w->out);
        } else {
            put_product(w, r, i, packed ? r->dims[i].packed_stride : r->dims[i].mem_stride);
        }
    }
}

static void put_copy(const writer *w, const pw_nest *nest, const pw_region *r, const pw_piece *p)
{
    line(w);
    fputs("memcpy(", w->out);
    put_side(w, nest, r, true, p->packed_off);
    fputs(", ", w->out);
    put_side(w, nest, r, false, p->mem_off);
    fprintf(w->out, ", %" PRId64 ");\n", p->bytes);
}

static void put_block_copy(writer *w, const pw_nest *nest, const pw_region *r)
{
    line(w);
    fprintf(w->out, "for (long b = 0; b < %" PRId64 "; b++)\n", r->blocks->n);
    w->depth++;
    line(w);
    fputs("memcpy(", w->out);
    put_side(w, nest, r, true, 0);
    fputs(" + block_start", w->out);
    put_suffix(w, 0);
    fputs("[b], ", w->out);
    put_side(w, nest, r, false, 0);
    fputs(" + block_offset", w->out);
    put_suffix(w, 0);
    fputs("[b], block_start", w->out);
    put_suffix(w, 0);
    fputs("[b + 1] - block_start", w->out);
    put_suffix(w, 0);
    fputs("[b]);\n", w->out);
    w->depth--;
}

static void put_region(writer *w, const pw_nest *nest, const pw_region *r)
{
    int depth = w->depth;
    bool braces = r->npieces > 1 && r->ndims > 0;

    for (int i = 0; i < r->ndims; i++)
        put_loop(w, r, i);
    if (braces) {
        fprintf(w->out, "%*s{\n", 4 * (w->depth - 1), "");
    }
    for (int i = 0; i < r->npieces; i++)
        put_copy(w, nest, r, &r->pieces[i]);
    if (r->blocks)
        put_block_copy(w, nest, r);
    if (braces)
        fprintf(w->out, "%*s}\n", 4 * (w->depth - 1), "");
    w->depth = depth;
}

void pw_loops_print(FILE *out, const pw_nest *nest, const pw_target *target)
{
    writer w = {.out = out, .depth = 1, .isa = pw_target_isa_of(target)};

    for (int i = 0; i < nest->nregions; i++) {
        w.region = nest->nregions > 1 ? i + 1 : 0;
        put_tables(&w, &nest->regions[i]);
    }
    fputs("void pack(char *packed, const char *mem, long count)\n{\n", out);
    if (nest->object_outer) {
        fputs("    for (long o = 0; o < count; o++) {\n", out);
        w.depth++;
    }
    for (int i = 0; i < nest->nregions; i++) {
        w.region = nest->nregions > 1 ? i + 1 : 0;
        put_region(&w, nest, &nest->regions[i]);
    }
    if (nest->object_outer)
        fputs("    }\n", out);
    fputs("}\n", out);
}
