/*
 * MPI types, decoded from envelopes and contents that the input makes up. This file is the MPI: it defines the PMPI_
 * functions that the decoder calls.
 *
 * A type is five bytes (combiner, how many ints, addresses, large counts and types), three numbers (lower bound,
 * extent, size) and the contents: numbers, and a byte for each type, which was made before. The last type is decoded.
 */
#include "frontend/mpi/decode.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { INTS, ADDRS, COUNTS, NUMBERS };
enum { MOST_TYPES = 24, MOST_ITEMS = 64 };

typedef struct fake_type {
    MPI_Datatype handle;
    int combiner;
    int64_t size, lb, extent;
    int64_t count[NUMBERS], number[NUMBERS][MOST_ITEMS];
    int ntypes, types[MOST_ITEMS]; /* by their place in the list */
    int held;                      /* references that the decoder has to give back */
} fake_type;

static fake_type list[MOST_TYPES];
static int listed, predefined;

/* ---- from bytes to types ---------------------------------------------------------------------------------------- */

typedef struct reader {
    const uint8_t *at, *end;
} reader;

static uint8_t next_byte(reader *r)
{
    return r->at < r->end ? *r->at++ : 0;
}

/* Mostly a small number in one byte, else a byte that says how many bytes follow. */
static int64_t next_number(reader *r)
{
    int first = next_byte(r);
    uint64_t value = 0;
    int bytes = first - 247; /* 1 to 8 */

    if (bytes < 1)
        return first < 200 ? first : 199 - first;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)next_byte(r) << 8 * i;
    return (int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

static const int combiners[] = {
    MPI_COMBINER_DUP,
    MPI_COMBINER_CONTIGUOUS,
    MPI_COMBINER_VECTOR,
    MPI_COMBINER_HVECTOR,
    MPI_COMBINER_INDEXED,
    MPI_COMBINER_HINDEXED,
    MPI_COMBINER_INDEXED_BLOCK,
    MPI_COMBINER_HINDEXED_BLOCK,
    MPI_COMBINER_STRUCT,
    MPI_COMBINER_SUBARRAY,
    MPI_COMBINER_DARRAY,
    MPI_COMBINER_RESIZED,
    MPI_COMBINER_F90_REAL,
    MPI_COMBINER_NAMED,
#ifdef PW_HAVE_MPI_COMBINER_HVECTOR_INTEGER
    MPI_COMBINER_HVECTOR_INTEGER,
#endif
#ifdef PW_HAVE_MPI_COMBINER_HINDEXED_INTEGER
    MPI_COMBINER_HINDEXED_INTEGER,
#endif
#ifdef PW_HAVE_MPI_COMBINER_STRUCT_INTEGER
    MPI_COMBINER_STRUCT_INTEGER,
#endif
#ifdef PW_HAVE_MPI_COMBINER_VALUE_INDEX
    MPI_COMBINER_VALUE_INDEX,
#endif
    12345,
};

static fake_type *add_type(MPI_Datatype handle, int combiner, int64_t size, int64_t extent)
{
    fake_type *t = &list[listed++];

    memset(t, 0, sizeof *t);
    t->handle = handle;
    t->combiner = combiner;
    t->size = size;
    t->extent = extent;
    return t;
}

/* A handle that no MPI has: a number. */
static MPI_Datatype numbered(int i)
{
    return (MPI_Datatype)(intptr_t)(0x1000 + 16 * i);
}

/* One that was a named type's never becomes another's, since the decoder remembers named types. */
static MPI_Datatype new_handle(void)
{
    static int made = MOST_TYPES;

    return numbered(made++);
}

static void add_predefined(void)
{
    static const int sizes[] = {1, 2, 4, 8, 16, 0};

    listed = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        add_type(numbered((int)i), MPI_COMBINER_NAMED, sizes[i], sizes[i]);
#ifndef OPEN_MPI /* there handles are addresses of the library's data */
    add_type(MPI_FLOAT_INT, MPI_COMBINER_NAMED, 8, 8);
    add_type(MPI_DOUBLE_INT, MPI_COMBINER_NAMED, 12, 16);
    add_type(MPI_SHORT_INT, MPI_COMBINER_NAMED, 6, 8);
    add_type(MPI_LONG_DOUBLE_INT, MPI_COMBINER_NAMED, 20, 32);
#endif
    add_type(MPI_DATATYPE_NULL, MPI_COMBINER_NAMED, 0, 0);
    predefined = listed;
}

static void read_type(reader *r)
{
    int combiner = combiners[next_byte(r) % (sizeof combiners / sizeof *combiners)], made = listed;
    fake_type *t = add_type(new_handle(), combiner, 0, 0);

    for (int kind = 0; kind < NUMBERS; kind++)
        t->count[kind] = next_byte(r) % MOST_ITEMS;
    t->ntypes = next_byte(r) % MOST_ITEMS;
    t->lb = next_number(r);
    t->extent = next_number(r);
    t->size = next_number(r);
    for (int kind = 0; kind < NUMBERS; kind++)
        for (int i = 0; i < t->count[kind]; i++)
            t->number[kind][i] = next_number(r);
    for (int i = 0; i < t->ntypes; i++)
        t->types[i] = next_byte(r) % made;
    if (MPI_VERSION < 4)
        t->count[COUNTS] = 0;
}

/* ---- the MPI ---------------------------------------------------------------------------------------------------- */

static fake_type *find(MPI_Datatype handle)
{
    for (int i = 0; i < listed; i++)
        if (list[i].handle == handle)
            return &list[i];
    fuzz_fail("MPI", "was asked about a handle that it has not given");
}

static bool is_derived(const fake_type *t)
{
    return t - list >= predefined && t->combiner != MPI_COMBINER_NAMED && t->combiner != MPI_COMBINER_F90_REAL;
}

static void give_types(const fake_type *t, MPI_Datatype *out)
{
    for (int i = 0; i < t->ntypes; i++) {
        fake_type *old = &list[t->types[i]];

        out[i] = old->handle;
        old->held += is_derived(old);
    }
}

static void demand_exact(bool exact)
{
    if (!exact)
        fuzz_fail("MPI_Type_get_contents", "with other array sizes than the envelope's");
}

#if MPI_VERSION >= 4

int PMPI_Type_get_envelope_c(MPI_Datatype type, MPI_Count *nints, MPI_Count *naddrs, MPI_Count *ncounts,
                             MPI_Count *ntypes, int *combiner)
{
    const fake_type *t = find(type);

    *nints = t->count[INTS];
    *naddrs = t->count[ADDRS];
    *ncounts = t->count[COUNTS];
    *ntypes = t->ntypes;
    *combiner = t->combiner;
    return MPI_SUCCESS;
}

int PMPI_Type_get_contents_c(MPI_Datatype type, MPI_Count nints, MPI_Count naddrs, MPI_Count ncounts, MPI_Count ntypes,
                             int ints[], MPI_Aint addrs[], MPI_Count counts[], MPI_Datatype types[])
{
    const fake_type *t = find(type);

    demand_exact(nints == t->count[INTS] && naddrs == t->count[ADDRS] && ncounts == t->count[COUNTS] &&
                 ntypes == t->ntypes);
    for (int64_t i = 0; i < nints; i++)
        ints[i] = (int)t->number[INTS][i];
    for (int64_t i = 0; i < naddrs; i++)
        addrs[i] = (MPI_Aint)t->number[ADDRS][i];
    for (int64_t i = 0; i < ncounts; i++)
        counts[i] = t->number[COUNTS][i];
    give_types(t, types);
    return MPI_SUCCESS;
}

#else

int PMPI_Type_get_envelope(MPI_Datatype type, int *nints, int *naddrs, int *ntypes, int *combiner)
{
    const fake_type *t = find(type);

    *nints = (int)t->count[INTS];
    *naddrs = (int)t->count[ADDRS];
    *ntypes = t->ntypes;
    *combiner = t->combiner;
    return MPI_SUCCESS;
}

int PMPI_Type_get_contents(MPI_Datatype type, int nints, int naddrs, int ntypes, int ints[], MPI_Aint addrs[],
                           MPI_Datatype types[])
{
    const fake_type *t = find(type);

    demand_exact(nints == t->count[INTS] && naddrs == t->count[ADDRS] && ntypes == t->ntypes);
    for (int i = 0; i < nints; i++)
        ints[i] = (int)t->number[INTS][i];
    for (int i = 0; i < naddrs; i++)
        addrs[i] = (MPI_Aint)t->number[ADDRS][i];
    give_types(t, types);
    return MPI_SUCCESS;
}

#endif

int PMPI_Type_get_extent_x(MPI_Datatype type, MPI_Count *lb, MPI_Count *extent)
{
    const fake_type *t = find(type);

    *lb = t->lb;
    *extent = t->extent;
    return MPI_SUCCESS;
}

int PMPI_Type_size_x(MPI_Datatype type, MPI_Count *size)
{
    *size = find(type)->size;
    return MPI_SUCCESS;
}

int PMPI_Type_free(MPI_Datatype *type)
{
    fake_type *t = find(*type);

    if (!is_derived(t) || t->held-- == 0)
        fuzz_fail("MPI_Type_free", "of a handle that the decoder does not own");
    *type = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

/* ---- what must hold --------------------------------------------------------------------------------------------- */

static pw_status decode(fake_type *root, pw_arena *arena, pw_type *out, pw_diag *diag)
{
    pw_status status = pw_mpi_decode(root->handle, arena, out, diag);

    if (status != PW_OK && !*diag->text)
        fuzz_fail("refused", "without a reason");
    for (int i = 0; i < listed; i++)
        if (list[i].held != 0)
            fuzz_fail("decoder", "keeps a handle");
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    reader r = {data, data + size};
    pw_arena *arena = pw_arena_create();
    pw_diag diag = {0};
    fake_type *root;
    pw_type type;
    long long bytes;
    pw_status status;

    add_predefined();
    do
        read_type(&r);
    while (r.at < r.end && listed < MOST_TYPES);
    root = &list[listed - 1];
    status = decode(root, arena, &type, &diag);
    /* Few inputs know the size of what they describe. */
    if (status == PW_ERR_UNSUPPORTED && sscanf(diag.text, "decoded to %lld bytes", &bytes) == 1) {
        root->size = bytes;
        diag = (pw_diag){0};
        status = decode(root, arena, &type, &diag);
    }
    if (status == PW_OK)
        fuzz_check_type(&type, arena);
    pw_arena_destroy(arena);
    return 0;
}
