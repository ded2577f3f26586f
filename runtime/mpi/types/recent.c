/*
 * A table of the last learned types by a few numbers, and the two kinds of numbers. A slot has the latest type that
 * fell there, with a reference to its entry; the caller holds the lock of the entries.
 */
#include "runtime/mpi/types/recent.h"

#include "runtime/choice/site.h"
#include "runtime/engine/memory/handle_table.h"

#include <string.h>

/* ---- how a type was constructed ---------------------------------------------------------------------------------- */

/* Constructors for large counts have the same combiners as the others; the lengths of their lists tell the two apart.
 */
static uint64_t combiner_of(const pw_envelope *e)
{
    return (uint64_t)((int64_t)e->combiner << 24 | e->nints << 16 | e->naddrs << 8 | e->ncounts);
}

bool pw_constructed_read(const pw_contents *contents, pw_recent_key *out)
{
    const pw_envelope *e = &contents->envelope;
    int64_t n = e->nints + e->naddrs + e->ncounts;

    if (n > PW_RECENT_WORDS - 2 || e->ntypes != 1)
        return false;
    out->words[0] = pw_type_key(contents->types[0]);
    out->words[1] = combiner_of(e);
    memcpy(out->words + 2, contents->nums, (size_t)n * sizeof *out->words);
    out->n = (int)n + 2;
    return true;
}

/* ---- how it looks ------------------------------------------------------------------------------------------------ */

/* Returns how many objects of its basic type are in a block of a type, as its constructor was told. 0: not known. */
static int64_t block_of(const pw_contents *c)
{
    const int64_t *nums = c->nums;
    int combiner = c->envelope.combiner;

    if (combiner == MPI_COMBINER_VECTOR || combiner == MPI_COMBINER_HVECTOR || combiner == MPI_COMBINER_INDEXED_BLOCK ||
        combiner == MPI_COMBINER_HINDEXED_BLOCK)
        return nums[1];
    if (combiner != MPI_COMBINER_SUBARRAY)
        return 0;
    /* The number of dimensions, the sizes, the sizes of the part, its starts, and the order (MPI 4.0, 5.1.13). */
    return nums[3 * nums[0] + 1] == MPI_ORDER_C ? nums[2 * nums[0]] : nums[nums[0] + 1];
}

/* Returns a number that types with blocks of about the same length share, or 0. */
static uint64_t blocks_of(MPI_Datatype type)
{
    uint64_t blocks = 0;
    pw_contents c;
    pw_envelope e;
    int64_t block;

    if (pw_envelope_read(type, &e, NULL) != PW_OK || e.ntypes != 1 || e.ncounts > 0 || e.nints < 2 ||
        e.nints > PW_CONTENTS_NUMS || pw_contents_read(type, &e, &c, NULL) != PW_OK)
        return 0;
    block = block_of(&c);
    if (block > 0)
        blocks = pw_handle_hash(pw_type_key(c.types[0])) + pw_site_size(block) + 1;
    pw_contents_release(&c);
    return blocks;
}

bool pw_look_read(MPI_Datatype type, pw_recent_key *out)
{
    MPI_Count size, lowest, extent;

    if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS ||
        PMPI_Type_get_true_extent_x(type, &lowest, &extent) != MPI_SUCCESS || size <= 0 || extent <= 0)
        return false;
    out->words[0] = blocks_of(type);
    out->words[1] = (uint64_t)pw_site_size((int64_t)size) << 16 | pw_site_size((int64_t)extent);
    if (!out->words[0])
        out->words[0] = pw_handle_hash((uint64_t)size ^ pw_handle_hash((uint64_t)extent));
    out->n = 2;
    return true;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static size_t place_of(const pw_recent_key *key)
{
    uint64_t h = 0;

    for (int i = 0; i < key->n; i++)
        h = pw_handle_hash(h ^ key->words[i]);
    return (size_t)(h >> (64 - PW_RECENT_BITS));
}

struct pw_entry *pw_recent_find(const pw_recent_table *table, const pw_recent_key *key)
{
    size_t place = place_of(key);
    const pw_recent_key *there = &table->places[place].key;
    bool is_same = there->n == key->n && memcmp(there->words, key->words, (size_t)key->n * sizeof *key->words) == 0;

    return is_same ? table->places[place].entry : NULL;
}

struct pw_entry *pw_recent_put(pw_recent_table *table, const pw_recent_key *key, struct pw_entry *entry)
{
    size_t place = place_of(key);
    struct pw_entry *before = table->places[place].entry;

    table->places[place].key.n = key->n;
    memcpy(table->places[place].key.words, key->words, (size_t)key->n * sizeof *key->words);
    table->places[place].entry = entry;
    return before;
}
