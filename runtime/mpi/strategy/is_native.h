/*
 * The short path of a native call: fast checks whether a call is certain to be left to MPI.
 * The answer is yes for types that are left to MPI, for contiguous types in host memory, and for types of which a
 * message of this size class and kind of call was native when the strategy was last chosen. A yes is what
 * pw_staging_open would answer, and counts as a use of the decision. A no only means that the call takes the long path;
 * so does every call for which a decision may have to be made again. While uses and transfers are reported
 * (PACKWRIGHT_STATS, PACKWRIGHT_TRACE), the short path knows no decisions, so that the long path counts all of them.
 */
#ifndef PW_RUNTIME_IS_NATIVE_H
#define PW_RUNTIME_IS_NATIVE_H

#include "base/recall.h"
#include "runtime/choice/site.h"
#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/types/registry.h"

/* Returns the slot that remembers a message's decision. Messages of one size class may use several of the few slots.
 * What is sent and what is received have two, since each has a site of its own, which counts its uses. */
static inline unsigned pw_native_slot(int64_t bytes, pw_role role)
{
    return (unsigned)((uint64_t)bytes * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PW_ENTRY_NATIVE_BITS)) ^
           (role != PW_SEND);
}

/* Returns the site by which a message of a layout in host memory is certain to be left to MPI, and counts a use of it;
 * NULL: it is not certain. `cost_bytes` as in pw_message. */
PW_INLINE pw_site *pw_native_site(const pw_entry *entry, pw_call_kind kind, pw_role role, int64_t cost_bytes)
{
    pw_site *d =
        atomic_load_explicit(&entry->choices.native[kind][pw_native_slot(cost_bytes, role)], memory_order_acquire);

    return d && cost_bytes >= d->least && cost_bytes <= d->most && pw_site_again(d, pw_way_left, 1) ? d : NULL;
}

/* Returns whether an argument of a call between two processes, to or from `peer`, is certain to be left to MPI. The
 * answer is no while calls have something to look after on their way, where GPU memory may come in, and before the
 * start, when the functions of MPI are not known. `staged` as in pw_note_use. */
bool pw_is_native(pw_call_kind kind, pw_role role, MPI_Datatype type, const void *buf, MPI_Count count, int peer,
                  int staged);

/* Returns the epoch with which a call that is left to MPI now is remembered: one that is over if calls have to look
 * after something on their way out. To be asked before all else of the call. */
static inline unsigned pw_settled_now(void)
{
    unsigned now = pw_epoch_now();

    return now - pw_gate_has_unfinished();
}

/* Each thread remembers what was left to MPI: messages by their types, in a table for each of these kinds of call and
 * each side, and in one more table puts and gets. */
enum { PW_LEFT_TRANSFERS = 2 * (PW_CALL_NONBLOCKING + 1), PW_LEFT_TABLES };
extern PW_HIDDEN _Thread_local pw_recall pw_left[PW_LEFT_TABLES][1 << PW_RECALL_BITS];

PW_INLINE pw_recall *pw_left_messages(pw_call_kind kind, pw_role role)
{
    return pw_left[2 * (int)kind + (role != PW_SEND)];
}

/* Returns whether a call is remembered, and its site, if it has one, leaves it to MPI again; counts the use. */
PW_INLINE bool pw_is_recalled(pw_recall *table, uint64_t key, const void *buf, MPI_Count count)
{
    const pw_recall *at = pw_recall_find(table, key, buf, count);

    return at && (!at->by || pw_site_again(at->by, pw_way_left, 1));
}

/* Does what pw_is_native does for messages that are remembered. A no means that pw_is_native must be asked. */
PW_INLINE bool pw_is_left_again(pw_call_kind kind, pw_role role, MPI_Datatype type, const void *buf, MPI_Count count)
{
    return pw_is_recalled(pw_left_messages(kind, role), pw_type_key(type), buf, count);
}

#endif
