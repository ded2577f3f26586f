/*
 * Moves of known length, straight line.
 *
 * A length is split into vectors of the target's width; what is left is one power of two, or one move that
 * overlaps the last (storing some bytes twice, the same both times), or one masked move. Nothing outside the
 * n bytes is touched.
 */
#include "codegen/llvm/gen.h"

enum { LINE = 64, WIDE = 2 * LINE };

static int64_t pow2_floor(int64_t n)
{
    int64_t p = 1;
    while (2 * p <= n)
        p *= 2;
    return p;
}

static void make_last_volatile(pw_gen *g)
{
    LLVMSetVolatile(LLVMGetLastInstruction(LLVMGetInsertBlock(g->b)), true);
}

/* One load and one store; n a power of two. Volatile keeps LLVM from leaving out one of two stores; and from loading
 * several lines before it stores the first one, which lets a Zen 5 take up to a quarter longer to copy blocks of 160 to
 * 256 bytes from layout to layout within its second-level cache. Packs and unpacks gain nothing by that. */
static void move_power(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, int64_t at, int64_t n)
{
    LLVMTypeRef type = n <= 8 ? pw_gen_int(g, (int)n) : pw_gen_vec(g, 8, (int)n / 8);
    LLVMValueRef v = pw_gen_load(g, type, pw_gen_at_k(g, src, at));
    LLVMValueRef to = pw_gen_at_k(g, dst, at);
    bool by_lines = g->shape->joined && n == LINE;
    LLVMSetVolatile(v, by_lines);
    pw_gen_store(g, v, to);
    if (by_lines || g->twice)
        make_last_volatile(g);
    if (g->twice) {
        pw_gen_store(g, v, to);
        make_last_volatile(g);
    }
}

/* n < the vector width, nothing before it that a move could overlap. */
static void move_small(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, int64_t n)
{
    int64_t p = pow2_floor(n);
    pw_move whole = {.dst = 0, .src = 0, .n = n};
    if (p == n) {
        move_power(g, dst, src, 0, n);
    } else if (pow2_floor(n - p) == n - p) {
        move_power(g, dst, src, 0, p);
        move_power(g, dst, src, p, n - p);
    } else if (g->isa.masked_moves) {
        pw_window_emit(g, dst, src, &whole, 1, NULL);
    } else {
        move_power(g, dst, src, 0, p);
        move_power(g, dst, src, n - p, p);
    }
}

/* Moves n bytes in vectors of `width`. */
static void move_in(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, int64_t n, int64_t width)
{
    int64_t at = 0;
    if (n < width) {
        if (n > 0)
            move_small(g, dst, src, n);
        return;
    }
    for (; at + width <= n; at += width)
        move_power(g, dst, src, at, width);
    if (at == n)
        return;
    if (pow2_floor(n - at) == n - at)
        move_power(g, dst, src, at, n - at);
    else
        move_power(g, dst, src, n - width, width);
}

void pw_move_wide(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, int64_t n)
{
    move_in(g, dst, src, n, g->isa.copy_bytes);
}

void pw_move_fixed(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, int64_t n)
{
    move_in(g, dst, src, n, n >= WIDE ? g->isa.copy_bytes : g->isa.vector_bytes);
}

/* The longest run of moves from the first that one window holds. */
static int window_run(const pw_gen *g, const pw_move *moves, int n)
{
    int best = 1;
    for (int k = 2; k <= n && pw_window_fits(g, moves, k); k++)
        best = k;
    return best;
}

void pw_move_list(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, const pw_move *moves, int n)
{
    for (int i = 0; i < n;) {
        int run = window_run(g, moves + i, n - i);
        if (run > 1)
            pw_window_emit(g, dst, src, moves + i, run, NULL);
        else
            pw_move_fixed(g, pw_gen_at_k(g, dst, moves[i].dst), pw_gen_at_k(g, src, moves[i].src), moves[i].n);
        i += run;
    }
}
