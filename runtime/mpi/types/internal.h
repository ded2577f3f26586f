/* What the files of this folder share, by the file that defines it. */
#ifndef PW_RUNTIME_TYPES_INTERNAL_H
#define PW_RUNTIME_TYPES_INTERNAL_H

#include "base/hash.h"
#include "frontend/mpi/contents.h"
#include "runtime/mpi/types/registry.h"

/* ---- glance.c ---------------------------------------------------------------------------------------------------- */

/* What MPI says of a type, read as far as somebody asks, and kept until the end. Belongs to one thread. It is large, so
 * pw_glance_begin sets the first fields only. */
typedef struct pw_glance {
    MPI_Datatype type;
    pw_role role;     /* of the use for which MPI is asked; PW_SEND without one */
    MPI_Count extent; /* the true one; 0: not asked yet */
    bool has_envelope, has_contents;
    pw_diag diag;         /* why a question was answered by NULL, unless the type is basic */
    pw_contents contents; /* its envelope is valid before the rest is */
} pw_glance;

void pw_glance_begin(pw_glance *g, MPI_Datatype type, pw_role role);
/* Return NULL if MPI has failed or memory is short; a basic type has no contents, either. */
const pw_envelope *pw_glance_envelope(pw_glance *g);
pw_contents *pw_glance_contents(pw_glance *g);
/* Returns the true extent; 0: it is not known. */
int64_t pw_glance_extent(pw_glance *g);
/* Frees what has been read. */
void pw_glance_end(pw_glance *g);

/* ---- noted.c ----------------------------------------------------------------------------------------------------- */

/* Leaves a use of a noted type to MPI and counts it in the type's note, unless MPI may be unable to carry it out, or
 * the type has been used enough to be learned; then it returns false. `note`: the type's, which is in
 * pw_registry_types. A use for which it would be in vain counts as one with few bytes, so that a type that stays in use
 * is learned in the end, and one of a dense type that is alone as what asking about it has cost. */
bool pw_note_takes(pw_glance *g, const pw_note_use *use, void *note);

/* ---- recent.c ---------------------------------------------------------------------------------------------------- */

/*
 * The entries of the last types, by what MPI says of a type.
 *
 * Programs that make a type for each message make types of few shapes over and over, often with other counts each time.
 *
 * - A type that was *constructed* as an earlier one, by one constructor call over a basic type (MPI 4.0
 *   section 5.1.13), gets that type's entry, in a third of the time that learning takes.
 * - Learning a type is in vain if its messages turn out to be left to MPI, as those of long blocks are, and costs as
 *   much as a short message. So a noted type that *looks* like a learned one, and whose message would be left to MPI
 *   with that type's layout, is not learned for this message (pw_registry_leaves_noted). A look is the side of the
 *   use, since entries know their own messages only, and the classes (pw_site_size) of the type's size, of its true
 *   extent, and of the length of its blocks. Where MPI does not say at once how long these are, size and extent must
 *   be the same. Where several layouts look alike, the one that was learned last has the place.
 */

typedef enum pw_recent_kind { PW_RECENT_CONSTRUCTED, PW_RECENT_LOOK, PW_RECENT_KINDS } pw_recent_kind;

/* Tells how a type with these contents was made. Returns false if it was not made of one type and few numbers. The
 * table is for types that were made of a basic one. */
bool pw_constructed_read(const pw_contents *contents, pw_hash *out);

/* Tells how a type of so many bytes, more than 0, looks in this use. Returns false if MPI has failed. */
bool pw_look_read(pw_glance *g, int64_t size, pw_hash *out);
/* Returns whether a type of so many bytes is certainly dense: its blocks adjoin, and it is made of a basic type. */
bool pw_look_is_dense(pw_glance *g, int64_t size);

/* ---- entries.c --------------------------------------------------------------------------------------------------- */

/*
 * All entries, and what keeps them alive: the types that have them, each by an attribute; the latest types (recent.c);
 * and statistics, which report entries after their types have died.
 *
 * All functions are thread safe and may be called by MPI's callbacks: they take the lock of the entries only, and call
 * nothing of MPI under it. pw_registry_each is defined here, too.
 */

/* Lets all layouts go, and frees all entries but those of types that MPI still has. These are left to MPI. */
void pw_entries_clear(void);

/* Returns the entry of a layout, which is made if there is none, with a reference for one type; takes over the
 * reference to the layout. A predefined type lives for ever and has none. NULL as layout: the type is left to MPI.
 * `sizes`: those of the basic elements, as pw_mpi_decode_elements gives them. Returns NULL without memory. */
pw_entry *pw_entries_of(pw_layout *layout, bool predefined, unsigned sizes);
/* Returns the entry of an earlier type that was made in the same way, with a reference for this one, or NULL. */
pw_entry *pw_entries_constructed(pw_hash how);

/* Keeps an entry alive for later types with the same key. */
void pw_entries_remember(pw_recent_kind kind, pw_hash key, pw_entry *entry);

/* Returns what `asked` says of the entry of the last type with this look, under the lock; false if there is none. */
bool pw_entries_ask_alike(pw_hash look, pw_entry_asked *asked, void *arg);

/* ---- predefined.c ------------------------------------------------------------------------------------------------ */

/* Returns whether this is a handle of a predefined type, which programs never commit and which is learned at its first
 * use. MPI is not asked: it may be no handle at all. */
bool pw_predefined_is(MPI_Datatype type);

/* ---- learning.c -------------------------------------------------------------------------------------------------- */

/*
 * Learning a type: reading how it was made, compiling its layout, and binding the type to the layout's entry by an
 * attribute. One type is learned at a time. pw_registry_engine, _let_go, _leave and _close are defined here, too.
 */

/* Learns a committed or predefined type that is not learned yet. If it can, the type is in pw_registry_types then.
 * `role`: of the use for which it is learned; PW_SEND without one. */
void pw_learning_learn(MPI_Datatype type, pw_role role);

#endif
