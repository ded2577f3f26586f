/* The constructors of types. They check arguments and name those that are wrong; the algebra (frontend/combiner.h)
 * makes the types. */
#include "runtime/engine/library/internal.h"

#include <inttypes.h>

/* ---- checks of arguments ------------------------------------------------------------------------------- */

static packwright_status is_null(const char *name)
{
    return pw_library_fail(PACKWRIGHT_ERR_INVALID, "%s is NULL", name);
}

static packwright_status check_count(const char *name, int64_t n)
{
    return n >= 0 ? PACKWRIGHT_OK
                  : pw_library_fail(PACKWRIGHT_ERR_INVALID, "%s is %" PRId64 ", and must not be negative", name, n);
}

static packwright_status check_ends(const packwright_type *old, packwright_type **out)
{
    return !old ? is_null("old") : !out ? is_null("out") : PACKWRIGHT_OK;
}

static packwright_status check_list(const char *name, int64_t n, const int64_t *list, int64_t least)
{
    if (!list)
        return n > 0 ? is_null(name) : PACKWRIGHT_OK;
    for (int64_t i = 0; i < n; i++)
        if (list[i] < least)
            return pw_library_fail(PACKWRIGHT_ERR_INVALID,
                                   "%s[%" PRId64 "] is %" PRId64 ", and must be at least %" PRId64, name, i, list[i],
                                   least);
    return PACKWRIGHT_OK;
}

/* Displacements may have any value. */
static packwright_status check_displacements(const char *name, int64_t n, const int64_t *list)
{
    return check_list(name, n, list, INT64_MIN);
}

/* ---- making one ---------------------------------------------------------------------------------------- */

enum { NODE_BYTES = (sizeof(pw_node) + 15) / 16 * 16 };

typedef struct making {
    pw_builder b;
    pw_storage *storage;
} making;

/* Makes room for so many nodes and list entries. The storage grows if a constructor needs more. */
static packwright_status begin(making *m, int64_t nodes, int64_t entries)
{
    enum { SLACK = 64 };
    int64_t most = INT64_MAX / 64;

    m->storage = NULL;
    if (nodes < most / NODE_BYTES && entries < most)
        m->storage = pw_storage_create((size_t)(nodes * NODE_BYTES + entries * (int64_t)sizeof(int64_t) + SLACK));
    if (!m->storage)
        return pw_library_no_memory();
    m->b = (pw_builder){.arena = m->storage->arena};
    return PACKWRIGHT_OK;
}

/* Holds references to the storages of `n` old types; neighbours that share a storage count once. False: out of memory.
 */
static bool hold(pw_storage *storage, int64_t n, packwright_type *const *olds)
{
    int64_t distinct = 0;

    for (int64_t i = 0; i < n; i++)
        distinct += i == 0 || olds[i]->storage != olds[i - 1]->storage;
    storage->olds = pw_arena_take_array(storage->arena, (size_t)distinct, sizeof *storage->olds);
    if (!storage->olds)
        return false;
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || olds[i]->storage != olds[i - 1]->storage)
            storage->olds[storage->nolds++] = pw_storage_ref(olds[i]->storage);
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

/* Finishes the type that the algebra has made of `n` old ones. A constructor that adds no node, such as resized, shares
 * the old type's storage. Leaves and lists of blocks point into no storage. */
static packwright_status end(making *m, pw_dt dt, int64_t n, packwright_type *const *olds, packwright_type **out)
{
    pw_storage *storage = m->storage;
    bool is_leaf;

    if (m->b.status != PW_OK || !dt.node) {
        pw_storage_unref(storage);
        return failed(m->b.status != PW_OK ? m->b.status : PW_ERR_NOMEM);
    }
    is_leaf = dt.node->kind == PW_BYTES || dt.node->kind == PW_BLOCKS;
    for (int64_t i = 0; i < n; i++)
        if (dt.node == olds[i]->dt.node) {
            pw_storage_unref(storage);
            return pw_library_type_create(dt, pw_storage_ref(olds[i]->storage), out);
        }
    if (!is_leaf && !hold(storage, n, olds)) {
        pw_storage_unref(storage);
        return pw_library_no_memory();
    }
    return pw_library_type_create(dt, storage, out);
}

static packwright_status end_one(making *m, pw_dt dt, const packwright_type *old, packwright_type **out)
{
    packwright_type *olds[] = {(packwright_type *)old};

    return end(m, dt, 1, olds, out);
}

/* ---- regular ones -------------------------------------------------------------------------------------- */

packwright_status packwright_bytes(int64_t bytes, int64_t align, packwright_type **out)
{
    making m;
    packwright_status status = check_count("bytes", bytes);

    if (status)
        return status;
    if (align < 1 || align > 16 || (align & (align - 1)))
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, "align is %" PRId64 ", and must be a power of two from 1 to 16",
                               align);
    if (!out)
        return is_null("out");
    status = begin(&m, 1, 0);
    return status ? status : end(&m, pw_dt_basic(&m.b, bytes, align), 0, NULL, out);
}

packwright_status packwright_contiguous(int64_t count, const packwright_type *old, packwright_type **out)
{
    making m;
    packwright_status status = check_count("count", count);

    if (!status)
        status = check_ends(old, out);
    if (!status)
        status = begin(&m, 2, 0);
    return status ? status : end_one(&m, pw_dt_contiguous(&m.b, count, old->dt), old, out);
}

static packwright_status vector(bool in_bytes, int64_t count, int64_t blocklength, int64_t stride,
                                const packwright_type *old, packwright_type **out)
{
    making m;
    packwright_status status = check_count("count", count);

    if (!status)
        status = check_count("blocklength", blocklength);
    if (!status)
        status = check_ends(old, out);
    if (!status)
        status = begin(&m, 2, 0);
    if (status)
        return status;
    return end_one(&m,
                   in_bytes ? pw_dt_hvector(&m.b, count, blocklength, stride, old->dt)
                            : pw_dt_vector(&m.b, count, blocklength, stride, old->dt),
                   old, out);
}

packwright_status packwright_vector(int64_t count, int64_t blocklength, int64_t stride, const packwright_type *old,
                                    packwright_type **out)
{
    return vector(false, count, blocklength, stride, old, out);
}

packwright_status packwright_hvector(int64_t count, int64_t blocklength, int64_t stride_bytes,
                                     const packwright_type *old, packwright_type **out)
{
    return vector(true, count, blocklength, stride_bytes, old, out);
}

packwright_status packwright_resized(int64_t lb, int64_t extent, const packwright_type *old, packwright_type **out)
{
    making m;
    packwright_status status = check_ends(old, out);

    if (!status)
        status = begin(&m, 0, 0);
    return status ? status : end_one(&m, pw_dt_resized(&m.b, lb, extent, old->dt), old, out);
}

/* ---- lists --------------------------------------------------------------------------------------------- */

static packwright_status check_blocks(int64_t n, const int64_t *lengths, const char *name, const int64_t *displacements)
{
    packwright_status status = check_count("n", n);

    if (!status)
        status = check_list("blocklengths", n, lengths, 0);
    return status ? status : check_displacements(name, n, displacements);
}

/* Stands in for a NULL list: callers may pass NULL for an empty list, the algebra does not take it. */
static const int64_t none[1];

static const int64_t *list_or_none(const int64_t *list)
{
    return list ? list : none;
}

packwright_status packwright_indexed(int64_t n, const int64_t *blocklengths, const int64_t *displacements,
                                     const packwright_type *old, packwright_type **out)
{
    making m;
    packwright_status status = check_blocks(n, blocklengths, "displacements", displacements);

    if (!status)
        status = check_ends(old, out);
    if (!status)
        status = begin(&m, 2, 2 * n);
    return status
               ? status
               : end_one(&m, pw_dt_indexed(&m.b, n, list_or_none(blocklengths), list_or_none(displacements), old->dt),
                         old, out);
}

packwright_status packwright_hindexed(int64_t n, const int64_t *blocklengths, const int64_t *displacements_bytes,
                                      const packwright_type *old, packwright_type **out)
{
    making m;
    packwright_status status = check_blocks(n, blocklengths, "displacements_bytes", displacements_bytes);

    if (!status)
        status = check_ends(old, out);
    if (!status)
        status = begin(&m, 2, 2 * n);
    return status ? status
                  : end_one(
                        &m,
                        pw_dt_hindexed(&m.b, n, list_or_none(blocklengths), list_or_none(displacements_bytes), old->dt),
                        old, out);
}

static packwright_status indexed_block(bool in_bytes, int64_t n, int64_t blocklength, const int64_t *displacements,
                                       const packwright_type *old, packwright_type **out)
{
    making m;
    packwright_status status = check_count("n", n);

    if (!status)
        status = check_count("blocklength", blocklength);
    if (!status)
        status = check_displacements(in_bytes ? "displacements_bytes" : "displacements", n, displacements);
    if (!status)
        status = check_ends(old, out);
    if (!status)
        status = begin(&m, 2, n);
    if (status)
        return status;
    displacements = list_or_none(displacements);
    return end_one(&m,
                   in_bytes ? pw_dt_hindexed_block(&m.b, n, blocklength, displacements, old->dt)
                            : pw_dt_indexed_block(&m.b, n, blocklength, displacements, old->dt),
                   old, out);
}

packwright_status packwright_indexed_block(int64_t n, int64_t blocklength, const int64_t *displacements,
                                           const packwright_type *old, packwright_type **out)
{
    return indexed_block(false, n, blocklength, displacements, old, out);
}

packwright_status packwright_hindexed_block(int64_t n, int64_t blocklength, const int64_t *displacements_bytes,
                                            const packwright_type *old, packwright_type **out)
{
    return indexed_block(true, n, blocklength, displacements_bytes, old, out);
}

static packwright_status check_olds(int64_t n, packwright_type *const *olds)
{
    if (!olds)
        return n > 0 ? is_null("olds") : PACKWRIGHT_OK;
    for (int64_t i = 0; i < n; i++)
        if (!olds[i])
            return pw_library_fail(PACKWRIGHT_ERR_INVALID, "olds[%" PRId64 "] is NULL", i);
    return PACKWRIGHT_OK;
}

packwright_status packwright_struct(int64_t n, const int64_t *blocklengths, const int64_t *displacements_bytes,
                                    packwright_type *const *olds, packwright_type **out)
{
    making m;
    pw_dt *parts;
    packwright_status status = check_blocks(n, blocklengths, "displacements_bytes", displacements_bytes);

    if (!status)
        status = check_olds(n, olds);
    if (!status && !out)
        status = is_null("out");
    /* Nodes: at most one for each block of several elements, and one for the whole. Entries: the lists of the struct,
     * and its parts. */
    if (!status)
        status = n < INT64_MAX / 1024 ? begin(&m, 1 + n, 4 * n) : pw_library_no_memory();
    if (status)
        return status;
    parts = pw_arena_take_array(m.b.arena, (size_t)n, sizeof *parts);
    if (!parts) {
        pw_storage_unref(m.storage);
        return pw_library_no_memory();
    }
    for (int64_t i = 0; i < n; i++)
        parts[i] = olds[i]->dt;
    return end(&m, pw_dt_struct(&m.b, n, list_or_none(blocklengths), list_or_none(displacements_bytes), parts), n, olds,
               out);
}

/* ---- arrays -------------------------------------------------------------------------------------------- */

static packwright_status check_array(int64_t ndims, packwright_order order, const packwright_type *old,
                                     packwright_type **out)
{
    if (ndims < 1)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, "ndims is %" PRId64 ", and must be at least 1", ndims);
    if (order != PACKWRIGHT_ORDER_C && order != PACKWRIGHT_ORDER_FORTRAN)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, "order is %d, which is no packwright_order", (int)order);
    return check_ends(old, out);
}

static packwright_status check_parts(int64_t ndims, const int64_t *sizes, const int64_t *subsizes,
                                     const int64_t *starts)
{
    for (int64_t i = 0; i < ndims; i++)
        if (subsizes[i] > sizes[i] || starts[i] > sizes[i] - subsizes[i])
            return pw_library_fail(PACKWRIGHT_ERR_INVALID,
                                   "dimension %" PRId64 ": starts %" PRId64 " and subsizes %" PRId64
                                   " reach beyond sizes %" PRId64,
                                   i, starts[i], subsizes[i], sizes[i]);
    return PACKWRIGHT_OK;
}

packwright_status packwright_subarray(int64_t ndims, const int64_t *sizes, const int64_t *subsizes,
                                      const int64_t *starts, packwright_order order, const packwright_type *old,
                                      packwright_type **out)
{
    making m;
    packwright_status status = check_array(ndims, order, old, out);

    if (!status)
        status = check_list("sizes", ndims, sizes, 0);
    if (!status)
        status = check_list("subsizes", ndims, subsizes, 0);
    if (!status)
        status = check_list("starts", ndims, starts, 0);
    if (!status)
        status = check_parts(ndims, sizes, subsizes, starts);
    if (!status)
        status = begin(&m, 1 + ndims, 4);
    return status
               ? status
               : end_one(&m, pw_dt_subarray(&m.b, ndims, sizes, subsizes, starts, (pw_order)order, old->dt), old, out);
}

static packwright_status check_grid(int64_t size, int64_t rank, int64_t ndims, const int64_t *psizes)
{
    int64_t product = 1;

    for (int64_t i = 0; i < ndims; i++)
        if (__builtin_mul_overflow(product, psizes[i], &product))
            return pw_library_fail(PACKWRIGHT_ERR_OVERFLOW, "the product of psizes does not fit 64 bits");
    if (product != size)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, "size is %" PRId64 ", but the product of psizes is %" PRId64,
                               size, product);
    if (rank < 0 || rank >= size)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, "rank is %" PRId64 ", and must be from 0 to size - 1, %" PRId64,
                               rank, size - 1);
    return PACKWRIGHT_OK;
}

/* Checks the argument of dimension i against its distribution. */
static packwright_status check_distribution(int64_t i, int64_t gsize, packwright_distribution distribution,
                                            int64_t argument, int64_t psize)
{
    bool automatic = argument == PACKWRIGHT_DISTRIBUTE_DEFAULT_ARG;
    int64_t held;

    switch (distribution) {
    case PACKWRIGHT_DISTRIBUTE_NONE:
        return psize == 1
                   ? PACKWRIGHT_OK
                   : pw_library_fail(PACKWRIGHT_ERR_INVALID,
                                     "distributions[%" PRId64 "] is NONE, but psizes[%" PRId64 "] is not 1", i, i);
    case PACKWRIGHT_DISTRIBUTE_BLOCK:
    case PACKWRIGHT_DISTRIBUTE_CYCLIC: break;
    default:
        return pw_library_fail(PACKWRIGHT_ERR_INVALID,
                               "distributions[%" PRId64 "] is %d, which is no packwright_distribution", i,
                               (int)distribution);
    }
    if (!automatic && argument < 1)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID,
                               "arguments[%" PRId64 "] is %" PRId64
                               ", and must be positive or PACKWRIGHT_DISTRIBUTE_DEFAULT_ARG",
                               i, argument);
    if (!automatic && distribution == PACKWRIGHT_DISTRIBUTE_BLOCK && !__builtin_mul_overflow(argument, psize, &held) &&
        held < gsize)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID,
                               "arguments[%" PRId64 "] is %" PRId64
                               ": blocks of that length do not hold gsizes[%" PRId64 "], %" PRId64,
                               i, argument, i, gsize);
    return PACKWRIGHT_OK;
}

static packwright_status check_darray(int64_t ndims, const int64_t *gsizes,
                                      const packwright_distribution *distributions, const int64_t *arguments,
                                      const int64_t *psizes)
{
    packwright_status status = check_list("gsizes", ndims, gsizes, 1);

    if (!status && !distributions)
        status = is_null("distributions");
    if (!status && !arguments)
        status = is_null("arguments");
    if (!status)
        status = check_list("psizes", ndims, psizes, 1);
    for (int64_t i = 0; i < ndims && !status; i++)
        status = check_distribution(i, gsizes[i], distributions[i], arguments[i], psizes[i]);
    return status;
}

packwright_status packwright_darray(int64_t size, int64_t rank, int64_t ndims, const int64_t *gsizes,
                                    const packwright_distribution *distributions, const int64_t *arguments,
                                    const int64_t *psizes, packwright_order order, const packwright_type *old,
                                    packwright_type **out)
{
    making m;
    pw_distribution *d;
    packwright_status status = check_array(ndims, order, old, out);

    if (!status)
        status = check_darray(ndims, gsizes, distributions, arguments, psizes);
    if (!status)
        status = check_grid(size, rank, ndims, psizes);
    /* Each dimension has at most two blocks, a stream of blocks, and both together: four nodes. */
    if (!status)
        status = ndims < INT64_MAX / 4096 ? begin(&m, 1 + 4 * ndims, 4 + 6 * ndims) : pw_library_no_memory();
    if (status)
        return status;
    d = pw_arena_take_array(m.b.arena, (size_t)ndims, sizeof *d);
    for (int64_t i = 0; d && i < ndims; i++)
        d[i] = (pw_distribution)distributions[i];
    if (!d) {
        pw_storage_unref(m.storage);
        return pw_library_no_memory();
    }
    return end_one(&m, pw_dt_darray(&m.b, size, rank, ndims, gsizes, d, arguments, psizes, (pw_order)order, old->dt),
                   old, out);
}
