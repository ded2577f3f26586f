/*
 * The layout IR: a datatype as a map from packed bytes [0, size) to memory offsets, in typemap order
 * (MPI 4.0 section 5.1). docs/ir.md has the grammar and the semantics of every node.
 *
 * Nodes are immutable once built and live in the arena of their pw_type; they may be shared between
 * parents. All sizes, offsets, strides and extents are in bytes, 64-bit and signed; all counts are
 * numbers of children. Offsets inside a node are relative to the node's own origin. No function here
 * has global state: different arenas may be used from different threads at the same time.
 */
#ifndef PW_IR_IR_H
#define PW_IR_IR_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* X(symbol, keyword): used by printer, parser and verifier. */
#define PW_NODE_KINDS(X) \
    X(BYTES, "bytes")    \
    X(STREAM, "stream")  \
    X(INDEX, "index")    \
    X(BLOCKS, "blocks")  \
    X(SEQ, "seq")

typedef enum pw_node_kind {
#define X(symbol, keyword) PW_##symbol,
    PW_NODE_KINDS(X)
#undef X
} pw_node_kind;

typedef struct pw_node pw_node;

struct pw_node {
    pw_node_kind kind;
    int64_t size;   /* packed bytes, >= 0 */
    int64_t lo, hi; /* true bounds: touched bytes lie in [lo, hi); both 0 when size is 0 */
    int64_t blocks; /* contiguous blocks a naive traversal meets (saturates at INT64_MAX) */
    int depth;      /* 1 for leaves */
    unsigned kinds; /* the kinds of nodes in this tree: 1 << kind or-ed together */
    union {
        struct {
            int64_t n;     /* length; equals size */
            int64_t align; /* power of two, 1..16: origin-relative alignment known for every instance */
        } bytes;
        struct {
            int64_t count, stride; /* i-th child at i * stride */
            const pw_node *child;
        } stream;
        struct {
            int64_t n;
            const int64_t *offs; /* n offsets */
            const pw_node *child;
        } index;
        struct {
            int64_t n;
            const int64_t *offs, *lens; /* n offsets and n lengths */
        } blocks_list;
        struct {
            int64_t n;
            const int64_t *offs; /* n offsets */
            const pw_node *const *children;
        } seq;
    };
};

/* A complete datatype: the root of a tree, and what rides on it. Packed objects of a count are `size`
 * apart; memory objects are `extent` apart, the first at the buffer's address (lb is informational). */
typedef struct pw_type {
    const pw_node *root;
    int64_t lb, extent;
} pw_type;

/* ---- builder (ir/build.c) --------------------------------------------------------------------- */

/*
 * Builds nodes in an arena with a sticky error: after a failure every call returns NULL and accepts NULL
 * children, so a tree is built without checks between the steps and `status` is looked at once.
 * Arrays are copied into the arena; the pw_adopt_ functions take over arrays that lie there already, or live as long,
 * and are not changed any more. Counts and lengths of zero are legal and kept.
 */
typedef struct pw_builder {
    pw_arena *arena;
    pw_status status;
} pw_builder;

const pw_node *pw_build_bytes(pw_builder *b, int64_t n, int64_t align);
const pw_node *pw_build_stream(pw_builder *b, int64_t count, int64_t stride, const pw_node *child);
const pw_node *pw_build_index(pw_builder *b, int64_t n, const int64_t *offs, const pw_node *child);
const pw_node *pw_build_blocks(pw_builder *b, int64_t n, const int64_t *offs, const int64_t *lens);
const pw_node *pw_build_seq(pw_builder *b, int64_t n, const int64_t *offs, const pw_node *const *children);
const pw_node *pw_adopt_index(pw_builder *b, int64_t n, const int64_t *offs, const pw_node *child);
const pw_node *pw_adopt_blocks(pw_builder *b, int64_t n, const int64_t *offs, const int64_t *lens);
const pw_node *pw_adopt_seq(pw_builder *b, int64_t n, const int64_t *offs, const pw_node *const *children);
/* seq of one child: `child` moved by `offset`; `child` itself when offset is 0. */
const pw_node *pw_build_shift(pw_builder *b, int64_t offset, const pw_node *child);

/* The list in the builder's arena; NULL when the builder has failed. */
const int64_t *pw_build_list(pw_builder *b, int64_t n, const int64_t *list);

/* Whether n lengths are the same, as those of no blocks are. */
static inline bool pw_all_equal(int64_t n, const int64_t *lens)
{
    for (int64_t i = 1; i < n; i++)
        if (lens[i] != lens[0])
            return false;
    return true;
}

/* ---- whole trees ------------------------------------------------------------------------------ */

/* Structural equality and hash (ir/hash.c). Equal types hash equal; lb is left out of both, since it
 * moves no byte; extent is part of both. */
bool pw_node_equal(const pw_node *a, const pw_node *b);
bool pw_type_equal(const pw_type *a, const pw_type *b);
pw_hash pw_type_hash(const pw_type *type);

/*
 * Checks every invariant of docs/ir.md: non-negative counts and lengths, sizes and bounds that agree
 * with the children, alignments that hold. Names node (as a path, "root.stream.seq[2]") and reason.
 */
pw_status pw_verify(const pw_type *type, pw_diag *diag);

/* ---- text (ir/print.c, ir/parse.c) ------------------------------------------------------------- */

/* Prints to a malloc'ed string that the caller frees, one node a line, with a line end at the end; NULL when out
 * of memory. Parses back to an equal type. `elide` > 0 shortens lists beyond that many entries with "…" (which does not
 * parse back). */
char *pw_print(const pw_type *type, int64_t elide);
/* The same to a stream, since the text of a long list is several times as long as the list. */
void pw_print_to(FILE *out, const pw_type *type, int64_t elide);

/* Parses one `type` from NUL-terminated text into the arena, and verifies it. On failure `diag` has line
 * and column. `end`, when not NULL, gets the first character that is neither part of the type nor blank or comment
 * behind it (else such a character is an error). */
pw_status pw_parse(const char *text, pw_arena *arena, pw_type *out, const char **end, pw_diag *diag);

/* ---- reference semantics (ir/walk.c) ------------------------------------------------------------ */

/*
 * Calls fn once for every contiguous block of one object, in packed order: n bytes at memory offset
 * `off`. Zero-length blocks are skipped. Stops early, returning false, when fn returns false.
 * This is the definition of the IR's meaning, slow and simple; tests and small expansions use it.
 */
typedef bool pw_block_fn(void *arg, int64_t off, int64_t n);
bool pw_walk(const pw_node *node, int64_t origin, pw_block_fn *fn, void *arg);
/* The same from block `skip` on, which is found in O(depth) through streams and lists; the members of sequences are
 * passed one by one. */
bool pw_walk_from(const pw_node *node, int64_t origin, int64_t skip, pw_block_fn *fn, void *arg);

#endif
