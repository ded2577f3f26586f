/*
 * Describes single blocks of a collective's side as messages, and takes blocks out of the call by setting their count
 * to zero in a copy of the counts. The caller's arrays are never written.
 */
#include "runtime/mpi/collective/collective.h"

#include "runtime/mpi/types/registry.h"

bool pw_block_describe(const pw_side *side, int i, pw_message *m)
{
    MPI_Count count = pw_side_use(side, i) ? pw_side_count(side, i) : 0;
    const pw_entry *entry = count > 0 ? pw_registry_find(pw_side_type(side, i)) : NULL;

    if (!entry || entry->gpu_only)
        return false;
    *m = (pw_message){.kind = side->kind,
                      .role = pw_use_role(side->use),
                      .entry = entry,
                      .buffer = {.base = pw_side_base(side, i, entry), .count = count}};
    return pw_message_find(m);
}

static void make_of_bytes(pw_side *side, void *buf, int bytes, bool wide, pw_block_argument *memory)
{
    MPI_Aint *displs = (MPI_Aint *)memory;
    MPI_Datatype *types = (MPI_Datatype *)(displs + side->blocks);
    int *counts = (int *)(types + side->blocks);

    for (int i = 0; i < side->blocks; i++) {
        counts[i] = bytes;
        types[i] = MPI_BYTE;
        if (wide)
            displs[i] = (MPI_Aint)bytes * i;
        else
            ((int *)displs)[i] = bytes * i;
    }
    *side = (pw_side){.form = side->form,
                      .buf = buf,
                      .count = bytes,
                      .type = MPI_BYTE,
                      .counts.at = counts,
                      .displs = {displs, wide},
                      .types = types,
                      .blocks = side->blocks};
}

void pw_blocks_of_bytes(pw_collective *c, void *from, void *to, int bytes, pw_block_argument *memory)
{
    bool wide = c->send.form == PW_SIDE_TYPED && c->family == PW_NEIGHBOUR_ALLTOALL;

    c->way.large = false;
    make_of_bytes(&c->send, from, bytes, wide, memory);
    make_of_bytes(&c->recv, to, bytes, wide, memory + c->send.blocks);
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
