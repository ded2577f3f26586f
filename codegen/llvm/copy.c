/*
 * Copies of a length not known, or too long to be written out.
 *
 * A loop of 64-byte steps to an aligned destination, with first and last steps that overlap: stores that straddle
 * cache lines would halve its speed. Steps use the target's vectors for long blocks (isa.copy_bytes): the source is
 * seldom aligned too, and every 64-byte load then straddles lines, but only every second 32-byte load does. From
 * PW_COPY_STRING bytes on, a copy is one string instruction where a call gains by that (g->string). From PW_COPY_STREAM
 * bytes on, copies to the packed side use non-temporal stores in a call that moves more than the last-level cache holds
 * (g->stream). Shorter ones would be slower for it: each begins and ends with a line that is written in part.
 */
#include "codegen/llvm/gen.h"

#include <string.h>

enum { STEP = 64, MIXED_MAX = 1024 };

static void step(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, LLVMValueRef at)
{
    pw_move_wide(g, pw_gen_at(g, dst, at), pw_gen_at(g, src, at), STEP);
}

/* `steps` steps from the start and as many that end with the last byte. */
static void both_ends(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, LLVMValueRef n, int steps)
{
    for (int i = 0; i < steps; i++)
        step(g, dst, src, pw_gen_k(g, i * STEP));
    for (int i = steps; i > 0; i--)
        step(g, dst, src, LLVMBuildSub(g->b, n, pw_gen_k(g, i * STEP), ""));
}

/* The first offset behind 0 at which dst is aligned, at most STEP. */
static LLVMValueRef first_aligned(pw_gen *g, LLVMValueRef dst)
{
    LLVMValueRef address = LLVMBuildPtrToInt(g->b, dst, g->i64, "");
    return LLVMBuildSub(g->b, pw_gen_k(g, STEP), LLVMBuildAnd(g->b, address, pw_gen_k(g, STEP - 1), ""), "");
}

static void step_pair(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, LLVMValueRef at)
{
    step(g, dst, src, at);
    step(g, dst, src, LLVMBuildAdd(g->b, at, pw_gen_k(g, STEP), ""));
}

/* n > 2 * STEP, unaligned: the number of turns depends on n alone, which is easier to predict in lists of blocks. */
static void copy_plain(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, LLVMValueRef n)
{
    LLVMValueRef last = LLVMBuildSub(g->b, n, pw_gen_k(g, 2 * STEP), ""), at = pw_gen_k(g, 0);
    pw_loop l;
    pw_loop_open(g, &l, 1, &at);
    step_pair(g, dst, src, l.phi[0]);
    at = LLVMBuildAdd(g->b, l.phi[0], pw_gen_k(g, 2 * STEP), "");
    pw_loop_close(g, &l, &at, LLVMBuildICmp(g->b, LLVMIntSLT, at, last, ""));
    step_pair(g, dst, src, last);
}

/* n >= 3 * STEP: a first step, aligned pairs, and a pair that ends with the last byte. */
static void copy_loop(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, LLVMValueRef n)
{
    LLVMValueRef last = LLVMBuildSub(g->b, n, pw_gen_k(g, 2 * STEP), ""), at = first_aligned(g, dst);
    pw_loop l;
    step(g, dst, src, pw_gen_k(g, 0));
    pw_loop_open(g, &l, 1, &at);
    step_pair(g, dst, src, l.phi[0]);
    at = LLVMBuildAdd(g->b, l.phi[0], pw_gen_k(g, 2 * STEP), "");
    pw_loop_close(g, &l, &at, LLVMBuildICmp(g->b, LLVMIntSLT, at, last, ""));
    step_pair(g, dst, src, last);
}

/* The instruction moves its three registers on, so they are results as well as arguments. By the ABI the direction flag
 * is clear. */
static void copy_string(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, LLVMValueRef n)
{
    static const char text[] = "rep movsb", uses[] = "={di},={si},={cx},0,1,2,~{memory},~{dirflag},~{fpsr},~{flags}";
    LLVMTypeRef types[3] = {g->ptr, g->ptr, g->i64}, all = LLVMStructTypeInContext(g->ctx, types, 3, false);
    LLVMTypeRef fn = LLVMFunctionType(all, types, 3, false);
    LLVMValueRef args[3] = {dst, src, n}, code = LLVMGetInlineAsm(fn, text, sizeof text - 1, uses, sizeof uses - 1,
                                                                  true, false, LLVMInlineAsmDialectATT, false);
    LLVMBuildCall2(g->b, fn, code, args, 3, "");
}

/* Opens the branch of copies of `least` bytes and more, in calls that they suit. Returns false if there are none. */
static bool open_longer(pw_gen *g, pw_if *f, LLVMValueRef suits, pw_val n, int64_t least)
{
    if (!suits || (n.known && n.k < least))
        return false;
    pw_if_open(g, f, LLVMBuildAnd(g->b, suits, pw_gen_compare(g, LLVMIntSGE, n.v, least), ""));
    return true;
}

/* n >= 3 * STEP. */
static void copy_whole(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, pw_val n)
{
    pw_if f;
    bool may_string = open_longer(g, &f, g->string, n, PW_COPY_STRING);
    if (may_string) {
        copy_string(g, dst, src, n.v);
        pw_if_else(g, &f);
    }
    copy_loop(g, dst, src, n.v);
    if (may_string)
        pw_if_close(g, &f);
}

/* n >= STEP, `small` when it may well be less than four steps. */
static void copy_steps(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, pw_val n, bool small)
{
    pw_if one, two, three;
    if (!small) {
        copy_whole(g, dst, src, n);
        return;
    }
    pw_if_open(g, &one, pw_gen_compare(g, LLVMIntSLE, n.v, 2 * STEP));
    both_ends(g, dst, src, n.v, 1);
    pw_if_else(g, &one);
    pw_if_open(g, &two, pw_gen_compare(g, LLVMIntSLE, n.v, 4 * STEP));
    both_ends(g, dst, src, n.v, 2);
    pw_if_else(g, &two);
    pw_if_open(g, &three, pw_gen_compare(g, LLVMIntSLE, n.v, MIXED_MAX));
    copy_plain(g, dst, src, n.v);
    pw_if_else(g, &three);
    copy_whole(g, dst, src, n);
    pw_if_close(g, &three);
    pw_if_close(g, &two);
    pw_if_close(g, &one);
}

/* A 64-byte store that bypasses the caches; dst is aligned. */
static void stream_step(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, LLVMValueRef at)
{
    int width = g->isa.masked_moves ? STEP : g->isa.vector_bytes;
    LLVMMetadataRef one = LLVMValueAsMetadata(LLVMConstInt(g->i32, 1, false));
    LLVMValueRef node = LLVMMetadataAsValue(g->ctx, LLVMMDNodeInContext2(g->ctx, &one, 1));
    unsigned kind = LLVMGetMDKindIDInContext(g->ctx, "nontemporal", strlen("nontemporal"));
    for (int i = 0; i < STEP; i += width) {
        LLVMTypeRef type = pw_gen_vec(g, 8, width / 8);
        LLVMValueRef v = pw_gen_load(g, type, pw_gen_at_k(g, pw_gen_at(g, src, at), i));
        LLVMValueRef s = LLVMBuildStore(g->b, v, pw_gen_at_k(g, pw_gen_at(g, dst, at), i));
        LLVMSetAlignment(s, (unsigned)width);
        LLVMSetMetadata(s, kind, node);
    }
}

/* A plain first step up to where dst is aligned, streamed steps, a plain last step. */
static void copy_stream(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, LLVMValueRef n)
{
    LLVMValueRef last = LLVMBuildSub(g->b, n, pw_gen_k(g, STEP), "");
    LLVMValueRef at = first_aligned(g, dst);
    pw_loop l;
    step(g, dst, src, pw_gen_k(g, 0));
    pw_loop_open(g, &l, 1, &at);
    stream_step(g, dst, src, l.phi[0]);
    at = LLVMBuildAdd(g->b, l.phi[0], pw_gen_k(g, STEP), "");
    pw_loop_close(g, &l, &at, LLVMBuildICmp(g->b, LLVMIntSLE, at, last, ""));
    step(g, dst, src, last);
}

static void copy_large(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, pw_val n, bool small)
{
    pw_if f;
    bool may_stream = open_longer(g, &f, g->stream, n, PW_COPY_STREAM);
    if (may_stream) {
        copy_stream(g, dst, src, n.v);
        pw_if_else(g, &f);
    }
    copy_steps(g, dst, src, n, small);
    if (may_stream)
        pw_if_close(g, &f);
}

void pw_copy_long(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, pw_val n)
{
    copy_large(g, dst, src, n, false);
}

/* ---- lengths that may be small ------------------------------------------------------------------- */

/* n < 64 by one vector of which the first n bytes are on. */
static void copy_masked(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, LLVMValueRef n)
{
    LLVMTypeRef type = pw_gen_vec(g, 1, STEP);
    LLVMValueRef off = LLVMBuildShl(g->b, pw_gen_k(g, -1), n, "");
    LLVMValueRef mask = LLVMBuildBitCast(g->b, LLVMBuildNot(g->b, off, ""), LLVMVectorType(g->i1, STEP), "");
    pw_masked_ask(g, dst);
    pw_masked_store(g, pw_masked_load(g, type, src, mask), dst, mask);
}

/* Between p and 2p bytes: two moves of p, the second ending with the last byte. */
static void copy_pair(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, LLVMValueRef n, int64_t p)
{
    LLVMTypeRef type = p <= 8 ? pw_gen_int(g, (int)p) : pw_gen_vec(g, 8, (int)p / 8);
    LLVMValueRef last = LLVMBuildSub(g->b, n, pw_gen_k(g, p), "");
    LLVMValueRef a = pw_gen_load(g, type, src), b = pw_gen_load(g, type, pw_gen_at(g, src, last));
    pw_gen_store(g, a, dst);
    pw_gen_store(g, b, pw_gen_at(g, dst, last));
}

/* n < 64 without masks: halving, largest first. */
static void copy_halving(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, LLVMValueRef n)
{
    pw_if f[6];
    int depth = 0;
    for (int64_t p = 32; p >= 1; p /= 2) {
        pw_if_open(g, &f[depth], pw_gen_compare(g, LLVMIntSGE, n, p));
        if (p == 32) {
            copy_pair(g, dst, src, n, 16); /* the outer quarters … */
            LLVMValueRef last = LLVMBuildSub(g->b, n, pw_gen_k(g, 32), "");
            pw_move_fixed(g, pw_gen_at_k(g, dst, 16), pw_gen_at_k(g, src, 16), 16);
            pw_move_fixed(g, pw_gen_at(g, dst, last), pw_gen_at(g, src, last), 16);
        } else {
            copy_pair(g, dst, src, n, p);
        }
        pw_if_else(g, &f[depth++]);
    }
    while (depth > 0)
        pw_if_close(g, &f[--depth]);
}

void pw_copy_any(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, LLVMValueRef n)
{
    pw_if f;
    pw_if_open(g, &f, pw_gen_compare(g, LLVMIntSGE, n, STEP));
    copy_large(g, dst, src, (pw_val){.v = n}, true);
    pw_if_else(g, &f);
    if (g->isa.masked_moves)
        copy_masked(g, dst, src, n);
    else
        copy_halving(g, dst, src, n);
    pw_if_close(g, &f);
}
