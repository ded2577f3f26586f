/*
 * For walks of ir/ and passes/: remembers a value per node, so that walks over a tree with shared nodes stay linear in
 * the number of distinct nodes. Zero-initialise; release with pw_memo_free. Nothing is remembered for the
 * first PW_MEMO_LAZY nodes, so small trees pay for no allocation. A failed allocation only forgets.
 */
#ifndef PW_IR_MEMO_H
#define PW_IR_MEMO_H

#include "ir/ir.h"

#include <stddef.h>
#include <stdlib.h>

enum { PW_MEMO_LAZY = 128 };

typedef struct pw_memo_entry {
    const pw_node *node; /* NULL: free */
    union {
        pw_hash hash;
        const void *pointer;
        int64_t number;
    };
} pw_memo_entry;

typedef struct pw_memo {
    pw_memo_entry *entries;
    size_t cap, used;
    int visits;
} pw_memo;

const pw_memo_entry *pw_memo_look_up(const pw_memo *memo, const pw_node *node);
void pw_memo_insert(pw_memo *memo, const pw_memo_entry *entry);

/* Counts a visit to an inner node. The entry of `node`, or NULL when it is not remembered. */
static inline const pw_memo_entry *pw_memo_find(pw_memo *memo, const pw_node *node)
{
    if (memo->visits < PW_MEMO_LAZY)
        memo->visits++;
    return memo->entries ? pw_memo_look_up(memo, node) : NULL;
}

/* Remembers entry.node, which is not remembered yet. */
static inline void pw_memo_add(pw_memo *memo, pw_memo_entry entry)
{
    if (memo->visits == PW_MEMO_LAZY)
        pw_memo_insert(memo, &entry);
}

static inline void pw_memo_free(pw_memo *memo)
{
    free(memo->entries);
    *memo = (pw_memo){0};
}

#endif
