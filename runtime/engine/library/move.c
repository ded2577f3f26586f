/* Moves between host buffers. */
#include "runtime/engine/library/internal.h"

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
    uintptr_t object; /* where the current object's origin is */
    char *packed;     /* where the next byte goes */
} tree_move;

static void move_block(void *arg, int64_t off, int64_t n)
{
    tree_move *t = arg;
    char *at = (char *)(t->object + (uintptr_t)off);

    memcpy(t->unpack ? at : t->packed, t->unpack ? t->packed : at, (size_t)n);
    t->packed += n;
}

static void move_by_tree(const packwright_type *type, pw_direction direction, char *memory, int64_t first, int64_t last,
                         char *packed)
{
    const pw_node *tree = pw_library_tree(type);
    int64_t size = tree->size;
    tree_move t = {.unpack = direction == PW_UNPACK, .packed = packed};

    while (first < last) {
        int64_t object = first / size, begin = object * size, end = last - begin < size ? last - begin : size;

        t.object = (uintptr_t)memory + (uintptr_t)object * (uintptr_t)pw_dt_extent(&type->dt);
        pw_tree_range(tree, 0, first - begin, end, move_block, &t);
        first = begin + end;
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

/* ---- pack and unpack ----------------------------------------------------------------------------------- */

packwright_status pw_library_move_host(const packwright_type *type, pw_direction direction, void *memory, int64_t count,
                                       void *packed)
{
    int64_t bytes;
    pw_layout *layout;
    packwright_status status = pw_library_check_move(type, count, &bytes);

    if (!status)
        status = pw_library_check_packed(packed, bytes);
    if (!status)
        status = pw_library_layout(type, &layout);
    if (status)
        return status;
    if (!layout)
        move_by_tree(type, direction, memory, 0, bytes, packed);
    else if (direction == PW_UNPACK)
        pw_layout_unpack(layout, memory, count, packed);
    else
        pw_layout_pack(layout, memory, count, packed);
    return PACKWRIGHT_OK;
}

/* Returns whether the arguments are valid and nothing has to be made before the move. */
static inline bool is_ready(const pw_layout *layout, int64_t count, const void *packed)
{
    int64_t bytes;

    return layout && packed && count >= 0 && !__builtin_mul_overflow(count, layout->size, &bytes);
}

packwright_status packwright_pack(const packwright_type *type, const void *memory, int64_t count, void *packed)
{
    pw_layout *layout = known_layout(type);

    if (!is_ready(layout, count, packed))
        return pw_library_move_host(type, PW_PACK, (void *)memory, count, packed);
    pw_layout_pack(layout, memory, count, packed);
    return PACKWRIGHT_OK;
}

packwright_status packwright_unpack(const packwright_type *type, void *memory, int64_t count, const void *packed)
{
    pw_layout *layout = known_layout(type);

    if (!is_ready(layout, count, packed))
        return pw_library_move_host(type, PW_UNPACK, memory, count, (void *)packed);
    pw_layout_unpack(layout, memory, count, packed);
    return PACKWRIGHT_OK;
}

/* ---- ranges -------------------------------------------------------------------------------------------- */

/* One side of a range or a copy, after the checks. Without a layout it is moved by its tree. */
typedef struct side {
    const packwright_type *type;
    pw_layout *layout;
    char *memory;
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

/* ---- lists of blocks ----------------------------------------------------------------------------------- */

/* Returns whether objects adjoin, so that any number of them is one block. */
static bool is_dense(const packwright_type *type, const pw_node *tree)
{
    return tree->blocks == 1 && tree->size == pw_dt_extent(&type->dt);
}

static int64_t fill(const packwright_type *type, uintptr_t memory, int64_t count, int64_t offset, int64_t max,
                    packwright_iov *iov)
{
    const pw_node *tree = pw_library_tree(type);
    int64_t filled = 0;

    if (tree->blocks == 0 || count == 0)
        return 0;
    if (is_dense(type, tree)) {
        if (offset > 0)
            return 0;
        filled = pw_tree_blocks(tree, memory, 0, max, iov);
        for (int64_t i = 0; i < filled; i++)
            iov[i].length *= (size_t)count;
        return filled;
    }
    for (int64_t i = offset / tree->blocks, skip = offset % tree->blocks; i < count && filled < max; i++, skip = 0)
        filled += pw_tree_blocks(tree, memory + (uintptr_t)i * (uintptr_t)pw_dt_extent(&type->dt), skip, max - filled,
                                 iov + filled);
    return filled;
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

/* So many bytes are packed and unpacked again while they are in the first-level cache. They are on this thread's stack.
 */
enum { PIECE = 16 << 10 };

/* Returns the length of a piece: whole objects of the side whose objects are larger, if they fit, because kernels are
 * fastest with whole objects. */
static int64_t piece_bytes(int64_t from, int64_t to)
{
    int64_t larger = from > to ? from : to, smaller = from > to ? to : from;

    return larger <= PIECE ? PIECE / larger * larger : smaller <= PIECE ? PIECE / smaller * smaller : PIECE;
}

static void copy_by_pieces(const side *from, const side *to, int64_t bytes)
{
    int64_t step = piece_bytes(packwright_size(from->type), packwright_size(to->type));
    _Alignas(64) char piece[PIECE];

    for (int64_t at = 0; at < bytes; at += step) {
        int64_t end = bytes - at < step ? bytes : at + step;

        move_part(from, PW_PACK, at, end, piece);
        move_part(to, PW_UNPACK, at, end, piece);
    }
}

void pw_library_copied_free(pw_library_copied *copied)
{
    if (!copied)
        return;
    pw_layout_unref(copied->joined.layout);
    pw_layout_unref(copied->to);
    free(copied);
}

/* Remembers the joined layout at the type that is copied from, if that has none yet. Returns whether it took the
 * reference. */
static bool remember(const packwright_type *from, pw_layout *to, const pw_joined *joined)
{
    packwright_type *lazy = (packwright_type *)from;
    pw_library_copied *none = NULL, *copied;

    if (atomic_load_explicit(&lazy->copied, memory_order_relaxed) || !(copied = malloc(sizeof *copied)))
        return false;
    *copied = (pw_library_copied){.to = pw_layout_ref(to), .joined = *joined};
    if (atomic_compare_exchange_strong(&lazy->copied, &none, copied))
        return true;
    pw_layout_unref(copied->to);
    free(copied);
    return false;
}

bool pw_library_join(const packwright_type *from_type, pw_layout *from, pw_layout *to, pw_joined *out)
{
    const pw_library_copied *known =
        atomic_load_explicit(&((packwright_type *)from_type)->copied, memory_order_acquire);

    if (known && known->to == to) {
        *out = known->joined;
        pw_layout_ref(out->layout);
        return true;
    }
    if (pw_layout_join(from, to, out, NULL))
        return false;
    if (remember(from_type, to, out))
        pw_layout_ref(out->layout);
    return true;
}

/* Copies in one pass, by a layout joined from both. False: the layouts do not join, memory is short, or the two buffers
 * may overlap. (Of overlapping buffers a packed piece is read whole before any of it is written.) */
static bool copy_joined(const side *from, const side *to, int64_t bytes)
{
    const pw_library_copied *known;
    pw_joined joined;

    if (!from->layout || !to->layout ||
        pw_layout_may_overlap(from->layout, from->memory, to->layout, to->memory, bytes))
        return false;
    known = atomic_load_explicit(&((packwright_type *)from->type)->copied, memory_order_acquire);
    if (known && known->to == to->layout) {
        pw_layout_copy(&known->joined, from->memory, to->memory, bytes);
        return true;
    }
    if (pw_layout_join(from->layout, to->layout, &joined, NULL))
        return false;
    pw_layout_copy(&joined, from->memory, to->memory, bytes);
    if (!remember(from->type, to->layout, &joined))
        pw_layout_unref(joined.layout);
    return true;
}

/* Copies between two types. A side that is its own packed form needs no packing. */
static void copy(const side *from, const side *to, int64_t bytes)
{
    if (from->layout && from->layout->contiguous)
        move_part(to, PW_UNPACK, 0, bytes, from->memory + from->layout->nest->lo);
    else if (to->layout && to->layout->contiguous)
        move_part(from, PW_PACK, 0, bytes, to->memory + to->layout->nest->lo);
    else if (!copy_joined(from, to, bytes))
        copy_by_pieces(from, to, bytes);
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
    side source = {.type = from_type, .memory = (char *)from}, target = {.type = to_type, .memory = to};
    int64_t bytes;
    packwright_status status = pw_library_check_copy(from_type, from_count, to_type, to_count, &bytes);

    if (!status)
        status = pw_library_layout(from_type, &source.layout);
    if (!status)
        status = pw_library_layout(to_type, &target.layout);
    if (!status && bytes > 0)
        copy(&source, &target, bytes);
    return status;
}
