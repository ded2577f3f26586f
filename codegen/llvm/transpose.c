/*
 * Transposes in registers: where one loop is contiguous at the source and the other at the destination, a
 * square of elements is read as rows, transposed by log2 steps of shuffles, and written as rows.
 */
#include "codegen/transpose.h"
#include "codegen/llvm/gen.h"

enum {
    AHEAD = 128,
    LONG = 128 /* squares in a row as written that is begun at a whole vector */
};

/* A square of `side` x `side` elements of `bytes`, in vectors of 8- or smaller-byte lanes. */
typedef struct square {
    int side, bytes;
    int lane, per_element; /* lane bytes; lanes of an element */
    pw_val src_stride;     /* between rows as read */
    pw_val dst_stride;     /* between rows as written */
    LLVMValueRef ahead;    /* how far ahead of each row as written its line is asked for */
} square;

/* Lanes of `a` and `b` exchanged in blocks of `half` elements: one step of the recursive transposition. */
static LLVMValueRef exchange(pw_gen *g, const square *q, LLVMValueRef a, LLVMValueRef b, int half, bool upper)
{
    LLVMValueRef index[64];
    int lanes = q->side * q->per_element;
    for (int i = 0; i < lanes; i++) {
        int element = i / q->per_element, in = i % q->per_element;
        bool from_b = (element & half) != 0;
        int from = upper ? (from_b ? element : element + half) : (from_b ? element - half : element);
        index[i] = LLVMConstInt(g->i32, (unsigned)((from_b ? lanes : 0) + from * q->per_element + in), false);
    }
    return LLVMBuildShuffleVector(g->b, a, b, LLVMConstVector(index, (unsigned)lanes), "");
}

/*
 * Asks for the lines that a square is written to. Stores leave their buffer in order, so without this each line that is
 * in no near cache is waited for alone.
 */
static void ask_for_lines(pw_gen *g, const square *q, LLVMValueRef dst)
{
    LLVMValueRef p = pw_gen_at(g, dst, q->ahead);
    for (int i = 0; i < q->side; i++) {
        pw_gen_prefetch(g, p, true);
        p = pw_gen_at_val(g, p, q->dst_stride);
    }
}

static void emit_square(pw_gen *g, const square *q, pw_at at)
{
    LLVMValueRef row[16], p = at.src;
    ask_for_lines(g, q, at.dst);
    LLVMTypeRef type = pw_gen_vec(g, q->lane, q->side * q->per_element);
    for (int i = 0; i < q->side; i++) {
        row[i] = pw_gen_load(g, type, p);
        p = pw_gen_at_val(g, p, q->src_stride);
    }
    for (int half = q->side / 2; half >= 1; half /= 2)
        for (int i = 0; i < q->side; i++)
            if ((i & half) == 0) {
                LLVMValueRef a = row[i], b = row[i + half];
                row[i] = exchange(g, q, a, b, half, false);
                row[i + half] = exchange(g, q, a, b, half, true);
            }
    p = at.dst;
    for (int i = 0; i < q->side; i++) {
        pw_gen_store(g, row[i], p);
        p = pw_gen_at_val(g, p, q->dst_stride);
    }
}

static pw_row part_of(const pw_row *row, LLVMValueRef count)
{
    pw_row r = *row;
    r.count = (pw_val){.v = count};
    return r;
}

/* Elements one by one, for the little that squares do not cover: small code rather than fast. */
static void emit_plain(pw_gen *g, const pw_leaf *leaf, const pw_row *outer, const pw_row *inner, pw_at at)
{
    pw_for f[2];
    pw_for_open(g, &f[0], outer->count, at.dst, outer->dst_step, at.src, outer->src_step);
    pw_for_open(g, &f[1], inner->count, f[0].dst, inner->dst_step, f[0].src, inner->src_step);
    pw_leaf_emit(g, leaf, (pw_at){f[1].dst, f[1].src});
    pw_for_close(g, &f[1]);
    pw_for_close(g, &f[0]);
}

/* The elements of each row as written from `at` on, one by one. The loop along the row is innermost, so that its lines
 * are still in the first cache: those of a column may all need the same set. `n` 0: no row is looked at. */
static void emit_ends(pw_gen *g, const pw_leaf *leaf, const pw_row *along, LLVMValueRef n, const pw_row *rows, pw_at at)
{
    LLVMValueRef any = pw_gen_compare(g, LLVMIntSGT, n, 0);
    const pw_row end = part_of(along, n),
                 of = part_of(rows, LLVMBuildSelect(g->b, any, rows->count.v, pw_gen_k(g, 0), ""));
    emit_plain(g, leaf, &of, &end, at);
}

/* Both counts are multiples of the square's side. */
static void emit_squares(pw_gen *g, const square *q, const pw_row *rows, const LLVMValueRef *tile, pw_at at)
{
    pw_tiles t;
    pw_for f[2];
    pw_tiles_open(g, &t, rows, tile, at);
    at = t.at;
    /* In a tile innermost along the destination, so that its lines are filled before they leave the first cache. */
    for (int i = 0; i < 2; i++) {
        const pw_row *r = &t.part[1 - i];
        pw_val dst_step = {.v = LLVMBuildMul(g->b, r->dst_step.v, pw_gen_k(g, q->side), "")};
        pw_val src_step = {.v = LLVMBuildMul(g->b, r->src_step.v, pw_gen_k(g, q->side), "")};
        pw_val squares = {.v = LLVMBuildUDiv(g->b, r->count.v, pw_gen_k(g, q->side), "")};
        pw_for_open(g, &f[i], squares, at.dst, dst_step, at.src, src_step);
        at = (pw_at){f[i].dst, f[i].src};
    }
    emit_square(g, q, at);
    pw_for_close(g, &f[1]);
    pw_for_close(g, &f[0]);
    pw_tiles_close(g, &t);
}

/* Are the rows of the source a multiple of `bytes`, a power of two, apart? */
static LLVMValueRef apart(pw_gen *g, const square *q, int64_t bytes)
{
    LLVMValueRef low = LLVMBuildAnd(g->b, q->src_stride.v, pw_gen_k(g, bytes - 1), "");
    return pw_gen_compare(g, LLVMIntEQ, low, 0);
}

/* Returns how many rows of the source a tile has. */
static LLVMValueRef source_rows(pw_gen *g, const square *q, int64_t tile)
{
    const pw_transpose_rule rule = pw_transpose_rule_of(q->bytes, tile, q->side);
    LLVMValueRef read = pw_gen_k(g, rule.read[PW_TRANSPOSE_DISTANCES - 1].rows);
    for (int i = PW_TRANSPOSE_DISTANCES - 2; i >= 0; i--)
        read = LLVMBuildSelect(g->b, apart(g, q, rule.read[i].apart), pw_gen_k(g, rule.read[i].rows), read, "");
    LLVMValueRef bits = LLVMBuildOr(g->b, q->dst_stride.v, pw_gen_k(g, PW_TRANSPOSE_PAGE), "");
    LLVMValueRef share = LLVMBuildAnd(g->b, bits, LLVMBuildNeg(g->b, bits, ""), "");
    LLVMValueRef written = LLVMBuildUDiv(g->b, share, pw_gen_k(g, rule.written), "");
    return LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, read, written, ""), written, read, "");
}

/*
 * Returns how many elements of each row as written lie before its first whole vector in memory. A store that crosses
 * two lines takes longer: on a Zen 5, the transpose of a matrix of doubles to an address as malloc returns it took 1.6
 * times as long. Returns 0 if rows begin in different places of a vector, or are so short that single elements could be
 * more than a hundredth of them: each takes as long as several in squares. `along`: the loop along a row, which begins
 * at `dst`.
 */
static LLVMValueRef before_vectors(pw_gen *g, const square *q, const pw_row *along, LLVMValueRef dst)
{
    int64_t bytes = (int64_t)q->side * q->bytes;
    LLVMValueRef address = LLVMBuildPtrToInt(g->b, dst, g->i64, "");
    LLVMValueRef past = LLVMBuildAnd(g->b, LLVMBuildNeg(g->b, address, ""), pw_gen_k(g, bytes - 1), "");
    LLVMValueRef steps = LLVMBuildAnd(g->b, q->dst_stride.v, pw_gen_k(g, bytes - 1), "");
    LLVMValueRef odd = LLVMBuildOr(g->b, steps, LLVMBuildAnd(g->b, past, pw_gen_k(g, q->bytes - 1), ""), "");
    LLVMValueRef pays = LLVMBuildAnd(g->b, pw_gen_compare(g, LLVMIntEQ, odd, 0),
                                     pw_gen_compare(g, LLVMIntSGE, along->count.v, LONG * (int64_t)q->side), "");
    return LLVMBuildSelect(g->b, pays, LLVMBuildUDiv(g->b, past, pw_gen_k(g, q->bytes), ""), pw_gen_k(g, 0), "");
}

bool pw_transpose_emit(pw_gen *g, const pw_leaf *leaf, const pw_row *outer, const pw_row *inner, pw_at at)
{
    int64_t n = leaf->nmoves == 1 ? leaf->moves[0].n : 0;
    bool read_inner = pw_gen_is(inner->src_step, n) && pw_gen_is(outer->dst_step, n);
    bool read_outer = pw_gen_is(outer->src_step, n) && pw_gen_is(inner->dst_step, n);
    square q = {.side = pw_transpose_side(&g->isa, n), .bytes = (int)n, .lane = n < 8 ? (int)n : 8};
    if (q.side < 2 || pw_row_has_table(outer) || pw_row_has_table(inner) || read_inner == read_outer)
        return false;
    /* Innermost along the source: it is read in order, and whole lines are written wherever they belong. */
    if (!read_inner) {
        const pw_row *swap = outer;
        outer = inner;
        inner = swap;
    }
    q.per_element = q.bytes / q.lane;
    q.src_stride = outer->src_step;
    q.dst_stride = inner->dst_step;
    q.ahead = LLVMBuildSelect(g->b, apart(g, &q, PW_TRANSPOSE_LINES), pw_gen_k(g, 0), pw_gen_k(g, AHEAD), "");
    at.dst = pw_gen_at_k(g, at.dst, leaf->moves[0].dst);
    at.src = pw_gen_at_k(g, at.src, leaf->moves[0].src);

    pw_leaf element = *leaf;
    element.moves[0].dst = element.moves[0].src = 0;
    LLVMValueRef lead = before_vectors(g, &q, outer, at.dst);
    emit_ends(g, &element, outer, lead, inner, at);
    at = pw_row_at(g, outer, at, lead);
    const pw_row behind = part_of(outer, LLVMBuildSub(g->b, outer->count.v, lead, ""));
    outer = &behind;

    LLVMValueRef mask = pw_gen_k(g, -(int64_t)q.side);
    LLVMValueRef outer_n = LLVMBuildAnd(g->b, outer->count.v, mask, "");
    LLVMValueRef inner_n = LLVMBuildAnd(g->b, inner->count.v, mask, "");
    const pw_row whole[2] = {part_of(outer, outer_n), part_of(inner, inner_n)};
    const pw_shape_region *r = leaf->region;
    int64_t side[2] = {read_inner ? r->tile_outer : r->tile_inner, read_inner ? r->tile_inner : r->tile_outer};
    const LLVMValueRef tile[2] = {source_rows(g, &q, side[0]), pw_gen_k(g, pw_transpose_whole(side[1], q.side))};
    emit_squares(g, &q, whole, tile, at);

    /* What squares do not cover: the last columns of the rows they do, then the last rows. */
    const pw_row rest = part_of(inner, LLVMBuildSub(g->b, inner->count.v, inner_n, ""));
    emit_plain(g, &element, &whole[0], &rest, pw_row_at(g, inner, at, inner_n));
    LLVMValueRef last = LLVMBuildSub(g->b, outer->count.v, outer_n, "");
    emit_ends(g, &element, outer, last, inner, pw_row_at(g, outer, at, outer_n));
    return true;
}
