#include "ir/memo.h"

/* Linear probing; cap is a power of two and more than used. */
static size_t slot_of(const pw_memo *memo, const pw_node *node)
{
    size_t i = ((uint64_t)(uintptr_t)node >> 4) * 0x9e3779b97f4a7c15u >> 20 & (memo->cap - 1);

    while (memo->entries[i].node && memo->entries[i].node != node)
        i = (i + 1) & (memo->cap - 1);
    return i;
}

const pw_memo_entry *pw_memo_look_up(const pw_memo *memo, const pw_node *node)
{
    const pw_memo_entry *entry = &memo->entries[slot_of(memo, node)];

    return entry->node ? entry : NULL;
}

static bool grow(pw_memo *memo)
{
    pw_memo bigger = {.cap = memo->cap ? 2 * memo->cap : 256, .used = memo->used, .visits = memo->visits};

    bigger.entries = calloc(bigger.cap, sizeof *bigger.entries);
    if (!bigger.entries)
        return false;
    for (size_t i = 0; i < memo->cap; i++)
        if (memo->entries[i].node)
            bigger.entries[slot_of(&bigger, memo->entries[i].node)] = memo->entries[i];
    free(memo->entries);
    *memo = bigger;
    return true;
}

void pw_memo_insert(pw_memo *memo, const pw_memo_entry *entry)
{
    if (4 * (memo->used + 1) > 3 * memo->cap && !grow(memo))
        return;
    memo->entries[slot_of(memo, entry->node)] = *entry;
    memo->used++;
}
