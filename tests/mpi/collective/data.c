#include "tests/mpi/collective/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 128 };

static void copy_in_host(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static const data_kind host_kind = {.take = malloc, .give = free, .copy = copy_in_host};

const data_kind *data_other_kind;

/* ---- types ------------------------------------------------------------------------------------------------------- */

/* Returns whether the type has one right result: no bytes that an MPI may leave alone, and no objects whose bytes
 * overlap. */
static bool is_usable(const pw_random_mpi *t, int objects)
{
#ifdef OPEN_MPI
    /* Some collectives of Open MPI, such as gather, take every extent for at least 0. */
    if (t->backwards || t->creeping || t->hollow)
        return false;
#endif
    for (int64_t i = 0; i < t->map.n; i++)
        if (t->map.entries[i].padding)
            return false;
    return t->map.size * objects < 1 << 20 && !pw_naive_overlaps(&t->map, t->extent, objects);
}

void data_base_create(data_base *b, pw_rng *shared, int objects)
{
    static const pw_random_mpi_limits limits = {.depth = 3, .max_entries = 200, .max_span = 1 << 13};
    MPI_Datatype elements[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE};

    *b = (data_base){.random = pw_rng_one_in(shared, 2)};
    if (!b->random) {
        int which = (int)pw_rng_range(shared, 0, 3);

        b->element = elements[which];
        b->elements = (int)pw_rng_range(shared, 1, pw_rng_one_in(shared, 3) ? 40 : 6);
        snprintf(b->text, sizeof b->text, "%d elements of kind %d", b->elements, which);
        return;
    }
    pw_random_mpi_create(shared, &limits, &b->type);
    while (!is_usable(&b->type, objects)) {
        pw_random_mpi_free(&b->type);
        pw_random_mpi_create(shared, &limits, &b->type);
    }
    snprintf(b->text, sizeof b->text, "%s", b->type.text);
}

void data_base_free(data_base *b)
{
    if (b->random)
        pw_random_mpi_free(&b->type);
}

/* Makes a type of elements in any order, with gaps. */
static MPI_Datatype scattered(const data_base *b, pw_rng *own)
{
    int displs[64], stride = (int)pw_rng_range(own, 1, 4);
    MPI_Datatype t;

    for (int i = 0; i < b->elements; i++)
        displs[i] = i;
    for (int i = b->elements - 1; i > 0; i--) {
        int j = (int)pw_rng_range(own, 0, i), was = displs[i];

        displs[i] = displs[j];
        displs[j] = was;
    }
    for (int i = 0; i < b->elements; i++)
        displs[i] *= stride;
    MPI_Type_create_indexed_block(b->elements, 1, displs, b->element, &t);
    return t;
}

/* Makes a type whose lower bound is below the first byte, and whose next object is further away. */
static MPI_Datatype padded(const data_base *b)
{
    MPI_Datatype vector, t;
    MPI_Aint lb, extent;

    MPI_Type_vector(b->elements, 1, 2, b->element, &vector);
    MPI_Type_get_extent(vector, &lb, &extent);
    MPI_Type_create_resized(vector, -16, extent + 40, &t);
    MPI_Type_free(&vector);
    return t;
}

static MPI_Datatype of_elements(const data_base *b, pw_rng *own)
{
    MPI_Datatype t;
    int size;

    MPI_Type_size(b->element, &size);
    switch (pw_rng_range(own, 0, 5)) {
    case 0: MPI_Type_contiguous(b->elements, b->element, &t); break;
    case 1: MPI_Type_vector(b->elements, 1, (int)pw_rng_range(own, 2, 9), b->element, &t); break;
    case 2: MPI_Type_create_hvector(b->elements, 1, size + (MPI_Aint)pw_rng_range(own, 1, 50), b->element, &t); break;
    case 3: MPI_Type_create_hvector(b->elements, 1, -3 * (MPI_Aint)size, b->element, &t); break;
    case 4: t = scattered(b, own); break;
    default: t = padded(b); break;
    }
    return t;
}

MPI_Datatype data_type(const data_base *b, pw_rng *own)
{
    MPI_Datatype t;

    if (!b->random)
        t = of_elements(b, own);
    else if (pw_rng_one_in(own, 4)) /* the data of this rank is contiguous */
        MPI_Type_contiguous((int)b->type.map.size, MPI_BYTE, &t);
    else
        MPI_Type_contiguous(1, b->type.type, &t);
    if (pw_rng_one_in(own, 6) && !data_other_kind)
        PMPI_Type_commit(&t);
    else
        MPI_Type_commit(&t);
    return t;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Finds the span [lo, hi) of the bytes of `count` objects, counted from the first. */
static int64_t span(MPI_Datatype type, int count, int64_t *lo, int64_t *hi)
{
    MPI_Aint lb, extent, true_lb, true_extent;
    int64_t last;

    PMPI_Type_get_extent(type, &lb, &extent);
    PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
    last = (int64_t)(count - 1) * extent;
    *lo = count > 0 ? true_lb + (last < 0 ? last : 0) : 0;
    *hi = count > 0 ? true_lb + true_extent + (last > 0 ? last : 0) : 0;
    return extent;
}

static int64_t round_up(int64_t v, int64_t unit)
{
    int64_t rest = v % unit;

    return rest > 0 ? v + unit - rest : v - rest;
}

/* Places blocks in a random order, without overlap, at multiples of the unit of displacements. */
static void place_apart(call_side *s, call_form form, int blocks, pw_rng *own, int64_t *lo, int64_t *hi)
{
    int order[CALL_MOST_BLOCKS];
    int64_t end = -(int64_t)pw_rng_range(own, 0, 2000);

    for (int i = 0; i < blocks; i++)
        order[i] = i;
    for (int i = blocks - 1; i > 0 && !pw_rng_one_in(own, 3); i--) { /* unless shuffled, blocks form runs */
        int j = (int)pw_rng_range(own, 0, i), was = order[i];

        order[i] = order[j];
        order[j] = was;
    }
    *lo = end;
    for (int k = 0; k < blocks; k++) {
        int i = order[k];
        int64_t from, to, extent = span(form == FORM_TYPED ? s->types[i] : s->type, s->counts[i], &from, &to);
        int64_t unit = form == FORM_TYPED || extent == 0 ? 1 : extent < 0 ? -extent : extent;
        int64_t at = round_up(end - from, unit) + unit * pw_rng_range(own, 0, pw_rng_one_in(own, 2) ? 0 : 3);

        if (form == FORM_VARYING && extent == 0)
            at = 0; /* data_base_create has made sure that there is only one block then */
        s->wide_displs[i] = form == FORM_TYPED ? at : extent ? at / extent : 0;
        s->displs[i] = (int)s->wide_displs[i];
        *lo = at + from < *lo ? at + from : *lo;
        end = at + to > end ? at + to : end;
    }
    *hi = end;
}

/* Places all blocks around one place. */
static void place_together(call_side *s, call_form form, int blocks, pw_rng *own, int64_t *lo, int64_t *hi)
{
    *lo = *hi = 0;
    for (int i = 0; i < blocks; i++) {
        int64_t from, to, extent = span(form == FORM_TYPED ? s->types[i] : s->type, s->counts[i], &from, &to), at;

        s->displs[i] = (int)pw_rng_range(own, -2, 2) * (form == FORM_TYPED ? 8 : 1);
        s->wide_displs[i] = s->displs[i];
        at = s->displs[i] * (form == FORM_TYPED ? 1 : extent);
        *lo = at + from < *lo ? at + from : *lo;
        *hi = at + to > *hi ? at + to : *hi;
    }
}

static size_t with_guards(const data_side *d)
{
    return (size_t)d->bytes + 2 * GUARD;
}

void data_place(data_side *d, call_side *s, call_form form, bool only_read, int blocks, pw_rng *own)
{
    int64_t hi = 0;

    d->lo = 0;
    for (int i = 0; i < blocks; i++)
        s->wide_counts[i] = s->counts[i];
    if (form == FORM_ONE || form == FORM_EQUAL)
        span(s->type, form == FORM_ONE ? s->count : s->count * blocks, &d->lo, &hi);
    else if (only_read && pw_rng_one_in(own, 4))
        place_together(s, form, blocks, own, &d->lo, &hi);
    else
        place_apart(s, form, blocks, own, &d->lo, &hi);
    d->bytes = hi - d->lo;
    d->kind = data_other_kind && !pw_rng_one_in(own, 3) ? data_other_kind : &host_kind;
    d->memory[0] = d->kind->take(with_guards(d));
    d->memory[1] = malloc(with_guards(d));
    d->before = malloc(with_guards(d));
}

void data_free(data_side *d)
{
    if (d->kind)
        d->kind->give(d->memory[0]);
    free(d->memory[1]);
    free(d->before);
}

void data_fill(data_side *d, pw_rng *own)
{
    pw_rng_fill(own, d->memory[1], with_guards(d));
    memcpy(d->before, d->memory[1], with_guards(d));
    d->kind->copy(d->memory[0], d->memory[1], with_guards(d));
}

void *data_origin(const data_side *d, bool native)
{
    return d->memory[native] + GUARD - d->lo;
}

const char *data_difference(const data_side *d)
{
    static char text[160];
    unsigned char *ours = malloc(with_guards(d));
    size_t i = 0;

    d->kind->copy(ours, d->memory[0], with_guards(d));
    while (i < with_guards(d) && ours[i] == d->memory[1][i])
        i++;
    if (i < with_guards(d))
        snprintf(text, sizeof text, "byte %ld is %02x, natively %02x, was %02x%s", (long)i - GUARD + (long)d->lo,
                 ours[i], d->memory[1][i], d->before[i], d->kind == &host_kind ? "" : ", on the GPU");
    free(ours);
    return i < with_guards(d) ? text : NULL;
}
