/*
 * Finding structure in lists: the search behind `recover-streams` and `expand`.
 *
 * The result is a function of the list alone, so equal lists become equal trees. It contains nothing that
 * another tree pass would rewrite (streams are flattened and folded as they are made, sequences are flat),
 * which is what lets the passes reach a fixed point.
 */
#include "base/gcd.h"
#include "passes/internal.h"

/*
 * A seq is preferred to a list when it is this many times shorter, and when it has few members: every
 * member becomes a loop of its own in the kernels, and many short loops are slower than one over a list.
 */
enum { RUN_GAIN = 8, MAX_RUNS = 16 };

static bool pays(int64_t members, int64_t n)
{
    return members <= MAX_RUNS && members * RUN_GAIN <= n;
}

typedef struct member_list {
    int64_t n, cap;
    int64_t *offs;
    const pw_node **nodes;
} member_list;

static bool members_init(pw_builder *b, member_list *m, int64_t cap)
{
    *m = (member_list){.cap = cap};
    /* Few of them are used, and pages that nobody touches cost nothing. */
    m->offs = pw_arena_take_array(b->arena, (size_t)cap, sizeof *m->offs);
    m->nodes = pw_arena_take_array(b->arena, (size_t)cap, sizeof *m->nodes);
    if (!m->offs || !m->nodes)
        b->status = PW_ERR_NOMEM;
    return b->status == PW_OK;
}

/* Adds a node at an offset, taking sequences apart. The caller has room for all of it. */
static void members_add(member_list *m, int64_t off, const pw_node *node)
{
    if (node->kind != PW_SEQ) {
        m->offs[m->n] = off;
        m->nodes[m->n++] = node;
        return;
    }
    for (int64_t i = 0; i < node->seq.n; i++)
        members_add(m, off + node->seq.offs[i], node->seq.children[i]);
}

/* seq { @first (members, rebased) }: first member at 0, constant part lifted. There was room for many members, and
 * there are few: what they need is copied. */
static const pw_node *members_seq(pw_builder *b, member_list *m)
{
    int64_t first = m->offs[0];

    for (int64_t i = 0; i < m->n; i++)
        m->offs[i] -= first;
    return pw_build_shift(b, first, pw_build_seq(b, m->n, m->offs, m->nodes));
}

/* A stream, folded or flattened where its child continues it. */
static const pw_node *make_stream(pw_builder *b, int64_t count, int64_t stride, const pw_node *child)
{
    int64_t span;

    if (child->kind == PW_BYTES && stride == child->bytes.n)
        return pw_build_bytes(b, count * child->bytes.n, 1);
    if (child->kind == PW_STREAM && !__builtin_mul_overflow(child->stream.count, child->stream.stride, &span) &&
        span == stride)
        return pw_build_stream(b, count * child->stream.count, child->stream.stride, child->stream.child);
    return pw_build_stream(b, count, stride, child);
}

/* ---- lists of equal children --------------------------------------------------------------------- */

/* Length of the arithmetic progression that begins at offs[0]. */
static int64_t progression(int64_t n, const int64_t *offs)
{
    int64_t k = 2;

    if (n < 2)
        return n;
    while (k < n && offs[k] - offs[k - 1] == offs[1] - offs[0])
        k++;
    return k;
}

static bool repeats(int64_t n, const int64_t *offs, int64_t period)
{
    for (int64_t start = period; start < n; start += period)
        for (int64_t j = 1; j < period; j++)
            if (offs[start + j] - offs[start] != offs[j] - offs[0])
                return false;
    return true;
}

/* The smallest divisor of n above p, which is below n. Beyond the root they are the complements of those before it. */
static int64_t next_divisor(int64_t n, int64_t p)
{
    int64_t q = p + 1, k;

    for (; q <= n / q; q++)
        if (n % q == 0)
            return q;
    for (k = n / q; n % k != 0;)
        k--;
    return n / k;
}

/* The smallest period below n that divides it, or n. */
static int64_t smallest_period(int64_t n, const int64_t *offs)
{
    int64_t p = next_divisor(n, 1);

    while (p < n && !repeats(n, offs, p))
        p = next_divisor(n, p);
    return p;
}

static int64_t *starts_of(pw_builder *b, int64_t n, const int64_t *offs, int64_t period)
{
    int64_t *starts = pw_arena_array(b->arena, (size_t)(n / period), sizeof *starts);

    if (!starts) {
        b->status = PW_ERR_NOMEM;
        return NULL;
    }
    for (int64_t i = 0; i < n / period; i++)
        starts[i] = offs[i * period];
    return starts;
}

/* The list itself where it begins at 0. */
static const int64_t *rebase(pw_builder *b, int64_t n, const int64_t *offs)
{
    int64_t *out;

    if (offs[0] == 0)
        return offs;
    out = pw_arena_take_array(b->arena, (size_t)n, sizeof *out);
    if (!out) {
        b->status = PW_ERR_NOMEM;
        return NULL;
    }
    for (int64_t i = 0; i < n; i++)
        out[i] = offs[i] - offs[0];
    return out;
}

/* Parts of a list, taken from the left, each as long as `length` says of what is left. */
static int64_t count_parts(int64_t n, const int64_t *list, int64_t (*length)(int64_t n, const int64_t *list))
{
    int64_t parts = 0;

    for (int64_t i = 0; i < n; parts++)
        i += length(n - i, list + i);
    return parts;
}

static const pw_node *seq_of_runs(pw_builder *b, int64_t n, const int64_t *offs, const pw_node *child, int64_t runs)
{
    member_list m;

    if (!members_init(b, &m, runs))
        return NULL;
    for (int64_t i = 0, k; i < n; i += k) {
        const pw_node *run = child;

        k = progression(n - i, offs + i);
        if (k > 1)
            run = make_stream(b, k, offs[i + 1] - offs[i], child);
        if (!run)
            return NULL;
        members_add(&m, offs[i], run);
    }
    return members_seq(b, &m);
}

static const pw_node *plain_index(pw_builder *b, int64_t n, const int64_t *offs, const pw_node *child)
{
    const int64_t *rebased = rebase(b, n, offs);

    return rebased ? pw_build_shift(b, offs[0], pw_adopt_index(b, n, rebased, child)) : NULL;
}

const pw_node *pw_pattern_uniform(pw_builder *b, int64_t n, const int64_t *offs, const pw_node *child)
{
    int64_t period, runs;
    const int64_t *starts, *rebased;

    if (!child)
        return NULL;
    if (n == 1)
        return pw_build_shift(b, offs[0], child);
    if (progression(n, offs) == n)
        return pw_build_shift(b, offs[0], make_stream(b, n, offs[1] - offs[0], child));
    period = smallest_period(n, offs);
    if (period < n) {
        starts = starts_of(b, n, offs, period);
        rebased = rebase(b, period, offs);
        if (!starts || !rebased)
            return NULL;
        return pw_pattern_uniform(b, n / period, starts, pw_pattern_uniform(b, period, rebased, child));
    }
    runs = count_parts(n, offs, progression);
    /* Members that are sequences would multiply; they stay under an index. */
    if (pays(runs, n) && child->kind != PW_SEQ)
        return seq_of_runs(b, n, offs, child, runs);
    return plain_index(b, n, offs, child);
}

/* ---- lists of blocks ----------------------------------------------------------------------------- */

static bool blocks_repeat(int64_t n, const int64_t *offs, const int64_t *lens, int64_t period)
{
    for (int64_t i = period; i < n; i++) {
        int64_t j = i % period;

        if (lens[i] != lens[j] || offs[i] - offs[i - j] != offs[j] - offs[0])
            return false;
    }
    return true;
}

static const pw_node *repeated_blocks(pw_builder *b, int64_t n, const int64_t *offs, const int64_t *lens)
{
    for (int64_t p = next_divisor(n, 1); p < n; p = next_divisor(n, p)) {
        const int64_t *starts, *rebased;

        if (!blocks_repeat(n, offs, lens, p))
            continue;
        starts = starts_of(b, n, offs, p);
        rebased = rebase(b, p, offs);
        if (!starts || !rebased)
            return NULL;
        return pw_pattern_uniform(b, n / p, starts, pw_pattern_blocks(b, p, rebased, lens));
    }
    return NULL;
}

/* Whether the tree consists of streams, leaves and shifts only. */
static bool is_plain(const pw_node *node)
{
    switch (node->kind) {
    case PW_BYTES: return true;
    case PW_STREAM: return is_plain(node->stream.child);
    case PW_SEQ: return pw_is_shift(node) && is_plain(node->seq.children[0]);
    case PW_INDEX:
    case PW_BLOCKS: break;
    }
    return false;
}

/* Are the units of the blocks, taken `period` at a time, progressions of this step? */
static bool units_progress(int64_t n, const int64_t *offs, const int64_t *lens, int64_t unit, int64_t period,
                           int64_t step)
{
    int64_t in_group = 0, before = 0;

    for (int64_t i = 0; i < n; i++) {
        for (int64_t at = 0; at < lens[i]; at += unit) {
            int64_t off = offs[i] + at;

            if (in_group > 0 && off - before != step)
                return false;
            in_group = in_group + 1 < period ? in_group + 1 : 0;
            before = off;
        }
    }
    return true;
}

/* Can `total` units be plain streams? The innermost one is then a period of the list. */
static bool may_be_streams(int64_t n, const int64_t *offs, const int64_t *lens, int64_t unit, int64_t total)
{
    int64_t step = lens[0] > unit ? unit : offs[1] - offs[0], period = 1;

    while (period < total) {
        period = next_divisor(total, period);
        if (units_progress(n, offs, lens, unit, period, step))
            return true;
    }
    return false;
}

/*
 * Streams whose neighbouring blocks touch across an outer iteration look irregular once merged. Cut into
 * pieces of the common divisor they show their progressions again. NULL when they are no plain streams.
 */
static const pw_node *cut_blocks(pw_builder *b, int64_t n, const int64_t *offs, const int64_t *lens)
{
    int64_t unit = 0, total = 0, k = 0, *cut;
    pw_arena_mark before = pw_arena_here(b->arena);
    const pw_node *node;

    for (int64_t i = 0; i < n; i++) {
        unit = (int64_t)pw_gcd((uint64_t)lens[i], (uint64_t)unit);
        if (__builtin_add_overflow(total, lens[i], &total))
            return NULL;
    }
    total /= unit;
    if (total > 4 * n || !may_be_streams(n, offs, lens, unit, total))
        return NULL;
    cut = pw_arena_take_array(b->arena, (size_t)total, sizeof *cut);
    if (!cut) {
        b->status = PW_ERR_NOMEM;
        return NULL;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t done = 0; done < lens[i]; done += unit)
            cut[k++] = offs[i] + done;
    node = pw_pattern_uniform(b, total, cut, pw_build_bytes(b, unit, 1));
    if (node && is_plain(node))
        return node;
    pw_arena_rewind(b->arena, before);
    return NULL;
}

static int64_t equal_lengths(int64_t n, const int64_t *lens)
{
    int64_t k = 1;

    while (k < n && lens[k] == lens[0])
        k++;
    return k;
}

/* One member for each group of equal lengths; a group may itself be a few runs. */
static const pw_node *seq_of_groups(pw_builder *b, int64_t n, const int64_t *offs, const int64_t *lens)
{
    member_list m;

    if (!members_init(b, &m, n))
        return NULL;
    for (int64_t i = 0, k; i < n; i += k) {
        const pw_node *group;

        k = equal_lengths(n - i, lens + i);
        group = pw_pattern_uniform(b, k, offs + i, pw_build_bytes(b, lens[i], 1));
        if (!group)
            return NULL;
        members_add(&m, 0, group);
    }
    return members_seq(b, &m);
}

/* One member for each part of a list that has several units; NULL when it has not. */
static const pw_node *seq_of_parts(pw_builder *b, int64_t n, const int64_t *offs, const int64_t *lens)
{
    int64_t starts[PW_MAX_PARTS];
    int parts = pw_segment_blocks(b, n, lens, starts);
    member_list m;

    if (parts == 1 || !members_init(b, &m, n))
        return NULL;
    for (int i = 0; i < parts; i++) {
        int64_t end = i + 1 < parts ? starts[i + 1] : n;
        const pw_node *part = pw_pattern_blocks(b, end - starts[i], offs + starts[i], lens + starts[i]);

        if (!part)
            return NULL;
        members_add(&m, 0, part);
    }
    return members_seq(b, &m);
}

const pw_node *pw_pattern_blocks(pw_builder *b, int64_t n, const int64_t *offs, const int64_t *lens)
{
    const pw_node *node;
    int64_t groups = count_parts(n, lens, equal_lengths);
    const int64_t *rebased;

    if (groups == 1)
        return pw_pattern_uniform(b, n, offs, pw_build_bytes(b, lens[0], 1));
    node = repeated_blocks(b, n, offs, lens);
    if (!node && b->status == PW_OK)
        node = cut_blocks(b, n, offs, lens);
    if (node || b->status != PW_OK)
        return node;
    if (pays(groups, n) || (groups <= 3 && n > 3))
        return seq_of_groups(b, n, offs, lens);
    node = seq_of_parts(b, n, offs, lens);
    if (node || b->status != PW_OK)
        return node;
    rebased = rebase(b, n, offs);
    return rebased ? pw_build_shift(b, offs[0], pw_adopt_blocks(b, n, rebased, lens)) : NULL;
}
