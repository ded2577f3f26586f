/*
 * A table of the last types that were made by one constructor over a basic type. A slot has the latest one that fell
 * there, with a reference to its entry. Two types are the same only if constructor, numbers and basic type are equal.
 */
#include "runtime/mpi/types/constructed.h"

#include "runtime/engine/memory/handle_table.h"
#include "runtime/mpi/mpi_compat.h"

#include <string.h>

static size_t place_of(const pw_constructed *how)
{
    uint64_t h = how->type + (uint64_t)how->combiner;

    for (int i = 0; i < how->nnums; i++)
        h = pw_handle_hash(h ^ (uint64_t)how->nums[i]);
    return (size_t)(h >> (64 - PW_CONSTRUCTED_BITS));
}

static bool is_same(const pw_constructed *a, const pw_constructed *b)
{
    return a->type == b->type && a->combiner == b->combiner && a->nnums == b->nnums &&
           memcmp(a->nums, b->nums, (size_t)a->nnums * sizeof *a->nums) == 0;
}

/* Constructors for large counts have the same combiners as the others; the lengths of their lists tell the two apart.
 */
static int64_t combiner_of(const pw_envelope *e)
{
    return (int64_t)e->combiner << 24 | e->nints << 16 | e->naddrs << 8 | e->ncounts;
}

bool pw_constructed_read(const pw_contents *contents, pw_constructed *out)
{
    const pw_envelope *e = &contents->envelope;
    int64_t n = e->nints + e->naddrs + e->ncounts;

    if (n > PW_CONSTRUCTED_NUMS || e->ntypes != 1)
        return false;
    out->type = pw_type_key(contents->types[0]);
    out->combiner = combiner_of(e);
    out->nnums = (int)n;
    memcpy(out->nums, contents->nums, (size_t)n * sizeof *out->nums);
    return true;
}

struct pw_entry *pw_constructed_find(const pw_constructed_table *table, const pw_constructed *how)
{
    size_t place = place_of(how);

    return table->places[place].entry && is_same(&table->places[place].how, how) ? table->places[place].entry : NULL;
}

struct pw_entry *pw_constructed_put(pw_constructed_table *table, const pw_constructed *how, struct pw_entry *entry)
{
    size_t place = place_of(how);
    struct pw_entry *before = table->places[place].entry;

    table->places[place].how = *how;
    table->places[place].entry = entry;
    return before;
}
