#include "tools/measure/mpi_type.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* What stands for an old type: `count` objects in a row of a datatype. */
typedef struct made {
    MPI_Datatype type;
    int64_t count; /* 1 but for rows of bytes */
    bool own;      /* the datatype is to be freed */
    bool bytes;    /* a row of elements that the text calls bytes */
} made;

typedef struct maker {
    made *all;
    int64_t n, cap;
} maker;

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* MPI's arrays, malloc'ed. NULL: a number does not fit an int, or memory is short. */
static int *ints_of(const int64_t *numbers, int64_t n)
{
    int *out = malloc((size_t)(n + 1) * sizeof *out);

    for (int64_t i = 0; i < n && out; i++) {
        if (numbers[i] < INT_MIN || numbers[i] > INT_MAX) {
            free(out);
            return NULL;
        }
        out[i] = (int)numbers[i];
    }
    return out;
}

static MPI_Aint *addresses_of(const int64_t *numbers, int64_t n)
{
    MPI_Aint *out = malloc((size_t)(n + 1) * sizeof *out);

    for (int64_t i = 0; i < n && out; i++)
        out[i] = (MPI_Aint)numbers[i];
    return out;
}

static bool fits(int64_t n)
{
    return n >= INT_MIN && n <= INT_MAX;
}

/* ---- predefined types -------------------------------------------------------------------------------------------- */

static MPI_Datatype element_of(int64_t bytes)
{
    switch (bytes) {
    case 2: return MPI_SHORT;
    case 4: return MPI_FLOAT;
    case 8: return MPI_DOUBLE;
    case 16: return MPI_C_DOUBLE_COMPLEX;
    case 32: return MPI_C_LONG_DOUBLE_COMPLEX;
    default: return MPI_BYTE;
    }
}

static made row_of_bytes(int64_t bytes)
{
    int64_t element = bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : 1;

    return (made){element_of(element), bytes / element, false, true};
}

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static MPI_Datatype make_pair(int first, int second)
{
    const int lengths[] = {1, 1};
    const MPI_Aint at[] = {0, round_up(first, second)};
    const MPI_Datatype types[] = {element_of(first), element_of(second)};
    MPI_Datatype bare, out;

    MPI_Type_create_struct(2, lengths, at, types, &bare);
    MPI_Type_create_resized(bare, 0, round_up(at[1] + second, first > second ? first : second), &out);
    MPI_Type_free(&bare);
    return out;
}

static bool make_basic(const pw_ddt_call *c, made *out)
{
    if (!strcmp(c->name, "byte"))
        *out = row_of_bytes(1);
    else if (c->second)
        *out = (made){make_pair(c->first, c->second), 1, true, false};
    else
        *out = (made){element_of(c->first), 1, false, false};
    return true;
}

/* ---- constructors ------------------------------------------------------------------------------------------------ */

static bool make_contiguous(const pw_ddt_call *c, made old, made *out)
{
    if (old.bytes && old.type == MPI_BYTE && old.count == 1) {
        *out = row_of_bytes(c->n);
        return true;
    }
    if (!fits(c->n * old.count))
        return false;
    MPI_Type_contiguous((int)(c->n * old.count), old.type, &out->type);
    return true;
}

/* Makes a row of bytes one datatype, for constructors that do not take blocks of it or that count in its extent. */
static made close_row(maker *m, made old)
{
    made row = {MPI_DATATYPE_NULL, 1, true, false};

    if (old.count == 1)
        return old;
    MPI_Type_contiguous((int)old.count, old.type, &row.type);
    m->all[m->n++] = row;
    return row;
}

static bool make_vector(const pw_ddt_call *c, made old, made *out)
{
    int64_t blocklen = c->blocklen * old.count;

    if (!fits(c->n) || !fits(blocklen) || (c->kind == PW_AST_VEC && !fits(c->stride)))
        return false;
    if (c->kind == PW_AST_VEC)
        MPI_Type_vector((int)c->n, (int)blocklen, (int)c->stride, old.type, &out->type);
    else
        MPI_Type_create_hvector((int)c->n, (int)blocklen, (MPI_Aint)c->stride, old.type, &out->type);
    return true;
}

static bool make_indexed(const pw_ddt_call *c, made old, made *out)
{
    int *lens = ints_of(c->lens, c->n), *displs = c->kind == PW_AST_IDX ? ints_of(c->displs, c->n) : NULL;
    MPI_Aint *at = displs ? NULL : addresses_of(c->displs, c->n);
    bool ok = lens && fits(c->n) && (c->kind == PW_AST_IDX ? displs != NULL : at != NULL);

    if (ok && c->kind == PW_AST_IDX)
        MPI_Type_indexed((int)c->n, lens, displs, old.type, &out->type);
    else if (ok)
        MPI_Type_create_hindexed((int)c->n, lens, at, old.type, &out->type);
    free(lens);
    free(displs);
    free(at);
    return ok;
}

static bool make_blocks(const pw_ddt_call *c, made old, made *out)
{
    int64_t blocklen = c->blocklen * old.count;
    int *displs = c->kind == PW_AST_IDXB ? ints_of(c->displs, c->n) : NULL;
    MPI_Aint *at = displs ? NULL : addresses_of(c->displs, c->n);
    bool ok = fits(c->n) && fits(blocklen) && (c->kind == PW_AST_IDXB ? displs != NULL : at != NULL);

    if (ok && c->kind == PW_AST_IDXB)
        MPI_Type_create_indexed_block((int)c->n, (int)blocklen, displs, old.type, &out->type);
    else if (ok)
        MPI_Type_create_hindexed_block((int)c->n, (int)blocklen, at, old.type, &out->type);
    free(displs);
    free(at);
    return ok;
}

static bool make_struct(maker *m, const pw_ddt_call *c, made *out)
{
    int *lens = ints_of(c->lens, c->n);
    MPI_Aint *at = addresses_of(c->displs, c->n);
    MPI_Datatype *types = calloc((size_t)c->n + 1, sizeof(MPI_Datatype));
    bool ok = lens && at && types && fits(c->n);

    for (int64_t i = 0; ok && i < c->n; i++) {
        made old = m->all[c->old[i]];

        ok = fits(lens[i] * old.count);
        if (ok)
            lens[i] *= (int)old.count;
        types[i] = old.type;
    }
    if (ok)
        MPI_Type_create_struct((int)c->n, lens, at, types, &out->type);
    free(lens);
    free(at);
    free(types);
    return ok;
}

static bool make_subarray(const pw_ddt_call *c, made old, made *out)
{
    int order = c->order == PW_ORDER_C ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    int *sizes = ints_of(c->parts[0], c->n), *lengths = ints_of(c->parts[1], c->n),
        *starts = ints_of(c->parts[2], c->n);
    bool ok = sizes && lengths && starts && fits(c->n);

    if (ok)
        MPI_Type_create_subarray((int)c->n, sizes, lengths, starts, order, old.type, &out->type);
    free(sizes);
    free(lengths);
    free(starts);
    return ok;
}

static int distribution_of(pw_distribution d)
{
    return d == PW_DISTRIBUTE_NONE    ? MPI_DISTRIBUTE_NONE
           : d == PW_DISTRIBUTE_BLOCK ? MPI_DISTRIBUTE_BLOCK
                                      : MPI_DISTRIBUTE_CYCLIC;
}

static bool make_darray(const pw_ddt_call *c, made old, made *out)
{
    int order = c->order == PW_ORDER_C ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    int *sizes = ints_of(c->parts[0], c->n), *args = ints_of(c->parts[1], c->n), *grid = ints_of(c->parts[2], c->n);
    int *distribs = calloc((size_t)c->n + 1, sizeof *distribs);
    bool ok = sizes && args && grid && distribs && fits(c->n) && fits(c->size) && fits(c->rank);

    for (int64_t i = 0; ok && i < c->n; i++) {
        distribs[i] = distribution_of(c->distribs[i]);
        args[i] = c->parts[1][i] == PW_DISTRIBUTE_DEFAULT_ARG ? MPI_DISTRIBUTE_DFLT_DARG : args[i];
    }
    if (ok)
        MPI_Type_create_darray((int)c->size, (int)c->rank, (int)c->n, sizes, distribs, args, grid, order, old.type,
                               &out->type);
    free(sizes);
    free(args);
    free(grid);
    free(distribs);
    return ok;
}

/* Makes what stands for the call. `old` is what stands for its old type, if there is one. */
static bool make(maker *m, const pw_ddt_call *c, made old, made *out)
{
    switch (c->kind) {
    case PW_AST_BASIC: return make_basic(c, out);
    case PW_AST_CTG: return make_contiguous(c, old, out);
    case PW_AST_VEC: return make_vector(c, close_row(m, old), out);
    case PW_AST_HVEC: return make_vector(c, old, out);
    case PW_AST_HIDXB: return make_blocks(c, old, out);
    case PW_AST_IDXB: return make_blocks(c, close_row(m, old), out);
    case PW_AST_IDX:
    case PW_AST_HIDX: return make_indexed(c, close_row(m, old), out);
    case PW_AST_STRUCT: return make_struct(m, c, out);
    case PW_AST_SUB: return make_subarray(c, close_row(m, old), out);
    case PW_AST_DARRAY: return make_darray(c, close_row(m, old), out);
    case PW_AST_RESIZED:
        MPI_Type_create_resized(close_row(m, old).type, (MPI_Aint)c->lb, (MPI_Aint)c->extent, &out->type);
        return true;
    default: MPI_Type_dup(close_row(m, old).type, &out->type); return true;
    }
}

/* There is room for two: what is made, and the row that it is made of. */
static bool make_room(maker *m)
{
    int64_t cap = m->cap ? 2 * m->cap : 16;
    made *grown;

    if (m->n + 2 <= m->cap)
        return true;
    grown = realloc(m->all, (size_t)cap * sizeof *grown);
    if (!grown)
        return false;
    m->all = grown;
    m->cap = cap;
    return true;
}

static int64_t listen(void *arg, const pw_ddt_call *call)
{
    maker *m = arg;
    made out = {MPI_DATATYPE_NULL, 1, true, false}, none = {MPI_DATATYPE_NULL, 1, false, false};

    if (!make_room(m) || !make(m, call, call->old && call->kind != PW_AST_STRUCT ? m->all[*call->old] : none, &out))
        return -1;
    m->all[m->n] = out;
    return m->n++;
}

bool pw_measure_mpi_type(const pw_ddt_unit *unit, int64_t i, int64_t variant, MPI_Datatype *out)
{
    maker m = {.n = 0};
    int64_t last;
    pw_diag diag;
    bool ok = pw_ddt_tell(unit, i, variant, listen, &m, &last, &diag) == PW_OK;

    if (ok) {
        made *whole = &m.all[last];

        if (whole->own)
            *out = whole->type;
        else
            MPI_Type_contiguous((int)whole->count, whole->type, out);
        whole->own = false;
        MPI_Type_commit(out);
    }
    for (int64_t k = 0; k < m.n; k++)
        if (m.all[k].own)
            MPI_Type_free(&m.all[k].type);
    free(m.all);
    return ok;
}
