/*
 * The constructors of types. They check arguments and name those that are wrong; the algebra (frontend/combiner.h)
 * makes the types. Data: none. Invariant: a constructor that fails leaves nothing behind and does not write *out.
 */
#include "runtime/engine/library/internal.h"

#include <inttypes.h>

/* A type that is being made. The first failure stays, and nothing is checked or made behind it. */
typedef struct making {
    packwright_status status;
    pw_builder b;
    packwright_type *type;
} making;

/* ---- checks of arguments ------------------------------------------------------------------------------- */

/* Describes the first failure, in a form that callers can use as a statement. */
#define FAIL(m, what, ...) ((m)->status = (m)->status ? (m)->status : pw_library_fail(what, __VA_ARGS__))
#define REFUSE(m, ...) FAIL(m, PACKWRIGHT_ERR_INVALID, __VA_ARGS__)

static void check_given(making *m, const char *name, const void *pointer)
{
    if (!pointer)
        REFUSE(m, "%s is NULL", name);
}

static void check_count(making *m, const char *name, int64_t n)
{
    if (n < 0)
        REFUSE(m, "%s is %" PRId64 ", and must not be negative", name, n);
}

static void check_ends(making *m, const packwright_type *old, packwright_type **out)
{
    check_given(m, "old", old);
    check_given(m, "out", out);
}

static void check_list(making *m, const char *name, int64_t n, const int64_t *list, int64_t least)
{
    if (n > 0)
        check_given(m, name, list);
    for (int64_t i = 0; i < n && !m->status; i++)
        if (list[i] < least)
            REFUSE(m, "%s[%" PRId64 "] is %" PRId64 ", and must be at least %" PRId64, name, i, list[i], least);
}

/* Displacements may have any value. */
static void check_displacements(making *m, const char *name, int64_t n, const int64_t *list)
{
    if (n > 0)
        check_given(m, name, list);
}

/* ---- making one ---------------------------------------------------------------------------------------- */

enum { NODE_BYTES = (sizeof(pw_node) + 15) / 16 * 16 };

/* Makes room for two nodes and, for each of `n` parts, so many nodes and list entries. The arena grows if a
 * constructor needs more. Returns whether the type can be made. */
static bool begin(making *m, int64_t n, int nodes, int entries)
{
    enum { SLACK = 64, MOST = 1 << 12 /* bytes for one part */ };

    if (m->status)
        return false;
    if (n < INT64_MAX / MOST)
        m->type = pw_library_type_create(
            (size_t)((2 + n * nodes) * NODE_BYTES + n * entries * (int64_t)sizeof(int64_t) + SLACK));
    if (!m->type)
        m->status = pw_library_no_memory();
    else
        m->b = (pw_builder){.arena = m->type->arena};
    return m->type;
}

/* The type that has the root of this one among its own nodes. */
static packwright_type *owner_of(packwright_type *type)
{
    return type->is_alias ? type->olds[0] : type;
}

/* Holds references to the owners of `n` old types; neighbours of one owner count once. False: out of memory. */
static bool hold(packwright_type *type, int64_t n, packwright_type *const *olds)
{
    int64_t distinct = 0;

    for (int64_t i = 0; i < n; i++)
        distinct += i == 0 || owner_of(olds[i]) != owner_of(olds[i - 1]);
    type->olds = pw_arena_take_array(type->arena, (size_t)distinct, sizeof *type->olds);
    if (!type->olds)
        return false;
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || owner_of(olds[i]) != owner_of(olds[i - 1]))
            type->olds[type->nolds++] = packwright_dup(owner_of(olds[i]));
    return true;
}

static packwright_status failed(pw_status status)
{
    static const pw_diag overflow = {.text = "the type's size, bounds or an offset do not fit 64 bits"};
    static const pw_diag depth = {.text = "the type is nested too deeply"};

    return pw_library_fail_below(status, NULL,
                                 status == PW_ERR_OVERFLOW      ? &overflow
                                 : status == PW_ERR_UNSUPPORTED ? &depth
                                                                : NULL);
}

/* Finishes the type that the algebra has made of `n` old ones. A constructor that adds no node, such as resized, makes
 * an alias. Leaves and lists of blocks point to no other nodes. */
static packwright_status end(making *m, pw_dt dt, int64_t n, packwright_type *const *olds, packwright_type **out)
{
    packwright_type *type = m->type;
    bool is_leaf;

    if (m->b.status != PW_OK || !dt.node) {
        packwright_type_free(type);
        return failed(m->b.status != PW_OK ? m->b.status : PW_ERR_NOMEM);
    }
    is_leaf = dt.node->kind == PW_BYTES || dt.node->kind == PW_BLOCKS;
    for (int64_t i = 0; i < n && !type->is_alias; i++)
        if (dt.node == olds[i]->dt.node) {
            type->is_alias = true;
            olds += i;
            n = 1;
        }
    if ((type->is_alias || !is_leaf) && !hold(type, n, olds)) {
        packwright_type_free(type);
        return pw_library_no_memory();
    }
    type->dt = dt;
    *out = type;
    return PACKWRIGHT_OK;
}

static packwright_status end_one(making *m, pw_dt dt, const packwright_type *old, packwright_type **out)
{
    packwright_type *olds[] = {(packwright_type *)old};

    return end(m, dt, 1, olds, out);
}

/* ---- regular ones -------------------------------------------------------------------------------------- */

packwright_status packwright_bytes(int64_t bytes, int64_t align, packwright_type **out)
{
    making m = {.status = PACKWRIGHT_OK};

    check_count(&m, "bytes", bytes);
    if (align < 1 || align > 16 || (align & (align - 1)))
        REFUSE(&m, "align is %" PRId64 ", and must be a power of two from 1 to 16", align);
    check_given(&m, "out", out);
    return begin(&m, 0, 0, 0) ? end(&m, pw_dt_basic(&m.b, bytes, align), 0, NULL, out) : m.status;
}

packwright_status packwright_contiguous(int64_t count, const packwright_type *old, packwright_type **out)
{
    making m = {.status = PACKWRIGHT_OK};

    check_count(&m, "count", count);
    check_ends(&m, old, out);
    return begin(&m, 0, 0, 0) ? end_one(&m, pw_dt_contiguous(&m.b, count, old->dt), old, out) : m.status;
}

static packwright_status vector(pw_dt make(pw_builder *, int64_t, int64_t, int64_t, pw_dt), int64_t count,
                                int64_t blocklength, int64_t stride, const packwright_type *old, packwright_type **out)
{
    making m = {.status = PACKWRIGHT_OK};

    check_count(&m, "count", count);
    check_count(&m, "blocklength", blocklength);
    check_ends(&m, old, out);
    return begin(&m, 0, 0, 0) ? end_one(&m, make(&m.b, count, blocklength, stride, old->dt), old, out) : m.status;
}

packwright_status packwright_vector(int64_t count, int64_t blocklength, int64_t stride, const packwright_type *old,
                                    packwright_type **out)
{
    return vector(pw_dt_vector, count, blocklength, stride, old, out);
}

packwright_status packwright_hvector(int64_t count, int64_t blocklength, int64_t stride_bytes,
                                     const packwright_type *old, packwright_type **out)
{
    return vector(pw_dt_hvector, count, blocklength, stride_bytes, old, out);
}

packwright_status packwright_resized(int64_t lb, int64_t extent, const packwright_type *old, packwright_type **out)
{
    making m = {.status = PACKWRIGHT_OK};

    check_ends(&m, old, out);
    return begin(&m, 0, 0, 0) ? end_one(&m, pw_dt_resized(&m.b, lb, extent, old->dt), old, out) : m.status;
}

/* ---- lists --------------------------------------------------------------------------------------------- */

static void check_blocks(making *m, const char *name, int64_t n, const int64_t *lengths, const int64_t *displacements)
{
    check_count(m, "n", n);
    check_list(m, "blocklengths", n, lengths, 0);
    check_displacements(m, name, n, displacements);
}

/* `name`: of the displacements. */
static packwright_status indexed(pw_dt make(pw_builder *, int64_t, const int64_t *, const int64_t *, pw_dt),
                                 const char *name, int64_t n, const int64_t *blocklengths, const int64_t *displacements,
                                 const packwright_type *old, packwright_type **out)
{
    making m = {.status = PACKWRIGHT_OK};

    check_blocks(&m, name, n, blocklengths, displacements);
    check_ends(&m, old, out);
    return begin(&m, n, 0, 2) ? end_one(&m, make(&m.b, n, blocklengths, displacements, old->dt), old, out) : m.status;
}

packwright_status packwright_indexed(int64_t n, const int64_t *blocklengths, const int64_t *displacements,
                                     const packwright_type *old, packwright_type **out)
{
    return indexed(pw_dt_indexed, "displacements", n, blocklengths, displacements, old, out);
}

packwright_status packwright_hindexed(int64_t n, const int64_t *blocklengths, const int64_t *displacements_bytes,
                                      const packwright_type *old, packwright_type **out)
{
    return indexed(pw_dt_hindexed, "displacements_bytes", n, blocklengths, displacements_bytes, old, out);
}

static packwright_status indexed_block(pw_dt make(pw_builder *, int64_t, int64_t, const int64_t *, pw_dt),
                                       const char *name, int64_t n, int64_t blocklength, const int64_t *displacements,
                                       const packwright_type *old, packwright_type **out)
{
    making m = {.status = PACKWRIGHT_OK};

    check_count(&m, "n", n);
    check_count(&m, "blocklength", blocklength);
    check_displacements(&m, name, n, displacements);
    check_ends(&m, old, out);
    return begin(&m, n, 0, 1) ? end_one(&m, make(&m.b, n, blocklength, displacements, old->dt), old, out) : m.status;
}

packwright_status packwright_indexed_block(int64_t n, int64_t blocklength, const int64_t *displacements,
                                           const packwright_type *old, packwright_type **out)
{
    return indexed_block(pw_dt_indexed_block, "displacements", n, blocklength, displacements, old, out);
}

packwright_status packwright_hindexed_block(int64_t n, int64_t blocklength, const int64_t *displacements_bytes,
                                            const packwright_type *old, packwright_type **out)
{
    return indexed_block(pw_dt_hindexed_block, "displacements_bytes", n, blocklength, displacements_bytes, old, out);
}

static void check_olds(making *m, int64_t n, packwright_type *const *olds)
{
    if (n > 0)
        check_given(m, "olds", olds);
    for (int64_t i = 0; i < n && !m->status; i++)
        if (!olds[i])
            REFUSE(m, "olds[%" PRId64 "] is NULL", i);
}

packwright_status packwright_struct(int64_t n, const int64_t *blocklengths, const int64_t *displacements_bytes,
                                    packwright_type *const *olds, packwright_type **out)
{
    making m = {.status = PACKWRIGHT_OK};
    pw_dt *parts, made;

    check_blocks(&m, "displacements_bytes", n, blocklengths, displacements_bytes);
    check_olds(&m, n, olds);
    check_given(&m, "out", out);
    /* Nodes: at most one for each block of several elements. Entries: the lists of the struct, and its parts. */
    if (!begin(&m, n, 1, 4))
        return m.status;
    parts = pw_arena_take_array(m.b.arena, (size_t)n, sizeof *parts);
    for (int64_t i = 0; parts && i < n; i++)
        parts[i] = olds[i]->dt;
    made = parts ? pw_dt_struct(&m.b, n, blocklengths, displacements_bytes, parts) : (pw_dt){.node = NULL};
    return end(&m, made, n, olds, out);
}

/* ---- arrays -------------------------------------------------------------------------------------------- */

static void check_array(making *m, int64_t ndims, packwright_order order, const packwright_type *old,
                        packwright_type **out)
{
    if (ndims < 1)
        REFUSE(m, "ndims is %" PRId64 ", and must be at least 1", ndims);
    if (order != PACKWRIGHT_ORDER_C && order != PACKWRIGHT_ORDER_FORTRAN)
        REFUSE(m, "order is %d, which is no packwright_order", (int)order);
    check_ends(m, old, out);
}

static void check_parts(making *m, int64_t ndims, const int64_t *sizes, const int64_t *subsizes, const int64_t *starts)
{
    for (int64_t i = 0; i < ndims && !m->status; i++)
        if (subsizes[i] > sizes[i] || starts[i] > sizes[i] - subsizes[i])
            REFUSE(m, "dimension %" PRId64 ": starts %" PRId64 " and subsizes %" PRId64 " reach beyond sizes %" PRId64,
                   i, starts[i], subsizes[i], sizes[i]);
}

packwright_status packwright_subarray(int64_t ndims, const int64_t *sizes, const int64_t *subsizes,
                                      const int64_t *starts, packwright_order order, const packwright_type *old,
                                      packwright_type **out)
{
    making m = {.status = PACKWRIGHT_OK};

    check_array(&m, ndims, order, old, out);
    check_list(&m, "sizes", ndims, sizes, 0);
    check_list(&m, "subsizes", ndims, subsizes, 0);
    check_list(&m, "starts", ndims, starts, 0);
    check_parts(&m, ndims, sizes, subsizes, starts);
    if (!begin(&m, ndims, 1, 0))
        return m.status;
    return end_one(&m, pw_dt_subarray(&m.b, ndims, sizes, subsizes, starts, (pw_order)order, old->dt), old, out);
}

static void check_grid(making *m, int64_t size, int64_t rank, int64_t ndims, const int64_t *psizes)
{
    int64_t product = 1;

    for (int64_t i = 0; i < ndims && !m->status; i++)
        if (__builtin_mul_overflow(product, psizes[i], &product))
            FAIL(m, PACKWRIGHT_ERR_OVERFLOW, "the product of psizes does not fit 64 bits");
    if (product != size)
        REFUSE(m, "size is %" PRId64 ", but the product of psizes is %" PRId64, size, product);
    if (rank < 0 || rank >= size)
        REFUSE(m, "rank is %" PRId64 ", and must be from 0 to size - 1, %" PRId64, rank, size - 1);
}

/* Checks the argument of dimension i against its distribution. */
static void check_distribution(making *m, int64_t i, int64_t gsize, packwright_distribution distribution,
                               int64_t argument, int64_t psize)
{
    bool automatic = argument == PACKWRIGHT_DISTRIBUTE_DEFAULT_ARG;
    int64_t held;

    switch (distribution) {
    case PACKWRIGHT_DISTRIBUTE_NONE:
        if (psize != 1)
            REFUSE(m, "distributions[%" PRId64 "] is NONE, but psizes[%" PRId64 "] is not 1", i, i);
        return;
    case PACKWRIGHT_DISTRIBUTE_BLOCK:
    case PACKWRIGHT_DISTRIBUTE_CYCLIC: break;
    default:
        REFUSE(m, "distributions[%" PRId64 "] is %d, which is no packwright_distribution", i, (int)distribution);
        return;
    }
    if (!automatic && argument < 1)
        REFUSE(m, "arguments[%" PRId64 "] is %" PRId64 ", and must be positive or PACKWRIGHT_DISTRIBUTE_DEFAULT_ARG", i,
               argument);
    if (!automatic && distribution == PACKWRIGHT_DISTRIBUTE_BLOCK && !__builtin_mul_overflow(argument, psize, &held) &&
        held < gsize)
        REFUSE(m,
               "arguments[%" PRId64 "] is %" PRId64 ": blocks of that length do not hold gsizes[%" PRId64 "], %" PRId64,
               i, argument, i, gsize);
}

static void check_darray(making *m, int64_t ndims, const int64_t *gsizes, const packwright_distribution *distributions,
                         const int64_t *arguments, const int64_t *psizes)
{
    check_list(m, "gsizes", ndims, gsizes, 1);
    check_given(m, "distributions", distributions);
    check_given(m, "arguments", arguments);
    check_list(m, "psizes", ndims, psizes, 1);
    for (int64_t i = 0; i < ndims && !m->status; i++)
        check_distribution(m, i, gsizes[i], distributions[i], arguments[i], psizes[i]);
}

packwright_status packwright_darray(int64_t size, int64_t rank, int64_t ndims, const int64_t *gsizes,
                                    const packwright_distribution *distributions, const int64_t *arguments,
                                    const int64_t *psizes, packwright_order order, const packwright_type *old,
                                    packwright_type **out)
{
    making m = {.status = PACKWRIGHT_OK};
    pw_dt made = {.node = NULL};
    pw_distribution *d;

    check_array(&m, ndims, order, old, out);
    check_darray(&m, ndims, gsizes, distributions, arguments, psizes);
    check_grid(&m, size, rank, ndims, psizes);
    /* Each dimension has at most two blocks, a stream of blocks, and both together: four nodes. */
    if (!begin(&m, ndims, 4, 6))
        return m.status;
    d = pw_arena_take_array(m.b.arena, (size_t)ndims, sizeof *d);
    for (int64_t i = 0; d && i < ndims; i++)
        d[i] = (pw_distribution)distributions[i];
    if (d)
        made = pw_dt_darray(&m.b, size, rank, ndims, gsizes, d, arguments, psizes, (pw_order)order, old->dt);
    return end_one(&m, made, old, out);
}
