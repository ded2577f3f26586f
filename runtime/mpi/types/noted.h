/*
 * Types that are committed and not learned yet.
 *
 * To learn a type (to decode, canonicalise and register it) takes as long as many short messages gain by it, and many
 * types never move more than that. So MPI_Type_commit only notes a type, and its calls are left to MPI. Each call adds
 * to the note what Packwright could have gained in it, and the type is learned before the call with which the sum
 * reaches the cost of learning. A program thus never loses more than twice what it would have lost by the better of the
 * two, learning at once and never, had that been known (the rule of ski rental). The cost is that in a program that
 * learns one type after the other; to learn a single one takes more, so short messages are counted below their gain.
 *
 * Some types are learned before their first use, since MPI may be unable to carry it out: where GPU memory may come in,
 * where the buffer is MPI_BOTTOM, and where a message may arrive that only a staged receive can take.
 *
 * A note is one word that stands in the table of handles where a learned type has the address of its entry: an odd
 * number, one more than twice the nanoseconds gained. It has no memory of its own, so nobody can use it after its end.
 */
#ifndef PW_RUNTIME_NOTED_H
#define PW_RUNTIME_NOTED_H

#include "base/handle_table.h"
#include "runtime/engine/gpu/memory.h"
#include "runtime/mpi/mpi_compat.h"
#include "runtime/mpi/types/entry.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Learning costs what was measured (build/bench/types_mpich): asking MPI how the type was made, compiling the
 * layout and registering it, for types that are all different; for lists, the cost of a number in long ones. Packwright
 * gains half a nanosecond a byte where elements of 8 and 16 bytes lie apart, and nothing in blocks of some KiB. Before
 * a type is learned nobody knows which of the two it is. Staging takes up to 300 ns of that for a message, and 800 for
 * a side of a collective. More is taken off here, since to learn a single type, with its code in no cache, takes 40 us.
 */
enum {
    PW_NOTE_LEARN_NS = 3000,     /* what it costs to learn a strided type, and */
    PW_NOTE_LEARN_ENTRY_NS = 40, /* more for each number and type that its constructor was given */
    PW_NOTE_ASK_NS = 400,        /* what it costs to ask how a type of few numbers was made */
    PW_NOTE_CALL_NS = 100,       /* what Packwright gains in a call with few bytes, and */
    PW_NOTE_BYTES_A_NS = 2,      /* one nanosecond more for so many bytes; */
    PW_NOTE_STAGED_NS = 350,     /* less where one message is staged, */
    PW_NOTE_SIDE_NS = 1200,      /* or the blocks of a side of a collective are staged together, but */
    PW_NOTE_LEAST_NS = 40,       /* not less than this */
    PW_NOTE_REPEATED = 16        /* uses that one persistent operation is taken to stand for */
};

/* What MPI does with a buffer: reads it, writes it, or both (in-place and replacing calls). */
typedef enum pw_role { PW_SEND, PW_RECV, PW_BOTH } pw_role;

/* One use of a noted type, as the argument of a call. */
typedef struct pw_note_use {
    const void *buf;
    MPI_Count count; /* objects */
    pw_role role;    /* of messages; PW_SEND for all other calls */
    int times;       /* for how many uses this one stands */
    int staged;      /* the nanoseconds that staging takes off its gain; not counted if it stands for several */
    bool alone;      /* what is known of this type does not decide about buffers of other types in the call */
    /* Whether the use would be left to MPI with the entry of a type that looks the same, so that it is in vain to learn
     * this one. Called under the lock of the entries, and calls no MPI. NULL: that does not matter. */
    pw_entry_asked *is_native;
    void *arg;
} pw_note_use;

/* The number of types that are noted and not learned; the uses that were left to MPI, and their bytes. */
typedef struct pw_note_totals {
    int64_t types, uses, bytes;
} pw_note_totals;

static inline bool pw_note_is(const void *value)
{
    return (uintptr_t)value & 1;
}

static inline void *pw_note_make(int64_t ns)
{
    return (void *)((uintptr_t)ns << 1 | 1); /* NOLINT: a word, not an address */
}

static inline int64_t pw_note_ns(const void *note)
{
    return (int64_t)((uintptr_t)note >> 1);
}

/* What other parts of the runtime want of notes; set once, at start. */
extern bool pw_note_is_off;         /* types are learned at MPI_Type_commit */
extern bool pw_note_is_reported;    /* the totals will be reported */
extern int64_t pw_note_most_native; /* any receive of at most so many bytes may be left to MPI. A longer one may if the
                                       type has basic elements of one size, else the type is learned first */

/* Finds the bytes of objects whose type MPI is asked about. False: there are none, or more than an int64_t holds. */
static inline bool pw_note_bytes(MPI_Datatype type, MPI_Count count, int64_t *bytes)
{
    MPI_Count size;

    return PMPI_Type_size_x(type, &size) == MPI_SUCCESS &&
           !__builtin_mul_overflow((int64_t)size, (int64_t)count, bytes) && *bytes > 0;
}

/* Returns the nanoseconds that Packwright may gain in a use of so many bytes. `staged`: as in pw_note_use. */
static inline int64_t pw_note_gain(int64_t bytes, int staged)
{
    int64_t ns = PW_NOTE_CALL_NS + bytes / PW_NOTE_BYTES_A_NS - staged;

    return ns > PW_NOTE_LEAST_NS ? ns : PW_NOTE_LEAST_NS;
}

/* Returns whether a type may have basic elements of several sizes, and then notes that it is to be learned. */
bool pw_note_refuses(MPI_Datatype type, void *note);

/* Leaves a use to MPI and counts it in the type's note if no case makes it special: the buffer is known to be host
 * memory, MPI can receive the message, and the sum of what was gained stays below the cost of learning any type.
 * Returns false if it is not left to MPI. `at`: the slot of the type in front of the table. */
static inline bool pw_note_takes_few(MPI_Datatype type, const void *buf, MPI_Count count, pw_role role, int staged,
                                     pw_handle_slot *at)
{
    void *note = atomic_load_explicit(&at->value, memory_order_acquire);
    int64_t bytes, ns;

    if (PW_UNLIKELY(!pw_note_is(note) || pw_note_is_reported || buf == MPI_BOTTOM || !pw_memory_is_known_host(buf)))
        return false;
    if (PW_UNLIKELY(!pw_note_bytes(type, count, &bytes)))
        return false;
    ns = pw_note_ns(note) + pw_note_gain(bytes, staged);
    if (PW_UNLIKELY(ns >= PW_NOTE_LEARN_NS ||
                    (role != PW_SEND && bytes > pw_note_most_native && pw_note_refuses(type, note))))
        return false;
    if (PW_LIKELY(atomic_load_explicit(&at->value, memory_order_relaxed) == note))
        atomic_store_explicit(&at->value, pw_note_make(ns), memory_order_release);
    return true;
}

/* Counts a type that was noted (1), or a noted type that was learned (-1), for reports. */
void pw_note_count(int types);
pw_note_totals pw_note_total(void);

#endif
