#include "frontend/mpi/decode.h"

#include "frontend/mpi/combiners.h"
#include "frontend/mpi/decode_internal.h"

enum { MAX_TREE_DEPTH = 256 }; /* the verifier's */

static pw_status decode_type(pw_decode *d, MPI_Datatype type, pw_dt *out);

/* An earlier member of the same struct with the same handle; -1 when there is none nearby. All handles of one
 * contents are held, so equal handles are equal types. */
static int64_t same_before(const pw_contents *c, int64_t i)
{
    enum { LOOK_BACK = 8 };
    for (int64_t j = i - 1; j >= 0 && j >= i - LOOK_BACK; j--)
        if (c->types[j] == c->types[i])
            return j;
    return -1;
}

static pw_status decode_olds(pw_decode *d, const pw_contents *c, pw_dt *olds)
{
    for (int64_t i = 0; i < c->envelope.ntypes; i++) {
        int64_t same = same_before(c, i);
        if (same >= 0) {
            olds[i] = olds[same];
            continue;
        }
        pw_status status = decode_type(d, c->types[i], &olds[i]);
        if (status != PW_OK)
            return status;
    }
    return PW_OK;
}

static pw_status apply(pw_decode *d, pw_contents *c, const pw_dt *olds, pw_dt *out)
{
    const char *name = pw_combiner_name(c->envelope.combiner);
    pw_status status = pw_combiner_apply(&d->builder, c, olds, out);
    if (status != PW_OK || !name)
        return pw_diag_set(d->diag, PW_ERR_UNSUPPORTED, "combiner %d is not known to this build", c->envelope.combiner);
    if (c->short_of)
        return pw_diag_set(d->diag, PW_ERR_UNSUPPORTED, "the contents of a %s are not as the standard says", name);
    if (d->builder.status != PW_OK)
        return pw_diag_set(d->diag, d->builder.status, "%s: %s", name, pw_status_text(d->builder.status));
    return PW_OK;
}

/* `arena` is for the old types, which are not needed any more afterwards. */
static pw_status decode_contents(pw_decode *d, MPI_Datatype type, pw_contents *c, pw_arena *arena, pw_dt *out)
{
    pw_dt *olds = pw_arena_array(arena, (size_t)c->envelope.ntypes, sizeof *olds);
    if (!olds)
        return pw_diag_set(d->diag, PW_ERR_NOMEM, "no memory for the members of a struct");
    d->depth++;
    pw_status status = decode_olds(d, c, olds);
    d->depth--;
    if (status == PW_OK)
        status = apply(d, c, olds, out);
    /* MPI decides bounds: it pads structs as its compiler does, and treats markers in its own way. */
    return status == PW_OK ? pw_decode_bounds(d, type, out) : status;
}

static pw_status decode_derived(pw_decode *d, MPI_Datatype type, const pw_envelope *e, pw_dt *out)
{
    if (d->depth >= PW_DECODE_MAX_DEPTH)
        return pw_diag_set(d->diag, PW_ERR_UNSUPPORTED, "a %s nested more than %d deep", pw_combiner_name(e->combiner),
                           PW_DECODE_MAX_DEPTH);
    if (!d->levels && !(d->levels = pw_arena_create()))
        return pw_diag_set(d->diag, PW_ERR_NOMEM, "no memory for the contents of a datatype");
    pw_arena_mark before = pw_arena_here(d->levels);
    pw_contents *c = pw_arena_take(d->levels, sizeof *c);
    if (!c)
        return pw_diag_set(d->diag, PW_ERR_NOMEM, "no memory for the contents of a datatype");
    pw_status status = pw_contents_read(type, e, c, d->diag);
    if (status != PW_OK)
        return status;
    status = decode_contents(d, type, c, d->levels, out);
    pw_contents_release(c);
    pw_arena_rewind(d->levels, before);
    return status;
}

static pw_status decode_type(pw_decode *d, MPI_Datatype type, pw_dt *out)
{
    pw_envelope e;
    if (type == MPI_DATATYPE_NULL)
        return pw_diag_set(d->diag, PW_ERR_INVALID, "MPI_DATATYPE_NULL");
    if (++d->visited > PW_DECODE_MAX_TYPES)
        return pw_diag_set(d->diag, PW_ERR_UNSUPPORTED, "a type made of more than %d constructors",
                           PW_DECODE_MAX_TYPES);
    pw_status status = pw_envelope_read(type, &e, d->diag);
    if (status != PW_OK)
        return status;
    return pw_envelope_is_basic(&e) ? pw_decode_named(d, type, out) : decode_derived(d, type, &e, out);
}

/* The last line of defence: what MPI would send and what we would must be as long. */
static pw_status check_size(pw_decode *d, MPI_Datatype type, const pw_node *root)
{
    MPI_Count size = 0;
    int rc = PMPI_Type_size_x(type, &size);
    if (rc != MPI_SUCCESS)
        return pw_diag_set(d->diag, PW_ERR_MPI, "MPI_Type_size_x failed with error %d", rc);
    if (size != root->size)
        return pw_diag_set(d->diag, PW_ERR_UNSUPPORTED, "decoded to %lld bytes where MPI says %lld",
                           (long long)root->size, (long long)size);
    if (root->depth > MAX_TREE_DEPTH)
        return pw_diag_set(d->diag, PW_ERR_UNSUPPORTED, "a layout of %d levels", root->depth);
    return PW_OK;
}

pw_status pw_mpi_decode(MPI_Datatype type, pw_arena *arena, pw_type *out, pw_diag *diag)
{
    unsigned element_sizes;

    return pw_mpi_decode_elements(type, NULL, arena, out, &element_sizes, diag);
}

pw_status pw_mpi_decode_elements(MPI_Datatype type, pw_contents *contents, pw_arena *arena, pw_type *out,
                                 unsigned *element_sizes, pw_diag *diag)
{
    pw_decode d = {.builder = {.arena = arena, .status = PW_OK}, .diag = diag};
    pw_dt dt = {0};
    pw_status status = contents ? decode_contents(&d, type, contents, arena, &dt) : decode_type(&d, type, &dt);
    pw_arena_destroy(d.levels);
    if (status == PW_OK)
        status = check_size(&d, type, dt.node);
    if (status == PW_OK)
        *out = pw_dt_finish(dt);
    *element_sizes = d.element_sizes;
    return status;
}
