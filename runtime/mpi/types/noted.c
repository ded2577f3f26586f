/*
 * Notes of types that are not learned yet: a few bytes in the value of the handle table, with the gain that was
 * missed so far. A note only grows, and ends when the type is learned or freed. Totals are for the statistics.
 */
#include "runtime/mpi/types/noted.h"

#include "runtime/mpi/types/internal.h"

#include <stdatomic.h>

static const int64_t PLENTY = INT64_C(1) << 40; /* one use that moves so many bytes pays for learning any type */

/* The singleton. */
static struct {
    _Atomic int64_t types, uses, bytes;
} noted;

bool pw_note_is_off, pw_note_is_reported;
int64_t pw_note_most_native;

static __attribute__((noinline)) bool may_be_gpu_memory(const void *buf)
{
    pw_memory_place_of(buf); /* notices a GPU runtime */
    return atomic_load_explicit(&pw_memory_now, memory_order_relaxed) == PW_MEMORY_ASK_CUDA;
}

/* The cost of learning a type, by its outermost constructor: only MPI_Type_get_contents knows the inner ones. */
static int64_t learning_ns(pw_glance *g)
{
    const pw_envelope *e = pw_glance_envelope(g);

    return PW_NOTE_LEARN_NS + (e ? PW_NOTE_LEARN_ENTRY_NS * (e->nints + e->naddrs + e->ncounts + e->ntypes) : 0);
}

/* Returns whether a message of so many bytes may arrive that only a staged receive can take: in pieces that end within
 * an element (runtime/mpi/strategy/mpich_split.h). */
static bool may_need_stage(const pw_glance *g, int64_t bytes, pw_role role)
{
    return role != PW_SEND && bytes > pw_note_most_native &&
           !pw_contents_are_uniform(g->type, g->has_contents ? &g->contents : NULL);
}

bool pw_note_refuses(MPI_Datatype type, void *note)
{
    if (pw_contents_are_uniform(type, NULL))
        return false;
    pw_handle_table_swap(&pw_registry_types, pw_type_key(type), note, pw_note_make(PLENTY));
    return true;
}

bool pw_note_takes(pw_glance *g, const pw_note_use *use, void *note)
{
    /* MPI may be unable to carry out the call: MPICH refuses to pack from MPI_BOTTOM. While no GPU memory may come in,
     * all memory that a type reaches is the host's. */
    bool needed = use->buf == MPI_BOTTOM || (!pw_memory_is_known_host(use->buf) && may_be_gpu_memory(use->buf));
    int staged = use->times > 1 ? 0 : use->staged; /* those of a persistent operation are staged once */
    int64_t bytes, ns, few = pw_note_ns(note) + pw_note_gain(0, staged) * use->times;
    pw_hash look;

    if (use->count <= 0 || !pw_note_bytes(g->type, use->count, &bytes))
        return true;
    if (needed)
        return false;
    ns = pw_note_ns(note) + pw_note_gain(bytes < PLENTY ? bytes : PLENTY, staged) * use->times;
    if (ns >= PW_NOTE_LEARN_NS && few < PW_NOTE_LEARN_NS) { /* is it in vain to learn the type? */
        if (use->alone && pw_look_is_dense(g, bytes / use->count))
            ns = pw_note_ns(note) + PW_NOTE_ASK_NS;
        else if (use->is_native && pw_look_read(g, bytes / use->count, &look) &&
                 pw_entries_ask_alike(look, use->is_native, use->arg))
            ns = few;
    }
    if ((ns >= PW_NOTE_LEARN_NS && ns >= learning_ns(g)) || may_need_stage(g, bytes, use->role))
        return false;
    pw_handle_table_swap(&pw_registry_types, pw_type_key(g->type), note, pw_note_make(ns));
    if (pw_note_is_reported) {
        atomic_fetch_add_explicit(&noted.uses, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&noted.bytes, bytes, memory_order_relaxed);
    }
    return true;
}

void pw_note_count(int types)
{
    atomic_fetch_add_explicit(&noted.types, types, memory_order_relaxed);
}

pw_note_totals pw_note_total(void)
{
    return (pw_note_totals){noted.types, noted.uses, noted.bytes};
}
