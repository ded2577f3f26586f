/* Lists of what ranks report: they grow by one item at a time, and are merged. */
#ifndef PW_TOOLS_REPORT_LIST_H
#define PW_TOOLS_REPORT_LIST_H

#include "base/grow.h"

#include <string.h>

typedef struct pw_stats_list {
    size_t bytes; /* of an item */
    void *at;     /* malloc'ed */
    int64_t n, room;
} pw_stats_list;

/* Returns a new last item, all zeros. NULL: out of memory; the report is shorter then. */
static inline void *pw_stats_list_add(pw_stats_list *l)
{
    void *at = pw_grow(l->at, l->n, &l->room, l->bytes);

    if (!at)
        return NULL;
    l->at = at;
    return memset((char *)at + (size_t)l->n++ * l->bytes, 0, l->bytes);
}

typedef int pw_stats_order(const void *a, const void *b);

static inline void pw_stats_list_sort(pw_stats_list *l, pw_stats_order *order)
{
    if (l->n > 0)
        qsort(l->at, (size_t)l->n, l->bytes, order);
}

/* Adds each item to the one before it unless the two differ. */
static inline void pw_stats_list_merge(pw_stats_list *l, pw_stats_order *differ,
                                       void (*add)(void *to, const void *from))
{
    char *kept = l->at, *next = kept;

    for (int64_t i = 1; i < l->n; i++) {
        next += l->bytes;
        if (differ(kept, next))
            memmove(kept += l->bytes, next, l->bytes);
        else
            add(kept, next);
    }
    if (l->n > 0)
        l->n = (kept - (char *)l->at) / (int64_t)l->bytes + 1;
}

#endif
