/*
 * Purpose: what sites chose, in a form that ranks can merge and people read. Data: records that are copied from sites.
 * Invariant: savings count only what trials have timed.
 */
#include "runtime/mpi/stats/choice.h"

enum { WIDEST = 4 }; /* a range of sizes is printed as one if its largest is at most so many times its smallest */

const char *const pw_stats_strategies[] = {
#define X(symbol, name, packed, help) #name,
    PW_STRATEGIES(X)
#undef X
};
const char *const pw_stats_kinds[] = {"blocking", "nonblocking", "collective", "neighbourhood", "one-sided", "I/O"};
const char *const pw_stats_memories[] = {"host memory", "GPU memory"};

_Static_assert(sizeof pw_stats_kinds / sizeof *pw_stats_kinds == PW_CALL_KINDS, "every kind has a name");

bool pw_stats_choice_take(const pw_site *d, pw_stats_choice *out)
{
    int64_t uses = 0;

    *out = (pw_stats_choice){.hash = d->example,
                             .low = d->key.size > 0 ? pw_site_most((uint16_t)(d->key.size - 1)) : 0,
                             .high = pw_site_most(d->key.size),
                             .kind = d->key.kind,
                             .memory = (d->key.place & 0xffff) != 0};
    for (int id = 0; id < d->ways && id < PW_STRATEGY_COUNT; id++) {
        const pw_site_cell *from = &d->cells[id];
        pw_stats_cell *to = &out->cells[id];
        float total = from->total, tried = from->tried;
        bool can = total >= 0;

        *to = (pw_stats_cell){.uses = from->uses,
                              .total = can ? (double)total : 0,
                              .ranks = can,
                              .tries = tried > 0,
                              .tried = (double)tried};
        uses += to->uses;
        if (id != pw_way_left)
            pw_stats_saved_count(&out->saved, to->uses, d->cells[pw_way_left].tried, tried);
    }
    return uses > 0;
}

/* ---- what was saved ------------------------------------------------------------------------------------------- */

void pw_stats_saved_count(pw_stats_saved *saved, int64_t uses, double native, double median)
{
    if (native > 0 && median > 0) {
        saved->ns += (int64_t)((native - median) * (double)uses);
        saved->known += uses;
    } else {
        saved->unknown += uses;
    }
}

void pw_stats_saved_add(pw_stats_saved *to, pw_stats_saved more)
{
    to->ns += more.ns;
    to->known += more.known;
    to->unknown += more.unknown;
}

/* ---- merging -------------------------------------------------------------------------------------------------- */

int pw_stats_choice_most_used(const pw_stats_choice *c)
{
    int most = 0;

    for (int id = 1; id < PW_STRATEGY_COUNT; id++)
        if (c->cells[id].uses > c->cells[most].uses)
            most = id;
    return most;
}

static int by_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Sites of one class that have chosen different ways stay apart, since what one saves, the other does not. */
static int by_class(const void *a, const void *b)
{
    const pw_stats_choice *x = a, *y = b;
    int order = pw_hash_compare(x->hash, y->hash);

    if (!order)
        order = by_number(x->memory, y->memory);
    if (!order)
        order = by_number(x->kind, y->kind);
    if (!order)
        order = by_number(pw_stats_choice_most_used(x), pw_stats_choice_most_used(y));
    return order ? order : by_number(x->low, y->low);
}

static double mean(double a, int64_t n, double b, int64_t k)
{
    return n + k > 0 ? (a * (double)n + b * (double)k) / (double)(n + k) : 0;
}

static void add(void *kept, const void *next)
{
    pw_stats_choice *to = kept;
    const pw_stats_choice *from = next;

    if (from->high > to->high)
        to->high = from->high;
    pw_stats_saved_add(&to->saved, from->saved);
    for (int id = 0; id < PW_STRATEGY_COUNT; id++) {
        pw_stats_cell *t = &to->cells[id];
        const pw_stats_cell *f = &from->cells[id];

        t->total = mean(t->total, t->ranks, f->total, f->ranks);
        t->ranks += f->ranks;
        t->tried = mean(t->tried, t->tries, f->tried, f->tries);
        t->tries += f->tries;
        t->uses += f->uses;
    }
}

bool pw_stats_choice_is_to_oneself(const pw_stats_choice *c)
{
    return c->cells[PW_STRATEGY_JOINED].ranks + c->cells[PW_STRATEGY_JOINED].uses > 0;
}

/* One line is to tell of one size, and of neighbouring ones. */
static int differ(const void *one, const void *next)
{
    const pw_stats_choice *a = one, *b = next;
    pw_stats_choice there = *b;

    there.low = b->high / WIDEST <= a->low ? a->low : b->low;
    return by_class(a, &there);
}

void pw_stats_choice_merge(pw_stats_list *choices)
{
    pw_stats_list_sort(choices, by_class);
    pw_stats_list_merge(choices, differ, add);
}
