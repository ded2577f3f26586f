/*
 * Describes single blocks of a collective's side as messages, and takes blocks out of the call by setting their count
 * to zero in a copy of the counts. The caller's arrays are never written.
 */
#include "runtime/mpi/collective/collective.h"

#include "runtime/engine/memory/view.h"
#include "runtime/mpi/types/predefined.h"
#include "runtime/mpi/types/registry.h"

/* The bytes of one object of the block's type, and its extent. 0: the type is not one that is handled. */
static int64_t size_of(const pw_entry *entry, MPI_Datatype type, int64_t *extent)
{
    int64_t size = entry->gpu_only ? 0 : pw_entry_is_left(entry) ? pw_predefined_size(type) : entry->size;

    *extent = entry->layout ? entry->layout->extent : size;
    return size;
}

bool pw_block_describe(const pw_side *side, int i, pw_message *m)
{
    MPI_Datatype type = pw_side_type(side, i);
    pw_buffer *b = &m->buffer;
    int64_t extent, size;

    *m = (pw_message){.kind = side->kind,
                      .role = pw_use_role(side->use),
                      .entry = pw_registry_find(type),
                      .buffer = {.count = pw_side_count(side, i)}};
    if (b->count <= 0 || !pw_side_use(side, i))
        return false;
    size = size_of(m->entry, type, &extent);
    if (size <= 0 || __builtin_mul_overflow(b->count, size, &b->bytes))
        return false;
    b->base = (char *)side->buf + pw_side_displ(side, i, extent);
    b->layout = m->entry->layout;
    b->offset = pw_entry_is_left(m->entry) ? 0 : m->entry->offset;
    b->place = pw_memory_place_of(pw_view_first(b));
    m->cost_bytes = b->bytes;
    return !(b->base == MPI_BOTTOM && (!b->layout || m->entry->touches_origin));
}

void pw_block_take_out(pw_side *side, void *array, int i)
{
    if (side->counts.at != array) {
        memcpy(array, side->counts.at, (size_t)side->blocks * (side->counts.wide ? sizeof(MPI_Count) : sizeof(int)));
        side->counts.at = array;
    }
    if (side->counts.wide)
        ((MPI_Count *)array)[i] = 0;
    else
        ((int *)array)[i] = 0;
}
