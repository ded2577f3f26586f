/*
 * Windows: several small moves as few vector loads, shuffles and stores under constant masks.
 *
 * Masked loads and stores of AVX-512 touch exactly the lanes of their mask and suppress faults of the
 * others, so a window needs no room behind the last block and leaves gaps alone. On Zen 4 they cost the same as
 * plain ones: rows of 12-byte blocks run two to four times as fast as with scalar moves.
 */
#include "codegen/llvm/gen.h"

#include <stdlib.h>
#include <string.h>

enum { VECTOR = 64, MAX_VECTORS = 4 };

/* How a list of moves lies in vectors of lanes. */
typedef struct window {
    int lane;                         /* bytes */
    int64_t dst, src;                 /* offset of the first vector */
    int dst_bytes, src_bytes;         /* of one vector: 16, 32 or 64 */
    int ndst, nsrc;                   /* vectors */
    int64_t dst_step, src_step;       /* from one window to the next; 0: there is only one */
    int from[MAX_VECTORS * VECTOR];   /* source lane of every destination lane, or -1 */
    int block[MAX_VECTORS * VECTOR];  /* its block, or -1 */
    int reader[MAX_VECTORS * VECTOR]; /* the block that reads a source lane, or -1 */
} window;

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The largest lane of which every length and distance is a multiple. */
static int common_lane(const pw_move *moves, int n)
{
    int64_t bits = 8;
    for (int i = 0; i < n; i++)
        bits |= moves[i].n | (moves[i].dst - moves[0].dst) | (moves[i].src - moves[0].src);
    return (int)(bits & -bits);
}

static int vector_bytes(int64_t span)
{
    return span <= 16 ? 16 : span <= 32 ? 32 : VECTOR;
}

/* Extent of the moves and the vectors they need; false when too much. */
static bool measure(const pw_move *moves, int n, window *w)
{
    int64_t dst_end = moves[0].dst, src_end = moves[0].src;
    w->dst = moves[0].dst;
    w->src = moves[0].src;
    w->dst_step = w->src_step = 0;
    for (int i = 0; i < n; i++) {
        w->dst = min64(w->dst, moves[i].dst);
        w->src = min64(w->src, moves[i].src);
        dst_end = max64(dst_end, moves[i].dst + moves[i].n);
        src_end = max64(src_end, moves[i].src + moves[i].n);
    }
    if (dst_end - w->dst > MAX_VECTORS * VECTOR || src_end - w->src > MAX_VECTORS * VECTOR)
        return false;
    w->lane = common_lane(moves, n);
    w->dst_bytes = vector_bytes(dst_end - w->dst);
    w->src_bytes = vector_bytes(src_end - w->src);
    /* Several source vectors are shuffled together, which takes as many lanes as the destination has. */
    if (src_end - w->src > VECTOR)
        w->dst_bytes = VECTOR;
    w->ndst = (int)((dst_end - w->dst + w->dst_bytes - 1) / w->dst_bytes);
    w->nsrc = (int)((src_end - w->src + w->src_bytes - 1) / w->src_bytes);
    return true;
}

/* Assigns lanes; false when two moves write the same byte (then their order matters). */
static bool assign(const pw_move *moves, int n, window *w)
{
    memset(w->from, -1, sizeof w->from);
    memset(w->block, -1, sizeof w->block);
    memset(w->reader, -1, sizeof w->reader);
    for (int i = 0; i < n; i++) {
        int to = (int)(moves[i].dst - w->dst) / w->lane, from = (int)(moves[i].src - w->src) / w->lane;
        for (int k = 0; k < moves[i].n / w->lane; k++) {
            if (w->from[to + k] >= 0)
                return false;
            w->from[to + k] = from + k;
            w->block[to + k] = moves[i].block;
            /* A lane read by several blocks is needed as long as the first of them is. */
            if (w->reader[from + k] < 0 || w->reader[from + k] > moves[i].block)
                w->reader[from + k] = moves[i].block;
        }
    }
    return true;
}

/* Does destination vector d take lanes of source vector s? */
static bool uses(const window *w, int d, int s)
{
    int dl = w->dst_bytes / w->lane, sl = w->src_bytes / w->lane;
    for (int i = d * dl; i < (d + 1) * dl; i++)
        if (w->from[i] >= 0 && w->from[i] / sl == s)
            return true;
    return false;
}

static int count_shuffles(const window *w)
{
    int total = 0;
    for (int d = 0; d < w->ndst; d++) {
        int sources = 0;
        for (int v = 0; v < w->nsrc; v++)
            sources += uses(w, d, v);
        total += sources > 1 ? sources - 1 : 1;
    }
    return total;
}

/*
 * Tenths of a cycle, as measured on Zen 4: two loads of up to 32 bytes and one such store a cycle, 64 bytes count
 * twice, and half as much again where a series of windows straddles cache lines; six operations a cycle, the loop's own
 * included. What takes longest counts.
 */
static int window_cost(const window *w)
{
    int wide_dst = w->dst_bytes == VECTOR ? 2 : 1, wide_src = w->src_bytes == VECTOR ? 2 : 1;
    int loads = 5 * w->nsrc * wide_src, stores = 10 * w->ndst * wide_dst;
    if (w->src_step % w->src_bytes != 0)
        loads += loads / 2;
    if (w->dst_step % w->dst_bytes != 0)
        stores += stores / 2;
    int n = count_shuffles(w) * (wide_dst == wide_src ? 1 : 2);
    int shuffles = 5 * n * (wide_dst > wide_src ? wide_dst : wide_src);
    int all = 10 * (w->nsrc + w->ndst + n + 3) / 6, most = loads;
    most = stores > most ? stores : most;
    most = shuffles > most ? shuffles : most;
    return all > most ? all : most;
}

/* The same for one move after the other: a store each, or two for what is no power of two. */
static int separate_cost(const pw_gen *g, const pw_move *moves, int n)
{
    int cost = 0;
    for (int i = 0; i < n; i++) {
        int64_t vectors = (moves[i].n + g->isa.vector_bytes - 1) / g->isa.vector_bytes;
        bool word = (moves[i].n & (moves[i].n - 1)) == 0;
        cost += (int)(vectors * (word ? 10 : 12));
    }
    return cost;
}

static bool suits(const pw_gen *g, const window *w)
{
    return w->lane >= 4 || (w->lane == 2 && g->isa.masked_moves) || g->isa.byte_shuffles;
}

bool pw_window_fits(const pw_gen *g, const pw_move *moves, int n)
{
    window w;
    if (!g->isa.masked_moves || !measure(moves, n, &w) || !suits(g, &w) || !assign(moves, n, &w))
        return false;
    return window_cost(&w) < separate_cost(g, moves, n);
}

int pw_window_blocks(const pw_gen *g, const pw_move *moves, int n, int64_t dst_step, int64_t src_step)
{
    pw_move all[PW_MAX_MOVES];
    int best = 0, best_cost = 0;
    const int64_t most = MAX_VECTORS * VECTOR;
    if (!g->isa.masked_moves || llabs(dst_step) > most || llabs(src_step) > most)
        return 0;
    for (int blocks = 1; blocks * n <= PW_MAX_MOVES; blocks++) {
        window w;
        for (int i = 0; i < n; i++) {
            pw_move *m = &all[(blocks - 1) * n + i];
            *m = moves[i];
            m->dst += (blocks - 1) * dst_step;
            m->src += (blocks - 1) * src_step;
            m->block = blocks - 1;
        }
        if (!measure(all, blocks * n, &w) || !suits(g, &w) || !assign(all, blocks * n, &w))
            break;
        w.dst_step = blocks * dst_step;
        w.src_step = blocks * src_step;
        /* Compare costs a block: a/b < c/d as a*d < c*b. A larger window must win clearly. */
        int cost = window_cost(&w);
        bool pays = 10 * cost < 9 * separate_cost(g, all, blocks * n);
        if (blocks > 1 && pays && (best == 0 || 100 * cost * best < 98 * best_cost * blocks)) {
            best = blocks;
            best_cost = cost;
        }
    }
    return best;
}

/* ---- emission ---------------------------------------------------------------------------------- */

static LLVMValueRef lane_mask(pw_gen *g, const bool *on, int lanes)
{
    LLVMValueRef bits[VECTOR];
    uint64_t word = 0;
    for (int i = 0; i < lanes; i++) {
        bits[i] = LLVMConstInt(g->i1, on[i], false);
        word |= (uint64_t)on[i] << i;
    }
    return pw_mask_keep(g, LLVMConstVector(bits, (unsigned)lanes), lanes, word);
}

/* The lanes whose block is less than `left`. */
static LLVMValueRef blocks_left(pw_gen *g, const int *block, int lanes, int lane, LLVMValueRef left)
{
    LLVMTypeRef type = pw_gen_int(g, lane);
    LLVMValueRef numbers[VECTOR], zero = LLVMConstInt(g->i32, 0, false);
    for (int i = 0; i < lanes; i++)
        numbers[i] = LLVMConstInt(type, (unsigned long long)(block[i] < 0 ? 0 : block[i]), false);
    LLVMValueRef splat = LLVMGetPoison(LLVMVectorType(type, (unsigned)lanes));
    left = LLVMBuildTruncOrBitCast(g->b, left, type, "");
    splat = LLVMBuildInsertElement(g->b, splat, left, zero, "");
    splat = LLVMBuildShuffleVector(g->b, splat, splat, LLVMConstNull(LLVMVectorType(g->i32, (unsigned)lanes)), "");
    return LLVMBuildICmp(g->b, LLVMIntULT, LLVMConstVector(numbers, (unsigned)lanes), splat, "");
}

LLVMValueRef pw_mask_keep(pw_gen *g, LLVMValueRef constant, int lanes, uint64_t bits)
{
    for (int i = 0; i < g->nmasks; i++)
        if (g->masks[i].constant == constant)
            return g->masks[i].value;
    if (g->nmasks == PW_KEPT_MASKS || strcmp(g->job->target->arch, "x86_64") != 0)
        return constant;
    /* An empty asm hides the constant; the rest happens in the entry block, before its branch. */
    LLVMTypeRef type = lanes < 32 ? g->i32 : g->i64, fn = LLVMFunctionType(type, &type, 1, false);
    LLVMValueRef hide = LLVMGetInlineAsm(fn, "", 0, "=r,0", 4, false, false, LLVMInlineAsmDialectATT, false);
    LLVMBasicBlockRef here = LLVMGetInsertBlock(g->b);
    LLVMValueRef value = LLVMConstInt(type, bits, false);
    LLVMPositionBuilderBefore(g->b, LLVMGetBasicBlockTerminator(LLVMGetEntryBasicBlock(g->fn)));
    value = LLVMBuildCall2(g->b, fn, hide, &value, 1, "");
    value = LLVMBuildTruncOrBitCast(g->b, value, LLVMIntTypeInContext(g->ctx, (unsigned)lanes), "");
    value = LLVMBuildBitCast(g->b, value, LLVMTypeOf(constant), "");
    LLVMPositionBuilderAtEnd(g->b, here);
    g->masks[g->nmasks].constant = constant;
    g->masks[g->nmasks++].value = value;
    return value;
}

LLVMValueRef pw_masked_load(pw_gen *g, LLVMTypeRef type, LLVMValueRef p, LLVMValueRef mask)
{
    LLVMTypeRef types[] = {type, g->ptr};
    LLVMValueRef args[] = {p, LLVMConstInt(g->i32, 1, false), mask, LLVMGetPoison(type)};
    return pw_gen_call(g, "llvm.masked.load", types, 2, args, 4);
}

void pw_masked_ask(pw_gen *g, LLVMValueRef p)
{
    if (g->unpack || g->shape->joined)
        pw_gen_prefetch(g, p, true);
}

void pw_masked_store(pw_gen *g, LLVMValueRef value, LLVMValueRef p, LLVMValueRef mask)
{
    LLVMTypeRef types[] = {LLVMTypeOf(value), g->ptr};
    LLVMValueRef args[] = {value, p, LLVMConstInt(g->i32, 1, false), mask};
    pw_gen_call(g, "llvm.masked.store", types, 2, args, 4);
}

/* The mask of vector v on one side; NULL when all its lanes are on and stay on. */
static LLVMValueRef side_mask(pw_gen *g, const int *block, const int *on, int v, int lanes, int lane, LLVMValueRef left)
{
    bool bits[VECTOR], all = true;
    for (int i = 0; i < lanes; i++) {
        bits[i] = on[v * lanes + i] >= 0;
        all &= bits[i];
    }
    if (all && !left)
        return NULL;
    LLVMValueRef mask = lane_mask(g, bits, lanes);
    if (left)
        mask = LLVMBuildAnd(g->b, mask, blocks_left(g, block + v * lanes, lanes, lane, left), "");
    return mask;
}

static void load_sources(pw_gen *g, const window *w, LLVMValueRef src, LLVMValueRef left, LLVMValueRef *out)
{
    int lanes = w->src_bytes / w->lane;
    LLVMTypeRef type = pw_gen_vec(g, w->lane, lanes);
    for (int s = 0; s < w->nsrc; s++) {
        LLVMValueRef p = pw_gen_at_k(g, src, w->src + s * w->src_bytes);
        LLVMValueRef mask = side_mask(g, w->reader, w->reader, s, lanes, w->lane, left);
        out[s] = mask ? pw_masked_load(g, type, p, mask) : pw_gen_load(g, type, p);
    }
}

/* Destination vector d from one source vector; lanes that come from elsewhere are left undefined. */
static LLVMValueRef shuffle_one(pw_gen *g, const window *w, int d, LLVMValueRef source, int v)
{
    int dl = w->dst_bytes / w->lane, sl = w->src_bytes / w->lane;
    LLVMValueRef index[VECTOR];
    for (int i = 0; i < dl; i++) {
        int from = w->from[d * dl + i];
        bool mine = from >= 0 && from / sl == v;
        index[i] = mine ? LLVMConstInt(g->i32, (unsigned)(from % sl), false) : LLVMGetPoison(g->i32);
    }
    LLVMValueRef none = LLVMGetPoison(LLVMTypeOf(source));
    return LLVMBuildShuffleVector(g->b, source, none, LLVMConstVector(index, (unsigned)dl), "");
}

/*
 * Lanes of source vector v put into `sofar`, which has those of the vectors before it. With `first` >= 0, `sofar`
 * is source vector `first` itself, as it was loaded. Both have as many lanes as the destination.
 */
static LLVMValueRef shuffle_into(pw_gen *g, const window *w, int d, LLVMValueRef sofar, int first, LLVMValueRef source,
                                 int v)
{
    int lanes = w->dst_bytes / w->lane;
    LLVMValueRef index[VECTOR];
    for (int i = 0; i < lanes; i++) {
        int from = w->from[d * lanes + i], vector = from / lanes, lane = from % lanes;
        if (from < 0 || vector > v)
            index[i] = LLVMGetPoison(g->i32);
        else if (vector == v)
            index[i] = LLVMConstInt(g->i32, (unsigned)(lanes + lane), false);
        else
            index[i] = LLVMConstInt(g->i32, (unsigned)(first >= 0 ? lane : i), false);
    }
    return LLVMBuildShuffleVector(g->b, sofar, source, LLVMConstVector(index, (unsigned)lanes), "");
}

/* Source vectors are padded or their lower part is taken so that they have the destination's lanes. */
static LLVMValueRef gather_lanes(pw_gen *g, const window *w, int d, const LLVMValueRef *sources)
{
    LLVMValueRef value = NULL;
    int first = -1, used = 0;
    for (int v = 0; v < w->nsrc; v++) {
        if (!uses(w, d, v))
            continue;
        if (used == 0)
            first = v;
        else
            value = shuffle_into(g, w, d, used == 1 ? sources[first] : value, used == 1 ? first : -1, sources[v], v);
        used++;
    }
    return used == 1 ? shuffle_one(g, w, d, sources[first], first) : value;
}

/* Asks for the lines of a masked store of destination vector d at p. */
static void ask_for_lines(pw_gen *g, const window *w, int d, LLVMValueRef p)
{
    int lanes = w->dst_bytes / w->lane, first = 0, last = lanes - 1;
    const int *from = w->from + (ptrdiff_t)d * lanes;
    while (from[first] < 0)
        first++;
    while (from[last] < 0)
        last--;
    pw_masked_ask(g, pw_gen_at_k(g, p, first * w->lane));
    if ((last + 1 - first) * w->lane > VECTOR / 2)
        pw_masked_ask(g, pw_gen_at_k(g, p, (last + 1) * w->lane - 1));
}

void pw_window_emit(pw_gen *g, LLVMValueRef dst, LLVMValueRef src, const pw_move *moves, int n, LLVMValueRef left)
{
    window w;
    LLVMValueRef sources[MAX_VECTORS];
    if (!measure(moves, n, &w) || !assign(moves, n, &w))
        return; /* callers have asked pw_window_fits or pw_window_blocks, or give one short move */
    load_sources(g, &w, src, left, sources);
    for (int d = 0; d < w.ndst; d++) {
        int lanes = w.dst_bytes / w.lane;
        LLVMValueRef value = gather_lanes(g, &w, d, sources);
        LLVMValueRef mask = side_mask(g, w.block, w.from, d, lanes, w.lane, left);
        LLVMValueRef p = pw_gen_at_k(g, dst, w.dst + d * w.dst_bytes);
        if (!value)
            continue;
        if (mask && !left)
            ask_for_lines(g, &w, d, p);
        if (mask)
            pw_masked_store(g, value, p, mask);
        else
            pw_gen_store(g, value, p);
    }
}
