#include "tests/support/random_mpi_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *pw_random_combiner_name(pw_random_combiner c)
{
    static const char *const names[] = {
#define X(symbol, name) name,
        PW_RANDOM_COMBINERS(X)
#undef X
    };
    return names[c];
}

void pw_make_check(int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int len = 0;
    if (rc == MPI_SUCCESS)
        return;
    MPI_Error_string(rc, text, &len);
    fprintf(stderr, "MPI refuses a %s: %s\n", what, text);
    exit(2);
}

void pw_make_text(char **text, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    size_t have = *text ? strlen(*text) : 0;
    size_t more = (size_t)vsnprintf(NULL, 0, fmt, ap);
    *text = realloc(*text, have + more + 1);
    vsnprintf(*text + have, more + 1, fmt, again);
    va_end(again);
    va_end(ap);
}

void pw_make_text_list(char **text, int64_t n, const int64_t *v)
{
    for (int64_t i = 0; i < pw_make_shown(n); i++)
        pw_make_text(text, "%s%lld", i > 0 ? " " : "", (long long)v[i]);
    pw_make_elision(text, n);
}

int64_t pw_make_shown(int64_t n)
{
    enum { SHORT = 4000, SHOWN = 10 };
    return n <= SHORT ? n : SHOWN;
}

void pw_make_elision(char **text, int64_t n)
{
    if (pw_make_shown(n) < n)
        pw_make_text(text, " and so on, %lld in all", (long long)n);
}

int64_t pw_make_count(pw_maker *m)
{
    if (pw_rng_one_in(m->rng, 100))
        return pw_rng_range(m->rng, 60, 2000);
    switch (pw_rng_range(m->rng, 0, 15)) {
    case 0: return 0;
    case 1:
    case 2:
    case 3: return 1;
    case 4: return pw_rng_range(m->rng, 5, 60);
    default: return pw_rng_range(m->rng, 2, 7);
    }
}

bool pw_make_fits(const pw_maker *m, const pw_random_mpi *old, int64_t copies)
{
    /* Elements that touch may become one entry. */
    bool dense = old->map.n == 1 && old->map.size == old->extent;
    int64_t entries = dense ? copies / 8 : copies * (old->map.n > 0 ? old->map.n : 1);
    return entries <= m->max_entries && copies * old->map.size <= m->limits->max_span;
}

void pw_make_block(pw_random_mpi *out, const pw_random_mpi *old, int64_t disp, int64_t blocklen)
{
    for (int64_t j = 0; j < blocklen; j++)
        pw_naive_append(&out->map, &old->map, disp + j * old->extent);
}

void pw_random_mpi_free(pw_random_mpi *t)
{
    if (t->derived)
        MPI_Type_free(&t->type);
    pw_naive_free(&t->map);
    free(t->text);
    *t = (pw_random_mpi){.type = MPI_DATATYPE_NULL};
}

static int64_t magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

/* Asks MPI for the bounds of the new type; false when they or the bytes are too far out. */
static bool take_bounds(const pw_maker *m, pw_random_mpi *t)
{
    MPI_Count lb, extent;
    MPI_Type_get_extent_x(t->type, &lb, &extent);
    t->lb = lb;
    t->extent = extent;
    t->backwards |= extent < 0;
    t->creeping |= extent == -1;
    int64_t limit = m->limits->max_span;
    return magnitude(t->lb) <= limit && magnitude(t->extent) <= limit && t->map.hi - t->map.lo <= limit &&
           magnitude(t->map.lo) <= limit;
}

typedef struct maker_row {
    pw_random_combiner id;
    pw_make_fn *make;
} maker_row;

static const maker_row makers[] = {
    {PW_RANDOM_DUP, pw_make_dup},
    {PW_RANDOM_CONTIGUOUS, pw_make_contiguous},
    {PW_RANDOM_CONTIGUOUS, pw_make_contiguous},
    {PW_RANDOM_VECTOR, pw_make_vector},
    {PW_RANDOM_VECTOR, pw_make_vector},
    {PW_RANDOM_HVECTOR, pw_make_hvector},
    {PW_RANDOM_HVECTOR, pw_make_hvector},
    {PW_RANDOM_INDEXED, pw_make_indexed},
    {PW_RANDOM_HINDEXED, pw_make_hindexed},
    {PW_RANDOM_INDEXED_BLOCK, pw_make_indexed_block},
    {PW_RANDOM_HINDEXED_BLOCK, pw_make_hindexed_block},
    {PW_RANDOM_SUBARRAY, pw_make_subarray},
    {PW_RANDOM_DARRAY, pw_make_darray},
    {PW_RANDOM_RESIZED, pw_make_resized},
    {PW_RANDOM_RESIZED, pw_make_resized},
};

static const maker_row list_makers[] = {
    {PW_RANDOM_INDEXED, pw_make_indexed},
    {PW_RANDOM_HINDEXED, pw_make_hindexed},
    {PW_RANDOM_INDEXED_BLOCK, pw_make_indexed_block},
    {PW_RANDOM_HINDEXED_BLOCK, pw_make_hindexed_block},
};

static const maker_row *pick_maker(const pw_maker *m)
{
    if (m->members)
        return &list_makers[pw_rng_range(m->rng, 0, (int64_t)(sizeof list_makers / sizeof *list_makers) - 1)];
    return &makers[pw_rng_range(m->rng, 0, (int64_t)(sizeof makers / sizeof *makers) - 1)];
}

/* One constructor over `old`, with arguments picked anew until the type is small enough. */
static bool construct(pw_maker *m, const pw_random_mpi *old, pw_random_mpi *out)
{
    enum { TRIES = 8 };
    for (int i = 0; i < TRIES; i++) {
        const maker_row *row = pick_maker(m);
        *out = (pw_random_mpi){.type = MPI_DATATYPE_NULL};
        m->large = MPI_VERSION >= 4 && pw_rng_one_in(m->rng, 5);
        bool made = row->make(m, old, out);
        out->derived = out->type != MPI_DATATYPE_NULL;
        out->used = old->used | 1u << row->id;
        out->large = old->large || m->large;
        out->hollow = old->hollow || out->map.size == 0;
        out->backwards = old->backwards;
        out->creeping |= old->creeping;
        if (made && take_bounds(m, out))
            return true;
        pw_random_mpi_free(out);
    }
    return false;
}

static void generate(pw_maker *m, int depth, pw_random_mpi *out);

/* Calls the constructor of structs for n members, which are `kinds` types by turns. */
static bool make_struct_of(pw_maker *m, int n, const pw_random_mpi *olds, int kinds, pw_random_mpi *out)
{
    const pw_random_mpi **members = malloc(((size_t)n + 1) * sizeof *members);
    for (int i = 0; i < n; i++)
        members[i] = &olds[n == kinds ? i : pw_rng_range(m->rng, 0, kinds - 1)];
    m->large = MPI_VERSION >= 4 && pw_rng_one_in(m->rng, 5);
    bool made = pw_make_struct(m, n, members, out);
    free(members);
    return made;
}

static bool construct_struct(pw_maker *m, int depth, pw_random_mpi *out)
{
    pw_random_mpi olds[PW_MAKER_MAX_MEMBERS];
    int n = pw_rng_one_in(m->rng, 12) && !m->members ? 0 : (int)pw_rng_range(m->rng, 1, PW_MAKER_MAX_MEMBERS);
    pw_maker inner = *m;
    inner.max_entries = m->members ? m->max_entries / m->members : m->max_entries / 8;
    inner.members = 0;
    *out = (pw_random_mpi){.type = MPI_DATATYPE_NULL};
    for (int i = 0; i < n; i++) {
        generate(&inner, (int)pw_rng_range(m->rng, 0, depth - 1), &olds[i]);
        out->used |= olds[i].used;
        out->large |= olds[i].large;
        out->hollow |= olds[i].hollow;
        out->backwards |= olds[i].backwards;
        out->creeping |= olds[i].creeping;
    }
    bool made = make_struct_of(m, m->members ? (int)m->members : n, olds, n, out);
    out->derived = out->type != MPI_DATATYPE_NULL;
    out->used |= 1u << PW_RANDOM_STRUCT;
    out->large |= m->large;
    out->hollow |= out->map.size == 0;
    made = made && take_bounds(m, out);
    for (int i = 0; i < n; i++)
        pw_random_mpi_free(&olds[i]);
    if (!made)
        pw_random_mpi_free(out);
    return made;
}

static void generate(pw_maker *m, int depth, pw_random_mpi *out)
{
    int below = depth > 0 && m->max_entries >= 8 && pw_rng_one_in(m->rng, 4) ? (int)pw_rng_range(m->rng, 1, depth) : 0;
    if (below == 0 || !construct_struct(m, below, out)) {
        pw_make_basic(m->rng, out);
        below = 0;
    }
    for (int i = below; i < depth; i++) {
        pw_random_mpi next;
        if (!construct(m, out, &next))
            return;
        pw_random_mpi_free(out);
        *out = next;
    }
}

void pw_random_mpi_create(pw_rng *rng, const pw_random_mpi_limits *limits, pw_random_mpi *out)
{
    pw_maker m = {.rng = rng, .limits = limits, .max_entries = limits->max_entries};
    generate(&m, (int)pw_rng_range(rng, 1, limits->depth), out);
    pw_make_check(MPI_Type_commit(&out->type), "commit");
}

static bool construct_list(pw_maker *m, pw_random_mpi *out)
{
    pw_random_mpi old;
    pw_maker inner = *m;
    inner.max_entries = m->max_entries / m->members;
    inner.members = 0;
    generate(&inner, (int)pw_rng_range(m->rng, 0, 1), &old);
    bool made = construct(m, &old, out);
    pw_random_mpi_free(&old);
    return made;
}

void pw_random_mpi_create_long(pw_rng *rng, const pw_random_mpi_limits *limits, int64_t blocks, pw_random_mpi *out)
{
    pw_maker m = {.rng = rng, .limits = limits, .max_entries = limits->max_entries, .members = blocks};
    while (!(pw_rng_one_in(rng, 2) ? construct_struct(&m, 2, out) : construct_list(&m, out)))
        ;
    pw_make_check(MPI_Type_commit(&out->type), "commit");
}
