/* What the runtime knows of one layout: the entry that all types with that layout share. */
#ifndef PW_RUNTIME_ENTRY_H
#define PW_RUNTIME_ENTRY_H

#include "base/attributes.h"
#include "runtime/choice/site.h"
#include "runtime/choice/way.h"
#include "runtime/engine/layout/layout.h"

#include <stdatomic.h>

enum { PW_ENTRY_NATIVE_BITS = 3, PW_ENTRY_NATIVE = 1 << PW_ENTRY_NATIVE_BITS };

/* What a transfer belongs to: a message between ranks or of a rank to itself, a window, or a file. */
typedef enum pw_transfer_kind {
    PW_TRANSFER_MESSAGE,
    PW_TRANSFER_WINDOW,
    PW_TRANSFER_FILE,
    PW_TRANSFERS
} pw_transfer_kind;

/* What the choice of a strategy keeps in an entry. The registry only zeroes it; runtime/mpi/strategy writes it. */
typedef struct pw_entry_choices {
    /* The last sites of messages of the layout in host memory, by the kind of call and pw_native_slot. */
    _Atomic(pw_site *) native[PW_CALL_KINDS][PW_ENTRY_NATIVE];
    /* The same of messages to oneself that have this layout where they leave, and where they arrive. */
    _Atomic(pw_site *) to_oneself[PW_CALL_KINDS][2];
    /* Transfers by what they belong to and by strategy, sent (put, written) and received (got, read), and the bytes of
     * all; counted when statistics are reported. */
    _Atomic int64_t used[PW_TRANSFERS][PW_SITE_WAYS][2], moved;
} pw_entry_choices;

/*
 * What the runtime knows of one layout. All types that have the layout share the entry, except predefined pairs with a
 * hole, which have entries of their own. With `layout` NULL the type is left to MPI: predefined, contiguous, empty, or
 * not understood. An entry is valid while a type that has it is alive, as the type is during every call it is an
 * argument of.
 */
typedef struct pw_entry {
    /* The fields that the short path of a native call reads (runtime/mpi/strategy/is_native.h), in one cache line. */
    _Alignas(64) pw_layout *layout;
    int64_t size;         /* packed bytes of one object; 0: not known */
    int64_t lowest;       /* offset of the first object's lowest byte */
    bool touches_origin;  /* the type moves the byte at offset 0; with MPI_BOTTOM that is address 0 */
    bool dense;           /* a dense type without a layout: `count` objects are count * size bytes from `offset` on */
    bool gpu_only;        /* the layout is for GPU memory only: in host memory the type is left to MPI */
    _Atomic bool mixed;   /* a type with this layout has basic elements of several sizes */
    int64_t plain_copies; /* as many objects are one block each, or all one, and copied without their kernel */
    pw_entry_choices choices;
    int64_t blocks;               /* contiguous blocks of one object */
    struct pw_entry *prev, *next; /* the list of entries that this one is in, under the lock of the entries */
    int64_t refs;                 /* under the lock of the entries, too */
    bool is_kept;                 /* one of them is that of statistics, or of a predefined type */
    struct pw_built *built;       /* malloc'ed; how the types were made (stats/built.c). NULL: nobody has asked */
} pw_entry;

/* The one entry of all types that are left to MPI wherever their buffers are. */
extern PW_HIDDEN pw_entry pw_entry_left_to_mpi;

PW_INLINE bool pw_entry_is_left(const pw_entry *entry)
{
    return entry == &pw_entry_left_to_mpi;
}

/* The extent of an object, of a type without a layout its size. */
PW_INLINE int64_t pw_entry_extent(const pw_entry *entry)
{
    return entry->layout ? entry->layout->extent : entry->size;
}

typedef bool pw_entry_asked(void *arg, const pw_entry *entry);

#endif
