/*
 * Which compiled layout a datatype handle stands for.
 *
 * An entry dies with its type, not with the user's MPI_Type_free: every registered derived type carries an attribute
 * whose delete callback runs when MPI drops the last reference (also when operations were pending at the free, or other
 * types were built from it), and only then may MPI reuse the handle. MPI_Type_dup copies the attribute, so a duplicate
 * shares the layout; its handle, which the copy callback cannot know, is found at first use.
 *
 * A handle that is not known is never asked about before the MPI below has accepted it in a call: invalid and
 * uncommitted types get MPI's own errors, and types committed behind our back (PMPI_Type_commit) are learned all the
 * same.
 */
#ifndef PW_RUNTIME_REGISTRY_H
#define PW_RUNTIME_REGISTRY_H

#include "runtime/handle_table.h"
#include "runtime/layout/layout.h"
#include "runtime/mpi_compat.h"
#include "runtime/strategy/strategy.h"

#include <stdatomic.h>

enum { PW_ENTRY_NATIVE_BITS = 2, PW_ENTRY_NATIVE = 1 << PW_ENTRY_NATIVE_BITS };

/*
 * What the runtime knows of one layout; shared by all types that have it, but for predefined pairs with a hole, which
 * have entries of their own. With `layout` NULL the type is left to MPI: predefined, contiguous, empty, or not
 * understood. An entry is valid while a type that has it is alive, as
 * the type is during every call it is an argument of.
 */
typedef struct pw_entry {
    /* What the short way to a native call looks at (runtime/strategy/stays.h), together. */
    _Alignas(64) pw_layout *layout;
    int64_t size;        /* packed bytes of one object; 0: not known */
    int64_t lowest;      /* offset of the first object's lowest byte */
    bool touches_origin; /* moves the byte at offset 0: with MPI_BOTTOM that is address 0 */
    bool dense;          /* no layout: `count` objects are count * size bytes from `offset` on */
    bool gpu_only;       /* with a layout that is for GPU memory: in host memory the type is left to MPI */
    _Atomic bool mixed;  /* a type with this layout has basic elements of several sizes */
    _Atomic int grain;   /* divides the sizes of the basic elements of all types with this layout; 0: not known */
    /* Decisions for this layout in host memory that were native when last asked for, by the sort of call and
     * pw_native_slot. */
    _Atomic(struct pw_decision *) native[PW_CALL_SORTS][PW_ENTRY_NATIVE];
    int64_t blocks;                             /* contiguous blocks of one object */
    int64_t offset;                             /* bytes, of dense types */
    _Atomic int64_t used[PW_STRATEGY_COUNT][2]; /* transfers by strategy, sends and receives, when they are told */
    struct pw_entry *prev, *next;               /* all entries, under the registry's lock */
    int64_t refs;                               /* the same */
} pw_entry;

/* Before any other call. Without it, everything is left to MPI. */
pw_status pw_registry_start(void);

/* Handle -> entry; nothing is in it before pw_registry_start, and without it. */
extern pw_handle_table pw_registry_types;

pw_entry *pw_registry_find_other(MPI_Datatype type);

/* NULL: not known; let MPI have the call and learn from its success. Lock-free. */
static inline pw_entry *pw_registry_find(MPI_Datatype type)
{
    pw_entry *entry = pw_handle_table_find(&pw_registry_types, pw_type_key(type));

    return entry ? entry : pw_registry_find_other(type);
}

/* Registers a type that MPI has accepted as committed. A known type is left alone. Thread safe. */
void pw_registry_learn(MPI_Datatype type);

/* The same at MPI_Type_commit, unless the type is to be learned when it is found to be worth it (runtime/fleeting.h).
 */
void pw_registry_committed(MPI_Datatype type);

/* Takes the attribute off a type that is about to be freed: its entry goes at once. Should the type stay in use by
 * another handle of the same value (MPI_Type_get_contents), it is learned again. */
void pw_registry_let_go(MPI_Datatype type);

/* Around the end of MPI (the last of MPI_Finalize and the MPI_Session_finalize calls): `leave` while MPI still
 * works, `close` when it does not. Afterwards the next type to be learned opens everything again. */
void pw_registry_leave(void);
void pw_registry_close(void);

/* Calls fn for each entry under the registry's lock; with statistics on, entries whose types have died are there, too.
 */
void pw_registry_each(void (*fn)(void *arg, const pw_entry *entry), void *arg);

#endif
