/* Structured control flow: if, loop, counted loop. */
#include "codegen/llvm/gen.h"

#include <llvm-c/DebugInfo.h>

static LLVMBasicBlockRef new_block(pw_gen *g, const char *name)
{
    return LLVMAppendBasicBlockInContext(g->ctx, g->fn, name);
}

void pw_if_open(pw_gen *g, pw_if *f, LLVMValueRef cond)
{
    f->then = new_block(g, "then");
    f->other = new_block(g, "else");
    f->join = NULL;
    f->has_else = false;
    LLVMBuildCondBr(g->b, cond, f->then, f->other);
    LLVMPositionBuilderAtEnd(g->b, f->then);
}

void pw_if_else(pw_gen *g, pw_if *f)
{
    f->join = new_block(g, "join");
    f->has_else = true;
    LLVMBuildBr(g->b, f->join);
    LLVMPositionBuilderAtEnd(g->b, f->other);
}

void pw_if_close(pw_gen *g, pw_if *f)
{
    if (!f->has_else)
        f->join = f->other;
    LLVMMoveBasicBlockAfter(f->join, LLVMGetInsertBlock(g->b));
    LLVMBuildBr(g->b, f->join);
    LLVMPositionBuilderAtEnd(g->b, f->join);
}

/*
 * Innermost loops begin on a cache line: many are a handful of instructions, and one that crosses a line takes
 * an extra cycle an iteration on Zen.
 */
static void align_loop(pw_gen *g, LLVMValueRef branch)
{
    static const char key[] = "llvm.loop.align", id[] = "llvm.loop";
    LLVMMetadataRef align[2] = {LLVMMDStringInContext2(g->ctx, key, sizeof key - 1),
                                LLVMValueAsMetadata(LLVMConstInt(g->i32, 64, false))};
    LLVMMetadataRef parts[2] = {LLVMTemporaryMDNode(g->ctx, NULL, 0), LLVMMDNodeInContext2(g->ctx, align, 2)};
    LLVMMetadataRef loop = LLVMMDNodeInContext2(g->ctx, parts, 2);
    /* The node names itself first, so that no other loop shares it. */
    LLVMMetadataReplaceAllUsesWith(parts[0], loop);
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(g->ctx, id, sizeof id - 1), LLVMMetadataAsValue(g->ctx, loop));
}

void pw_loop_open(pw_gen *g, pw_loop *l, int n, const LLVMValueRef *init)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->b);
    l->body = new_block(g, "loop");
    l->n = n;
    l->loops_before = g->nloops;
    LLVMBuildBr(g->b, l->body);
    LLVMPositionBuilderAtEnd(g->b, l->body);
    for (int i = 0; i < n; i++) {
        LLVMValueRef value = init[i];
        l->phi[i] = LLVMBuildPhi(g->b, LLVMTypeOf(value), "");
        LLVMAddIncoming(l->phi[i], &value, &before, 1);
    }
}

void pw_loop_close(pw_gen *g, pw_loop *l, const LLVMValueRef *next, LLVMValueRef again)
{
    LLVMBasicBlockRef last = LLVMGetInsertBlock(g->b), exit = new_block(g, "done");
    for (int i = 0; i < l->n; i++) {
        LLVMValueRef value = next[i];
        LLVMAddIncoming(l->phi[i], &value, &last, 1);
    }
    LLVMValueRef branch = LLVMBuildCondBr(g->b, again, l->body, exit);
    if (g->nloops++ == l->loops_before)
        align_loop(g, branch);
    LLVMPositionBuilderAtEnd(g->b, exit);
}

void pw_for_open(pw_gen *g, pw_for *f, pw_val count, LLVMValueRef dst, pw_val dst_step, LLVMValueRef src,
                 pw_val src_step)
{
    LLVMValueRef init[3] = {pw_gen_k(g, 0), dst, src};
    f->count = count;
    f->step[0] = dst_step.v;
    f->step[1] = src_step.v;
    f->i = init[0];
    f->dst = dst;
    f->src = src;
    if (pw_gen_is(count, 1))
        return;
    f->guarded = !(count.known && count.k > 0);
    if (f->guarded)
        pw_if_open(g, &f->guard, pw_gen_compare(g, LLVMIntSGT, count.v, 0));
    pw_loop_open(g, &f->loop, 3, init);
    f->i = f->loop.phi[0];
    f->dst = f->loop.phi[1];
    f->src = f->loop.phi[2];
}

void pw_for_close(pw_gen *g, pw_for *f)
{
    if (pw_gen_is(f->count, 1))
        return;
    LLVMValueRef next[3] = {LLVMBuildAdd(g->b, f->i, pw_gen_k(g, 1), ""), pw_gen_at(g, f->dst, f->step[0]),
                            pw_gen_at(g, f->src, f->step[1])};
    pw_loop_close(g, &f->loop, next, LLVMBuildICmp(g->b, LLVMIntSLT, next[0], f->count.v, ""));
    if (f->guarded)
        pw_if_close(g, &f->guard);
}
