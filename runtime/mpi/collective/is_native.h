/*
 * The short path of a native collective: fast checks whether all buffers that matter on this rank are certain to be
 * left to MPI. runtime/mpi/strategy/is_native.h does the same for single messages. A no means that pw_collective_call
 * must find out.
 * It is inlined into wrappers, where family and forms are constants. Communicators that are not remembered, types that
 * are not known, negative counts and missing arrays all take the long path; so do persistent calls, which are made
 * once.
 */
#ifndef PW_RUNTIME_COLLECTIVE_IS_NATIVE_H
#define PW_RUNTIME_COLLECTIVE_IS_NATIVE_H

#include "runtime/mpi/collective/remote.h"
#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/strategy/is_native.h"

/* The buffers of a call, without the fields that pw_collective_check fills in. */
typedef struct pw_sides {
    pw_side send, recv;
    int root;
} pw_sides;

/* Returns whether the side is left to MPI whatever its count, its displacements and this rank's part in the call are.
 */
static PW_NATIVE_INLINE bool pw_side_is_plain(const pw_side *side, const pw_entry *entry)
{
    return side->form == PW_SIDE_NONE ||
           (entry && !entry->layout && (!entry->dense || pw_memory_is_known_host(side->buf)));
}

/* Returns the entry of the side's one type; NULL: it is not learned, or there is no such type. */
static PW_NATIVE_INLINE const pw_entry *pw_side_entry(const pw_side *side)
{
    return side->form == PW_SIDE_NONE || side->form == PW_SIDE_TYPED ? NULL : pw_registry_learned(side->type);
}

/* Returns whether both sides are. */
static PW_NATIVE_INLINE bool pw_sides_are_plain(const pw_side *send, const pw_side *recv)
{
    return pw_side_is_plain(send, pw_side_entry(send)) && pw_side_is_plain(recv, pw_side_entry(recv));
}

/* ---- one type ---------------------------------------------------------------------------------------------------- */

/* Counts the objects of all blocks, and finds where the first of them lies, in objects. False: the side is unusual. */
static PW_NATIVE_INLINE bool pw_side_extent(const pw_side *side, int blocks, const bool *absent, int64_t *total,
                                            int64_t *first)
{
    bool found = false;

    *first = 0;
    if (side->form != PW_SIDE_VARYING)
        return side->count >= 0 &&
               !__builtin_mul_overflow((int64_t)side->count, side->form == PW_SIDE_EQUAL ? blocks : 1, total);
    *total = 0;
    if (!side->counts.at || !side->displs.at)
        return false;
    for (int i = 0; i < blocks; i++) {
        int64_t count = absent && absent[i] ? 0 : pw_count_at(side->counts, i);

        if (count < 0 || __builtin_add_overflow(*total, count, total))
            return false;
        if (!found && count > 0) {
            *first = pw_displ_at(side->displs, i);
            found = true;
        }
    }
    return true;
}

static PW_NATIVE_INLINE bool pw_uniform_is_native(const pw_side *side, const pw_entry *entry, int blocks,
                                                  const bool *absent, pw_call_kind kind)
{
    int64_t total, first, away = 0;

    if (!pw_side_extent(side, blocks, absent, &total, &first))
        return false;
    if (total == 0)
        return true;
    if (!entry ||
        (first != 0 && __builtin_mul_overflow(first, entry->layout ? entry->layout->extent : entry->size, &away)))
        return false;
    return pw_buffer_is_native(entry, kind, (char *)side->buf + away, total, blocks);
}

/* ---- a type for each block --------------------------------------------------------------------------------------- */

/* Returns whether a call whose sides both have a type for each block is left to MPI. Not inlined: it has loops. */
bool pw_typed_are_native(pw_collective_family family, const pw_sides *s, MPI_Comm comm, const pw_communicator *group,
                         pw_blocks blocks);

/* ---- blocks to oneself ------------------------------------------------------------------------------------------- */

struct pw_settled_call;

/* Returns whether a block that this process sends to itself may be copied without MPI (runtime/mpi/collective/self.h),
 * and is so long that this pays for the long path. Sites that leave it to MPI are noted in `call`, if that is not NULL.
 * Not inlined, as the loops above. */
bool pw_self_may_gain(pw_collective_family family, const pw_sides *s, const pw_communicator *group,
                      struct pw_settled_call *call);

/* Whether there may be such a block. Blocks that all have one count stay with MPI if they are not staged. */
static PW_NATIVE_INLINE bool pw_self_is_possible(pw_collective_family family, const pw_sides *s,
                                                 const pw_communicator *group, pw_blocks blocks)
{
    bool can_differ = s->send.form >= PW_SIDE_VARYING || group->size == 1;

    switch (family) {
    case PW_GATHER:
    case PW_SCATTER: return blocks.send > 0 && blocks.recv > 0;
    case PW_ALLTOALL: return can_differ && blocks.send > 0;
    case PW_NEIGHBOUR_ALLTOALL: return can_differ && group->neighbours.self > 0;
    default: return false;
    }
}

/* ---- a call ------------------------------------------------------------------------------------------------------ */

/* Returns whether both sides are left to MPI. The answer is no while there are orphans to settle on the way
 * out, and for calls of which blocks may be read over a network (remote.h). */
static PW_NATIVE_INLINE bool pw_sides_are_native(pw_collective_family family, const pw_sides *s, MPI_Comm comm)
{
    pw_call_kind kind = pw_family_kind(family);
    const pw_entry *send = pw_side_entry(&s->send), *recv = pw_side_entry(&s->recv);
    const pw_communicator *group;
    pw_blocks blocks;

    if (pw_gate_has_unfinished() || pw_remote_serves(family, s->send.form))
        return false;
    if (pw_side_is_plain(&s->send, send) && pw_side_is_plain(&s->recv, recv))
        return true;
    group = pw_communicator_peek(comm);
    if (!group)
        return false;
    blocks = pw_blocks_of(family, &s->send, &s->recv, s->root, group);
    if (s->recv.form == PW_SIDE_TYPED)
        return pw_typed_are_native(family, s, comm, group, blocks);
    if (pw_self_is_possible(family, s, group, blocks) && pw_self_may_gain(family, s, group, NULL))
        return false;
    return (blocks.send == 0 || pw_uniform_is_native(&s->send, send, blocks.send, blocks.absent_send, kind)) &&
           (blocks.recv == 0 || pw_uniform_is_native(&s->recv, recv, blocks.recv, blocks.absent_recv, kind));
}

#endif
