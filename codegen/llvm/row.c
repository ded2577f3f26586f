/*
 * The innermost loop. Chosen in this order:
 *  - known small strides: several iterations as one window (window.c), the rest under a mask;
 *  - few iterations: written out;
 *  - blocks of odd length, packed side dense, no masked moves: stores wider than the block, which the next
 *    iteration overwrites, with the last one exact;
 *  - else in groups of about GROUP_MOVES moves: with large strides, eight stores of which each advances by eight
 *    strides reach memory a quarter faster than four by four.
 */
#include "codegen/llvm/gen.h"

enum { WRITTEN_OUT = 16, GROUP_MOVES = 8, PAGE = 4096, SET_STRIDE = 512, RESIDENT_SPAN = 32768, TWICE_LINES = 1 << 15 };
enum { LINE = 64, AHEAD_BYTES = 1024, AHEAD_TURNS = 4, AHEAD_LEAST = 256 << 10, AHEAD_GAP = 1024 };
enum { WORD = 8, WORDS_BYTES = 16, GROUP_WORDS = 4, MANY_PAGES = 2048, QUEUED = 192 };

pw_at pw_row_offset(pw_gen *g, const pw_row *row, pw_at at, LLVMValueRef i)
{
    if (row->dst_offs.table)
        at.dst = pw_gen_at(g, at.dst, pw_gen_entry(g, row->dst_offs.table, row->dst_offs.entries, i));
    if (row->src_offs.table)
        at.src = pw_gen_at(g, at.src, pw_gen_entry(g, row->src_offs.table, row->src_offs.entries, i));
    return at;
}

pw_at pw_row_at(pw_gen *g, const pw_row *row, pw_at at, LLVMValueRef i)
{
    pw_at out;
    out.dst = pw_gen_at(g, at.dst, LLVMBuildMul(g->b, i, row->dst_step.v, ""));
    out.src = pw_gen_at(g, at.src, LLVMBuildMul(g->b, i, row->src_step.v, ""));
    return pw_row_offset(g, row, out, i);
}

/* ---- windows -------------------------------------------------------------------------------------- */

/* The moves of `blocks` iterations. */
static int repeat(const pw_leaf *leaf, const pw_row *row, int blocks, pw_move *out)
{
    int n = 0;
    for (int k = 0; k < blocks; k++)
        for (int i = 0; i < leaf->nmoves; i++) {
            out[n] = leaf->moves[i];
            out[n].dst += k * row->dst_step.k;
            out[n].src += k * row->src_step.k;
            out[n++].block = k;
        }
    return n;
}

/* Count split in groups of `size`, and what is left. */
static pw_val group_count(pw_gen *g, pw_val count, int size)
{
    if (count.known)
        return pw_gen_const(g, count.k / size);
    return (pw_val){.v = LLVMBuildUDiv(g->b, count.v, pw_gen_k(g, size), "")};
}

static pw_val step_times(pw_gen *g, pw_val step, int k)
{
    if (step.known)
        return pw_gen_const(g, (int64_t)((uint64_t)step.k * (uint64_t)k)); /* addresses wrap */
    return (pw_val){.v = LLVMBuildMul(g->b, step.v, pw_gen_k(g, k), "")};
}

/* Where the iterations after all whole groups begin. */
static pw_at after_groups(pw_gen *g, const pw_row *row, pw_at at, pw_val groups, int size)
{
    LLVMValueRef done = LLVMBuildMul(g->b, groups.v, pw_gen_k(g, size), "");
    at.dst = pw_gen_at(g, at.dst, LLVMBuildMul(g->b, done, row->dst_step.v, ""));
    at.src = pw_gen_at(g, at.src, LLVMBuildMul(g->b, done, row->src_step.v, ""));
    return at;
}

static LLVMValueRef left_over(pw_gen *g, pw_val count, pw_val groups, int size)
{
    return LLVMBuildSub(g->b, count.v, LLVMBuildMul(g->b, groups.v, pw_gen_k(g, size), ""), "");
}

static void emit_windows(pw_gen *g, const pw_leaf *leaf, const pw_row *row, pw_at at, int blocks)
{
    pw_move moves[PW_MAX_MOVES];
    int n = repeat(leaf, row, blocks, moves);
    pw_val groups = group_count(g, row->count, blocks);
    pw_for f;
    if (!pw_gen_is(groups, 0)) {
        pw_for_open(g, &f, groups, at.dst, step_times(g, row->dst_step, blocks), at.src,
                    step_times(g, row->src_step, blocks));
        pw_window_emit(g, f.dst, f.src, moves, n, NULL);
        pw_for_close(g, &f);
    }
    at = after_groups(g, row, at, groups, blocks);
    if (row->count.known) {
        n = repeat(leaf, row, (int)(row->count.k % blocks), moves);
        pw_move_list(g, at.dst, at.src, moves, n);
        return;
    }
    LLVMValueRef left = left_over(g, row->count, groups, blocks);
    pw_if some;
    pw_if_open(g, &some, pw_gen_compare(g, LLVMIntSGT, left, 0));
    pw_window_emit(g, at.dst, at.src, moves, n, left);
    pw_if_close(g, &some);
}

/* ---- wide stores ------------------------------------------------------------------------------------ */

static int64_t pow2_above(int64_t n)
{
    int64_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

/* One odd block whose copies lie end to end at the destination, in ascending order. */
static bool wide_suits(const pw_gen *g, const pw_leaf *leaf, const pw_row *row)
{
    int64_t n = leaf->nmoves == 1 ? leaf->moves[0].n : 0;
    return !g->isa.masked_moves && n > 2 && n < g->isa.vector_bytes && (n & (n - 1)) != 0 && !row->dst_offs.table &&
           pw_gen_is(row->dst_step, n) && !(row->count.known && row->count.k < 4);
}

/*
 * May `width` bytes be read at p, where a block of `n` is readable? Yes when they end in the page where p is. Known
 * small strides need no test: another block follows within less than a page, and both its and this block's
 * page can be read.
 */
static void wide_move(pw_gen *g, const pw_leaf *leaf, const pw_row *row, pw_at at)
{
    const pw_move *m = &leaf->moves[0];
    int64_t width = pow2_above(m->n);
    bool near_next = !row->src_offs.table && row->src_step.known && row->src_step.k >= m->n && row->src_step.k < PAGE;
    LLVMValueRef src = pw_gen_at_k(g, at.src, m->src), dst = pw_gen_at_k(g, at.dst, m->dst);
    pw_if f;
    if (near_next) {
        pw_move_fixed(g, dst, src, width);
        return;
    }
    LLVMValueRef in_page = LLVMBuildAnd(g->b, LLVMBuildPtrToInt(g->b, src, g->i64, ""), pw_gen_k(g, PAGE - 1), "");
    pw_if_open(g, &f, pw_gen_compare(g, LLVMIntSLE, in_page, PAGE - width));
    pw_move_fixed(g, dst, src, width);
    pw_if_else(g, &f);
    pw_move_fixed(g, dst, src, m->n);
    pw_if_close(g, &f);
}

static void emit_wide(pw_gen *g, const pw_leaf *leaf, const pw_row *row, pw_at at)
{
    LLVMValueRef but_one = LLVMBuildSub(g->b, row->count.v, pw_gen_k(g, 1), "");
    pw_val zero = pw_gen_const(g, 0);
    pw_if some;
    pw_for f;
    pw_if_open(g, &some, pw_gen_compare(g, LLVMIntSGE, but_one, 0));
    pw_for_open(g, &f, (pw_val){.v = but_one}, at.dst, zero, at.src, zero);
    wide_move(g, leaf, row, pw_row_at(g, row, at, f.i));
    pw_for_close(g, &f);
    pw_leaf_emit(g, leaf, pw_row_at(g, row, at, but_one));
    pw_if_close(g, &some);
}

/* ---- the general loop ------------------------------------------------------------------------------- */

static pw_at next_iteration(pw_gen *g, const pw_row *row, pw_at at)
{
    at.dst = pw_gen_at_val(g, at.dst, row->dst_step);
    at.src = pw_gen_at_val(g, at.src, row->src_step);
    return at;
}

/* Is a step shorter than a page, in either direction? */
static LLVMValueRef is_within_page(pw_gen *g, LLVMValueRef step)
{
    LLVMValueRef above = LLVMBuildAdd(g->b, step, pw_gen_k(g, PAGE - 1), "");
    return pw_gen_compare(g, LLVMIntULT, above, 2 * PAGE - 1);
}

/* Words whose places are found while the call runs. */
static bool are_from_afar(const pw_leaf *leaf, const pw_row *row)
{
    int64_t n = leaf->nmoves == 1 ? leaf->moves[0].n : 0;
    return (n == 2 || n == 4 || n == WORD) && row->dst_step.known && !row->src_step.known;
}

/*
 * Stores of which each goes to another page are a fifth faster one by one, when a single instruction makes them and a
 * prefetcher can follow it: then there are no groups, and all iterations are left over.
 */
static pw_val singly_over_pages(pw_gen *g, const pw_row *row, pw_val groups)
{
    if (row->dst_step.known || groups.known)
        return groups;
    return (pw_val){.v = LLVMBuildSelect(g->b, is_within_page(g, row->dst_step.v), groups.v, pw_gen_k(g, 0), "")};
}

/* Does a row load words from more pages than a TLB holds? Those that wait to be stored together would then be in the
 * way of further loads. */
static LLVMValueRef are_pages_many(pw_gen *g, const pw_leaf *leaf, const pw_row *row)
{
    LLVMValueRef many = pw_gen_compare(g, LLVMIntSGT, pw_gen_packed_bytes(g), MANY_PAGES * leaf->moves[0].n);
    return LLVMBuildAnd(g->b, many, LLVMBuildNot(g->b, is_within_page(g, row->src_step.v), ""), "");
}

/*
 * Lines a multiple of 512 bytes apart share few sets of the first-level cache. The stores that wait in the processor's
 * queue have their lines fetched early; where these are more than the sets hold, they drive each other out, and each
 * is fetched again when its store's turn comes. So each line is stored to several times: then the queue holds fewer
 * lines. That is of no use where the lines stay in the cache, or a call has more than TWICE_LINES blocks.
 *
 * Where isa.eager_stores says so, the queue is known: QUEUED stores of up to 32 bytes, one of 64 bytes being two. On
 * other CPUs each line is stored to twice, if blocks are small and less than a page apart.
 */
static bool repeats_suit(const pw_gen *g, const pw_leaf *leaf, const pw_row *row)
{
    int64_t n = leaf->nmoves == 1 ? leaf->moves[0].n : 0;
    bool power = (n & (n - 1)) == 0;
    if (n == 0 || row->dst_step.known)
        return false;
    return g->isa.eager_stores ? power || n % 8 == 0 : power && n <= g->isa.vector_bytes;
}

/* The stores of a block, of which the last may overlap the one before. */
static int64_t count_stores(int64_t n)
{
    return n > 32 ? (n + 31) / 32 : (n & (n - 1)) ? 2 : 1;
}

/* Does a step below a page, of blocks of `n` bytes, lead to few lines that share sets and do not stay there? */
static LLVMValueRef twice_pays(pw_gen *g, LLVMValueRef step, LLVMValueRef total, LLVMValueRef few, int64_t n)
{
    LLVMValueRef no = LLVMConstInt(g->i1, false, false);
    LLVMValueRef distance = pw_gen_call(g, "llvm.abs", &g->i64, 1, (LLVMValueRef[]){step, no}, 2);
    LLVMValueRef far = pw_gen_compare(g, LLVMIntSGT, LLVMBuildMul(g->b, total, distance, ""), RESIDENT_SPAN * n);
    LLVMValueRef low = LLVMBuildAnd(g->b, step, pw_gen_k(g, SET_STRIDE - 1), "");
    LLVMValueRef shared = pw_gen_compare(g, LLVMIntEQ, low, 0);
    shared = LLVMBuildAnd(g->b, is_within_page(g, step), shared, "");
    return LLVMBuildAnd(g->b, shared, LLVMBuildAnd(g->b, few, far, ""), "");
}

/*
 * How many pairs of equal stores had each store of a block of `n` bytes better be? NULL: one. *pays: is that any use?
 * Lines whose step is divided by `apart`, a power of two, have room for PW_NEAR_BYTES / apart blocks, which has to be
 * more than the queue holds: QUEUED / (stores of a block * repeats). One pair is enough for a row that alone does not
 * fill that room, since the rows around it may lead to other sets.
 */
static LLVMValueRef count_pairs(pw_gen *g, const pw_row *row, int64_t n, LLVMValueRef *pays)
{
    LLVMValueRef step = row->dst_step.v;
    LLVMValueRef total = pw_gen_packed_bytes(g);
    LLVMValueRef few = pw_gen_compare(g, LLVMIntSLE, total, TWICE_LINES * n);
    if (!g->isa.eager_stores) {
        *pays = twice_pays(g, step, total, few, n);
        return NULL;
    }
    int64_t once = PW_NEAR_BYTES / QUEUED * count_stores(n); /* with `apart` so large, one store each is enough */
    LLVMValueRef low = LLVMBuildAnd(g->b, step, LLVMBuildNeg(g->b, step, ""), "");
    LLVMValueRef apart = pw_gen_call(g, "llvm.umin", &g->i64, 1, (LLVMValueRef[]){low, pw_gen_k(g, PAGE)}, 2);
    LLVMValueRef alone = pw_gen_compare(g, LLVMIntSGT, LLVMBuildMul(g->b, row->count.v, apart, ""), PW_NEAR_BYTES);
    LLVMValueRef all = pw_gen_compare(g, LLVMIntSGT, LLVMBuildMul(g->b, total, apart, ""), PW_NEAR_BYTES * n);
    LLVMValueRef far = n <= g->isa.vector_bytes ? all : alone;
    LLVMValueRef crowded = LLVMBuildAnd(g->b, far, pw_gen_compare(g, LLVMIntSGT, apart, once), "");
    LLVMValueRef up = LLVMBuildAdd(g->b, apart, pw_gen_k(g, 2 * once - 1), "");
    LLVMValueRef pairs = LLVMBuildUDiv(g->b, up, pw_gen_k(g, 2 * once), "");
    *pays = LLVMBuildAnd(g->b, few, crowded, "");
    return LLVMBuildSelect(g->b, alone, pairs, pw_gen_k(g, 1), "");
}

/* Each block by so many pairs of stores; NULL: by one. */
static void emit_pairs(pw_gen *g, const pw_leaf *leaf, const pw_row *row, pw_at at, LLVMValueRef pairs)
{
    LLVMValueRef done = pw_gen_k(g, 0);
    pw_loop l;
    pw_for f;
    g->twice = true;
    pw_for_open(g, &f, row->count, at.dst, row->dst_step, at.src, row->src_step);
    if (pairs)
        pw_loop_open(g, &l, 1, &done);
    pw_leaf_emit(g, leaf, pw_row_offset(g, row, (pw_at){f.dst, f.src}, f.i));
    if (pairs) {
        done = LLVMBuildAdd(g->b, l.phi[0], pw_gen_k(g, 1), "");
        pw_loop_close(g, &l, &done, LLVMBuildICmp(g->b, LLVMIntSLT, done, pairs, ""));
    }
    pw_for_close(g, &f);
    g->twice = false;
}

/* One pair has a loop of its own, without a branch at each block. */
static void emit_repeated(pw_gen *g, const pw_leaf *leaf, const pw_row *row, pw_at at, LLVMValueRef pairs)
{
    pw_if many;
    if (pairs) {
        pw_if_open(g, &many, pw_gen_compare(g, LLVMIntSGT, pairs, 1));
        emit_pairs(g, leaf, row, at, pairs);
        pw_if_else(g, &many);
    }
    emit_pairs(g, leaf, row, at, NULL);
    if (pairs)
        pw_if_close(g, &many);
}

/* ---- prefetched rows -------------------------------------------------------------------------------- */

/* How many bytes ahead a row prefetches each side; NULL: it does not. `pays`: is the call long enough? NULL: no. */
typedef struct ahead {
    LLVMValueRef dst, src, pays;
} ahead;

/* Short rows end before their lines are used, and short copies find theirs in a near cache. */
static LLVMValueRef is_long(pw_gen *g, const pw_row *row, int turns)
{
    LLVMValueRef total = pw_gen_packed_bytes(g);
    LLVMValueRef much = pw_gen_compare(g, LLVMIntSGE, total, AHEAD_LEAST);
    int64_t least = (int64_t)AHEAD_TURNS * turns;
    return LLVMBuildAnd(g->b, much, pw_gen_compare(g, LLVMIntSGE, row->count.v, least), "");
}

/*
 * A side whose blocks leave out no line is a stream, which the processor's prefetchers follow by themselves: its
 * distance is 0, and NULL if that is known. So is that of blocks farther apart, whose prefetches reach many pages
 * ahead: messages from cold memory then take a third longer. *skips: does any side leave out lines?
 */
static LLVMValueRef ahead_of(pw_gen *g, pw_val step, int64_t n, int turns, LLVMValueRef *skips)
{
    if (step.known && (uint64_t)step.k - (uint64_t)n < LINE)
        return NULL;
    LLVMValueRef gap = LLVMBuildSub(g->b, step.v, pw_gen_k(g, n), "");
    LLVMValueRef behind = LLVMBuildSub(g->b, gap, pw_gen_k(g, LINE), "");
    LLVMValueRef leaves_out = pw_gen_compare(g, LLVMIntULT, behind, AHEAD_GAP - LINE);
    *skips = *skips ? LLVMBuildOr(g->b, *skips, leaves_out, "") : leaves_out;
    return LLVMBuildSelect(g->b, leaves_out, step_times(g, step, turns).v, pw_gen_k(g, 0), "");
}

/*
 * The processor's own prefetchers follow only one side of a copy well. So the memory is prefetched here, on both sides
 * if both are memory. A block shorter than a line counts as one line; blocks that leave lines out share none.
 */
static ahead prefetched_ahead(pw_gen *g, const pw_leaf *leaf, const pw_row *row)
{
    int64_t n = leaf->nmoves == 1 ? leaf->moves[0].n : 0;
    int turns = (int)(AHEAD_BYTES / (n > LINE ? n : LINE));
    ahead a = {NULL};
    if (n == 0 || turns == 0 || pw_row_has_table(row) || (row->count.known && row->count.k < AHEAD_TURNS * turns))
        return a;
    if (g->unpack || g->shape->joined)
        a.dst = ahead_of(g, row->dst_step, n, turns, &a.pays);
    if (!g->unpack || g->shape->joined)
        a.src = ahead_of(g, row->src_step, n, turns, &a.pays);
    if (a.pays)
        a.pays = LLVMBuildAnd(g->b, a.pays, is_long(g, row, turns), "");
    return a;
}

/* Prefetches of what is not there do no harm. */
static void prefetch(pw_gen *g, LLVMValueRef p, LLVMValueRef bytes, int64_t n, bool is_stored)
{
    p = pw_gen_at(g, p, bytes);
    for (int64_t line = 0; line < n; line += LINE)
        pw_gen_prefetch(g, pw_gen_at_k(g, p, line), is_stored);
}

static void prefetch_block(pw_gen *g, const pw_move *m, pw_at at, ahead far)
{
    if (far.src)
        prefetch(g, pw_gen_at_k(g, at.src, m->src), far.src, m->n, false);
    if (far.dst)
        prefetch(g, pw_gen_at_k(g, at.dst, m->dst), far.dst, m->n, true);
}

/* ---- groups ----------------------------------------------------------------------------------------- */

/*
 * Iterations to write out one after the other, so that loop overhead does not show. Words from afar are loaded by four
 * instructions, which advance by four strides: a prefetcher that follows each instruction does so over 2 KiB at most.
 */
static int group_size(const pw_gen *g, const pw_leaf *leaf, const pw_row *row)
{
    int64_t moves = 0;
    for (int i = 0; i < leaf->nmoves; i++)
        moves += (leaf->moves[i].n + g->isa.vector_bytes - 1) / g->isa.vector_bytes;
    if (moves == 0)
        return 1;
    if (row->count.known && row->count.k >= 1 && row->count.k <= WRITTEN_OUT && row->count.k * moves <= 2 * WRITTEN_OUT)
        return (int)row->count.k;
    if (are_from_afar(leaf, row))
        return GROUP_WORDS;
    return moves >= GROUP_MOVES ? 1 : (int)(GROUP_MOVES / moves);
}

/*
 * The words of this many iterations are stored at once. 0: words do not lie end to end at the destination, or are
 * bytes, for which that gains nothing.
 */
static int words_together(const pw_leaf *leaf, const pw_row *row, int size)
{
    int64_t n = leaf->nmoves == 1 ? leaf->moves[0].n : 0;
    int together = n > 0 && size > WORDS_BYTES / n ? (int)(WORDS_BYTES / n) : size;
    bool words = (n == 2 || n == 4 || n == 8) && !row->dst_offs.table && pw_gen_is(row->dst_step, n);
    return words && together > 1 && size % together == 0 ? together : 0;
}

/* Block k of a group. Of words, `together` are collected in *all, and stored with the last of them. */
static void emit_block(pw_gen *g, const pw_leaf *leaf, pw_at at, int k, int together, LLVMValueRef *all)
{
    const pw_move *m = leaf->moves;
    if (together == 0) {
        pw_leaf_emit(g, leaf, at);
        return;
    }
    LLVMValueRef word = pw_gen_load(g, pw_gen_int(g, (int)m->n), pw_gen_at_k(g, at.src, m->src));
    int lane = k % together;
    if (lane == 0)
        *all = LLVMGetPoison(pw_gen_vec(g, (int)m->n, together));
    *all = LLVMBuildInsertElement(g->b, *all, word, LLVMConstInt(g->i32, (unsigned)lane, false), "");
    if (lane == together - 1)
        pw_gen_store(g, *all, pw_gen_at_k(g, at.dst, m->dst - lane * m->n));
}

/* Does one instruction load the words of a group, of which a list says where they are? */
static bool is_gathered(const pw_gen *g, const pw_leaf *leaf, const pw_row *row, int size, int together)
{
    const pw_shape_table *t = row->src_offs.table;
    return g->isa.gathers && t && t->scale.slot < 0 && size == GROUP_MOVES && together > 0 && leaf->moves[0].n >= 4;
}

/* The words of a group of which iteration `first` is the first. */
static void emit_gather(pw_gen *g, const pw_move *m, const pw_row *row, pw_at at, LLVMValueRef first)
{
    const pw_shape_table *t = row->src_offs.table;
    LLVMTypeRef words = pw_gen_vec(g, (int)m->n, GROUP_MOVES), places = LLVMVectorType(g->ptr, GROUP_MOVES);
    LLVMTypeRef unit = LLVMArrayType2(g->i8, (uint64_t)t->scale.value), types[2] = {words, places};
    LLVMValueRef entries = LLVMBuildGEP2(g->b, pw_gen_int(g, t->width), row->src_offs.entries, &first, 1, "");
    LLVMValueRef offs = pw_gen_load(g, pw_gen_vec(g, t->width, GROUP_MOVES), entries);
    if (t->width < 8)
        offs = LLVMBuildZExt(g->b, offs, pw_gen_vec(g, 8, GROUP_MOVES), "");
    LLVMValueRef p = LLVMBuildGEP2(g->b, unit, pw_gen_at_k(g, at.src, m->src), &offs, 1, "");
    LLVMValueRef all = LLVMConstAllOnes(LLVMVectorType(g->i1, GROUP_MOVES));
    LLVMValueRef args[4] = {p, LLVMConstInt(g->i32, 1, false), all, LLVMGetPoison(words)};
    pw_gen_store(g, pw_gen_call(g, "llvm.masked.gather", types, 2, args, 4), pw_gen_at_k(g, at.dst, m->dst));
}

/* Addresses follow from the iteration before: multiples of a step would each take a register, set before the loop.
 * `together`: how many words are stored at once. 0: each move is stored by itself. */
static void emit_whole(pw_gen *g, const pw_leaf *leaf, const pw_row *row, pw_at at, pw_val groups, int size, ahead far,
                       int together)
{
    pw_for f;
    pw_for_open(g, &f, groups, at.dst, step_times(g, row->dst_step, size), at.src, step_times(g, row->src_step, size));
    LLVMValueRef first = LLVMBuildMul(g->b, f.i, pw_gen_k(g, size), "");
    pw_at block = {f.dst, f.src};
    LLVMValueRef words = NULL;
    bool gathered = is_gathered(g, leaf, row, size, together);
    if (gathered)
        emit_gather(g, leaf->moves, row, block, first);
    for (int k = 0; k < size && !gathered; k++) {
        pw_at offset = pw_row_offset(g, row, block, LLVMBuildAdd(g->b, first, pw_gen_k(g, k), ""));
        prefetch_block(g, leaf->moves, block, far);
        emit_block(g, leaf, offset, k, together, &words);
        block = next_iteration(g, row, block);
    }
    pw_for_close(g, &f);
}

static void emit_left_over(pw_gen *g, const pw_leaf *leaf, const pw_row *row, pw_at at, pw_val groups, int size)
{
    LLVMValueRef done = LLVMBuildMul(g->b, groups.v, pw_gen_k(g, size), "");
    pw_val left = {.v = left_over(g, row->count, groups, size)};
    pw_for f;
    at = after_groups(g, row, at, groups, size);
    pw_for_open(g, &f, left, at.dst, row->dst_step, at.src, row->src_step);
    pw_leaf_emit(g, leaf, pw_row_offset(g, row, (pw_at){f.dst, f.src}, LLVMBuildAdd(g->b, f.i, done, "")));
    pw_for_close(g, &f);
}

/* All iterations in groups of `size`, and those left over. `apart`: each word is stored by itself. */
static void emit_sized(pw_gen *g, const pw_leaf *leaf, const pw_row *row, pw_at at, int size, bool apart)
{
    ahead far = apart ? (ahead){NULL} : prefetched_ahead(g, leaf, row);
    int together = apart ? 0 : words_together(leaf, row, size);
    pw_val groups = group_count(g, row->count, size);
    pw_if f;
    if (size > 1)
        groups = singly_over_pages(g, row, groups);
    if (!pw_gen_is(groups, 0)) {
        if (far.pays) {
            pw_if_open(g, &f, far.pays);
            emit_whole(g, leaf, row, at, groups, size, far, together);
            pw_if_else(g, &f);
        }
        emit_whole(g, leaf, row, at, groups, size, (ahead){NULL}, together);
        if (far.pays)
            pw_if_close(g, &f);
    }
    if (size > 1 && !(row->count.known && row->count.k % size == 0))
        emit_left_over(g, leaf, row, at, groups, size);
}

static void emit_groups(pw_gen *g, const pw_leaf *leaf, const pw_row *row, pw_at at)
{
    bool words = are_from_afar(leaf, row) && !row->count.known;
    pw_if f;
    if (words) {
        pw_if_open(g, &f, are_pages_many(g, leaf, row));
        emit_sized(g, leaf, row, at, GROUP_MOVES, true);
        pw_if_else(g, &f);
    }
    emit_sized(g, leaf, row, at, group_size(g, leaf, row), false);
    if (words)
        pw_if_close(g, &f);
}

static void emit_general(pw_gen *g, const pw_leaf *leaf, const pw_row *row, pw_at at)
{
    bool repeats = repeats_suit(g, leaf, row);
    LLVMValueRef pays;
    pw_if f;
    if (repeats) {
        LLVMValueRef pairs = count_pairs(g, row, leaf->moves[0].n, &pays);
        pw_if_open(g, &f, pays);
        emit_repeated(g, leaf, row, at, pairs);
        pw_if_else(g, &f);
    }
    emit_groups(g, leaf, row, at);
    if (repeats)
        pw_if_close(g, &f);
}

void pw_row_emit(pw_gen *g, const pw_leaf *leaf, const pw_row *row, pw_at at)
{
    int blocks = 0;
    if (leaf->nmoves > 0 && !pw_row_has_table(row) && row->dst_step.known && row->src_step.known)
        blocks = pw_window_blocks(g, leaf->moves, leaf->nmoves, row->dst_step.k, row->src_step.k);
    if (blocks > 1)
        emit_windows(g, leaf, row, at, blocks);
    else if (wide_suits(g, leaf, row))
        emit_wide(g, leaf, row, at);
    else
        emit_general(g, leaf, row, at);
}
