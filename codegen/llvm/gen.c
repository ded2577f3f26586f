/* Values, addresses, loads and stores: the words of which the emitters are made. */
#include "codegen/llvm/gen.h"

#include <stdio.h>
#include <string.h>

LLVMValueRef pw_gen_k(pw_gen *g, int64_t k)
{
    return LLVMConstInt(g->i64, (unsigned long long)k, true);
}

pw_val pw_gen_const(pw_gen *g, int64_t k)
{
    return (pw_val){.v = pw_gen_k(g, k), .k = k, .known = true};
}

bool pw_gen_is(pw_val a, int64_t k)
{
    return a.known && a.k == k;
}

LLVMValueRef pw_gen_compare(pw_gen *g, LLVMIntPredicate relation, LLVMValueRef v, int64_t k)
{
    return LLVMBuildICmp(g->b, relation, v, pw_gen_k(g, k), "");
}

LLVMValueRef pw_gen_packed_bytes(pw_gen *g)
{
    return LLVMBuildMul(g->b, pw_gen_num(g, g->shape->size).v, g->count, "");
}

pw_val pw_gen_num(pw_gen *g, pw_num n)
{
    if (n.slot < 0)
        return pw_gen_const(g, n.value);
    if (g->job->embed)
        return pw_gen_const(g, g->job->embed->params[n.slot]);
    LLVMValueRef p = pw_gen_at_k(g, g->params, 8 * (int64_t)n.slot);
    return (pw_val){.v = pw_gen_load_fixed(g, g->i64, p)};
}

LLVMValueRef pw_gen_at(pw_gen *g, LLVMValueRef p, LLVMValueRef bytes)
{
    return LLVMBuildGEP2(g->b, g->i8, p, &bytes, 1, "");
}

LLVMValueRef pw_gen_at_k(pw_gen *g, LLVMValueRef p, int64_t bytes)
{
    return bytes == 0 ? p : pw_gen_at(g, p, pw_gen_k(g, bytes));
}

LLVMValueRef pw_gen_at_val(pw_gen *g, LLVMValueRef p, pw_val bytes)
{
    return bytes.known ? pw_gen_at_k(g, p, bytes.k) : pw_gen_at(g, p, bytes.v);
}

LLVMTypeRef pw_gen_int(pw_gen *g, int bytes)
{
    return LLVMIntTypeInContext(g->ctx, 8 * (unsigned)bytes);
}

LLVMTypeRef pw_gen_vec(pw_gen *g, int lane_bytes, int lanes)
{
    return LLVMVectorType(pw_gen_int(g, lane_bytes), (unsigned)lanes);
}

LLVMValueRef pw_gen_load(pw_gen *g, LLVMTypeRef type, LLVMValueRef p)
{
    LLVMValueRef v = LLVMBuildLoad2(g->b, type, p, "");
    LLVMSetAlignment(v, 1);
    return v;
}

static LLVMValueRef metadata(pw_gen *g, LLVMMetadataRef *items, size_t n)
{
    return LLVMMetadataAsValue(g->ctx, LLVMMDNodeInContext2(g->ctx, items, n));
}

LLVMValueRef pw_gen_load_fixed(pw_gen *g, LLVMTypeRef type, LLVMValueRef p)
{
    LLVMValueRef v = LLVMBuildLoad2(g->b, type, p, "");
    unsigned kind = LLVMGetMDKindIDInContext(g->ctx, "invariant.load", strlen("invariant.load"));
    LLVMSetMetadata(v, kind, metadata(g, NULL, 0));
    return v;
}

void pw_gen_store(pw_gen *g, LLVMValueRef value, LLVMValueRef p)
{
    LLVMSetAlignment(LLVMBuildStore(g->b, value, p), 1);
}

LLVMValueRef pw_gen_call(pw_gen *g, const char *intrinsic, LLVMTypeRef *types, int ntypes, LLVMValueRef *args,
                         int nargs)
{
    unsigned id = LLVMLookupIntrinsicID(intrinsic, strlen(intrinsic));
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(g->mod, id, types, (size_t)ntypes);
    LLVMTypeRef type = LLVMIntrinsicGetType(g->ctx, id, types, (size_t)ntypes);
    return LLVMBuildCall2(g->b, type, fn, args, (unsigned)nargs, "");
}

/* The number of entries of the table in `slot`, found in the nest in the order slots are given out. */
static int64_t table_entries(const pw_gen *g, int slot)
{
    for (int r = 0; r < g->shape->nregions; r++) {
        const pw_shape_region *s = &g->shape->regions[r];
        const pw_region *n = &g->job->nest->regions[r];
        for (int d = 0; d < s->ndims; d++) {
            if (s->dims[d].table.slot == slot)
                return n->dims[d].table->n;
            if (s->dims[d].packed_table.width > 0 && s->dims[d].packed_table.slot == slot)
                return n->dims[d].packed_table->n;
        }
        if (s->npieces == 0 && s->block_offs.slot == slot)
            return n->blocks->offs.n;
        if (s->npieces == 0 && s->block_starts.slot == slot)
            return n->blocks->starts.n;
        if (s->npieces == 0 && s->block_packed.width > 0 && s->block_packed.slot == slot)
            return n->blocks->packed_offs.n;
    }
    return 0;
}

/* A table as a private constant; made once per job. */
static LLVMValueRef embedded_table(pw_gen *g, const pw_shape_table *t)
{
    char name[32];
    snprintf(name, sizeof name, "kernel%d.table%d", g->njob, t->slot);
    LLVMValueRef global = LLVMGetNamedGlobal(g->mod, name);
    if (global)
        return global;
    size_t bytes = (size_t)(table_entries(g, t->slot) * t->width);
    LLVMValueRef data = LLVMConstStringInContext2(g->ctx, g->job->embed->tables[t->slot], bytes, true);
    global = LLVMAddGlobal(g->mod, LLVMTypeOf(data), name);
    LLVMSetInitializer(global, data);
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetAlignment(global, 8);
    return global;
}

LLVMValueRef pw_gen_table(pw_gen *g, const pw_shape_table *t)
{
    if (g->job->embed)
        return embedded_table(g, t);
    return pw_gen_load_fixed(g, g->ptr, pw_gen_at_k(g, g->tables, 8 * (int64_t)t->slot));
}

LLVMValueRef pw_gen_entry(pw_gen *g, const pw_shape_table *t, LLVMValueRef entries, LLVMValueRef i)
{
    LLVMValueRef at = LLVMBuildGEP2(g->b, pw_gen_int(g, t->width), entries, &i, 1, "");
    LLVMValueRef v = pw_gen_load_fixed(g, pw_gen_int(g, t->width), at);
    LLVMSetAlignment(v, (unsigned)t->width);
    pw_val scale = pw_gen_num(g, t->scale);
    if (t->width < 8)
        v = LLVMBuildZExt(g->b, v, g->i64, "");
    return pw_gen_is(scale, 1) ? v : LLVMBuildMul(g->b, v, scale.v, "");
}

void pw_gen_prefetch(pw_gen *g, LLVMValueRef p, bool is_stored)
{
    enum { NEAREST = 3, DATA = 1 };
    LLVMValueRef args[4] = {p, LLVMConstInt(g->i32, is_stored, false), LLVMConstInt(g->i32, NEAREST, false),
                            LLVMConstInt(g->i32, DATA, false)};
    pw_gen_call(g, "llvm.prefetch", &g->ptr, 1, args, 4);
}
