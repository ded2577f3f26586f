/* Merging records of equal layouts, and what is read from one record. */
#include "runtime/mpi/stats/record.h"

#include <string.h>

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
    for (int of = 0; of < PW_TRANSFERS; of++)
        for (int id = 0; id < PW_STRATEGY_COUNT; id++) {
            to->used[of][id][PW_SEND] += from->used[of][id][PW_SEND];
            to->used[of][id][PW_RECV] += from->used[of][id][PW_RECV];
        }
    if (from->most > to->most)
        to->slowest = from->slowest;
    to->most = larger(to->most, from->most);
    to->least = from->least < to->least ? from->least : to->least;
    to->compile_ns = larger(to->compile_ns, from->compile_ns);
    to->load_ns = larger(to->load_ns, from->load_ns);
    if (!*to->name)
        memcpy(to->name, from->name, sizeof to->name);
}

void pw_stats_merge(pw_stats_list *records)
{
    pw_stats_list_sort(records, by_hash);
    pw_stats_list_merge(records, by_hash, add);
    pw_stats_list_sort(records, by_time);
}

int64_t pw_stats_transfers(const pw_stats_record *r, pw_transfer_kind of)
{
    int64_t n = 0;

    for (int id = 0; id < PW_STRATEGY_COUNT; id++)
        n += r->used[of][id][PW_SEND] + r->used[of][id][PW_RECV];
    return n;
}

int64_t pw_stats_accesses(const pw_stats_record *r)
{
    return pw_stats_transfers(r, PW_TRANSFER_WINDOW) + pw_stats_transfers(r, PW_TRANSFER_FILE);
}

const char *pw_stats_transfer_word(pw_transfer_kind of, int direction)
{
    static const char *const words[PW_TRANSFERS][2] = {{"sends", "receives"}, {"puts", "gets"}, {"writes", "reads"}};

    return words[of][direction];
}

int pw_stats_most_used(const pw_stats_record *r)
{
    int most = PW_STRATEGY_COUNT;
    int64_t uses = 0;

    for (int id = 0; id < PW_STRATEGY_COUNT; id++) {
        int64_t n = 0;

        for (int of = 0; of < PW_TRANSFERS; of++)
            n += r->used[of][id][PW_SEND] + r->used[of][id][PW_RECV];
        if (n > uses) {
            most = id;
            uses = n;
        }
    }
    return most;
}
