/*
 * Structural equality and hash.
 *
 * A tree is hashed as the words of its nodes from the root down, which for a chain of streams over a leaf is one
 * short run of words and one call of the hash function. What is large or branches (a seq of several, a long list)
 * stands in its parent's words as its own hash; those are remembered, so shared nodes are hashed once. Which nodes do
 * so depends on their fields alone, never on the sharing.
 */
#include "ir/ir.h"
#include "ir/memo.h"

#include <string.h>

enum {
    RUN = 32, /* words of a run; a longer chain goes on in the hash of the rest. It lies on the stack once a level */
    NODE_WORDS = 6,  /* most words of one node */
    HASH_WORDS = 3,  /* HASHED and the hash */
    SHORT_LIST = 16, /* entries of a list that is hashed anew each time it is met */
    HASHED = 255     /* stands for a kind, before the hash of a subtree */
};

typedef struct run {
    uint64_t words[RUN];
    size_t n;
} run;

static pw_hash hash_node(pw_memo *memo, const pw_node *node);

static void put(run *r, uint64_t word)
{
    r->words[r->n++] = word;
}

static void put_hash(run *r, pw_hash h)
{
    put(r, h.lo);
    put(r, h.hi);
}

static void put_list(run *r, const int64_t *list, int64_t n)
{
    put_hash(r, pw_hash_bytes(list, (size_t)n * sizeof *list));
}

/* The fields of one node; returns the child that follows in the run, or NULL. */
static const pw_node *put_node(run *r, const pw_node *node)
{
    put(r, node->kind);
    switch (node->kind) {
    case PW_BYTES:
        put(r, (uint64_t)node->bytes.n);
        put(r, (uint64_t)node->bytes.align);
        return NULL;
    case PW_STREAM:
        put(r, (uint64_t)node->stream.count);
        put(r, (uint64_t)node->stream.stride);
        return node->stream.child;
    case PW_INDEX:
        put(r, (uint64_t)node->index.n);
        put_list(r, node->index.offs, node->index.n);
        return node->index.child;
    case PW_BLOCKS:
        put(r, (uint64_t)node->blocks_list.n);
        put_list(r, node->blocks_list.offs, node->blocks_list.n);
        put_list(r, node->blocks_list.lens, node->blocks_list.n);
        return NULL;
    case PW_SEQ:
        put(r, (uint64_t)node->seq.n);
        if (node->seq.n == 1) {
            put(r, (uint64_t)node->seq.offs[0]);
            return node->seq.children[0];
        }
        put_list(r, node->seq.offs, node->seq.n);
        return NULL;
    }
    return NULL;
}

static bool branches(const pw_node *node)
{
    return node->kind == PW_SEQ && node->seq.n != 1;
}

/* Has this node a hash of its own wherever it stands? */
static bool stands_alone(const pw_node *node)
{
    switch (node->kind) {
    case PW_BYTES:
    case PW_STREAM: return false;
    case PW_INDEX: return node->index.n > SHORT_LIST;
    case PW_BLOCKS: return node->blocks_list.n > SHORT_LIST;
    case PW_SEQ: return branches(node);
    }
    return true;
}

/* Appends the chain that begins with `node` and returns the hash of the run. */
static pw_hash hash_run(pw_memo *memo, run *r, const pw_node *node)
{
    for (node = put_node(r, node); node; node = put_node(r, node)) {
        if (stands_alone(node) || r->n + NODE_WORDS + HASH_WORDS > RUN) {
            put(r, HASHED);
            put_hash(r, hash_node(memo, node));
            break;
        }
    }
    return pw_hash_bytes(r->words, r->n * sizeof *r->words);
}

static pw_hash hash_seq(pw_memo *memo, run *r, const pw_node *node)
{
    pw_hash h = hash_run(memo, r, node), child = {0, 0};

    for (int64_t i = 0; i < node->seq.n; i++) {
        if (i == 0 || node->seq.children[i] != node->seq.children[i - 1])
            child = hash_node(memo, node->seq.children[i]);
        h = pw_hash_mix(h, child);
    }
    return h;
}

static pw_hash hash_node(pw_memo *memo, const pw_node *node)
{
    const pw_memo_entry *known = node->kind == PW_BYTES ? NULL : pw_memo_find(memo, node);
    run r;
    pw_hash h;

    if (known)
        return known->hash;
    r.n = 0;
    h = branches(node) ? hash_seq(memo, &r, node) : hash_run(memo, &r, node);
    if (node->kind != PW_BYTES)
        pw_memo_add(memo, (pw_memo_entry){.node = node, .hash = h});
    return h;
}

pw_hash pw_type_hash(const pw_type *type)
{
    pw_memo memo = {0};
    run r;
    pw_hash h;

    r.n = 0;
    put(&r, (uint64_t)type->extent);
    if (branches(type->root))
        h = hash_seq(&memo, &r, type->root);
    else
        h = hash_run(&memo, &r, type->root);
    pw_memo_free(&memo);
    return h;
}

/* ---- equality --------------------------------------------------------------------------------- */

static bool list_equal(const int64_t *a, const int64_t *b, int64_t n)
{
    return a == b || n == 0 || memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static bool equal_node(pw_memo *memo, const pw_node *a, const pw_node *b);

static bool equal_seq(pw_memo *memo, const pw_node *a, const pw_node *b)
{
    const pw_node *const *ca = a->seq.children, *const *cb = b->seq.children;

    if (a->seq.n != b->seq.n || !list_equal(a->seq.offs, b->seq.offs, a->seq.n))
        return false;
    for (int64_t i = 0; i < a->seq.n; i++) {
        if (i > 0 && ca[i] == ca[i - 1] && cb[i] == cb[i - 1])
            continue;
        if (!equal_node(memo, ca[i], cb[i]))
            return false;
    }
    return true;
}

static bool equal_inner(pw_memo *memo, const pw_node *a, const pw_node *b)
{
    switch (a->kind) {
    case PW_BYTES: return a->bytes.n == b->bytes.n && a->bytes.align == b->bytes.align;
    case PW_STREAM:
        return a->stream.count == b->stream.count && a->stream.stride == b->stream.stride &&
               equal_node(memo, a->stream.child, b->stream.child);
    case PW_INDEX:
        return a->index.n == b->index.n && list_equal(a->index.offs, b->index.offs, a->index.n) &&
               equal_node(memo, a->index.child, b->index.child);
    case PW_BLOCKS:
        return a->blocks_list.n == b->blocks_list.n &&
               list_equal(a->blocks_list.offs, b->blocks_list.offs, a->blocks_list.n) &&
               list_equal(a->blocks_list.lens, b->blocks_list.lens, a->blocks_list.n);
    case PW_SEQ: return equal_seq(memo, a, b);
    }
    return false;
}

/* The memo maps a node of the left tree to one node of the right tree known to equal it. Nodes are found equal in the
 * order of the walk, so a left node that meets another right node is compared again; sharing on both sides makes the
 * walk linear, sharing on one side only is as large as the unshared side. */
static bool equal_node(pw_memo *memo, const pw_node *a, const pw_node *b)
{
    const pw_memo_entry *known;
    bool equal;

    if (a == b)
        return true;
    if (a->kind != b->kind || a->size != b->size || a->depth != b->depth)
        return false;
    if (a->kind == PW_BYTES)
        return equal_inner(memo, a, b);
    known = pw_memo_find(memo, a);
    if (known && known->pointer == b)
        return true;
    equal = equal_inner(memo, a, b);
    if (equal && !known)
        pw_memo_add(memo, (pw_memo_entry){.node = a, .pointer = b});
    return equal;
}

bool pw_node_equal(const pw_node *a, const pw_node *b)
{
    pw_memo memo = {0};
    bool equal = equal_node(&memo, a, b);

    pw_memo_free(&memo);
    return equal;
}

bool pw_type_equal(const pw_type *a, const pw_type *b)
{
    return a->extent == b->extent && pw_node_equal(a->root, b->root);
}
