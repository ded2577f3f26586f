/* Regions as loop nests, and the two functions of a kernel around them. */
#include "codegen/llvm/gen.h"

#include <string.h>

/* ---- loops ------------------------------------------------------------------------------------------ */

static pw_offsets offsets(pw_gen *g, const pw_shape_table *t)
{
    return t->width == 0 ? (pw_offsets){0} : (pw_offsets){.table = t, .entries = pw_gen_table(g, t)};
}

static pw_row make_row(pw_gen *g, const pw_shape_dim *d)
{
    pw_val mem = pw_gen_num(g, d->mem_stride), packed = pw_gen_num(g, d->packed_stride);
    pw_row row = {.count = d->is_object ? (pw_val){.v = g->count} : pw_gen_num(g, d->count),
                  .dst_step = g->unpack ? mem : packed,
                  .src_step = g->unpack ? packed : mem};
    pw_offsets memory = offsets(g, &d->table), other = offsets(g, &d->packed_table);
    row.dst_offs = g->unpack ? memory : other;
    row.src_offs = g->unpack ? other : memory;
    return row;
}

/* Opens the loop over a row; returns both sides' places in an iteration. */
static pw_at open_row(pw_gen *g, pw_for *f, const pw_row *row, pw_at at)
{
    pw_for_open(g, f, row->count, at.dst, row->dst_step, at.src, row->src_step);
    return pw_row_offset(g, row, (pw_at){f->dst, f->src}, f->i);
}

static void emit_loops(pw_gen *g, const pw_leaf *leaf, const pw_row *rows, int n, pw_at at)
{
    pw_for f;
    if (n == 0) {
        pw_leaf_emit(g, leaf, at);
    } else if (n == 1) {
        pw_row_emit(g, leaf, rows, at);
    } else {
        pw_at inside = open_row(g, &f, rows, at);
        emit_loops(g, leaf, rows + 1, n - 1, inside);
        pw_for_close(g, &f);
    }
}

static void emit_tiles(pw_gen *g, const pw_leaf *leaf, const pw_row *rows, pw_at at)
{
    pw_tiles t;
    const pw_shape_region *r = leaf->region;
    pw_tiles_open(g, &t, rows, (LLVMValueRef[]){pw_gen_k(g, r->tile_outer), pw_gen_k(g, r->tile_inner)}, at);
    emit_loops(g, leaf, t.part, 2, t.at);
    pw_tiles_close(g, &t);
}

/* The loops around the two tiled ones, then those. */
static void emit_tiled(pw_gen *g, const pw_leaf *leaf, const pw_row *rows, int n, pw_at at)
{
    pw_for f;
    if (n == 2) {
        if (!pw_transpose_emit(g, leaf, &rows[0], &rows[1], at))
            emit_tiles(g, leaf, rows, at);
        return;
    }
    pw_at inside = open_row(g, &f, rows, at);
    emit_tiled(g, leaf, rows + 1, n - 1, inside);
    pw_for_close(g, &f);
}

static void emit_region(pw_gen *g, const pw_shape_region *r, pw_at at)
{
    pw_val mem = pw_gen_num(g, r->mem_off), packed = pw_gen_num(g, r->packed_off);
    pw_row rows[PW_NEST_MAX_DIMS];
    int n = r->ndims;
    pw_leaf leaf;
    at.dst = pw_gen_at_val(g, at.dst, g->unpack ? mem : packed);
    at.src = pw_gen_at_val(g, at.src, g->unpack ? packed : mem);
    for (int i = 0; i < n; i++) {
        rows[i] = make_row(g, &r->dims[i]);
        if (rows[i].dst_offs.table)
            at.dst = pw_gen_at_val(g, at.dst, pw_gen_num(g, rows[i].dst_offs.table->base));
        if (rows[i].src_offs.table)
            at.src = pw_gen_at_val(g, at.src, pw_gen_num(g, rows[i].src_offs.table->base));
    }
    pw_leaf_init(g, r, &leaf);
    if (r->tile_outer > 0 && n >= 2) {
        emit_tiled(g, &leaf, rows, n, at);
        return;
    }
    while (n > 0 && pw_leaf_unroll(&leaf, &rows[n - 1]))
        n--;
    emit_loops(g, &leaf, rows, n, at);
}

/* ---- functions --------------------------------------------------------------------------------------- */

static void emit_objects(pw_gen *g)
{
    const pw_shape *s = g->shape;
    pw_val size = pw_gen_num(g, s->packed_extent), extent = pw_gen_num(g, s->extent);
    pw_at at = {g->dst, g->src};
    pw_for f;
    if (s->object_outer) {
        pw_for_open(g, &f, (pw_val){.v = g->count}, g->dst, g->unpack ? extent : size, g->src,
                    g->unpack ? size : extent);
        at = (pw_at){f.dst, f.src};
    }
    for (int r = 0; r < s->nregions; r++)
        emit_region(g, &s->regions[r], at);
    if (s->object_outer)
        pw_for_close(g, &f);
}

static bool copies(const pw_gen *g, int64_t least)
{
    for (int r = 0; r < g->shape->nregions; r++)
        if (pw_region_copies(&g->shape->regions[r], least))
            return true;
    return false;
}

/* Do both sides of the call fill the first-level cache, and does the packed one fit in the second? Beyond that, memory
 * is waited for, and vectors that prefetch are faster. */
static LLVMValueRef is_between_caches(pw_gen *g)
{
    LLVMValueRef over = LLVMBuildSub(g->b, pw_gen_packed_bytes(g), pw_gen_k(g, PW_NEAR_BYTES / 2), "");
    return pw_gen_compare(g, LLVMIntULE, over, PW_MIDDLE_BYTES - PW_NEAR_BYTES / 2);
}

/* Does the call move more than the last-level cache holds? */
static LLVMValueRef is_beyond_caches(pw_gen *g)
{
    return LLVMBuildICmp(g->b, LLVMIntSGE, pw_gen_packed_bytes(g), pw_gen_num(g, g->shape->stream_bytes).v, "");
}

/* A pack that is_beyond_caches stores its long copies past them, with a fence at the end. A call that
 * is_between_caches makes long copies by the string instruction, where that pays. */
static void emit_body(pw_gen *g)
{
    bool streams = !g->unpack && strcmp(g->job->target->arch, "x86_64") == 0 && copies(g, PW_COPY_STREAM);
    bool strings = g->isa.strings && copies(g, PW_COPY_STRING);
    pw_if f;
    g->stream = streams ? is_beyond_caches(g) : NULL;
    g->string = strings ? is_between_caches(g) : NULL;
    emit_objects(g);
    if (!streams)
        return;
    pw_if_open(g, &f, g->stream);
    pw_gen_call(g, "llvm.x86.sse.sfence", NULL, 0, NULL, 0);
    pw_if_close(g, &f);
}

static void add_attribute(pw_gen *g, unsigned where, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(g->fn, where, LLVMCreateEnumAttribute(g->ctx, kind, 0));
}

static void declare(pw_gen *g, const char *name)
{
    LLVMTypeRef types[4] = {g->ptr, g->ptr, g->i64, g->ptr};
    unsigned n = g->job->embed ? 3 : 4;
    g->fn = LLVMAddFunction(g->mod, name, LLVMFunctionType(LLVMVoidTypeInContext(g->ctx), types, n, false));
    add_attribute(g, 1, "noalias");
    add_attribute(g, 2, "noalias");
    add_attribute(g, LLVMAttributeFunctionIndex, "nounwind");
    add_attribute(g, LLVMAttributeFunctionIndex, "null_pointer_is_valid");
    g->dst = LLVMGetParam(g->fn, 0);
    g->src = LLVMGetParam(g->fn, 1);
    g->count = LLVMGetParam(g->fn, 2);
}

void pw_function_emit(pw_gen *g, const char *name, bool unpack)
{
    pw_if some;
    g->unpack = unpack;
    g->nmasks = 0;
    declare(g, name);
    LLVMPositionBuilderAtEnd(g->b, LLVMAppendBasicBlockInContext(g->ctx, g->fn, "entry"));
    pw_if_open(g, &some, pw_gen_compare(g, LLVMIntSGT, g->count, 0));
    if (!g->job->embed) {
        LLVMValueRef args = LLVMGetParam(g->fn, 3);
        g->params = pw_gen_load_fixed(g, g->ptr, args);
        g->tables = pw_gen_load_fixed(g, g->ptr, pw_gen_at_k(g, args, 8));
    }
    emit_body(g);
    pw_if_close(g, &some);
    LLVMBuildRetVoid(g->b);
}
