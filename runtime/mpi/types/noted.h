/*
 * Types that are committed and not learned yet.
 *
 * To learn a type (to decode, canonicalise and register it) takes as long as many short messages gain by it, and many
 * types never move more than that. So MPI_Type_commit only notes a type, and its calls are left to MPI. Each call adds
 * to the note what Packwright could have gained in it, and the type is learned before the call with which the sum
 * reaches the cost of learning. A program thus never loses more than twice what it would have lost by the better of the
 * two, learning at once and never, had that been known (the rule of ski rental).
 *
 * Some types are learned before their first use, since MPI may be unable to carry it out: where GPU memory may come in,
 * where the buffer is MPI_BOTTOM, and where a message may arrive that only a staged receive can take.
 *
 * A note is one word that stands in the table of handles where a learned type has the address of its entry: an odd
 * number, one more than twice the nanoseconds gained. It has no memory of its own, so nobody can use it after its end.
 */
#ifndef PW_RUNTIME_NOTED_H
#define PW_RUNTIME_NOTED_H

#include "runtime/engine/memory/handle_table.h"
#include "runtime/mpi/mpi_compat.h"
#include "runtime/mpi/types/role.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Learning costs what was measured (docs/results/2026-11-22-types.md): asking MPI how the type was made, compiling the
 * layout and registering it, for types that are all different; for lists, the cost of a number in long ones. Packwright
 * gains half a nanosecond a byte where elements of 8 and 16 bytes lie apart, and nothing in blocks of some KiB. Before
 * a type is learned nobody knows which of the two it is.
 */
enum {
    PW_NOTE_LEARN_NS = 3000,     /* what it costs to learn a strided type, and */
    PW_NOTE_LEARN_ENTRY_NS = 40, /* more for each number and type that its constructor was given */
    PW_NOTE_CALL_NS = 100,       /* what Packwright gains in a call with few bytes, and */
    PW_NOTE_BYTES_A_NS = 2,      /* one nanosecond more for so many bytes */
    PW_NOTE_REPEATED = 16        /* uses that one persistent operation is taken to stand for */
};

/* One use of a noted type, as the argument of a call. */
typedef struct pw_note_use {
    const void *buf;
    MPI_Count count; /* objects */
    pw_role role;    /* of messages; PW_SEND for all other calls */
    int times;       /* for how many uses this one stands */
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

/* What other parts of the runtime want of notes. */
typedef struct pw_note_config {
    bool off;            /* types are learned at MPI_Type_commit */
    bool reported;       /* the totals will be reported */
    int64_t most_native; /* a type whose receive may be longer is learned first: any receive of at most so many bytes
                            may be left to MPI */
} pw_note_config;

/* Must be called before any other function of this header. */
void pw_note_start(const pw_note_config *config);

extern bool pw_note_is_off;      /* types are learned at MPI_Type_commit */
extern bool pw_note_is_reported; /* the totals will be reported */

/* Leaves a use to MPI and counts it in the type's note, which is in pw_registry_types. Returns false if the type is to
 * be learned before this use, which is then not counted. The arguments are those of pw_note_use. */
bool pw_note_takes(MPI_Datatype type, const void *buf, MPI_Count count, pw_role role, int times, void *note);

void pw_note_count_other(int types);
pw_note_totals pw_note_total(void);

/* Counts a type that was noted (1), or a noted type that was learned (-1). */
static inline void pw_note_count(int types)
{
    if (pw_note_is_reported)
        pw_note_count_other(types);
}

#endif
