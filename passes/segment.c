/*
 * Where the unit of a list of blocks changes.
 *
 * A struct of several index lists is one list of blocks once it is merged, and where entries of a list happen to be
 * neighbours its blocks have several lengths: 24 24 48 24 ... 8 8 16 8 ... 12 24 12 ... In each part the lengths are
 * multiples of that part's block, the unit; over all of it their common divisor is small, and a kernel would move
 * many short blocks. This cuts the list into such parts, so that lowering can make a loop over equal blocks of each.
 *
 * The cut is the cheapest one. A block costs as many entries as it has units, PW_CUT_MAX at most (beyond that lowering
 * leaves blocks as they are); a part costs PART_COST. Among cuts of equal cost the one of fewest parts counts.
 * The result is a function of the lengths alone, and a part is not cut again: the units that its windows suggest
 * are among those of the whole list, so a cheaper cut of it would have made the whole cheaper.
 */
#include "base/gcd.h"
#include "passes/internal.h"

enum {
    WINDOW = 16,    /* blocks whose common divisor is a unit worth trying */
    MAX_UNITS = 16, /* a list with more of them has no parts */
    PART_COST = 64  /* entries that a loop of its own must save */
};

/* Entries weigh 2^20, so that below that many parts their number decides between equal costs only. */
static const int64_t entry_cost = (int64_t)1 << 20, part_cost = PART_COST * ((int64_t)1 << 20) + 1;
static const int64_t impossible = INT64_MAX / 4;

typedef struct units {
    int n;
    int64_t unit[MAX_UNITS];
} units;

static int64_t gcd(int64_t a, int64_t b)
{
    return a == b ? a : (int64_t)pw_gcd((uint64_t)a, (uint64_t)b);
}

/* False: there are too many. */
static bool add_unit(units *u, int64_t unit)
{
    for (int i = 0; i < u->n; i++)
        if (u->unit[i] == unit)
            return true;
    if (u->n == MAX_UNITS)
        return false;
    u->unit[u->n++] = unit;
    return true;
}

static void sort_units(units *u)
{
    for (int i = 1; i < u->n; i++)
        for (int k = i; k > 0 && u->unit[k - 1] > u->unit[k]; k--) {
            int64_t greater = u->unit[k - 1];

            u->unit[k - 1] = u->unit[k];
            u->unit[k] = greater;
        }
}

/* suffix[i]: the common divisor of blocks i to WINDOW - 1. */
static void find_suffixes(const int64_t *lens, int64_t suffix[WINDOW])
{
    int64_t all = 0;

    for (int i = WINDOW - 1; i >= 0; i--)
        suffix[i] = all = gcd(lens[i], all);
}

/*
 * The common divisors of all windows of the list, and of the list, ascending. A window that begins at block i of WINDOW
 * ends in the WINDOW that follow: its divisor is that of a suffix of the former and a prefix of the latter. False: too
 * many.
 */
static bool find_units(int64_t n, const int64_t *lens, units *u)
{
    int64_t suffix[WINDOW], all = 0, last = 0;

    for (int64_t begin = 0; begin + WINDOW <= n; begin += WINDOW) {
        int64_t prefix = 0;

        find_suffixes(lens + begin, suffix);
        for (int64_t i = 0; i < WINDOW && begin + i + WINDOW <= n; i++) {
            int64_t window;

            if (i > 0)
                prefix = gcd(lens[begin + WINDOW + i - 1], prefix);
            window = gcd(suffix[i], prefix);
            if (window != last && !add_unit(u, window))
                return false;
            last = window;
            all = gcd(all, window);
        }
    }
    if (!add_unit(u, all))
        return false;
    sort_units(u);
    return true;
}

static int64_t block_cost(int64_t len, int64_t unit)
{
    int64_t entries = len / unit;

    if (entries * unit != len)
        return impossible;
    return entry_cost * (entries < PW_CUT_MAX ? entries : PW_CUT_MAX);
}

static int cheapest(const units *u, const int64_t *cost)
{
    int best = 0;

    for (int i = 1; i < u->n; i++)
        if (cost[i] < cost[best])
            best = i;
    return best;
}

/* from[i * u->n + k]: the unit of block i - 1 on the cheapest way to block i in unit k. Returns the last unit. */
static int find_way(const units *u, int64_t n, const int64_t *lens, unsigned char *from)
{
    int64_t cost[MAX_UNITS] = {0};

    for (int64_t i = 0; i < n; i++) {
        int best = cheapest(u, cost);
        int64_t change = cost[best] + (i > 0 ? part_cost : 0);

        for (int k = 0; k < u->n; k++, from++) {
            int64_t here = block_cost(lens[i], u->unit[k]);

            *from = (unsigned char)(cost[k] <= change ? k : best);
            cost[k] = here == impossible ? impossible : (cost[k] <= change ? cost[k] : change) + here;
        }
    }
    return cheapest(u, cost);
}

/* The first blocks of the parts along the way; 1 if there are more than fit. */
static int starts_of_parts(const units *u, int64_t n, const unsigned char *from, int last, int64_t *starts)
{
    int parts = 1, at = last;

    for (int64_t i = n - 1; i > 0; i--) {
        int before = from[i * u->n + at];

        if (before != at) {
            if (parts == PW_MAX_PARTS)
                return 1;
            starts[PW_MAX_PARTS - parts++] = i;
        }
        at = before;
    }
    for (int i = 1; i < parts; i++)
        starts[i] = starts[PW_MAX_PARTS - parts + i];
    return parts;
}

/* What lowering makes of n blocks: entries of equal blocks, or a list of blocks as they are. */
static int64_t part_price(int64_t n, const int64_t *lens)
{
    int64_t unit = 0, entries = 0;

    for (int64_t i = 0; i < n; i++)
        unit = gcd(lens[i], unit);
    for (int64_t i = 0; i < n; i++)
        entries += lens[i] / unit;
    return PART_COST + (entries < PW_CUT_MAX * n ? entries : PW_CUT_MAX * n);
}

/* The way was found block by block, but lowering decides for a whole part: where its blocks have so many units that
 * it would not cut them, there is nothing gained. */
static bool pays(int64_t n, const int64_t *lens, int parts, const int64_t *starts)
{
    int64_t price = 0;

    for (int i = 0; i < parts; i++)
        price += part_price((i + 1 < parts ? starts[i + 1] : n) - starts[i], lens + starts[i]);
    return price < part_price(n, lens);
}

static int find_parts(pw_builder *b, int64_t n, const int64_t *lens, int64_t starts[PW_MAX_PARTS])
{
    units u = {0};
    unsigned char *from;
    int last, parts;

    if (n < 2 * WINDOW || !find_units(n, lens, &u) || u.n == 1)
        return 1;
    from = pw_arena_array(b->arena, (size_t)n * (size_t)u.n, 1);
    if (!from) {
        b->status = PW_ERR_NOMEM;
        return 1;
    }
    last = find_way(&u, n, lens, from);
    parts = starts_of_parts(&u, n, from, last, starts);
    return pays(n, lens, parts, starts) ? parts : 1;
}

int pw_segment_blocks(pw_builder *b, int64_t n, const int64_t *lens, int64_t starts[PW_MAX_PARTS])
{
    pw_arena_mark before = pw_arena_here(b->arena);
    int parts;

    starts[0] = 0;
    parts = find_parts(b, n, lens, starts);
    pw_arena_rewind(b->arena, before);
    return parts;
}
