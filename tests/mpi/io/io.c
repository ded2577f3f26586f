/*
 * MPI-IO with derived types in memory: every reading and writing call, on two files at once, one of them through PMPI_
 * alone. Both files, all memory, counts and errors must be the same. Run with each strategy; an argument is the number
 * of rounds. Files lie in $TMPDIR.
 */
#include "tests/mpi/io/files.h"
#include "tests/mpi/support/harness.h"

#include <unistd.h>

/* ---- the calls --------------------------------------------------------------------------------------------------- */

/* Where a call begins: at the file pointer, at an offset, at the pointer that the ranks share. */
typedef enum place { POINTER, OFFSET, SHARED } place;

typedef struct arguments {
    MPI_File fh;
    MPI_Offset offset;
    void *buf;
    int count;
    MPI_Datatype type;
    MPI_Status status;
} arguments;

typedef int call_fn(arguments *a);

#define BLOCKING(prefix, name, ...)                                                           \
    static int prefix##name(arguments *a)                                                     \
    {                                                                                         \
        return prefix##File_##name(a->fh, __VA_ARGS__ a->buf, a->count, a->type, &a->status); \
    }
#define NONBLOCKING(prefix, name, ...)                                                        \
    static int prefix##name(arguments *a)                                                     \
    {                                                                                         \
        MPI_Request request;                                                                  \
        int rc = prefix##File_##name(a->fh, __VA_ARGS__ a->buf, a->count, a->type, &request); \
                                                                                              \
        return rc == MPI_SUCCESS ? MPI_Wait(&request, &a->status) : rc;                       \
    }
#define BOTH(kind, name, ...) kind(MPI_, name, __VA_ARGS__) kind(PMPI_, name, __VA_ARGS__)
#define AT a->offset,
#define DIRECTION(read)                   \
    BOTH(BLOCKING, read, )                \
    BOTH(BLOCKING, read##_all, )          \
    BOTH(BLOCKING, read##_shared, )       \
    BOTH(BLOCKING, read##_ordered, )      \
    BOTH(BLOCKING, read##_at, AT)         \
    BOTH(BLOCKING, read##_at_all, AT)     \
    BOTH(NONBLOCKING, i##read, )          \
    BOTH(NONBLOCKING, i##read##_all, )    \
    BOTH(NONBLOCKING, i##read##_shared, ) \
    BOTH(NONBLOCKING, i##read##_at, AT)   \
    BOTH(NONBLOCKING, i##read##_at_all, AT)

DIRECTION(read)
DIRECTION(write)

typedef struct call {
    const char *name;
    call_fn *ours, *theirs, *ours_reading, *theirs_reading;
    place place;
    bool together;
} call;

#define ROW(before, after, place, together) \
    {#before "write" #after,                \
     MPI_##before##write##after,            \
     PMPI_##before##write##after,           \
     MPI_##before##read##after,             \
     PMPI_##before##read##after,            \
     place,                                 \
     together}

static const call calls[] = {
    ROW(, , POINTER, false),       ROW(, _all, POINTER, true),    ROW(, _shared, SHARED, false),
    ROW(, _ordered, SHARED, true), ROW(, _at, OFFSET, false),     ROW(, _at_all, OFFSET, true),
    ROW(i, , POINTER, false),      ROW(i, _all, POINTER, true),   ROW(i, _shared, SHARED, false),
    ROW(i, _at, OFFSET, false),    ROW(i, _at_all, OFFSET, true),
};

enum { CALLS = sizeof calls / sizeof *calls };

static int rank, nranks;

/* ---- one round --------------------------------------------------------------------------------------------------- */

typedef struct side {
    bool ours;
    char *path;
    MPI_File fh;
    test_buffer buffer;
} side;

typedef struct round {
    uint64_t seed;
    const call *call;
    MPI_Datatype type, etype, filetype;
    int count, bytes;
    MPI_Offset displacement;
    char text[256];
} round_t;

/* Chooses a view: bytes by default, or doubles, of which each rank sees its own pairs. */
static void choose_view(round_t *r, uint64_t *state, MPI_Datatype basic)
{
    int lens[1] = {2}, displs[1] = {2 * rank}, size;
    MPI_Datatype pairs;

    r->etype = r->filetype = MPI_BYTE;
    r->displacement = (MPI_Offset)(test_random(state) % 3) * 40;
    if (test_random(state) % 2) {
        MPI_Type_size(basic, &size);
        MPI_Type_indexed(1, lens, displs, basic, &pairs);
        MPI_Type_create_resized(pairs, 0, (MPI_Aint)size * 2 * nranks, &r->filetype);
        MPI_Type_commit(&r->filetype);
        MPI_Type_free(&pairs);
        r->etype = basic;
    }
    /* Ranks share no view with holes of their own when they use the shared pointer, which counts in etypes: MPI then
     * wants the same view on all ranks. */
    if (r->call->place == SHARED && r->filetype != MPI_BYTE) {
        MPI_Type_free(&r->filetype);
        r->filetype = r->etype;
    }
}

static void choose(round_t *r, uint64_t *state)
{
    MPI_Datatype basics[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE}, basic = basics[test_random(state) % 4];
    int n = 1 + (int)(test_random(state) % 60);

    r->call = &calls[test_random(state) % CALLS];
    r->count = 1 + (int)(test_random(state) % 5);
    switch (test_random(state) % 5) {
    case 0: MPI_Type_vector(n, 1, 3, basic, &r->type); break;
    case 1: MPI_Type_create_hvector(n, 2, 64, basic, &r->type); break;
    case 2: MPI_Type_vector(n, 40, 90, basic, &r->type); break;
    case 3: MPI_Type_contiguous(n, basic, &r->type); break;
    default: basic = MPI_BYTE, r->type = test_type((int)(test_random(state) % TEST_TYPES), n);
    }
    MPI_Type_commit(&r->type);
    r->bytes = test_packed_bytes(r->type, r->count);
    choose_view(r, state, basic);
}

static bool takes_turns(const round_t *r)
{
    return r->call->place == SHARED && !r->call->together;
}

/* Makes one call; ranks take turns where their order would be random. `fn` is Packwright's or the MPI's. */
static int carry_out(const round_t *r, side *s, call_fn *fn, MPI_Status *status)
{
    int etype_size, rc = MPI_SUCCESS;
    arguments a = {.fh = s->fh, .buf = s->buffer.origin, .count = r->count, .type = r->type};

    MPI_Type_size(r->etype, &etype_size);
    /* If all ranks see the same bytes, each begins behind the one before. */
    a.offset = (r->filetype == r->etype ? (MPI_Offset)rank * r->bytes : 0) / etype_size;
    if (r->call->place == POINTER)
        MPI_File_seek(s->fh, a.offset, MPI_SEEK_SET);
    if (r->call->place == SHARED)
        MPI_File_seek_shared(s->fh, 0, MPI_SEEK_SET);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int turn = 0; turn < nranks; turn++) {
        if (!takes_turns(r) || turn == rank)
            rc = fn(&a);
        if (!takes_turns(r))
            break;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    *status = a.status;
    MPI_Barrier(MPI_COMM_WORLD);
    return rc;
}

static void write_and_compare(round_t *r, side *sides)
{
    for (int i = 0; i < 2; i++) {
        MPI_Status status;
        int rc, n = -1;

        sides[i].buffer = test_buffer_create(r->type, r->count);
        test_buffer_fill(&sides[i].buffer, (unsigned)(r->seed + (uint64_t)rank));
        rc = carry_out(r, &sides[i], sides[i].ours ? r->call->ours : r->call->theirs, &status);
        CHECK(rc == MPI_SUCCESS, "%s: writing, %s", r->text, sides[i].ours ? "ours" : "native");
        MPI_Get_count(&status, MPI_BYTE, &n);
        CHECK(n == r->bytes, "%s: %d bytes written, %s", r->text, n, sides[i].ours ? "ours" : "native");
    }
    CHECK(test_buffer_equal(&sides[0].buffer, &sides[1].buffer), "%s: written memory has changed", r->text);
    MPI_File_sync(sides[0].fh);
    MPI_File_sync(sides[1].fh);
    MPI_Barrier(MPI_COMM_WORLD);
    test_files_compare(sides[0].path, sides[1].path, r->text);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void read_and_compare(round_t *r, side *sides)
{
    int n[2], elements[2];

    for (int i = 0; i < 2; i++) {
        MPI_Status status;
        int rc;

        test_buffer_fill(&sides[i].buffer, 9);
        rc = carry_out(r, &sides[i], sides[i].ours ? r->call->ours_reading : r->call->theirs_reading, &status);
        CHECK(rc == MPI_SUCCESS, "%s: reading, %s", r->text, sides[i].ours ? "ours" : "native");
        MPI_Get_count(&status, r->type, &n[i]);
        MPI_Get_elements(&status, r->type, &elements[i]);
    }
    CHECK(n[0] == n[1] && elements[0] == elements[1], "%s: read %d objects, %d elements, natively %d, %d", r->text,
          n[0], elements[0], n[1], elements[1]);
    CHECK(test_buffer_equal(&sides[0].buffer, &sides[1].buffer), "%s: memory read into", r->text);
    for (int i = 0; i < 2; i++)
        test_buffer_free(&sides[i].buffer);
}

static void run_round(uint64_t seed, side *sides)
{
    round_t r = {.seed = seed};
    uint64_t state = seed * 0x9e3779b97f4a7c15u;

    for (int i = 0; i < 8; i++)
        test_random(&state);
    choose(&r, &state);
    /* Ranks of a collective call may differ: not all need Packwright, or decide alike. */
    sides[0].ours = !r.call->together || seed % 3 || rank == 0;
    snprintf(r.text, sizeof r.text, "seed %llu, %s, %d bytes at %lld, view %s", (unsigned long long)seed, r.call->name,
             r.bytes, (long long)r.displacement, r.filetype == r.etype ? "plain" : "with holes");
    for (int i = 0; i < 2; i++) {
        MPI_File_set_size(sides[i].fh, 0);
        MPI_File_set_view(sides[i].fh, r.displacement, r.etype, r.filetype, "native", MPI_INFO_NULL);
    }
    write_and_compare(&r, sides);
    read_and_compare(&r, sides);
    if (r.filetype != r.etype)
        MPI_Type_free(&r.filetype);
    MPI_Type_free(&r.type);
}

static void open_sides(side *sides)
{
    sides[0] = (side){.ours = true, .path = test_file_path("ours")};
    sides[1] = (side){.path = test_file_path("native")};
    for (int i = 0; i < 2; i++)
        MPI_File_open(MPI_COMM_WORLD, sides[i].path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                      MPI_INFO_NULL, &sides[i].fh);
}

static void close_sides(side *sides)
{
    for (int i = 0; i < 2; i++) {
        MPI_File_close(&sides[i].fh);
        free(sides[i].path);
    }
}

static void check_rounds(int rounds)
{
    side sides[2];

    open_sides(sides);
    for (int i = 1; i <= rounds; i++)
        run_round((uint64_t)i, sides);
    close_sides(sides);
}

/* Packwright leaves files of another representation to MPI, which may lack it. */
static void check_external(void)
{
    double values[64], got[64];
    MPI_Datatype type;
    side sides[2];
    int rc = MPI_SUCCESS;

    MPI_Type_vector(32, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    open_sides(sides);
    for (int i = 0; i < 64; i++)
        values[i] = rank * 100 + i;
    for (int i = 0; i < 2 && rc == MPI_SUCCESS; i++)
        rc = MPI_File_set_view(sides[i].fh, 0, MPI_DOUBLE, MPI_DOUBLE, "external32", MPI_INFO_NULL);
    for (int round = 0; round < 2 && rc == MPI_SUCCESS; round++) { /* the type is learned before the second round */
        MPI_File_write_at(sides[0].fh, 32 * rank, values, 1, type, MPI_STATUS_IGNORE);
        PMPI_File_write_at(sides[1].fh, 32 * rank, values, 1, type, MPI_STATUS_IGNORE);
        memset(got, 0, sizeof got);
        MPI_File_read_at(sides[0].fh, 32 * rank, got, 1, type, MPI_STATUS_IGNORE);
        for (int i = 0; i < 64; i += 2)
            CHECK(got[i] == values[i], "external32: element %d is %g", i, got[i]);
        MPI_Barrier(MPI_COMM_WORLD);
        test_files_compare(sides[0].path, sides[1].path, "external32");
        MPI_Barrier(MPI_COMM_WORLD);
    }
    close_sides(sides);
    MPI_Type_free(&type);
}

/* The type is freed, and the buffers are compared, as early as MPI allows. */
static void check_freed(void)
{
    const char *strategy = getenv("PACKWRIGHT_STRATEGY");
    double values[64] = {0}, got[64];
    side sides[2];

    open_sides(sides);
    /* ROMIO uses types that were freed. */
    for (int round = 0; round < 3 && strategy && !strcmp(strategy, "packed"); round++) {
        MPI_Request requests[2];
        MPI_Status status;
        MPI_Datatype type;
        int n = -1;

        for (int i = 0; i < 64; i++)
            values[i] = round * 1000 + rank * 100 + i;
        MPI_Type_vector(32, 1, 2, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        MPI_File_iwrite_at(sides[0].fh, 256 * rank, values, 1, type, &requests[0]);
        MPI_Type_free(&type);
        MPI_Wait(&requests[0], &status);
        MPI_Get_count(&status, MPI_DOUBLE, &n);
        CHECK(n == 32, "round %d: %d doubles written", round, n);
        memset(got, 0, sizeof got);
        MPI_Type_vector(32, 1, 2, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        MPI_File_iread_at(sides[0].fh, 256 * rank, got, 1, type, &requests[1]);
        MPI_Type_free(&type);
        n = 0;
        while (!n)
            MPI_Test(&requests[1], &n, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &n);
        CHECK(n == 32, "round %d: %d doubles read", round, n);
        for (int i = 0; i < 64; i++)
            CHECK(got[i] == (i % 2 ? 0 : values[i]), "round %d: element %d is %g", round, i, got[i]);
    }
    close_sides(sides);
}

/* ---- short reads ------------------------------------------------------------------------------------------------- */

/* How a read meets the end of the file. Through a view with holes, ROMIO also fills the rest of the buffer. */
typedef enum reading { ALONE, TOGETHER, THROUGH_HOLES, READINGS } reading;

/* Computes what three objects of eight doubles hold when `elements` doubles have come. */
static void expect_short(test_buffer *expected, MPI_Datatype type, const double *values, int elements)
{
    MPI_Aint lb, extent;

    MPI_Type_get_extent(type, &lb, &extent);
    test_buffer_fill(expected, 2);
    for (int i = 0; i < elements; i++)
        memcpy(expected->origin + i / 8 * extent + 24 * (i % 8), &values[i], sizeof *values);
}

static void read_short(MPI_File fh, reading how, void *buf, MPI_Datatype type, MPI_Status *status)
{
    switch (how) {
    case TOGETHER: MPI_File_read_at_all(fh, 0, buf, 3, type, status); break;
    default: MPI_File_read_at(fh, 0, buf, 3, type, status);
    }
}

/* Reads three objects of eight doubles from a file that has only `elements` doubles. */
static void check_short(MPI_File fh, int elements, reading how)
{
    double values[24];
    test_buffer got, expected;
    MPI_Datatype type;
    MPI_Status status;
    int n;

    MPI_Type_vector(8, 1, 3, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    got = test_buffer_create(type, 3);
    expected = test_buffer_create(type, 3);
    test_fill(values, sizeof values, 8);
    for (int known = 0; known < 2; known++) { /* the type is learned before the second round */
        expect_short(&expected, type, values, elements);
        test_buffer_fill(&got, 2);
        PMPI_File_set_size(fh, 0);
        MPI_File_write_at(fh, 0, values, elements, MPI_DOUBLE, MPI_STATUS_IGNORE);
        read_short(fh, how, got.origin, type, &status);
        MPI_Get_elements(&status, type, &n);
        CHECK(n == elements, "%d elements in the file, reading %d: %d read", elements, how, n);
        CHECK(!known || test_buffer_equal(&got, &expected), "%d elements in the file, reading %d: memory", elements,
              how);
    }
    test_buffer_free(&got);
    test_buffer_free(&expected);
    MPI_Type_free(&type);
}

/* Returns whether the status reports the end. Through holes, ROMIO reports that all has come. */
static bool tells_the_end(reading how)
{
#ifdef OPEN_MPI
    (void)how;
    return true;
#else
    return how != THROUGH_HOLES;
#endif
}

/* Not every MPI does this at the end of a file by itself, so only staged reads are checked. */
static void check_short_reads(void)
{
    const char *strategy = getenv("PACKWRIGHT_STRATEGY");
    char *path = test_file_path("short");
    MPI_Datatype every_second;
    MPI_File fh;

    snprintf(path + strlen(path), 16, "_%d", rank);
    MPI_Type_create_resized(MPI_DOUBLE, 0, 16, &every_second);
    MPI_Type_commit(&every_second);
    for (reading how = ALONE; how < READINGS && strategy && !strcmp(strategy, "packed"); how++) {
        if (!tells_the_end(how))
            continue;
        MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                      &fh);
        if (how == THROUGH_HOLES)
            MPI_File_set_view(fh, 0, MPI_DOUBLE, every_second, "native", MPI_INFO_NULL);
        for (int elements = 0; elements <= 24; elements++)
            check_short(fh, elements, how);
        MPI_File_close(&fh);
    }
    MPI_Type_free(&every_second);
    free(path);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static int handled;

static void count_error(MPI_File *fh, int *error, ...)
{
    (void)fh, (void)error;
    handled++;
}

typedef int write_at_fn(MPI_File, MPI_Offset, const void *, int, MPI_Datatype, MPI_Status *);
typedef int read_at_fn(MPI_File, MPI_Offset, void *, int, MPI_Datatype, MPI_Status *);

static int misuse(int i, write_at_fn *write_at, read_at_fn *read_at, MPI_Datatype type, MPI_File fh)
{
    static double memory[64];

    switch (i) {
    case 0: return write_at(fh, 0, memory, 1, type, MPI_STATUS_IGNORE); /* fails, since the file is read-only */
    case 1: return read_at(fh, -8, memory, 1, type, MPI_STATUS_IGNORE);
    case 2: return read_at(fh, 0, memory, -1, type, MPI_STATUS_IGNORE);
    case 3: return read_at(MPI_FILE_NULL, 0, memory, 1, type, MPI_STATUS_IGNORE);
    case 4: return read_at(fh, 0, memory, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE);
    case 5: return read_at(fh, 0, memory, 0, type, MPI_STATUS_IGNORE);
    default: return -1;
    }
}

static void check_errors(void)
{
    char *path = test_file_path("errors");
    MPI_Errhandler handler;
    MPI_Datatype type;
    MPI_File fh;
    double memory[64] = {0};

    MPI_Type_vector(8, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
    for (int i = 0; i < 2; i++) /* the type is learned before the second round */
        MPI_File_write_at(fh, 0, memory, 1, type, MPI_STATUS_IGNORE);
    MPI_File_close(&fh);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh);
    MPI_File_create_errhandler(count_error, &handler);
    MPI_File_set_errhandler(fh, handler);
    for (int i = 0; i < 6; i++) {
        int ours, theirs, ours_handled;

        if (TEST_MPICH_ABI && i == 3)
            continue;
        handled = 0;
        ours = test_class_of(misuse(i, MPI_File_write_at, MPI_File_read_at, type, fh));
        ours_handled = handled;
        handled = 0;
        theirs = test_class_of(misuse(i, PMPI_File_write_at, PMPI_File_read_at, type, fh));
        CHECK(ours == theirs && ours_handled == handled,
              "misuse %d: class %d, handler called %d times; natively %d, %d", i, ours, ours_handled, theirs, handled);
    }
    MPI_File_close(&fh);
    MPI_Errhandler_free(&handler);
    if (rank == 0)
        unlink(path);
    MPI_Type_free(&type);
    free(path);
}

int main(int argc, char **argv)
{
    int rc, rounds = argc > 1 ? atoi(argv[1]) : 200;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    check_rounds(rounds);
    check_external();
    check_freed();
    check_short_reads();
    check_errors();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
