#include "frontend/mpi/contents.h"

#include <stdatomic.h>
#include <stdlib.h>

#if MPI_VERSION >= 4
typedef MPI_Count raw_size;
#else
typedef int raw_size;
#endif

/* The arrays as MPI fills them. */
typedef struct raw_arrays {
    int fixed_ints[PW_CONTENTS_NUMS];
    MPI_Aint fixed_addrs[PW_CONTENTS_NUMS];
    MPI_Count fixed_counts[PW_CONTENTS_NUMS];
    int *ints;
    MPI_Aint *addrs;
    MPI_Count *counts;
    void *heap[3];
} raw_arrays;

const char *pw_combiner_name(int combiner)
{
    static const struct {
        int combiner;
        const char *name;
    } names[] = {
#define ROW(c) {c, #c}
        ROW(MPI_COMBINER_NAMED),
        ROW(MPI_COMBINER_DUP),
        ROW(MPI_COMBINER_CONTIGUOUS),
        ROW(MPI_COMBINER_VECTOR),
        ROW(MPI_COMBINER_HVECTOR),
        ROW(MPI_COMBINER_INDEXED),
        ROW(MPI_COMBINER_HINDEXED),
        ROW(MPI_COMBINER_INDEXED_BLOCK),
        ROW(MPI_COMBINER_STRUCT),
        ROW(MPI_COMBINER_SUBARRAY),
        ROW(MPI_COMBINER_DARRAY),
        ROW(MPI_COMBINER_RESIZED),
        ROW(MPI_COMBINER_F90_REAL),
        ROW(MPI_COMBINER_F90_COMPLEX),
        ROW(MPI_COMBINER_F90_INTEGER),
        ROW(MPI_COMBINER_HINDEXED_BLOCK),
#ifdef PW_HAVE_MPI_COMBINER_HVECTOR_INTEGER
        ROW(MPI_COMBINER_HVECTOR_INTEGER),
#endif
#ifdef PW_HAVE_MPI_COMBINER_HINDEXED_INTEGER
        ROW(MPI_COMBINER_HINDEXED_INTEGER),
#endif
#ifdef PW_HAVE_MPI_COMBINER_STRUCT_INTEGER
        ROW(MPI_COMBINER_STRUCT_INTEGER),
#endif
#ifdef PW_HAVE_MPI_COMBINER_VALUE_INDEX
        ROW(MPI_COMBINER_VALUE_INDEX),
#endif
#undef ROW
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].combiner == combiner)
            return names[i].name;
    return NULL;
}

bool pw_envelope_is_basic(const pw_envelope *e)
{
    return e->combiner == MPI_COMBINER_NAMED || e->combiner == MPI_COMBINER_F90_REAL ||
           e->combiner == MPI_COMBINER_F90_COMPLEX || e->combiner == MPI_COMBINER_F90_INTEGER;
}

pw_status pw_envelope_read(MPI_Datatype type, pw_envelope *out, pw_diag *diag)
{
    raw_size nints = 0, naddrs = 0, ncounts = 0, ntypes = 0;
    int combiner = 0;
#if MPI_VERSION >= 4
    int rc = PMPI_Type_get_envelope_c(type, &nints, &naddrs, &ncounts, &ntypes, &combiner);
#else
    int rc = PMPI_Type_get_envelope(type, &nints, &naddrs, &ntypes, &combiner);
#endif
    if (rc != MPI_SUCCESS)
        return pw_diag_set(diag, PW_ERR_MPI, "MPI_Type_get_envelope failed with error %d", rc);
    *out = (pw_envelope){combiner, nints, naddrs, ncounts, ntypes};
    return PW_OK;
}

/* n items: `fixed` when they fit, else from the heap, which *heap then owns. */
static void *room(int64_t n, int64_t nfixed, size_t bytes, void *fixed, void **heap)
{
    *heap = NULL;
    if (n <= nfixed)
        return fixed;
    return *heap = calloc((size_t)n, bytes);
}

static bool raw_room(raw_arrays *raw, const pw_envelope *e)
{
    raw->ints = room(e->nints, PW_CONTENTS_NUMS, sizeof *raw->ints, raw->fixed_ints, &raw->heap[0]);
    raw->addrs = room(e->naddrs, PW_CONTENTS_NUMS, sizeof *raw->addrs, raw->fixed_addrs, &raw->heap[1]);
    raw->counts = room(e->ncounts, PW_CONTENTS_NUMS, sizeof *raw->counts, raw->fixed_counts, &raw->heap[2]);
    return raw->ints && raw->addrs && raw->counts;
}

static void raw_free(raw_arrays *raw)
{
    for (int i = 0; i < 3; i++)
        if (raw->heap[i]) /* most types are short, and the C library is far */
            free(raw->heap[i]);
}

static bool contents_room(pw_contents *c, const pw_envelope *e)
{
    int64_t n = e->nints + e->naddrs + e->ncounts;
    c->nums = room(n, PW_CONTENTS_NUMS, sizeof *c->nums, c->fixed_nums, &c->heap_nums);
    c->types = room(e->ntypes, PW_CONTENTS_TYPES, sizeof *c->types, c->fixed_types, &c->heap_types);
    return c->nums && c->types;
}

static int get_contents(MPI_Datatype type, const pw_envelope *e, raw_arrays *raw, MPI_Datatype *types)
{
#if MPI_VERSION >= 4
    return PMPI_Type_get_contents_c(type, e->nints, e->naddrs, e->ncounts, e->ntypes, raw->ints, raw->addrs,
                                    raw->counts, types);
#else
    return PMPI_Type_get_contents(type, (int)e->nints, (int)e->naddrs, (int)e->ntypes, raw->ints, raw->addrs, types);
#endif
}

/* Open MPI 6.0.0a1 gives a program of the standard ABI its own numbers of orders and distributions. They have no other
 * meaning in any ABI, so they are replaced by the constants that they stand for wherever they are met, here and in
 * python/packwright/_mpi.py. */
static void replace_own_numbers(pw_contents *c)
{
    enum { OWN_ORDER_C, OWN_ORDER_FORTRAN, OWN_BLOCK = 0, OWN_CYCLIC, OWN_NONE, OWN_DEFAULT = -1 };
    int64_t nints = c->envelope.nints, *end = c->nums + nints, n = 0;

    if (c->envelope.combiner == MPI_COMBINER_DARRAY && nints > 3)
        n = c->nums[2];
    else if (c->envelope.combiner != MPI_COMBINER_SUBARRAY)
        return;
    if (n < 0 || n > (nints - 4) / 3)
        return; /* nonsense, which the decoder refuses: size, rank, dimensions and order are four more */
    end[-1] = end[-1] == OWN_ORDER_C ? MPI_ORDER_C : end[-1] == OWN_ORDER_FORTRAN ? MPI_ORDER_FORTRAN : end[-1];
    for (int64_t *kind = end - 1 - 3 * n, *arg = kind + n; arg < end - 1 - n; kind++, arg++) {
        *kind = *kind == OWN_BLOCK    ? MPI_DISTRIBUTE_BLOCK
                : *kind == OWN_CYCLIC ? MPI_DISTRIBUTE_CYCLIC
                : *kind == OWN_NONE   ? MPI_DISTRIBUTE_NONE
                                      : *kind;
        *arg = *arg == OWN_DEFAULT ? MPI_DISTRIBUTE_DFLT_DARG : *arg;
    }
}

static void take_over(pw_contents *c, const raw_arrays *raw)
{
    const pw_envelope *e = &c->envelope;
    int64_t *out = c->nums;
    for (int64_t i = 0; i < e->nints; i++)
        *out++ = raw->ints[i];
    for (int64_t i = 0; i < e->naddrs; i++)
        *out++ = raw->addrs[i];
    for (int64_t i = 0; i < e->ncounts; i++)
        *out++ = raw->counts[i];
    replace_own_numbers(c);
}

pw_status pw_contents_read(MPI_Datatype type, const pw_envelope *e, pw_contents *out, pw_diag *diag)
{
    raw_arrays raw;
    out->envelope = *e;
    out->next_int = out->next_addr = out->next_count = 0;
    out->short_of = false;
    bool have_raw = raw_room(&raw, e);
    bool have_room = contents_room(out, e);
    pw_status status = PW_OK;
    if (!have_raw || !have_room) {
        status = pw_diag_set(diag, PW_ERR_NOMEM, "no memory for the contents of a datatype");
    } else {
        int rc = get_contents(type, e, &raw, out->types);
        if (rc == MPI_SUCCESS)
            take_over(out, &raw);
        else
            status = pw_diag_set(diag, PW_ERR_MPI, "MPI_Type_get_contents failed with error %d", rc);
    }
    raw_free(&raw);
    if (status != PW_OK) {
        free(out->heap_nums);
        free(out->heap_types);
    }
    return status;
}

/* What stands inside a type: a derived type, of which MPI has given a handle; a basic type, also one that MPI does not
 * tell about; or a basic type with elements of one size. A pair of two sizes has a hole or an end that neither divides.
 */
typedef enum inner_kind { DERIVED, BASIC, UNIFORM } inner_kind;

/* Without `exactly` a uniform type may be called basic, which saves two questions. Most types are made of one named
 * type, which stays what it is: the last one is remembered, since asking MPI takes as long as all the rest. */
static inner_kind kind_of(MPI_Datatype type, bool exactly)
{
    static _Atomic(MPI_Datatype) named, uniform;
    MPI_Count size, lowest, extent;
    pw_envelope e;

    if (type == atomic_load_explicit(&uniform, memory_order_relaxed))
        return UNIFORM;
    if ((!exactly && type == atomic_load_explicit(&named, memory_order_relaxed)) ||
        pw_envelope_read(type, &e, NULL) != PW_OK)
        return BASIC;
    if (!pw_envelope_is_basic(&e))
        return DERIVED;
    if (e.combiner == MPI_COMBINER_NAMED)
        atomic_store_explicit(&named, type, memory_order_relaxed);
    if (!exactly || PMPI_Type_size_x(type, &size) != MPI_SUCCESS ||
        PMPI_Type_get_extent_x(type, &lowest, &extent) != MPI_SUCCESS || size != extent)
        return BASIC;
    if (e.combiner == MPI_COMBINER_NAMED)
        atomic_store_explicit(&uniform, type, memory_order_relaxed);
    return UNIFORM;
}

void pw_contents_release(pw_contents *c)
{
    for (int64_t i = 0; i < c->envelope.ntypes; i++)
        if (kind_of(c->types[i], false) == DERIVED)
            PMPI_Type_free(&c->types[i]);
    free(c->heap_nums);
    free(c->heap_types);
}

bool pw_contents_are_uniform(MPI_Datatype type, const pw_contents *c)
{
    raw_arrays raw;
    pw_envelope e;
    MPI_Datatype inner;
    inner_kind kind = BASIC;

    if (c)
        return c->envelope.ntypes == 1 && kind_of(c->types[0], true) == UNIFORM;
    if (pw_envelope_read(type, &e, NULL) != PW_OK || e.ntypes != 1)
        return false;
    if (raw_room(&raw, &e) && get_contents(type, &e, &raw, &inner) == MPI_SUCCESS)
        kind = kind_of(inner, true);
    raw_free(&raw);
    if (kind == DERIVED)
        PMPI_Type_free(&inner);
    return kind == UNIFORM;
}

static const int64_t *take(pw_contents *c, int64_t n, int64_t *next, int64_t begin, int64_t have)
{
    if (n < 0 || n > have - *next) {
        c->short_of = true;
        return NULL;
    }
    const int64_t *found = c->nums + begin + *next;
    *next += n;
    return found;
}

const int64_t *pw_contents_ints(pw_contents *c, int64_t n)
{
    return take(c, n, &c->next_int, 0, c->envelope.nints);
}

const int64_t *pw_contents_counts(pw_contents *c, int64_t n)
{
    const pw_envelope *e = &c->envelope;
    if (e->ncounts == 0)
        return pw_contents_ints(c, n);
    return take(c, n, &c->next_count, e->nints + e->naddrs, e->ncounts);
}

const int64_t *pw_contents_addrs(pw_contents *c, int64_t n)
{
    const pw_envelope *e = &c->envelope;
    if (e->naddrs == 0)
        return pw_contents_counts(c, n);
    return take(c, n, &c->next_addr, e->nints, e->naddrs);
}
