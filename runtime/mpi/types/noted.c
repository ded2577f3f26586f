#include "runtime/mpi/types/noted.h"

#include "frontend/mpi/contents.h"
#include "runtime/engine/gpu/memory.h"

#include <stdatomic.h>

static const int64_t PLENTY = INT64_C(1) << 40; /* one use that moves so many bytes pays for learning any type */

/* The singleton. */
static struct {
    pw_note_config config; /* set once, at start */
    _Atomic int64_t types, uses, bytes;
} noted;

bool pw_note_is_off;

void pw_note_start(const pw_note_config *config)
{
    noted.config = *config;
    pw_note_is_off = config->off;
}

/* Returns false if there is nothing to count: no bytes, or more than an int64_t holds. */
static bool bytes_of(MPI_Datatype type, MPI_Count count, int64_t *bytes)
{
    MPI_Count size;

    return PMPI_Type_size_x(type, &size) == MPI_SUCCESS &&
           !__builtin_mul_overflow((int64_t)size, (int64_t)count, bytes) && *bytes > 0;
}

/* Returns whether MPI may be unable to carry out the call. While no GPU memory may come in, all memory that a type
 * reaches is the host's. MPICH refuses to pack from MPI_BOTTOM. */
static bool is_needed(const pw_note_use *use, int64_t bytes)
{
    pw_memory_place_of(use->buf); /* notices a GPU runtime */
    if (use->buf == MPI_BOTTOM || atomic_load_explicit(&pw_memory_now, memory_order_relaxed) == PW_MEMORY_ASK_CUDA)
        return true;
    return use->role != PW_SEND && bytes > noted.config.most_native;
}

/* The cost of learning a type, estimated from its outermost constructor: only MPI_Type_get_contents knows the inner
 * ones. */
static int64_t learning_ns(MPI_Datatype type)
{
    pw_envelope e;

    if (pw_envelope_read(type, &e, NULL) != PW_OK)
        return PW_NOTE_LEARN_NS;
    return PW_NOTE_LEARN_NS + PW_NOTE_LEARN_ENTRY_NS * (e.nints + e.naddrs + e.ncounts + e.ntypes);
}

bool pw_note_takes(pw_handle_table *types, MPI_Datatype type, const pw_note_use *use, void *note)
{
    int64_t bytes, ns = pw_note_ns(note);

    if (use->count <= 0 || !bytes_of(type, use->count, &bytes))
        return true;
    ns += (PW_NOTE_CALL_NS + (bytes < PLENTY ? bytes : PLENTY) / PW_NOTE_BYTES_A_NS) * use->times;
    if (is_needed(use, bytes) || (ns >= PW_NOTE_LEARN_NS && ns >= learning_ns(type)))
        return false;
    pw_handle_table_swap(types, pw_type_key(type), note, pw_note_make(ns));
    if (noted.config.reported) {
        atomic_fetch_add_explicit(&noted.uses, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&noted.bytes, bytes, memory_order_relaxed);
    }
    return true;
}

void pw_note_count(int types)
{
    if (noted.config.reported)
        atomic_fetch_add_explicit(&noted.types, types, memory_order_relaxed);
}

pw_note_totals pw_note_total(void)
{
    return (pw_note_totals){noted.types, noted.uses, noted.bytes};
}
