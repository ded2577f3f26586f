/*
 * Moves between host buffers: by the layouts of types, or by their trees where a type has none. Data: what a type was
 * first copied to, kept at the type. Invariant: arguments are checked before the first byte is moved.
 */
#include "runtime/engine/library/internal.h"

#include "runtime/engine/layout/at_once.h"
#include "runtime/engine/move/move.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static pw_layout *known_layout(const packwright_type *type)
{
    return type ? atomic_load_explicit(&((packwright_type *)type)->layout, memory_order_acquire) : NULL;
}

/* ---- by the tree --------------------------------------------------------------------------------------- */

typedef struct tree_move {
    bool unpack;
    uintptr_t object;        /* where the current object's origin is */
    int64_t at, first, last; /* packed bytes: of the current block's begin, and those that are moved */
    char *packed;            /* where the next byte goes */
} tree_move;

/* Moves what the range has of a block. Returns whether the range goes on behind it. */
static bool move_block(void *arg, int64_t off, int64_t n)
{
    tree_move *t = arg;
    int64_t skip = t->first > t->at ? t->first - t->at : 0, end = t->last - t->at < n ? t->last - t->at : n;
    char *at = (char *)(t->object + (uintptr_t)(off + skip));

    if (skip < end) {
        memcpy(t->unpack ? at : t->packed, t->unpack ? t->packed : at, (size_t)(end - skip));
        t->packed += end - skip;
    }
    t->at += n;
    return t->at < t->last;
}

/* Passes all blocks of the first object that lie before the range, one by one. */
static void move_by_tree(const packwright_type *type, pw_direction direction, char *memory, int64_t first, int64_t last,
                         char *packed)
{
    const pw_node *tree = pw_library_tree(type);
    int64_t object = tree->size > 0 ? first / tree->size : 0;
    tree_move t = {.unpack = direction == PW_UNPACK, .first = first, .last = last, .packed = packed};

    for (t.at = object * tree->size; t.at < last; object++) {
        t.object = (uintptr_t)memory + (uintptr_t)object * (uintptr_t)pw_dt_extent(&type->dt);
        pw_walk(tree, 0, move_block, &t);
    }
}

/* ---- checks -------------------------------------------------------------------------------------------- */

packwright_status pw_library_check_move(const packwright_type *type, int64_t count, int64_t *bytes)
{
    if (!type)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, "type is NULL");
    if (count < 0)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, "count is %" PRId64 ", and must not be negative", count);
    if (__builtin_mul_overflow(count, packwright_size(type), bytes))
        return pw_library_fail(PACKWRIGHT_ERR_OVERFLOW,
                               "count, %" PRId64 ", objects of %" PRId64 " bytes do not fit 64 bits", count,
                               packwright_size(type));
    return PACKWRIGHT_OK;
}

packwright_status pw_library_check_packed(const void *packed, int64_t bytes)
{
    return packed || bytes == 0 ? PACKWRIGHT_OK : pw_library_fail(PACKWRIGHT_ERR_INVALID, "packed is NULL");
}

static packwright_status check_range(int64_t first, int64_t last, int64_t bytes)
{
    if (first < 0 || first > last)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID,
                               "first and last are %" PRId64 " and %" PRId64 ", which is no range", first, last);
    if (last > bytes)
        return pw_library_fail(PACKWRIGHT_ERR_TRUNCATED,
                               "last is %" PRId64 ", but the packed stream has %" PRId64 " bytes", last, bytes);
    return PACKWRIGHT_OK;
}

/* ---- ranges -------------------------------------------------------------------------------------------- */

/* One side of a range or a copy, after the checks. Without a layout it is moved by its tree. */
typedef struct side {
    const packwright_type *type;
    pw_layout *layout;
    char *memory;
    int64_t count; /* of a copy */
} side;

static void move_part(const side *s, pw_direction direction, int64_t first, int64_t last, char *packed)
{
    if (!s->layout)
        move_by_tree(s->type, direction, s->memory, first, last, packed);
    else if (direction == PW_UNPACK)
        pw_layout_unpack_part(s->layout, s->memory, first, last, packed);
    else
        pw_layout_pack_part(s->layout, s->memory, first, last, packed);
}

static packwright_status move_range(const packwright_type *type, pw_direction direction, void *memory, int64_t count,
                                    int64_t first, int64_t last, void *packed)
{
    side s = {.type = type, .memory = memory};
    int64_t bytes;
    packwright_status status = pw_library_check_move(type, count, &bytes);

    if (!status)
        status = check_range(first, last, bytes);
    if (!status)
        status = pw_library_check_packed(packed, last - first);
    if (!status)
        status = pw_library_layout(type, &s.layout);
    if (!status)
        move_part(&s, direction, first, last, packed);
    return status;
}

packwright_status packwright_pack_range(const packwright_type *type, const void *memory, int64_t count, int64_t first,
                                        int64_t last, void *packed)
{
    return move_range(type, PW_PACK, (void *)memory, count, first, last, packed);
}

packwright_status packwright_unpack_range(const packwright_type *type, void *memory, int64_t count, int64_t first,
                                          int64_t last, const void *packed)
{
    return move_range(type, PW_UNPACK, memory, count, first, last, (void *)packed);
}

/* ---- pack and unpack ----------------------------------------------------------------------------------- */

/* Does all of packwright_pack and packwright_unpack. Not inlined, so that they need no registers of the caller's. */
static __attribute__((noinline)) packwright_status move_all(const packwright_type *type, pw_direction direction,
                                                            void *memory, int64_t count, void *packed)
{
    int64_t bytes = 0;
    packwright_status status = pw_library_check_move(type, count, &bytes);

    return status ? status : move_range(type, direction, memory, count, 0, bytes, packed);
}

packwright_status packwright_pack(const packwright_type *type, const void *memory, int64_t count, void *packed)
{
    pw_layout *layout = known_layout(type);

    if (layout && packed && pw_layout_move_at_once(layout, PW_PACK, (char *)memory, count, packed))
        return PACKWRIGHT_OK;
    return move_all(type, PW_PACK, (void *)memory, count, packed);
}

packwright_status packwright_unpack(const packwright_type *type, void *memory, int64_t count, const void *packed)
{
    pw_layout *layout = known_layout(type);

    if (layout && packed && pw_layout_move_at_once(layout, PW_UNPACK, memory, count, (char *)packed))
        return PACKWRIGHT_OK;
    return move_all(type, PW_UNPACK, memory, count, (void *)packed);
}

/* ---- lists of blocks ----------------------------------------------------------------------------------- */

/* Returns whether objects adjoin, so that any number of them is one block. */
static bool is_dense(const packwright_type *type, const pw_node *tree)
{
    return tree->blocks == 1 && tree->size == pw_dt_extent(&type->dt);
}

/* Where the blocks of an object are listed. */
typedef struct listing {
    uintptr_t object;
    packwright_iov *iov;
    int64_t filled, max;
} listing;

static bool list_block(void *arg, int64_t off, int64_t n)
{
    listing *l = arg;

    l->iov[l->filled++] = (packwright_iov){.base = (void *)(l->object + (uintptr_t)off), .length = (size_t)n};
    return l->filled < l->max;
}

/* max > 0. Objects that adjoin are one block. */
static int64_t fill(const packwright_type *type, uintptr_t memory, int64_t count, int64_t offset, int64_t max,
                    packwright_iov *iov)
{
    const pw_node *tree = pw_library_tree(type);
    listing l = {.object = memory, .iov = iov, .max = max};
    int64_t i, skip;

    if (tree->blocks == 0 || count == 0)
        return 0;
    if (is_dense(type, tree)) {
        pw_walk_from(tree, 0, offset, list_block, &l);
        if (l.filled > 0)
            iov->length *= (size_t)count;
        return l.filled;
    }
    for (i = offset / tree->blocks, skip = offset % tree->blocks; i < count && l.filled < max; i++, skip = 0) {
        l.object = memory + (uintptr_t)i * (uintptr_t)pw_dt_extent(&type->dt);
        pw_walk_from(tree, 0, skip, list_block, &l);
    }
    return l.filled;
}

packwright_status packwright_iovs(const packwright_type *type, const void *memory, int64_t count, int64_t offset,
                                  int64_t max, packwright_iov *iov, int64_t *filled)
{
    int64_t bytes;
    packwright_status status = pw_library_check_move(type, count, &bytes);

    if (status)
        return status;
    if (offset < 0)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, "offset is %" PRId64 ", and must not be negative", offset);
    if (max < 0)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, "max is %" PRId64 ", and must not be negative", max);
    if ((max > 0 && !iov) || !filled)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, filled ? "iov is NULL" : "filled is NULL");
    *filled = max > 0 ? fill(type, (uintptr_t)memory, count, offset, max, iov) : 0;
    return PACKWRIGHT_OK;
}

/* ---- from type to type --------------------------------------------------------------------------------- */

void pw_library_copied_free(pw_library_copied *copied)
{
    pw_layout_unref(copied->joined.layout);
    pw_layout_unref(copied->to);
    free(copied);
}

/* Remembers what two layouts join to at the type that is copied from, which has nothing of that kind yet. Returns what
 * it then has. NULL: they do not join, or memory is short. */
static pw_library_copied *remember(packwright_type *from_type, pw_layout *from, pw_layout *to)
{
    pw_library_copied *none = NULL, *copied = malloc(sizeof *copied);

    if (!copied || pw_layout_join(from, to, &copied->joined, NULL)) {
        free(copied);
        return NULL;
    }
    copied->to = pw_layout_ref(to);
    if (atomic_compare_exchange_strong(&from_type->copied, &none, copied))
        return copied;
    pw_library_copied_free(copied);
    return none;
}

const pw_joined *pw_library_join(const packwright_type *from_type, pw_layout *from, pw_layout *to)
{
    packwright_type *lazy = (packwright_type *)from_type;
    const pw_library_copied *known = atomic_load_explicit(&lazy->copied, memory_order_acquire);

    if (!known && !from->contiguous && !to->contiguous)
        known = remember(lazy, from, to);
    return known && known->to == to ? &known->joined : NULL;
}

/* A side without a layout is moved by its tree, so all of the message is packed in between. */
static packwright_status copy_packed(const side *from, const side *to, int64_t bytes)
{
    char *packed = malloc((size_t)bytes);

    if (!packed)
        return pw_library_no_memory();
    move_part(from, PW_PACK, 0, bytes, packed);
    move_part(to, PW_UNPACK, 0, bytes, packed);
    free(packed);
    return PACKWRIGHT_OK;
}

/* A copy whose kernel is there is short: it needs no views. */
static packwright_status copy(const side *from, const side *to, int64_t bytes)
{
    const pw_joined *joined;
    pw_buffer source, target;

    if (!from->layout || !to->layout)
        return copy_packed(from, to, bytes);
    joined = pw_library_join(from->type, from->layout, to->layout);
    if (joined && pw_joined_is_ready(joined, bytes)) {
        pw_layout_copy(joined, from->memory, to->memory, bytes);
        return PACKWRIGHT_OK;
    }
    source = pw_library_view(from->layout, from->memory, from->count, bytes);
    target = pw_library_view(to->layout, to->memory, to->count, bytes);
    pw_move_now(&source, &target, joined);
    return PACKWRIGHT_OK;
}

packwright_status pw_library_check_copy(const packwright_type *from_type, int64_t from_count,
                                        const packwright_type *to_type, int64_t to_count, int64_t *bytes)
{
    int64_t other;
    packwright_status status;

    if (!from_type || !to_type)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, from_type ? "to_type is NULL" : "from_type is NULL");
    if (from_count < 0 || to_count < 0)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, "%s is %" PRId64 ", and must not be negative",
                               from_count < 0 ? "from_count" : "to_count", from_count < 0 ? from_count : to_count);
    status = pw_library_check_move(from_type, from_count, bytes);
    if (!status)
        status = pw_library_check_move(to_type, to_count, &other);
    if (!status && *bytes != other)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID,
                               "from_count objects of from_type are %" PRId64
                               " bytes, to_count objects of to_type are %" PRId64,
                               *bytes, other);
    return status;
}

packwright_status packwright_copy(const packwright_type *from_type, const void *from, int64_t from_count,
                                  const packwright_type *to_type, void *to, int64_t to_count)
{
    side source = {.type = from_type, .memory = (char *)from, .count = from_count};
    side target = {.type = to_type, .memory = to, .count = to_count};
    int64_t bytes;
    packwright_status status = pw_library_check_copy(from_type, from_count, to_type, to_count, &bytes);

    if (!status)
        status = pw_library_layout(from_type, &source.layout);
    if (!status)
        status = pw_library_layout(to_type, &target.layout);
    return status || bytes == 0 ? status : copy(&source, &target, bytes);
}
