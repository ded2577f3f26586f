/*
 * The verifier: every invariant of docs/ir.md, bottom up. A node's `need` is the strictest alignment of the
 * leaves below it; every offset and stride on the way to a leaf must be a multiple of it, which is the gcd
 * of the path being one. Shared nodes are checked once.
 */
#include "ir/verify.h"

#include "ir/measure.h"
#include "ir/memo.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The way from the root to the node at hand, for messages only. */
typedef struct path {
    const struct path *up;
    const pw_node *node;
    int64_t entry; /* which child is being checked, when the node is a seq */
    int depth;
} path;

typedef struct verifier {
    pw_memo memo;
    pw_diag *diag;
    const pw_node *culprit;
} verifier;

static const char *const keywords[] = {
#define X(symbol, keyword) [PW_##symbol] = keyword,
    PW_NODE_KINDS(X)
#undef X
};

enum { PATH_TEXT = 128 };

static bool kind_is_known(const pw_node *node)
{
    return (unsigned)node->kind < sizeof keywords / sizeof *keywords;
}

/* Appends the path, outermost first; what does not fit is cut. `last` is the node that the text is about. */
static size_t path_text(const path *at, bool last, char *out, size_t used)
{
    int n;

    if (!at)
        return used;
    used = path_text(at->up, false, out, used);
    if (!at->node || !kind_is_known(at->node))
        n = snprintf(out + used, PATH_TEXT - used, ".?");
    else if (at->node->kind == PW_SEQ && !last)
        n = snprintf(out + used, PATH_TEXT - used, ".seq[%" PRId64 "]", at->entry);
    else
        n = snprintf(out + used, PATH_TEXT - used, ".%s", keywords[at->node->kind]);
    used += (size_t)n;
    return used < PATH_TEXT ? used : PATH_TEXT - 1;
}

/* Returns 0, which is no alignment: the node is bad. */
__attribute__((format(printf, 4, 5))) static int64_t fail(verifier *v, const path *at, pw_status status,
                                                          const char *fmt, ...)
{
    char where[PATH_TEXT] = "root", reason[sizeof v->diag->text];
    va_list ap;

    path_text(at, true, where, strlen(where));
    va_start(ap, fmt);
    vsnprintf(reason, sizeof reason, fmt, ap);
    va_end(ap);
    pw_diag_set(v->diag, status, "%s: %.*s", where, (int)(sizeof reason - PATH_TEXT - 2), reason);
    v->culprit = at->node;
    return 0;
}

static int64_t check(verifier *v, const path *at);

static int64_t check_bytes(verifier *v, const path *at)
{
    const pw_node *node = at->node;

    if (node->bytes.n < 0)
        return fail(v, at, PW_ERR_INVALID, "length %" PRId64 " is negative", node->bytes.n);
    if (!pw_align_is_legal(node->bytes.align))
        return fail(v, at, PW_ERR_INVALID, "align %" PRId64 " is not 1, 2, 4, 8 or 16", node->bytes.align);
    return node->bytes.n > 0 ? node->bytes.align : 1;
}

static int64_t check_stream(verifier *v, const path *at)
{
    int64_t count = at->node->stream.count, stride = at->node->stream.stride;
    int64_t need = check(v, &(path){at, at->node->stream.child, 0, at->depth + 1});

    if (need == 0)
        return 0;
    if (count < 0)
        return fail(v, at, PW_ERR_INVALID, "count %" PRId64 " is negative", count);
    if (count > 1 && stride % need != 0)
        return fail(v, at, PW_ERR_INVALID, "stride %" PRId64 " breaks align %" PRId64 " of a leaf below", stride, need);
    return count > 0 ? need : 1;
}

/* Offsets of index and seq entries; need(i) of what lies there. */
static int64_t check_offset(verifier *v, const path *at, int64_t i, int64_t off, int64_t need)
{
    if (off % need == 0)
        return need;
    return fail(v, at, PW_ERR_INVALID,
                "offset %" PRId64 " of entry %" PRId64 " breaks align %" PRId64 " of a leaf below", off, i, need);
}

static int64_t check_index(verifier *v, const path *at)
{
    const pw_node *node = at->node;
    int64_t need = check(v, &(path){at, node->index.child, 0, at->depth + 1});

    if (need == 0)
        return 0;
    if (node->index.n < 0)
        return fail(v, at, PW_ERR_INVALID, "number of entries %" PRId64 " is negative", node->index.n);
    if (node->index.n > 0 && !node->index.offs)
        return fail(v, at, PW_ERR_INVALID, "list of offsets is missing");
    for (int64_t i = 0; i < node->index.n; i++)
        if (!check_offset(v, at, i, node->index.offs[i], need))
            return 0;
    return node->index.n > 0 ? need : 1;
}

static int64_t check_blocks(verifier *v, const path *at)
{
    int64_t n = at->node->blocks_list.n;
    const int64_t *lens = at->node->blocks_list.lens;

    if (n < 0)
        return fail(v, at, PW_ERR_INVALID, "number of entries %" PRId64 " is negative", n);
    if (n > 0 && (!at->node->blocks_list.offs || !lens))
        return fail(v, at, PW_ERR_INVALID, "list of offsets or lengths is missing");
    for (int64_t i = 0; i < n; i++)
        if (lens[i] < 0)
            return fail(v, at, PW_ERR_INVALID, "length %" PRId64 " of entry %" PRId64 " is negative", lens[i], i);
    return 1;
}

static int64_t check_seq(verifier *v, const path *at)
{
    const pw_node *node = at->node;
    const pw_node *const *children = node->seq.children;
    int64_t need = 1, entry_need = 1;

    if (node->seq.n < 0)
        return fail(v, at, PW_ERR_INVALID, "number of entries %" PRId64 " is negative", node->seq.n);
    if (node->seq.n > 0 && (!node->seq.offs || !children))
        return fail(v, at, PW_ERR_INVALID, "list of offsets or children is missing");
    for (int64_t i = 0; i < node->seq.n; i++) {
        path here = {at->up, node, i, at->depth};

        if (i == 0 || children[i] != children[i - 1])
            entry_need = check(v, &(path){&here, children[i], 0, at->depth + 1});
        if (entry_need == 0 || !check_offset(v, at, i, node->seq.offs[i], entry_need))
            return 0;
        need = entry_need > need ? entry_need : need;
    }
    return need;
}

/* The facts, once the children's own are known to be right. */
static bool check_facts(verifier *v, const path *at)
{
    const pw_node *node = at->node;
    pw_measure m = {0};
    pw_status status = pw_measure_node(node, &m);

    if (status == PW_ERR_OVERFLOW)
        return fail(v, at, status, "size or bounds do not fit 64 bits") != 0;
    if (status != PW_OK)
        return fail(v, at, status, "nested deeper than %d nodes", PW_MAX_DEPTH) != 0;
    if (node->size != m.size)
        return fail(v, at, PW_ERR_INVALID, "size is %" PRId64 ", expected %" PRId64, node->size, m.size) != 0;
    if (node->lo != m.lo || node->hi != m.hi)
        return fail(v, at, PW_ERR_INVALID, "bounds are [%" PRId64 ", %" PRId64 "), expected [%" PRId64 ", %" PRId64 ")",
                    node->lo, node->hi, m.lo, m.hi) != 0;
    if (node->blocks != m.blocks)
        return fail(v, at, PW_ERR_INVALID, "number of blocks is %" PRId64 ", expected %" PRId64, node->blocks,
                    m.blocks) != 0;
    if (node->depth != m.depth)
        return fail(v, at, PW_ERR_INVALID, "depth is %d, expected %d", node->depth, m.depth) != 0;
    return true;
}

static int64_t check_kind(verifier *v, const path *at)
{
    switch (at->node->kind) {
    case PW_BYTES: return check_bytes(v, at);
    case PW_STREAM: return check_stream(v, at);
    case PW_INDEX: return check_index(v, at);
    case PW_BLOCKS: return check_blocks(v, at);
    case PW_SEQ: return check_seq(v, at);
    }
    return fail(v, at, PW_ERR_INVALID, "kind %d is unknown", (int)at->node->kind);
}

/* The node's need, or 0 after a failure. */
static int64_t check(verifier *v, const path *at)
{
    const pw_memo_entry *known;
    int64_t need;

    if (!at->node)
        return fail(v, at, PW_ERR_INVALID, "node is missing");
    if (at->depth > PW_MAX_DEPTH)
        return fail(v, at, PW_ERR_UNSUPPORTED, "nested deeper than %d nodes", PW_MAX_DEPTH);
    known = pw_memo_find(&v->memo, at->node);
    if (known)
        return known->number;
    need = check_kind(v, at);
    if (need == 0 || !check_facts(v, at))
        return 0;
    if (at->node->kind != PW_BYTES)
        pw_memo_add(&v->memo, (pw_memo_entry){.node = at->node, .number = need});
    return need;
}

pw_status pw_verify_at(const pw_type *type, pw_diag *diag, const pw_node **culprit)
{
    pw_diag own;
    verifier v = {.diag = diag ? diag : &own};
    int64_t need = check(&v, &(path){NULL, type->root, 0, 1});
    pw_status status = need ? PW_OK : v.diag->status;

    pw_memo_free(&v.memo);
    if (culprit)
        *culprit = v.culprit;
    if (status == PW_OK && type->root->size > 0 && type->extent % need != 0)
        status = pw_diag_set(diag, PW_ERR_INVALID, "type: extent %" PRId64 " breaks align %" PRId64 " of a leaf",
                             type->extent, need);
    return status;
}

pw_status pw_verify(const pw_type *type, pw_diag *diag)
{
    return pw_verify_at(type, diag, NULL);
}
