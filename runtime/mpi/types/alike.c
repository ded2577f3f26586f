/*
 * A table of the last learned types by what MPI says of a type at once. A slot has one look, the latest that fell
 * there, and a reference to its entry; the caller holds the lock of the entries.
 */
#include "runtime/mpi/types/alike.h"

#include "runtime/engine/memory/handle_table.h"

static size_t place_of(const pw_look *look)
{
    uint64_t h = pw_handle_hash((uint64_t)look->size ^ pw_handle_hash((uint64_t)look->extent ^ (uint64_t)look->lowest));

    return (size_t)(h >> (64 - PW_ALIKE_BITS));
}

static bool is_same(const pw_look *a, const pw_look *b)
{
    return a->size == b->size && a->lowest == b->lowest && a->extent == b->extent;
}

bool pw_look_read(MPI_Datatype type, pw_look *out)
{
    return PMPI_Type_size_x(type, &out->size) == MPI_SUCCESS &&
           PMPI_Type_get_true_extent_x(type, &out->lowest, &out->extent) == MPI_SUCCESS;
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
