/* Leaves: what one iteration of the innermost loop moves. */
#include "codegen/llvm/gen.h"

#include <stdlib.h>

static bool is_baked(pw_num n)
{
    return n.slot < 0;
}

void pw_leaf_init(const pw_gen *g, const pw_shape_region *region, pw_leaf *leaf)
{
    leaf->region = region;
    leaf->nmoves = 0;
    if (region->npieces > PW_MAX_MOVES)
        return;
    for (int i = 0; i < region->npieces; i++) {
        const pw_shape_piece *p = &region->pieces[i];
        if (!is_baked(p->mem_off) || !is_baked(p->packed_off) || !is_baked(p->bytes) || p->bytes.value > PW_MOVE_FIXED)
            return;
        leaf->moves[i] = (pw_move){.dst = g->unpack ? p->mem_off.value : p->packed_off.value,
                                   .src = g->unpack ? p->packed_off.value : p->mem_off.value,
                                   .n = p->bytes.value};
    }
    leaf->nmoves = region->npieces;
}

bool pw_leaf_unroll(pw_leaf *leaf, const pw_row *row)
{
    enum { MOST_MOVES = 16, MOST_BYTES = 1024, FAR = 1 << 28 };
    int n = leaf->nmoves;
    int64_t bytes = 0;
    if (n == 0 || pw_row_has_table(row) || !row->count.known || !row->dst_step.known || !row->src_step.known)
        return false;
    if (row->count.k < 1 || row->count.k > MOST_MOVES / n)
        return false;
    if (llabs(row->dst_step.k) > FAR || llabs(row->src_step.k) > FAR)
        return false;
    for (int i = 0; i < n; i++)
        bytes += leaf->moves[i].n;
    if (bytes * row->count.k > MOST_BYTES)
        return false;
    for (int k = 1; k < row->count.k; k++)
        for (int i = 0; i < n; i++) {
            pw_move m = leaf->moves[i];
            m.dst += k * row->dst_step.k;
            m.src += k * row->src_step.k;
            leaf->moves[leaf->nmoves++] = m;
        }
    return true;
}

/* A piece of which offsets or length come in as arguments. */
static void emit_piece(pw_gen *g, const pw_shape_piece *p, pw_at at)
{
    pw_val mem = pw_gen_num(g, p->mem_off), packed = pw_gen_num(g, p->packed_off), n = pw_gen_num(g, p->bytes);
    LLVMValueRef dst = pw_gen_at_val(g, at.dst, g->unpack ? mem : packed);
    LLVMValueRef src = pw_gen_at_val(g, at.src, g->unpack ? packed : mem);
    if (n.known && n.k <= PW_MOVE_FIXED)
        pw_move_fixed(g, dst, src, n.k);
    else
        pw_copy_long(g, dst, src, n);
}

/* A list of blocks: offsets from one table, starts (and so lengths) from another; the packed offsets of a joined nest
 * from a third. */
static void emit_blocks(pw_gen *g, const pw_shape_region *r, pw_at at)
{
    LLVMValueRef offs = pw_gen_table(g, &r->block_offs), starts = pw_gen_table(g, &r->block_starts);
    LLVMValueRef mem0 = pw_gen_at_val(g, g->unpack ? at.dst : at.src, pw_gen_num(g, r->block_offs.base));
    LLVMValueRef packed0 = g->unpack ? at.src : at.dst, others = NULL;
    LLVMValueRef init[2] = {pw_gen_k(g, 0), pw_gen_entry(g, &r->block_starts, starts, pw_gen_k(g, 0))};
    pw_val n = pw_gen_num(g, r->nblocks);
    if (r->block_packed.width > 0) {
        others = pw_gen_table(g, &r->block_packed);
        packed0 = pw_gen_at_val(g, packed0, pw_gen_num(g, r->block_packed.base));
    }
    pw_if guard;
    pw_loop l;
    /* Starts carry their base too; only their differences and the first, which is 0, matter. */
    pw_if_open(g, &guard, pw_gen_compare(g, LLVMIntSGT, n.v, 0));
    pw_loop_open(g, &l, 2, init);
    LLVMValueRef next = LLVMBuildAdd(g->b, l.phi[0], pw_gen_k(g, 1), "");
    LLVMValueRef end = pw_gen_entry(g, &r->block_starts, starts, next);
    LLVMValueRef mem = pw_gen_at(g, mem0, pw_gen_entry(g, &r->block_offs, offs, l.phi[0]));
    LLVMValueRef packed_off =
        others ? pw_gen_entry(g, &r->block_packed, others, l.phi[0]) : LLVMBuildSub(g->b, l.phi[1], init[1], "");
    LLVMValueRef packed = pw_gen_at(g, packed0, packed_off);
    pw_copy_any(g, g->unpack ? mem : packed, g->unpack ? packed : mem, LLVMBuildSub(g->b, end, l.phi[1], ""));
    pw_loop_close(g, &l, (LLVMValueRef[]){next, end}, LLVMBuildICmp(g->b, LLVMIntSLT, next, n.v, ""));
    pw_if_close(g, &guard);
}

void pw_leaf_emit(pw_gen *g, const pw_leaf *leaf, pw_at at)
{
    const pw_shape_region *r = leaf->region;
    if (leaf->nmoves > 0) {
        pw_move_list(g, at.dst, at.src, leaf->moves, leaf->nmoves);
        return;
    }
    for (int i = 0; i < r->npieces; i++)
        emit_piece(g, &r->pieces[i], at);
    if (r->npieces == 0)
        emit_blocks(g, r, at);
}

bool pw_region_copies(const pw_shape_region *r, int64_t least)
{
    for (int i = 0; i < r->npieces; i++)
        if (!is_baked(r->pieces[i].bytes) || r->pieces[i].bytes.value >= least)
            return true;
    return r->npieces == 0;
}
