#include "runtime/mpi/stats/choice.h"

#include "runtime/mpi/stats/numbers.h"

#include <stdlib.h>

enum { WIDEST = 4 }; /* a range of sizes is printed as one if its largest is at most so many times its smallest */

static const char *const names[] = {
#define X(symbol, name, packed, help) #name,
    PW_STRATEGIES(X)
#undef X
};
static const char *const kinds[] = {"blocking", "nonblocking", "collective", "neighbourhood", "one-sided", "I/O"};
static const char *const memories[PW_MODEL_MEMORIES] = {"", "GPU memory", "", "", ""};

_Static_assert(sizeof kinds / sizeof *kinds == PW_CALL_KINDS, "every kind has a name");

bool pw_stats_choice_take(const pw_site *d, pw_stats_choice *out)
{
    int64_t uses = 0;

    *out = (pw_stats_choice){.hash = d->example,
                             .low = d->key.size > 0 ? pw_site_most((uint16_t)(d->key.size - 1)) : 0,
                             .high = pw_site_most(d->key.size),
                             .kind = d->key.kind,
                             .memory = (d->key.place & 0xffff) ? PW_MODEL_DEVICE : PW_MODEL_HOST};
    for (int id = 0; id < d->ways && id < PW_STRATEGY_COUNT; id++) {
        const pw_site_cell *from = &d->cells[id];
        pw_stats_cell *to = &out->cells[id];
        float total = from->total, tried = from->tried;
        bool can = total >= 0 && total < (float)pw_impossible_ns;

        *to = (pw_stats_cell){.uses = from->uses,
                              .total = can ? (double)total : 0,
                              .ranks = can,
                              .tries = tried > 0,
                              .tried = (double)tried};
        uses += to->uses;
    }
    return uses > 0;
}

/* ---- words --------------------------------------------------------------------------------------------------- */

const char *pw_stats_choice_kind(const pw_stats_choice *choice)
{
    return kinds[choice->kind];
}

const char *pw_stats_choice_place(const pw_stats_choice *choice)
{
    return memories[choice->memory];
}

const char *pw_stats_strategy(int id)
{
    return names[id];
}

/* ---- times --------------------------------------------------------------------------------------------------- */

/* What one message takes at this end. */
static double end_of(const pw_stats_choice *c, int id)
{
    return c->cells[id].total / 2;
}

static bool was_tried(const pw_stats_choice *c, int id)
{
    return c->cells[id].tries && c->cells[PW_STRATEGY_NATIVE].tries;
}

/* The longest time of a message that a trial is believed. */
static double most_of(const pw_stats_choice *c, int id)
{
    return 4 * c->cells[id].total;
}

/* What one message saves according to a trial. All rounds of a trial may have waited for a processor, and the
 * difference of such times says nothing of other messages. So none saves more than native messages can take, nor loses
 * more than those of the strategy can. */
static double saved_in_trial(const pw_stats_choice *c, int id)
{
    double saved = c->cells[PW_STRATEGY_NATIVE].tried - c->cells[id].tried;
    double most = most_of(c, PW_STRATEGY_NATIVE), least = -most_of(c, id);

    return saved > most ? most : saved < least ? least : saved;
}

/* What one message saves at this end by this strategy. */
static double saved_by(const pw_stats_choice *c, int id)
{
    if (id == PW_STRATEGY_NATIVE)
        return 0;
    if (was_tried(c, id))
        return saved_in_trial(c, id);
    return c->cells[PW_STRATEGY_NATIVE].ranks ? end_of(c, PW_STRATEGY_NATIVE) - end_of(c, id) : 0;
}

pw_stats_times pw_stats_choice_times(const pw_stats_choice *c, pw_stats_expected *expected)
{
    double taken = 0, saved = 0;

    for (int id = 0; id < PW_STRATEGY_COUNT; id++) {
        const pw_stats_cell *cell = &c->cells[id];

        if (!cell->uses)
            continue;
        taken += (double)cell->uses * end_of(c, id);
        saved += (double)cell->uses * saved_by(c, id);
        /* Estimates for GPU memory are corrected already (runtime/choice/site.h). */
        if (cell->own > 0 && c->memory == PW_MODEL_HOST) {
            expected->uses += cell->uses;
            expected->ns += (int64_t)((double)cell->uses * cell->own);
            expected->untried += was_tried(c, id) ? 0 : cell->uses;
        }
    }
    return (pw_stats_times){(int64_t)taken, (int64_t)(taken + saved), (int64_t)saved};
}

/* ---- merging -------------------------------------------------------------------------------------------------- */

static int by_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_class(const void *a, const void *b)
{
    const pw_stats_choice *x = a, *y = b;
    int order = pw_hash_compare(x->hash, y->hash);

    if (!order)
        order = by_number(x->memory, y->memory);
    if (!order)
        order = by_number(x->kind, y->kind);
    return order ? order : by_number(x->low, y->low);
}

static double mean(double a, int64_t n, double b, int64_t k)
{
    return n + k > 0 ? (a * (double)n + b * (double)k) / (double)(n + k) : 0;
}

static void add(pw_stats_choice *to, const pw_stats_choice *from)
{
    if (from->high > to->high)
        to->high = from->high;
    for (int id = 0; id < PW_STRATEGY_COUNT; id++) {
        pw_stats_cell *t = &to->cells[id];
        const pw_stats_cell *f = &from->cells[id];

        t->total = mean(t->total, t->ranks, f->total, f->ranks);
        t->ranks += f->ranks;
        t->tried = mean(t->tried, t->tries, f->tried, f->tries);
        t->tries += f->tries;
        t->uses += f->uses;
        t->timed += f->timed;
        t->observed += f->observed;
        t->estimated += f->estimated;
    }
}

int pw_stats_choice_most_used(const pw_stats_choice *c)
{
    int most = 0;

    for (int id = 1; id < PW_STRATEGY_COUNT; id++)
        if (c->cells[id].uses > c->cells[most].uses)
            most = id;
    return most;
}

static bool is_same_class(const pw_stats_choice *a, const pw_stats_choice *b)
{
    return by_class(a, b) == 0;
}

static bool is_same_choice(const pw_stats_choice *a, const pw_stats_choice *b)
{
    return pw_hash_equal(a->hash, b->hash) && a->memory == b->memory && a->kind == b->kind &&
           b->high / WIDEST <= a->low && pw_stats_choice_most_used(a) == pw_stats_choice_most_used(b);
}

static int64_t merge_if(pw_stats_choice *choices, int64_t n,
                        bool (*same)(const pw_stats_choice *, const pw_stats_choice *))
{
    int64_t kept = 0;

    for (int64_t i = 1; i < n; i++) {
        if (same(&choices[kept], &choices[i]))
            add(&choices[kept], &choices[i]);
        else
            choices[++kept] = choices[i];
    }
    return n > 0 ? kept + 1 : 0;
}

int64_t pw_stats_choice_merge(pw_stats_choice *choices, int64_t n)
{
    if (n > 0)
        qsort(choices, (size_t)n, sizeof *choices, by_class);
    n = merge_if(choices, n, is_same_class);
    return merge_if(choices, n, is_same_choice);
}

/* ---- text ------------------------------------------------------------------------------------------------------- */

/* Prints why: " at an estimated 12 us (native 31 us)". */
static void print_reason(FILE *out, const pw_stats_choice *c, int most)
{
    const char *separator = " (";

    fputs(" at an estimated ", out);
    pw_stats_put_time(out, c->cells[most].total);
    for (int id = 0; id < PW_STRATEGY_COUNT; id++) {
        if (id == most || !c->cells[id].ranks)
            continue;
        fprintf(out, "%s%s ", separator, names[id]);
        pw_stats_put_time(out, c->cells[id].total);
        separator = ", ";
    }
    fputs(separator[0] == ',' ? ")" : "", out);
}

static void print_observed(FILE *out, const pw_stats_cell *cell)
{
    if (!cell->timed)
        return;
    fputs("; packing or unpacking took ", out);
    pw_stats_put_time(out, (double)cell->observed / (double)cell->timed);
    fputs(", estimated ", out);
    pw_stats_put_time(out, (double)cell->estimated / (double)cell->timed);
}

/* Prints the result of a trial: "; tried both ways: native 1.02 ms, packed 1.99 ms a use". */
static void print_trial(FILE *out, const pw_stats_choice *c)
{
    const char *separator = "; tried both ways: ";

    for (int id = 0; id < PW_STRATEGY_COUNT; id++) {
        if (!c->cells[id].tries)
            continue;
        fprintf(out, "%s%s ", separator, names[id]);
        pw_stats_put_time(out, c->cells[id].tried);
        separator = ", ";
    }
    fputs(separator[0] == ',' ? " a use" : "", out);
}

static void print_choice(FILE *out, const pw_stats_choice *c)
{
    int most = pw_stats_choice_most_used(c);

    fputs("packwright:     ", out);
    pw_stats_put_bytes(out, c->low);
    fputs(" to ", out);
    pw_stats_put_bytes(out, c->high);
    fprintf(out, ", %s%s%s: %s", kinds[c->kind], *memories[c->memory] ? ", " : "", memories[c->memory], names[most]);
    print_reason(out, c, most);
    fprintf(out, ", %lld times", (long long)c->cells[most].uses);
    for (int id = 0; id < PW_STRATEGY_COUNT; id++)
        if (id != most && c->cells[id].uses)
            fprintf(out, ", %s %lld", names[id], (long long)c->cells[id].uses);
    print_observed(out, &c->cells[most]);
    print_trial(out, c);
    fputc('\n', out);
}

void pw_stats_choice_print(FILE *out, const pw_stats_choice *choices, int64_t n, pw_hash hash)
{
    for (int64_t i = 0; i < n; i++)
        if (pw_hash_equal(choices[i].hash, hash))
            print_choice(out, &choices[i]);
}
