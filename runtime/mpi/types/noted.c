/*
 * Notes of types that are not learned yet: a few bytes in the value of the handle table, with the gain that was
 * missed so far. A note only grows, and ends when the type is learned or freed. Totals are for the statistics.
 */
#include "runtime/mpi/types/noted.h"

#include "frontend/mpi/contents.h"
#include "runtime/engine/gpu/memory.h"
#include "runtime/mpi/types/registry.h"

#include <stdatomic.h>

static const int64_t PLENTY = INT64_C(1) << 40; /* one use that moves so many bytes pays for learning any type */

/* The singleton. */
static struct {
    _Atomic int64_t types, uses, bytes;
} noted;

bool pw_note_is_off, pw_note_is_reported;
int64_t pw_note_most_native;

/* Returns false if there is nothing to count: no bytes, or more than an int64_t holds. */
static bool bytes_of(MPI_Datatype type, MPI_Count count, int64_t *bytes)
{
    MPI_Count size;

    return PMPI_Type_size_x(type, &size) == MPI_SUCCESS &&
           !__builtin_mul_overflow((int64_t)size, (int64_t)count, bytes) && *bytes > 0;
}

static __attribute__((noinline)) bool may_be_gpu_memory(const void *buf)
{
    pw_memory_place_of(buf); /* notices a GPU runtime */
    return atomic_load_explicit(&pw_memory_now, memory_order_relaxed) == PW_MEMORY_ASK_CUDA;
}

/* Returns whether MPI may be unable to carry out a call with this buffer. While no GPU memory may come in, all memory
 * that a type reaches is the host's. MPICH refuses to pack from MPI_BOTTOM. */
static bool is_needed(const void *buf)
{
    return buf == MPI_BOTTOM || (!pw_memory_is_known_host(buf) && may_be_gpu_memory(buf));
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

/* Returns whether a basic type has elements of one size. A pair of two sizes has a hole or an end that no size divides.
 */
static bool is_uniform_basic(MPI_Datatype type)
{
    MPI_Count size, lowest, extent;
    pw_envelope e;

    return pw_envelope_read(type, &e, NULL) == PW_OK && pw_envelope_is_basic(&e) &&
           PMPI_Type_size_x(type, &size) == MPI_SUCCESS &&
           PMPI_Type_get_extent_x(type, &lowest, &extent) == MPI_SUCCESS && size == extent;
}

/* Returns whether a type certainly has basic elements of one size: it is made by one constructor over a basic type. The
 * answer for the last basic type is remembered, since asking MPI for it takes as long as all the rest. */
static bool is_uniform(MPI_Datatype type)
{
    static _Atomic uint64_t known;
    pw_contents contents;
    pw_envelope e;
    uint64_t key;
    bool is;

    if (pw_envelope_read(type, &e, NULL) != PW_OK || pw_envelope_is_basic(&e) || e.ntypes != 1 ||
        pw_contents_read(type, &e, &contents, NULL) != PW_OK)
        return false;
    key = pw_type_key(contents.types[0]);
    is = key == atomic_load_explicit(&known, memory_order_relaxed) || is_uniform_basic(contents.types[0]);
    if (is)
        atomic_store_explicit(&known, key, memory_order_relaxed);
    pw_contents_release(&contents);
    return is;
}

/* Returns whether a message of so many bytes may arrive that only a staged receive can take: in pieces that end within
 * an element (runtime/mpi/strategy/mpich_split.h). */
static bool may_need_stage(MPI_Datatype type, int64_t bytes, pw_role role)
{
    return role != PW_SEND && bytes > pw_note_most_native && !is_uniform(type);
}

static void count_use(int64_t bytes)
{
    atomic_fetch_add_explicit(&noted.uses, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&noted.bytes, bytes, memory_order_relaxed);
}

bool pw_note_takes(MPI_Datatype type, const void *buf, MPI_Count count, pw_role role, int times, void *note)
{
    int64_t bytes, ns;

    /* The buffer is looked at first: the fewer values live across the call of MPI, the cheaper this is. */
    if (is_needed(buf))
        return count <= 0 || !bytes_of(type, count, &bytes);
    if (count <= 0 || !bytes_of(type, count, &bytes))
        return true;
    ns = pw_note_ns(note) + (PW_NOTE_CALL_NS + (bytes < PLENTY ? bytes : PLENTY) / PW_NOTE_BYTES_A_NS) * times;
    if ((ns >= PW_NOTE_LEARN_NS && ns >= learning_ns(type)) || may_need_stage(type, bytes, role))
        return false;
    pw_handle_table_swap(&pw_registry_types, pw_type_key(type), note, pw_note_make(ns));
    if (pw_note_is_reported)
        count_use(bytes);
    return true;
}

bool pw_note_may_be_left(MPI_Datatype type, const void *buf, MPI_Count count, pw_role role)
{
    int64_t bytes;

    return !is_needed(buf) && bytes_of(type, count, &bytes) && !may_need_stage(type, bytes, role);
}

void pw_note_count(int types)
{
    atomic_fetch_add_explicit(&noted.types, types, memory_order_relaxed);
}

pw_note_totals pw_note_total(void)
{
    return (pw_note_totals){noted.types, noted.uses, noted.bytes};
}
