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

bool pw_constructed_read(const pw_constructed_table *table, MPI_Datatype type, const pw_envelope *envelope,
                         pw_constructed *out, struct pw_entry **found, bool *basic)
{
    int64_t n = envelope->nints + envelope->naddrs + envelope->ncounts;
    pw_envelope inner;
    pw_contents c;
    size_t place;

    *found = NULL;
    if (n > PW_CONSTRUCTED_NUMS || envelope->ntypes != 1 || pw_contents_read(type, envelope, &c, NULL) != PW_OK)
        return false;
    out->type = pw_type_key(c.types[0]);
    out->combiner = combiner_of(envelope);
    out->nnums = (int)n;
    memcpy(out->nums, c.nums, (size_t)n * sizeof *out->nums);
    place = place_of(out);
    if (table->places[place].entry && is_same(&table->places[place].how, out)) {
        /* The old type is a basic one, so there is nothing to release. */
        *found = table->places[place].entry;
        return true;
    }
    *basic = pw_envelope_read(c.types[0], &inner, NULL) == PW_OK && pw_envelope_is_basic(&inner);
    pw_contents_release(&c);
    return true;
}

struct pw_entry *pw_constructed_put(pw_constructed_table *table, const pw_constructed *how, struct pw_entry *entry)
{
    size_t place = place_of(how);
    struct pw_entry *before = table->places[place].entry;

    table->places[place].how = *how;
    table->places[place].entry = entry;
    return before;
}
