/*
 * What the files of the library share. Its interface is include/packwright/packwright.h.
 *
 *     error.c    statuses and the text of the last failure
 *     process.c  options, and the one layout engine of the process
 *     type.c     types: references, facts, canonical form
 *     build.c    the constructors
 *     text.c     types from text and to text
 *     move.c     pack, unpack, ranges, lists of blocks, copies from type to type
 *     device.c   pack, unpack and copies where memory is a GPU's
 */
#ifndef PW_ENGINE_LIBRARY_INTERNAL_H
#define PW_ENGINE_LIBRARY_INTERNAL_H

#include "frontend/combiner.h"
#include "runtime/engine/memory/view.h"

#include <packwright/packwright.h>

/* ---- failures (error.c) -------------------------------------------------------------------------------- */

/* Describes the failure for packwright_last_error and returns `status`. */
packwright_status pw_library_fail(packwright_status status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Does what pw_library_fail does, for a failure of the parts below. `subject`, which may be NULL, says what was being
 * done or with what. `diag`, which may be NULL, says why it failed, and where in a text. */
packwright_status pw_library_fail_below(pw_status status, const char *subject, const pw_diag *diag);
packwright_status pw_library_no_memory(void);

/* ---- the process (process.c) --------------------------------------------------------------------------- */

/* The layout engine, created by the first call. NULL: out of memory. */
pw_layout_engine *pw_library_engine(void);

/* ---- types (type.c) ------------------------------------------------------------------------------------ */

/* The canonical form. It may share nodes with the type. */
typedef struct pw_canonical {
    pw_type type;
    pw_hash hash;
    pw_arena *arena; /* owns this struct, too */
} pw_canonical;

/* What a type was first copied to, with references: most are copied to one other type, again and again. */
typedef struct pw_library_copied {
    pw_layout *to;
    pw_joined joined;
} pw_library_copied;

/* A type made from others costs what its constructor adds: it points into their nodes. */
struct packwright_type {
    _Atomic(pw_layout *) layout;         /* NULL before the first move */
    _Atomic(pw_library_copied *) copied; /* NULL before the first copy in one pass */
    _Atomic int64_t refs;
    pw_dt dt;
    pw_arena *arena; /* owns this struct, and the nodes that the type's constructor has made */
    int64_t nolds;   /* the types whose nodes this one has or points to, with references */
    packwright_type **olds;
    bool is_alias;                     /* it has the root of olds[0], and none of its own */
    _Atomic(pw_canonical *) canonical; /* NULL before it is first asked for */
    _Atomic bool irregular;            /* no layout can be made, so the type is moved by its tree */
};

/* Makes a type with one reference, for the caller to fill in. Its arena has room for `bytes`. NULL: out of memory. */
packwright_type *pw_library_type_create(size_t bytes);

/* Returns the canonical form. NULL: out of memory, or the type is too large for the passes; *status says which, unless
 * `status` is NULL. */
const pw_canonical *pw_library_canonical(const packwright_type *type, pw_status *status);
/* Returns the tree to walk over: the canonical one if there is one, else the type's own. */
const pw_node *pw_library_tree(const packwright_type *type);

/* Returns the layout, and makes it at the first call. *out is NULL for types that have none and are moved by their tree
 * (move.c). Fails only when there is no memory. */
packwright_status pw_library_layout(const packwright_type *type, pw_layout **out);

/* ---- moves (move.c) ------------------------------------------------------------------------------------ */

/* Gives up what a type remembers of a copy. */
void pw_library_copied_free(pw_library_copied *copied);

/* Checks the arguments that every move has. *bytes is the length of the packed stream. */
packwright_status pw_library_check_move(const packwright_type *type, int64_t count, int64_t *bytes);
packwright_status pw_library_check_packed(const void *packed, int64_t bytes);

/* Checks the arguments of packwright_copy. Sets *bytes to the length of both packed streams. */
packwright_status pw_library_check_copy(const packwright_type *from_type, int64_t from_count,
                                        const packwright_type *to_type, int64_t to_count, int64_t *bytes);

/* Returns what two layouts join to, and remembers it at the type that is copied from. NULL: not remembered. */
const pw_joined *pw_library_join(const packwright_type *from_type, pw_layout *from, pw_layout *to);

/* `count` objects at `memory`, whose packed form has `bytes` bytes. */
static inline pw_buffer pw_library_view(pw_layout *layout, void *memory, int64_t count, int64_t bytes)
{
    return pw_view_plain((pw_buffer){.layout = layout, .base = memory, .count = count, .bytes = bytes});
}

#endif
