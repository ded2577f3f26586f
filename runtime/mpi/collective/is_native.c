/*
 * Fast checks whether a collective is certain to be left to MPI, block by block. A yes is what pw_collective_call
 * would find, and counts as a use; every doubt is a no. Nothing is written but uses, and what a thread remembers of
 * such calls. What every call passes is inlined into pw_is_native_X, where family and forms are constants. The longer
 * ways get a copy of the sides, field by field, so that these are no memory until then. What a call that is remembered
 * passes lies in one piece: each line of code more takes the place of one of MPI's in the caches, and is not there
 * itself when MPI returns.
 */
#include "runtime/mpi/collective/is_native.h"

#include "hooks.h"
#include "runtime/mpi/collective/remote.h"
#include "runtime/mpi/collective/self.h"
#include "runtime/mpi/strategy/mpich_split.h"

/* The buffers of a call, without the fields that pw_collective_check fills in. */
typedef struct sides {
    pw_side send, recv;
    int root;
} sides;

PW_INLINE pw_side copy_of_side(const pw_side *s)
{
    return (pw_side){.form = s->form,
                     .buf = s->buf,
                     .count = s->count,
                     .type = s->type,
                     .counts = {s->counts.at, s->counts.wide},
                     .displs = {s->displs.at, s->displs.wide},
                     .types = s->types};
}

/* For functions that are not inlined. */
PW_INLINE sides copy_of(const sides *s)
{
    return (sides){copy_of_side(&s->send), copy_of_side(&s->recv), s->root};
}

/* Returns the site by which `blocks` blocks of a layout in host memory are certain to be left to MPI, and counts a use
 * of it. NULL: it is not certain, as for those that MPICH may split (runtime/mpi/strategy/mpich_split.h). */
PW_INLINE pw_site *site_of(const pw_entry *entry, pw_call_kind kind, pw_role role, int64_t bytes, int blocks)
{
    if (!PW_MPI_IS_OPEN_MPI && bytes > PW_SPLIT_WHOLE && atomic_load_explicit(&entry->mixed, memory_order_relaxed))
        return NULL;
    return pw_native_site(entry, kind, role, pw_cost_bytes(kind, bytes, blocks));
}

/* ---- one type ---------------------------------------------------------------------------------------------------- */

/* Counts the objects of all blocks, and finds where the first of them lies, in objects. False: the side is unusual. */
PW_INLINE bool extent_of(const pw_side *side, int blocks, const bool *absent, int64_t *total, int64_t *first)
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

/* `last`: the call is left to MPI if this side is, so a use of a type that is only noted may be counted. */
PW_INLINE bool uniform_is_native(const pw_side *side, const pw_entry *entry, int blocks, const bool *absent,
                                 pw_call_kind kind, pw_role role, bool last)
{
    int64_t total, first, away = 0;

    if (!extent_of(side, blocks, absent, &total, &first))
        return false;
    if (total == 0)
        return true;
    if (PW_UNLIKELY(!entry))
        return last && blocks == 1 && side->form <= PW_SIDE_EQUAL &&
               pw_is_native(kind, PW_BOTH, side->type, side->buf, total, MPI_ANY_SOURCE, pw_side_staged(side, 1));
    if (first != 0 && __builtin_mul_overflow(first, pw_entry_extent(entry), &away))
        return false;
    if (pw_entry_is_left(entry))
        return true;
    if (!pw_memory_is_known_host((char *)side->buf + away + entry->lowest))
        return false;
    return !entry->layout || entry->gpu_only ||
           (!__builtin_mul_overflow(total, entry->size, &total) && site_of(entry, kind, role, total, blocks));
}

/* ---- calls that were left to MPI --------------------------------------------------------------------------------- */

/*
 * A call with a type for each block that was left to MPI. A thread remembers some by a hash of all that they were asked
 * with, so that the next one like it needs no look at each type. Calls that share a hash by chance are left to MPI,
 * too, which is right for all of them. The rules are those of single messages (runtime/mpi/strategy/is_native.h).
 */
enum { SETTLED_BITS = 3, MOST_SITES = 16 };

typedef struct settled_call {
    uint64_t hash;
    unsigned epoch;
    int n; /* sites that leave the call to MPI; above MOST_SITES: it is not remembered */
    pw_site_use of[MOST_SITES];
} settled_call;

static _Thread_local settled_call settled[1 << SETTLED_BITS];

/* Returns whether there is a site that leaves the call to MPI. `call`: NULL if it is not to be remembered. */
static bool note_use(settled_call *call, pw_site *site)
{
    int i = 0;

    if (!site || !call)
        return site;
    while (i < call->n && i < MOST_SITES && call->of[i].site != site)
        i++;
    if (i == call->n)
        call->n++;
    if (i < MOST_SITES) {
        call->of[i].site = site;
        call->of[i].uses++;
    }
    return true;
}

PW_INLINE pw_site_use use_of(const void *call, int i)
{
    return ((const settled_call *)call)->of[i];
}

/* With constants for how wide the arrays are. A block's part does not wait for that of the one before. */
PW_INLINE uint64_t hash_of_blocks(const pw_side *side, int blocks, bool wide_counts, bool wide_displs)
{
    pw_counts counts = {side->counts.at, wide_counts};
    pw_displs displs = {side->displs.at, wide_displs};
    uint64_t hash = (uintptr_t)side->buf, factor = 1;

    for (int i = 0; i < blocks; i++)
        hash += (pw_type_key(side->types[i]) + ((uint64_t)pw_count_at(counts, i) << 20) +
                 5 * (uint64_t)pw_displ_at(displs, i)) *
                (factor = pw_handle_hash(factor));
    return hash;
}

PW_INLINE uint64_t hash_of(const pw_side *side, int blocks)
{
    if (PW_UNLIKELY(side->counts.wide))
        return hash_of_blocks(side, blocks, true, true);
    return side->displs.wide ? hash_of_blocks(side, blocks, false, true) : hash_of_blocks(side, blocks, false, false);
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

static bool whole_is_native(const whole *w, pw_call_kind kind, pw_role role, settled_call *call)
{
    return !w->largest || note_use(call, site_of(w->largest, kind, role, w->total, w->blocks));
}

/* Whether the blocks of a side are left to MPI. With wide displacements each is checked by itself; otherwise they are
 * staged together or not at all, and none has a type that is left to MPI wherever it lies. A block whose type is only
 * noted stays with MPI, and so do then all that would be staged together with it. Most blocks are like the one before,
 * about which the answer is known. */
static bool side_is_native(const pw_side *side, int blocks, const bool *absent, pw_call_kind kind, pw_role role,
                           settled_call *call)
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

        if (PW_UNLIKELY(absent && absent[i]) || PW_UNLIKELY(count == 0))
            continue;
        if (side->types[i] != last_type) {
            last_type = side->types[i];
            last_count = 0;
            entry = pw_registry_learned(last_type);
        }
        if (PW_UNLIKELY(!entry)) {
            if (!pw_is_native(kind, PW_BOTH, last_type, at, count, MPI_ANY_SOURCE, pw_side_staged(side, blocks)))
                return false;
            call->n = MOST_SITES + 1; /* not remembered, since each use adds to the type's note */
            continue;
        }
        at += entry->lowest;
        if (count != last_count || pw_memory_region(at) != last_region) {
            last_count = count;
            last_region = pw_memory_region(at);
            if (PW_UNLIKELY(count < 0) || PW_UNLIKELY(__builtin_mul_overflow(count, entry->size, &bytes)))
                return false;
            if (pw_entry_is_left(entry) ? together : PW_UNLIKELY(!pw_memory_is_known_host(at)))
                return false;
            if (!together && entry->layout && !note_use(call, site_of(entry, kind, role, bytes, 1)))
                return false;
        }
        if (together && PW_UNLIKELY(!add(&w, entry, bytes)))
            return false;
    }
    return whole_is_native(&w, kind, role, call);
}

/* ---- blocks to oneself ------------------------------------------------------------------------------------------- */

static bool is_long(const pw_side *side, int i, int64_t least, const pw_entry **entry, int64_t *bytes)
{
    if (side->form == PW_SIDE_TYPED && !side->types)
        return false;
    *entry = pw_registry_learned(pw_side_type(side, i));
    return *entry && (*entry)->layout && (side->form <= PW_SIDE_EQUAL || side->counts.at) &&
           !__builtin_mul_overflow((int64_t)pw_side_count(side, i), (*entry)->size, bytes) && *bytes >= least;
}

/* Returns whether the sides of a block to oneself are long. No if the last such block was left to MPI and this one is
 * like it: then that counts as a use of its site. */
static bool are_long(pw_call_kind kind, sides s, int out, int in, int64_t least, settled_call *call)
{
    const pw_entry *from, *to;
    int64_t bytes;
    bool sends = is_long(&s.send, out, least, &from, &bytes), receives = is_long(&s.recv, in, least, &to, &bytes);
    pw_site *sent = sends ? atomic_load(&from->choices.to_oneself[kind][0]) : NULL;
    pw_site *site = receives ? atomic_load(&to->choices.to_oneself[kind][1]) : sent;

    return (sends || receives) && !(site && (!sends || site == sent) && bytes >= site->least && bytes <= site->most &&
                                    pw_site_again(site, pw_way_left, 1) && note_use(call, site));
}

/* Returns whether a block that this process sends to itself may be copied without MPI (runtime/mpi/collective/self.h),
 * and is so long that this pays for the long path. Sites that leave it to MPI are noted in `call`, unless NULL. */
static __attribute__((noinline)) bool self_may_gain(pw_collective_family family, sides s, const pw_communicator *group,
                                                    settled_call *call)
{
    const pw_neighbours *n = &group->neighbours;
    pw_call_kind kind = pw_family_kind(family);
    int64_t least = pw_self_long(group, kind);
    bool is_any = false;

    if (least == INT64_MAX || group->between_groups || pw_joining_is_barred())
        return false;
    if (family < PW_NEIGHBOUR_ALLGATHER)
        return are_long(kind, s, group->rank, group->rank, least, call);
    for (int i = 0; i < n->self && !is_any; i++)
        is_any = are_long(kind, s, n->self_out[i], n->self_in[i], least, call);
    return is_any;
}

/* Whether there may be such a block. Blocks that all have one count stay with MPI if they are not staged. */
PW_INLINE bool self_is_possible(pw_collective_family family, const sides *s, const pw_communicator *group,
                                pw_blocks blocks)
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

/* ---- sides with a type for each block ---------------------------------------------------------------------------- */

PW_INLINE bool has_arrays(const pw_side *side, int blocks)
{
    return PW_UNLIKELY(blocks == 0) || (side->counts.at && side->displs.at && side->types);
}

/* Looks at each type, and remembers a call that is left to MPI. */
static __attribute__((noinline)) bool look(pw_collective_family family, sides s, const pw_communicator *group,
                                           uint64_t hash, settled_call *kept)
{
    const pw_blocks blocks = pw_blocks_of(family, &s.send, &s.recv, s.root, group);
    pw_call_kind kind = pw_family_kind(family);
    settled_call now = {.hash = hash, .epoch = pw_settled_now()};

    if (self_is_possible(family, &s, group, blocks) && self_may_gain(family, s, group, &now))
        return false;
    if (!side_is_native(&s.send, blocks.send, blocks.absent_send, kind, PW_SEND, &now) ||
        !side_is_native(&s.recv, blocks.recv, blocks.absent_recv, kind, PW_RECV, &now))
        return false;
    if (now.n <= MOST_SITES)
        *kept = now;
    return true;
}

PW_INLINE bool typed_are_native(pw_collective_family family, const sides *s, MPI_Comm comm,
                                const pw_communicator *group, pw_blocks blocks)
{
    settled_call *kept;
    uint64_t hash;

    if (PW_UNLIKELY(!has_arrays(&s->send, blocks.send) || !has_arrays(&s->recv, blocks.recv)))
        return false;
    hash = pw_handle_hash(pw_communicator_key(comm) + family + hash_of(&s->send, blocks.send)) +
           hash_of(&s->recv, blocks.recv);
    kept = &settled[pw_handle_hash(hash) >> (64 - SETTLED_BITS)];
    __asm__("" : "+r"(kept)); /* so that the address is computed once */
    if (PW_UNLIKELY(kept->hash != hash || pw_epoch_now() != kept->epoch ||
                    !pw_sites_again(kept->n, pw_way_left, use_of, kept)))
        return look(family, copy_of(s), group, hash, kept);
    return true;
}

/* ---- a call ------------------------------------------------------------------------------------------------------ */

/* Returns whether both sides are left to MPI. The answer is no while there are orphans to settle on the way out, and
 * for calls of which blocks may be read without MPI (remote.h). */
PW_INLINE bool are_native(pw_collective_family family, const sides *s, MPI_Comm comm)
{
    pw_call_kind kind = pw_family_kind(family);
    const pw_entry *send = pw_side_entry(&s->send), *recv = pw_side_entry(&s->recv);
    const pw_communicator *group;
    pw_role role = PW_RECV;
    pw_blocks blocks;

    if (PW_UNLIKELY(pw_gate_has_unfinished()) || PW_UNLIKELY(pw_remote_serves(family, s->send.form, comm)))
        return false;
    if (pw_side_is_plain(&s->send, send) && pw_side_is_plain(&s->recv, recv))
        return true;
    group = pw_communicator_peek(comm);
    if (PW_UNLIKELY(!group))
        return false;
    if (pw_broadcasts_alone(family, &s->recv, group) &&
        pw_memory_is_known_host((char *)s->recv.buf + (recv ? recv->lowest : 0)))
        return true;
    blocks = pw_blocks_of(family, &s->send, &s->recv, s->root, group);
    if (family == PW_BCAST && group->as_root == s->root)
        role = PW_SEND;
    if (s->recv.form == PW_SIDE_TYPED)
        return typed_are_native(family, s, comm, group, blocks);
    if (self_is_possible(family, s, group, blocks) && self_may_gain(family, copy_of(s), group, NULL))
        return false;
    return (blocks.send == 0 ||
            uniform_is_native(&s->send, send, blocks.send, blocks.absent_send, kind, PW_SEND, blocks.recv == 0)) &&
           (blocks.recv == 0 || uniform_is_native(&s->recv, recv, blocks.recv, blocks.absent_recv, kind, role, true));
}

/* pw_is_native_X of each call, which api/generate.py writes by its family. */
#include "natives.h"
