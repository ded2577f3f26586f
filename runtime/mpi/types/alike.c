/*
 * A table of the last learned types by what MPI says of a type at once. A slot has one look, the latest that fell
 * there, and a reference to its entry; the caller holds the lock of the entries.
 */
#include "runtime/mpi/types/alike.h"

#include "frontend/mpi/contents.h"
#include "runtime/choice/site.h"
#include "runtime/engine/memory/handle_table.h"

static size_t place_of(const pw_look *look)
{
    return (size_t)(pw_handle_hash(look->blocks ^ ((uint64_t)look->size << 16 | look->extent)) >> (64 - PW_ALIKE_BITS));
}

static bool is_same(const pw_look *a, const pw_look *b)
{
    return a->blocks == b->blocks && a->size == b->size && a->extent == b->extent;
}

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

bool pw_look_read(MPI_Datatype type, pw_look *out)
{
    MPI_Count size, lowest, extent;

    if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS ||
        PMPI_Type_get_true_extent_x(type, &lowest, &extent) != MPI_SUCCESS || size <= 0 || extent <= 0)
        return false;
    *out = (pw_look){blocks_of(type), pw_site_size((int64_t)size), pw_site_size((int64_t)extent)};
    if (!out->blocks)
        out->blocks = pw_handle_hash((uint64_t)size ^ pw_handle_hash((uint64_t)extent));
    return true;
}

struct pw_entry *pw_alike_find(const pw_alike_table *table, const pw_look *look)
{
    size_t place = place_of(look);

    return is_same(&table->places[place].look, look) ? table->places[place].entry : NULL;
}

struct pw_entry *pw_alike_put(pw_alike_table *table, const pw_look *look, struct pw_entry *entry)
{
    size_t place = place_of(look);
    struct pw_entry *before = table->places[place].entry;

    table->places[place].look = *look;
    table->places[place].entry = entry;
    return before;
}
