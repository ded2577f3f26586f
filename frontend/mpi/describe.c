#include "frontend/mpi/describe.h"

#include "frontend/mpi/contents.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 6 }; /* entries of a list that are written */

typedef struct text {
    char *at;
    size_t size, n; /* n >= size: it does not fit */
} text;

static __attribute__((format(printf, 2, 3))) void put(text *t, const char *format, ...)
{
    va_list args;
    int n;

    if (t->n >= t->size)
        return;
    va_start(args, format);
    n = vsnprintf(t->at + t->n, t->size - t->n, format, args);
    va_end(args);
    t->n += n > 0 ? (size_t)n : 0;
}

static bool is_full(const text *t)
{
    return t->n >= t->size;
}

static void put_rest(text *t, int64_t n)
{
    if (n > SHOWN)
        put(t, " ... %lld more", (long long)(n - SHOWN));
}

static void put_numbers(text *t, const int64_t *numbers, int64_t n)
{
    for (int64_t i = 0; i < n && i < SHOWN; i++)
        put(t, "%s%lld", i ? " " : "", (long long)numbers[i]);
    put_rest(t, n);
}

/* ---- predefined types -------------------------------------------------------------------------------------------- */

/* Names without MPI_ that C has in small letters. */
static const char *const of_c[] = {"BYTE",    "CHAR",     "SHORT",    "INT",     "LONG",    "FLOAT",
                                   "DOUBLE",  "UNSIGNED", "INT8_T",   "INT16_T", "INT32_T", "INT64_T",
                                   "UINT8_T", "UINT16_T", "UINT32_T", "UINT64_T"};

static bool is_of_c(const char *name)
{
    for (size_t i = 0; i < sizeof of_c / sizeof *of_c; i++)
        if (!strcmp(name, of_c[i]))
            return true;
    return false;
}

static void put_basic(text *t, MPI_Datatype type)
{
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    MPI_Count size = 0;
    int n = 0;

    if (PMPI_Type_get_name(type, name, &n) != MPI_SUCCESS || !*name) {
        PMPI_Type_size_x(type, &size);
        put(t, "ctg(%lld)[byte]", (long long)size);
        return;
    }
    if (strncmp(name, "MPI_", 4) || !is_of_c(name + 4)) {
        put(t, "%s", name);
        return;
    }
    for (const char *c = name + 4; *c; c++)
        put(t, "%c", tolower((unsigned char)*c));
}

/* ---- constructors ------------------------------------------------------------------------------------------------ */

static void put_type(text *t, MPI_Datatype type);

static void put_order(text *t, const int64_t *order)
{
    if (order && *order == MPI_ORDER_FORTRAN)
        put(t, " | fortran");
}

static void put_old(text *t, const pw_contents *c)
{
    put(t, "[");
    if (c->envelope.ntypes > 0)
        put_type(t, c->types[0]);
    put(t, "]");
}

/* Writes pairs of a displacement and a length. */
static void put_blocks(text *t, const int64_t *lens, const int64_t *displs, int64_t n)
{
    for (int64_t i = 0; i < n && i < SHOWN; i++)
        put(t, "%s%lld,%lld", i ? " " : "", (long long)displs[i], (long long)lens[i]);
    put_rest(t, n);
}

static void put_indexed(text *t, pw_contents *c, bool bytes)
{
    const int64_t *count = pw_contents_counts(c, 1);
    const int64_t *lens = count ? pw_contents_counts(c, *count) : NULL;
    const int64_t *displs = !lens ? NULL : bytes ? pw_contents_addrs(c, *count) : pw_contents_counts(c, *count);

    put(t, bytes ? "hidx(" : "idx(");
    if (displs)
        put_blocks(t, lens, displs, *count);
    put(t, ")");
    put_old(t, c);
}

static void put_indexed_block(text *t, pw_contents *c, bool bytes)
{
    const int64_t *args = pw_contents_counts(c, 2);
    const int64_t *displs = !args ? NULL : bytes ? pw_contents_addrs(c, args[0]) : pw_contents_counts(c, args[0]);

    put(t, bytes ? "hidxb(" : "idxb(");
    if (displs) {
        put(t, "%lld: ", (long long)args[1]);
        put_numbers(t, displs, args[0]);
    }
    put(t, ")");
    put_old(t, c);
}

static void put_struct(text *t, pw_contents *c)
{
    const int64_t *count = pw_contents_counts(c, 1);
    const int64_t *lens = count ? pw_contents_counts(c, *count) : NULL;
    const int64_t *displs = lens ? pw_contents_addrs(c, *count) : NULL;

    put(t, "struct(");
    for (int64_t i = 0; displs && i < *count && i < c->envelope.ntypes && i < SHOWN; i++) {
        put(t, "%s%lld: ", i ? ", " : "", (long long)displs[i]);
        if (lens[i] != 1)
            put(t, "%lld*", (long long)lens[i]);
        put_type(t, c->types[i]);
    }
    if (displs)
        put_rest(t, *count);
    put(t, ")");
}

static void put_subarray(text *t, pw_contents *c)
{
    const int64_t *dims = pw_contents_ints(c, 1);

    put(t, "sub(");
    for (int list = 0; dims && list < 3; list++) { /* sizes, subsizes, starts */
        const int64_t *numbers = pw_contents_counts(c, *dims);

        put(t, list ? " | " : "");
        if (numbers)
            put_numbers(t, numbers, *dims);
    }
    put_order(t, pw_contents_ints(c, 1));
    put(t, ")");
    put_old(t, c);
}

static void put_darray(text *t, pw_contents *c)
{
    const int64_t *head = pw_contents_ints(c, 3); /* size, rank, dimensions */
    const int64_t *sizes = head ? pw_contents_counts(c, head[2]) : NULL;
    const int64_t *distributions = sizes ? pw_contents_ints(c, head[2]) : NULL;
    const int64_t *args = distributions ? pw_contents_ints(c, head[2]) : NULL;
    const int64_t *grid = args ? pw_contents_ints(c, head[2]) : NULL;

    put(t, "darray(");
    if (grid) {
        put(t, "%lld %lld | ", (long long)head[0], (long long)head[1]);
        put_numbers(t, sizes, head[2]);
        put(t, " |");
        for (int64_t i = 0; i < head[2]; i++)
            put(t, distributions[i] == MPI_DISTRIBUTE_BLOCK    ? " block"
                   : distributions[i] == MPI_DISTRIBUTE_CYCLIC ? " cyclic"
                                                               : " none");
        put(t, " |");
        for (int64_t i = 0; i < head[2]; i++)
            put(t, args[i] == MPI_DISTRIBUTE_DFLT_DARG ? " *" : " %lld", (long long)args[i]);
        put(t, " | ");
        put_numbers(t, grid, head[2]);
        put_order(t, pw_contents_ints(c, 1));
    }
    put(t, ")");
    put_old(t, c);
}

/* Writes a constructor with `counts` counts and then `addrs` addresses. */
static void put_plain(text *t, pw_contents *c, const char *name, int counts, int addrs)
{
    const int64_t *count = counts ? pw_contents_counts(c, counts) : NULL;
    const int64_t *addr = addrs ? pw_contents_addrs(c, addrs) : NULL;

    put(t, "%s(", name);
    if (count)
        put_numbers(t, count, counts);
    put(t, count && addr ? " " : "");
    if (addr)
        put_numbers(t, addr, addrs);
    put(t, ")");
    put_old(t, c);
}

static void put_contents(text *t, pw_contents *c)
{
    switch (c->envelope.combiner) {
    case MPI_COMBINER_DUP:
        put(t, "dup");
        put_old(t, c);
        return;
    case MPI_COMBINER_CONTIGUOUS: put_plain(t, c, "ctg", 1, 0); return;
    case MPI_COMBINER_VECTOR: put_plain(t, c, "vec", 3, 0); return;
    case MPI_COMBINER_HVECTOR: put_plain(t, c, "hvec", 2, 1); return;
    case MPI_COMBINER_RESIZED: put_plain(t, c, "resized", 0, 2); return;
    case MPI_COMBINER_INDEXED: put_indexed(t, c, false); return;
    case MPI_COMBINER_HINDEXED: put_indexed(t, c, true); return;
    case MPI_COMBINER_INDEXED_BLOCK: put_indexed_block(t, c, false); return;
    case MPI_COMBINER_HINDEXED_BLOCK: put_indexed_block(t, c, true); return;
    case MPI_COMBINER_STRUCT: put_struct(t, c); return;
    case MPI_COMBINER_SUBARRAY: put_subarray(t, c); return;
    case MPI_COMBINER_DARRAY: put_darray(t, c); return;
    default: put(t, "%s", pw_combiner_name(c->envelope.combiner) ? pw_combiner_name(c->envelope.combiner) : "?");
    }
}

static void put_type(text *t, MPI_Datatype type)
{
    pw_envelope envelope;
    pw_contents contents;
    pw_diag diag = {0};

    if (is_full(t) || pw_envelope_read(type, &envelope, &diag) != PW_OK)
        return;
    if (pw_envelope_is_basic(&envelope)) {
        put_basic(t, type);
        return;
    }
    if (pw_contents_read(type, &envelope, &contents, &diag) != PW_OK)
        return;
    put_contents(t, &contents);
    pw_contents_release(&contents);
}

void pw_mpi_describe(MPI_Datatype type, char *out, size_t size)
{
    text t = {.at = out, .size = size};

    *out = '\0';
    put_type(&t, type);
    if (is_full(&t))
        memcpy(out + size - 4, "...", 4);
}
