/* Reading what ranks have of layouts, merging records of equal ones, and what one record says. */
#include "tools/report/record.h"

void pw_stats_read(pw_stats_record *r, pw_data type, int64_t rank)
{
    r->hash = pw_data_hash(type, "hash");
    r->size = pw_data_whole(type, "size");
#define X(name) r->name = pw_data_whole(type, #name);
    PW_STATS_SUMS(X)
#undef X
    for (int of = 0; of < PW_STATS_BELONGINGS; of++)
        for (int direction = 0; direction < PW_STATS_BOTH; direction++) {
            pw_data used = pw_data_object(type, pw_data_transfers[of][direction]);

            for (int id = 0; id < PW_STRATEGY_COUNT; id++)
                r->used[of][id][direction] = pw_data_whole(used, pw_strategy_names[id]);
        }
    r->ranks = 1;
    r->least = r->most = r->nanoseconds;
    r->slowest = rank;
    r->compile_ns = pw_data_whole(type, "compile_ns");
    r->load_ns = pw_data_whole(type, "load_ns");
    r->unfreed = pw_data_whole(type, "types");
    r->name = pw_data_text(type, "name");
    r->built = pw_data_text(type, "built");
    r->ddt = pw_data_text(type, "ddt");
    r->made = pw_data_first(type, "made_at");
}

static int by_hash(const void *a, const void *b)
{
    return pw_hash_compare(((const pw_stats_record *)a)->hash, ((const pw_stats_record *)b)->hash);
}

static int falling(int64_t a, int64_t b)
{
    return (a < b) - (a > b);
}

static int by_time(const void *a, const void *b)
{
    const pw_stats_record *x = a, *y = b;
    int order = falling(x->nanoseconds, y->nanoseconds);

    if (!order)
        order = falling(x->moved, y->moved);
    if (!order)
        order = falling(x->bytes, y->bytes);
    return order ? order : by_hash(a, b);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void add(void *kept, const void *next)
{
    pw_stats_record *to = kept;
    const pw_stats_record *from = next;

#define X(name) to->name += from->name;
    PW_STATS_SUMS(X)
#undef X
    for (int of = 0; of < PW_STATS_BELONGINGS; of++)
        for (int id = 0; id < PW_STRATEGY_COUNT; id++)
            for (int to_there = 0; to_there < PW_STATS_BOTH; to_there++)
                to->used[of][id][to_there] += from->used[of][id][to_there];
    if (from->most > to->most)
        to->slowest = from->slowest;
    to->most = larger(to->most, from->most);
    to->least = from->least < to->least ? from->least : to->least;
    to->compile_ns = larger(to->compile_ns, from->compile_ns);
    to->load_ns = larger(to->load_ns, from->load_ns);
    if (!*to->name)
        to->name = from->name;
}

void pw_stats_merge(pw_stats_list *records)
{
    pw_stats_list_sort(records, by_hash);
    pw_stats_list_merge(records, by_hash, add);
    pw_stats_list_sort(records, by_time);
}

int64_t pw_stats_transfers(const pw_stats_record *r, int of)
{
    int64_t n = 0;

    for (int id = 0; id < PW_STRATEGY_COUNT; id++)
        n += r->used[of][id][0] + r->used[of][id][1];
    return n;
}

int64_t pw_stats_accesses(const pw_stats_record *r)
{
    return pw_stats_transfers(r, PW_STATS_WINDOWS) + pw_stats_transfers(r, PW_STATS_FILES);
}

int pw_stats_most_used(const pw_stats_record *r)
{
    int most = PW_STRATEGY_COUNT;
    int64_t uses = 0;

    for (int id = 0; id < PW_STRATEGY_COUNT; id++) {
        int64_t n = 0;

        for (int of = 0; of < PW_STATS_BELONGINGS; of++)
            n += r->used[of][id][0] + r->used[of][id][1];
        if (n > uses) {
            most = id;
            uses = n;
        }
    }
    return most;
}
