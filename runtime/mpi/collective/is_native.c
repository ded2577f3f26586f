/*
 * Fast checks whether a collective is certain to be left to MPI, block by block. A yes is what pw_collective_call
 * would find, and counts as a use; every doubt is a no. Nothing is written but uses.
 */
#include "runtime/mpi/collective/is_native.h"

#include "runtime/mpi/collective/self.h"

#define RARELY(condition) __builtin_expect(!!(condition), 0)

/* Whether blocks are left to MPI that need not all lie together: each is checked by itself. Most are like the one
 * before, about which the answer is known. */
static bool each_is_native(const void *buf, pw_counts counts, const MPI_Aint *displs, const MPI_Datatype *types,
                           int blocks, const bool *absent, pw_call_kind kind)
{
    const pw_entry *entry = NULL;
    MPI_Datatype last_type = MPI_DATATYPE_NULL;
    int64_t last_count = 0, bytes;
    uintptr_t last_region = 0;

    for (int i = 0; i < blocks; i++) {
        int64_t count = pw_count_at(counts, i);
        const char *at = (const char *)buf + displs[i];

        if (RARELY(absent && absent[i]) || RARELY(count == 0))
            continue;
        if (types[i] != last_type) {
            last_type = types[i];
            last_count = 0;
            entry = pw_registry_learned(last_type);
        }
        if (RARELY(!entry))
            return false;
        at += entry->lowest;
        if (count == last_count && pw_memory_region(at) == last_region)
            continue;
        last_count = count;
        last_region = pw_memory_region(at);
        if (RARELY(count < 0))
            return false;
        if (RARELY(pw_entry_is_left(entry)))
            continue;
        if (RARELY(!pw_memory_is_known_host(at)))
            return false;
        if (!entry->layout)
            continue;
        if (RARELY(__builtin_mul_overflow(count, entry->size, &bytes)) ||
            RARELY(!pw_message_native_site(entry, kind, bytes, bytes)))
            return false;
    }
    return true;
}

/* ---- blocks together --------------------------------------------------------------------------------------------- */

/* Sums over blocks that are staged together or not at all. */
typedef struct whole {
    int64_t total, most;
    int blocks;
    const pw_entry *largest; /* the type of the largest block that has a layout; NULL: none has */
} whole;

static bool add(whole *w, const pw_entry *entry, int64_t bytes)
{
    if (entry->layout && bytes > w->most) {
        w->most = bytes;
        w->largest = entry;
    }
    w->blocks++;
    return !__builtin_add_overflow(w->total, bytes, &w->total);
}

static bool whole_is_native(const whole *w, pw_call_kind kind)
{
    return !w->largest || pw_message_native_site(w->largest, kind, w->total, pw_cost_bytes(kind, w->total, w->blocks));
}

/* Looks at a block at `at`. False: its type is not known, or the block is unusual. */
static bool look_at(const char *at, MPI_Datatype type, int64_t count, const pw_entry **entry, int64_t *bytes)
{
    const pw_entry *e = *entry = pw_registry_learned(type);

    return e && count >= 0 && !__builtin_mul_overflow(count, e->size, bytes) &&
           (pw_entry_is_left(e) || pw_memory_is_known_host(at + e->lowest));
}

/* Whether blocks are left to MPI that are staged together or not at all. */
static bool all_are_native(const void *buf, pw_counts counts, const int *displs, const MPI_Datatype *types, int blocks,
                           const bool *absent, pw_call_kind kind)
{
    whole w = {.largest = NULL};
    const pw_entry *entry;
    int64_t bytes;

    for (int i = 0; i < blocks; i++) {
        int64_t count = pw_count_at(counts, i);

        if (count == 0 || (absent && absent[i]))
            continue;
        if (!look_at((const char *)buf + displs[i], types[i], count, &entry, &bytes) || pw_entry_is_left(entry) ||
            !add(&w, entry, bytes))
            return false;
    }
    return whole_is_native(&w, kind);
}

/* ---- blocks to oneself ------------------------------------------------------------------------------------------- */

/* Returns whether the last message to oneself of this layout was left to MPI, and this one is like it. A yes counts as
 * a use of its site. */
static bool is_left_alone(const pw_entry *entry, pw_call_kind kind, int64_t bytes)
{
    pw_site *s = atomic_load_explicit(&entry->choices.to_oneself[kind], memory_order_acquire);

    return s && bytes >= s->least && bytes <= s->most && pw_site_again(s, pw_way_left);
}

static bool is_long(const pw_communicator *group, pw_call_kind kind, const pw_side *side, int i)
{
    const pw_entry *entry;
    int64_t bytes;

    if (side->form == PW_SIDE_TYPED && !side->types)
        return false;
    entry = pw_registry_learned(pw_side_type(side, i));
    return entry && entry->layout && (side->form <= PW_SIDE_EQUAL || side->counts.at) &&
           !__builtin_mul_overflow((int64_t)pw_side_count(side, i), entry->size, &bytes) && bytes > 0 &&
           pw_self_is_long(group, kind, bytes) && !is_left_alone(entry, kind, bytes);
}

bool pw_self_may_gain(pw_collective_family family, const pw_sides *s, const pw_communicator *group)
{
    const pw_neighbours *n = &group->neighbours;
    pw_call_kind kind = pw_family_kind(family);
    bool is_any = false;

    if (group->between_groups || pw_joining_is_barred())
        return false;
    if (family < PW_NEIGHBOUR_ALLGATHER)
        return is_long(group, kind, &s->send, group->rank) || is_long(group, kind, &s->recv, group->rank);
    for (int i = 0; i < n->self && !is_any; i++)
        is_any = is_long(group, kind, &s->send, n->self_out[i]) || is_long(group, kind, &s->recv, n->self_in[i]);
    return is_any;
}

/* ---- a side with a type for each block --------------------------------------------------------------------------- */

bool pw_typed_is_native(const pw_side *side, int blocks, const bool *absent, pw_call_kind kind)
{
    if (!side->counts.at || !side->displs.at || !side->types)
        return false;
    return side->displs.wide
               ? each_is_native(side->buf, side->counts, side->displs.at, side->types, blocks, absent, kind)
               : all_are_native(side->buf, side->counts, side->displs.at, side->types, blocks, absent, kind);
}
