/*
 * Fast checks whether a collective is certain to be left to MPI, block by block. A yes is what pw_collective_call
 * would find, and counts as a use; every doubt is a no. Nothing is written but uses, and what a
 * thread remembers of such calls.
 */
#include "runtime/mpi/collective/is_native.h"

#include "runtime/mpi/collective/self.h"

#define RARELY(condition) __builtin_expect(!!(condition), 0)

/*
 * A call with a type for each block that was left to MPI. A thread remembers some by a hash of all that they were asked
 * with, so that the next one like it needs no look at each type. Calls that share a hash by chance are left to MPI,
 * too, which is right for all of them. The rules are those of single messages (runtime/mpi/strategy/is_native.h).
 */
enum { SETTLED_BITS = 3, MOST_USES = 16 };

typedef struct pw_settled_call {
    uint64_t hash;
    unsigned deaths;
    int n;                     /* uses of sites that leave the call to MPI; above MOST_USES: it is not remembered */
    pw_site *sites[MOST_USES]; /* of each use */
} settled_call;

static _Thread_local settled_call settled[1 << SETTLED_BITS];

/* Returns whether there is a site that leaves the call to MPI. `call`: NULL if it is not to be remembered. */
static bool note_use(settled_call *call, pw_site *site)
{
    if (site && call && call->n++ < MOST_USES)
        call->sites[call->n - 1] = site;
    return site;
}

/* Counts the uses of a call that is left to MPI again. False: one of its sites must be asked. */
static bool is_again(const settled_call *call)
{
    for (int i = 0; i < call->n; i++)
        if (!pw_site_keeps(call->sites[i], pw_way_left, call->n))
            return false;
    for (int i = 0; i < call->n; i++)
        pw_site_passes(call->sites[i], 1);
    return true;
}

static PW_NATIVE_INLINE uint64_t hash_of(uint64_t hash, const pw_side *side, int blocks)
{
    hash = pw_handle_hash(hash + (uintptr_t)side->buf);
    for (int i = 0; i < blocks; i++)
        hash =
            pw_handle_hash((hash ^ hash >> 29) + pw_type_key(side->types[i]) +
                           ((uint64_t)pw_count_at(side->counts, i) << 20) + 5 * (uint64_t)pw_displ_at(side->displs, i));
    return hash;
}

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

static bool whole_is_native(const whole *w, pw_call_kind kind, settled_call *call)
{
    int64_t cost_bytes = pw_cost_bytes(kind, w->total, w->blocks);

    return !w->largest || note_use(call, pw_message_native_site(w->largest, kind, w->total, cost_bytes));
}

/* Whether the blocks of a side are left to MPI. With wide displacements each is checked by itself; otherwise they are
 * staged together or not at all, and all have types that are not left to MPI wherever they lie. Most blocks are like
 * the one before, about which the answer is known. */
static bool side_is_native(const pw_side *side, int blocks, const bool *absent, pw_call_kind kind, settled_call *call)
{
    const bool together = !side->displs.wide;
    whole w = {.largest = NULL};
    const pw_entry *entry = NULL;
    MPI_Datatype last_type = MPI_DATATYPE_NULL;
    int64_t last_count = 0, bytes = 0;
    uintptr_t last_region = 0;

    for (int i = 0; i < blocks; i++) {
        int64_t count = pw_count_at(side->counts, i);
        const char *at = (const char *)side->buf + pw_displ_at(side->displs, i);

        if (RARELY(absent && absent[i]) || RARELY(count == 0))
            continue;
        if (side->types[i] != last_type) {
            last_type = side->types[i];
            last_count = 0;
            entry = pw_registry_learned(last_type);
        }
        if (RARELY(!entry))
            return false;
        at += entry->lowest;
        if (count != last_count || pw_memory_region(at) != last_region) {
            last_count = count;
            last_region = pw_memory_region(at);
            if (RARELY(count < 0) || RARELY(__builtin_mul_overflow(count, entry->size, &bytes)))
                return false;
            if (pw_entry_is_left(entry) ? together : RARELY(!pw_memory_is_known_host(at)))
                return false;
            if (!together && entry->layout && !note_use(call, pw_message_native_site(entry, kind, bytes, bytes)))
                return false;
        }
        if (together && RARELY(!add(&w, entry, bytes)))
            return false;
    }
    return whole_is_native(&w, kind, call);
}

/* ---- blocks to oneself ------------------------------------------------------------------------------------------- */

/* Returns whether the last message to oneself of this layout was left to MPI, and this one is like it. A yes counts as
 * a use of its site. */
static bool is_left_alone(const pw_entry *entry, pw_call_kind kind, int64_t bytes, settled_call *call)
{
    pw_site *s = atomic_load_explicit(&entry->choices.to_oneself[kind], memory_order_acquire);

    return s && bytes >= s->least && bytes <= s->most && pw_site_again(s, pw_way_left) && note_use(call, s);
}

static bool is_long(pw_call_kind kind, const pw_side *side, int i, int64_t least, settled_call *call)
{
    const pw_entry *entry;
    int64_t bytes;

    if (side->form == PW_SIDE_TYPED && !side->types)
        return false;
    entry = pw_registry_learned(pw_side_type(side, i));
    return entry && entry->layout && (side->form <= PW_SIDE_EQUAL || side->counts.at) &&
           !__builtin_mul_overflow((int64_t)pw_side_count(side, i), entry->size, &bytes) && bytes >= least &&
           !is_left_alone(entry, kind, bytes, call);
}

bool pw_self_may_gain(pw_collective_family family, const pw_sides *s, const pw_communicator *group, settled_call *call)
{
    const pw_neighbours *n = &group->neighbours;
    pw_call_kind kind = pw_family_kind(family);
    int64_t least = pw_self_long(group, kind);
    bool is_any = false;

    if (least == INT64_MAX || group->between_groups || pw_joining_is_barred())
        return false;
    if (family < PW_NEIGHBOUR_ALLGATHER)
        return is_long(kind, &s->send, group->rank, least, call) || is_long(kind, &s->recv, group->rank, least, call);
    for (int i = 0; i < n->self && !is_any; i++)
        is_any =
            is_long(kind, &s->send, n->self_out[i], least, call) || is_long(kind, &s->recv, n->self_in[i], least, call);
    return is_any;
}

/* ---- sides with a type for each block ---------------------------------------------------------------------------- */

static bool has_arrays(const pw_side *side, int blocks)
{
    return blocks == 0 || (side->counts.at && side->displs.at && side->types);
}

/* Looks at each type, and remembers a call that is left to MPI. */
static __attribute__((noinline)) bool look(pw_collective_family family, const pw_sides *s, const pw_communicator *group,
                                           pw_blocks blocks, uint64_t hash, settled_call *kept)
{
    pw_call_kind kind = pw_family_kind(family);
    settled_call now = {.hash = hash, .deaths = pw_gate_deaths_now()};

    if (pw_self_is_possible(family, s, group, blocks) && pw_self_may_gain(family, s, group, &now))
        return false;
    if (!side_is_native(&s->send, blocks.send, blocks.absent_send, kind, &now) ||
        !side_is_native(&s->recv, blocks.recv, blocks.absent_recv, kind, &now))
        return false;
    if (now.n <= MOST_USES)
        *kept = now;
    return true;
}

bool pw_typed_are_native(pw_collective_family family, const pw_sides *s, MPI_Comm comm, const pw_communicator *group,
                         pw_blocks blocks)
{
    settled_call *kept;
    uint64_t hash;

    if (!has_arrays(&s->send, blocks.send) || !has_arrays(&s->recv, blocks.recv))
        return false;
    hash = hash_of(pw_communicator_key(comm) + family, &s->send, blocks.send);
    hash = hash_of(hash, &s->recv, blocks.recv);
    kept = &settled[hash >> (64 - SETTLED_BITS)];
    return (kept->hash == hash && pw_settled_holds(kept->deaths) && is_again(kept)) ||
           look(family, s, group, blocks, hash, kept);
}
