/* Two loops cut into tiles: two loops over the tiles, and what is left of each loop in one tile. */
#include "codegen/llvm/gen.h"

/* The entries from the tile's first on; the address follows from them. */
static void begin_at(pw_gen *g, pw_offsets *o, LLVMValueRef start)
{
    if (o->table)
        o->entries = LLVMBuildGEP2(g->b, pw_gen_int(g, o->table->width), o->entries, &start, 1, "");
}

void pw_tiles_open(pw_gen *g, pw_tiles *t, const pw_row *rows, const LLVMValueRef *size, pw_at at)
{
    pw_val zero = pw_gen_const(g, 0);
    LLVMValueRef start[2];
    for (int i = 0; i < 2; i++) {
        LLVMValueRef side = size[i], but_one = LLVMBuildSub(g->b, side, pw_gen_k(g, 1), "");
        LLVMValueRef more = LLVMBuildAdd(g->b, rows[i].count.v, but_one, "");
        pw_val tiles = {.v = LLVMBuildUDiv(g->b, more, side, "")};
        pw_for_open(g, &t->loops[i], tiles, at.dst, zero, at.src, zero);
        start[i] = LLVMBuildMul(g->b, t->loops[i].i, side, "");
        LLVMValueRef left = LLVMBuildSub(g->b, rows[i].count.v, start[i], "");
        LLVMValueRef whole = LLVMBuildICmp(g->b, LLVMIntSGT, left, side, "");
        t->part[i] = rows[i];
        t->part[i].count = (pw_val){.v = LLVMBuildSelect(g->b, whole, side, left, "")};
    }
    t->at = at;
    for (int i = 0; i < 2; i++) {
        begin_at(g, &t->part[i].dst_offs, start[i]);
        begin_at(g, &t->part[i].src_offs, start[i]);
        t->at.dst = pw_gen_at(g, t->at.dst, LLVMBuildMul(g->b, start[i], rows[i].dst_step.v, ""));
        t->at.src = pw_gen_at(g, t->at.src, LLVMBuildMul(g->b, start[i], rows[i].src_step.v, ""));
    }
}

void pw_tiles_close(pw_gen *g, pw_tiles *t)
{
    pw_for_close(g, &t->loops[1]);
    pw_for_close(g, &t->loops[0]);
}
