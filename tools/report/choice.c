/*
 * Purpose: what sites chose, in a form that ranks can merge and people read. Data: records that are read from sites.
 * Invariant: savings count only what trials have timed.
 */
#include "tools/report/choice.h"

#include "runtime/choice/way.h"

enum { WIDEST = 4 }; /* a range of sizes is printed as one if its largest is at most so many times its smallest */

const char *const pw_stats_kinds[] = {"blocking", "nonblocking", "collective", "neighbourhood", "one-sided", "I/O"};
const char *const pw_stats_memories[] = {"host memory", "GPU memory"};

_Static_assert(sizeof pw_stats_kinds / sizeof *pw_stats_kinds == PW_CALL_KINDS, "every kind has a name");

void pw_stats_choice_read(pw_stats_choice *choice, pw_data site)
{
    pw_data ways = pw_data_object(site, "ways");
    double native = pw_data_number(pw_data_object(ways, pw_strategy_names[pw_way_left]), "tried");

    *choice = (pw_stats_choice){.hash = pw_data_hash(site, "hash"),
                                .low = pw_data_whole(site, "low"),
                                .high = pw_data_whole(site, "high"),
                                .kind = (int32_t)pw_data_whole(site, "kind"),
                                .memory = (int32_t)pw_data_whole(site, "memory")};
    for (int id = 0; id < PW_STRATEGY_COUNT; id++) {
        pw_data way = pw_data_object(ways, pw_strategy_names[id]);
        double tried = pw_data_number(way, "tried");
        bool can = pw_data_has(way, "total");

        choice->cells[id] = (pw_stats_cell){.uses = pw_data_whole(way, "uses"),
                                            .total = pw_data_number(way, "total"),
                                            .ranks = can,
                                            .tries = tried > 0,
                                            .tried = tried};
        if (id != pw_way_left)
            pw_stats_saved_count(&choice->saved, choice->cells[id].uses, native, tried);
    }
    if (choice->saved.known > 0)
        choice->saved.native = choice->cells[pw_way_left].uses;
}

/* ---- what was saved ------------------------------------------------------------------------------------------- */

void pw_stats_saved_count(pw_stats_saved *saved, int64_t uses, double native, double tried)
{
    if (native > 0 && tried > 0) {
        saved->ns += (int64_t)((native - tried) * (double)uses);
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
    to->native += more.native;
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
