/*
 * Files that are written and read in pieces: whole, short, failing, in every kind of view and in atomic mode. Each rank
 * has two files of its own for what it does alone: one by MPI_ and one by PMPI_. Must run with all messages packed.
 * With an argument, threads may call MPI at the same time.
 */
#include "tests/mpi/io/files.h"
#include "tests/mpi/support/count_calls.h"
#include "tests/mpi/support/harness.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

/* Rows of ROW bytes with gaps, more of them than any second-level cache holds, and no multiple of a piece. */
enum { ROW = 1000, STRIDE = 1024, ROWS = 2601, SMALL = 1000, BYTES = ROW * ROWS };

static int rank;
static bool has_threads; /* MPI_THREAD_MULTIPLE */

/* ---- types, views and calls -------------------------------------------------------------------------------------- */

/* One object, which is cut; many short ones; and one whose kernel moves no parts. */
typedef enum shape { ROWS_OF_ONE, OBJECTS, TWO_REGIONS, SHAPES } shape;

static MPI_Datatype type_of(shape s, int *count)
{
    MPI_Datatype parts[2], type;

    *count = 1;
    if (s == OBJECTS) {
        *count = BYTES / SMALL;
        MPI_Type_vector(5, SMALL / 40, SMALL / 20, MPI_DOUBLE, &type);
    } else if (s == ROWS_OF_ONE) {
        MPI_Type_create_hvector(ROWS, ROW, STRIDE, MPI_BYTE, &type);
    } else {
        MPI_Type_create_hvector(ROWS - 1, ROW, STRIDE, MPI_BYTE, &parts[0]);
        MPI_Type_vector(ROW / 8, 1, 3, MPI_DOUBLE, &parts[1]);
        MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, (MPI_Aint)STRIDE * ROWS}, parts, &type);
        MPI_Type_free(&parts[0]);
        MPI_Type_free(&parts[1]);
    }
    MPI_Type_commit(&type);
    return type;
}

/* Only the first two are plain; with the others nothing is cut. */
typedef enum view { OPENED, DOUBLES, FIVES, HOLES, VIEWS } view;

static MPI_Offset set_view(MPI_File fh, view v)
{
    MPI_Datatype element = MPI_DOUBLE, type = MPI_DOUBLE, full;

    if (v == OPENED)
        return 1;
    if (v == FIVES)
        MPI_Type_contiguous(5, MPI_DOUBLE, &type);
    if (v == HOLES) {
        MPI_Type_contiguous(125, MPI_DOUBLE, &full);
        MPI_Type_create_resized(full, 0, 1600, &type);
        MPI_Type_free(&full);
    }
    if (v != DOUBLES)
        MPI_Type_commit(&type);
    if (v == FIVES)
        element = type;
    MPI_File_set_view(fh, 24, element, type, "native", MPI_INFO_NULL);
    if (v != DOUBLES)
        MPI_Type_free(&type);
    return v == FIVES ? 40 : 8;
}

typedef enum way { AT, POINTER, LATER, WAYS } way;
static const char *const way_names[WAYS] = {"_at", "", "i_at"};

typedef struct transfer {
    bool reads;
    way how;
    MPI_Offset at;
    void *buf;
    int count;
    MPI_Datatype type;
} transfer;

#define CALLS(prefix)                                                                               \
    static int prefix##carry_out(MPI_File fh, const transfer *t, MPI_Status *status)                \
    {                                                                                               \
        MPI_Request request;                                                                        \
        int rc;                                                                                     \
                                                                                                    \
        switch (t->how) {                                                                           \
        case AT:                                                                                    \
            return t->reads ? prefix##File_read_at(fh, t->at, t->buf, t->count, t->type, status)    \
                            : prefix##File_write_at(fh, t->at, t->buf, t->count, t->type, status);  \
        case POINTER:                                                                               \
            PMPI_File_seek(fh, t->at, MPI_SEEK_SET);                                                \
            return t->reads ? prefix##File_read(fh, t->buf, t->count, t->type, status)              \
                            : prefix##File_write(fh, t->buf, t->count, t->type, status);            \
        default:                                                                                    \
            rc = t->reads ? prefix##File_iread_at(fh, t->at, t->buf, t->count, t->type, &request)   \
                          : prefix##File_iwrite_at(fh, t->at, t->buf, t->count, t->type, &request); \
            return rc == MPI_SUCCESS ? MPI_Wait(&request, status) : rc;                             \
        }                                                                                           \
    }

CALLS(MPI_)
CALLS(PMPI_)

/* ---- two files --------------------------------------------------------------------------------------------------- */

typedef struct files {
    MPI_File ours, theirs;
    char *paths[2];
} files;

static MPI_File open_alone(char **path, const char *name)
{
    MPI_File fh;

    *path = test_file_path(name);
    snprintf(*path + strlen(*path), 16, "_%d", rank);
    MPI_File_open(MPI_COMM_SELF, *path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh);
    return fh;
}

static files open_files(void)
{
    files f;

    f.ours = open_alone(&f.paths[0], "pieces");
    f.theirs = open_alone(&f.paths[1], "whole");
    return f;
}

static void close_files(files *f)
{
    MPI_File_close(&f->ours);
    MPI_File_close(&f->theirs);
    free(f->paths[0]);
    free(f->paths[1]);
}

static MPI_Offset position_of(MPI_File fh)
{
    MPI_Offset at;

    PMPI_File_get_position(fh, &at);
    return at;
}

static int bytes_of(const MPI_Status *status)
{
    int n = -1;

    MPI_Get_count(status, MPI_BYTE, &n);
    return n;
}

/* ---- whole transfers --------------------------------------------------------------------------------------------- */

static int writes;

static void count_write(MPI_Datatype type)
{
    (void)type;
    writes++;
}

/* Writes and reads the same by both, and compares all. */
static void check_transfer(const files *f, shape s, view v, way how, bool atomic)
{
    transfer t = {.how = how};
    test_buffer buffers[2];
    MPI_Status status[2];
    char what[100];

    snprintf(what, sizeof what, "shape %d, view %d, %s, %s", s, v, way_names[how], atomic ? "atomic" : "not atomic");
    t.type = type_of(s, &t.count);
    MPI_File_set_atomicity(f->ours, atomic);
    t.at = 80 / set_view(f->ours, v);
    set_view(f->theirs, v);
    for (int i = 0; i < 2; i++) {
        buffers[i] = test_buffer_create(t.type, t.count);
        test_buffer_fill(&buffers[i], 3);
    }
    for (int reads = 0; reads < 2; reads++) {
        bool cut = s != TWO_REGIONS && (v == OPENED || v == DOUBLES) && !atomic && !(how == POINTER && has_threads);
        int rc[2];

        t.reads = reads;
        writes = 0;
        t.buf = buffers[0].origin;
        rc[0] = MPI_carry_out(f->ours, &t, &status[0]);
        CHECK(reads || how == LATER || (cut ? writes > 1 : writes == 1), "%s: %d calls of MPI", what, writes);
        t.buf = buffers[1].origin;
        rc[1] = PMPI_carry_out(f->theirs, &t, &status[1]);
        CHECK(rc[0] == MPI_SUCCESS && rc[1] == MPI_SUCCESS && bytes_of(&status[0]) == BYTES &&
                  bytes_of(&status[1]) == BYTES && (how != POINTER || position_of(f->ours) == position_of(f->theirs)),
              "%s, %s: %d and %d, %d and %d bytes, at %lld and %lld", what, reads ? "reading" : "writing", rc[0], rc[1],
              bytes_of(&status[0]), bytes_of(&status[1]), (long long)position_of(f->ours),
              (long long)position_of(f->theirs));
        if (!reads)
            test_files_compare(f->paths[0], f->paths[1], what);
        CHECK(test_buffer_equal(&buffers[0], &buffers[1]), "%s, %s: memory", what, reads ? "reading" : "writing");
        for (int i = 0; i < 2; i++)
            test_buffer_fill(&buffers[i], 4);
    }
    for (int i = 0; i < 2; i++)
        test_buffer_free(&buffers[i]);
    MPI_Type_free(&t.type);
}

static void check_transfers(void)
{
    for (shape s = 0; s < SHAPES; s++)
        for (view v = 0; v < (s == TWO_REGIONS ? OPENED + 1 : VIEWS); v++) {
            files f = open_files();

            for (way how = 0; how < WAYS; how++)
                check_transfer(&f, s, v, how, false);
            check_transfer(&f, s, v, AT, true);
            close_files(&f);
        }
}

/* ---- collective calls -------------------------------------------------------------------------------------------- */

/* The first rank has many pieces, the others less than one. */
static void check_together(void)
{
    char *path = test_file_path("together");
    int count, few = rank == 0 ? ROWS : 1;
    MPI_Datatype type;
    MPI_File fh;
    MPI_Status status;
    unsigned char *memory = calloc(ROWS, STRIDE);

    MPI_Type_create_hvector(few, ROW, STRIDE, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh);
    for (int i = 0; i < 2; i++) {
        MPI_File_write_at_all(fh, (MPI_Offset)rank * BYTES, memory, 1, type, &status);
        count = bytes_of(&status);
        CHECK(count == ROW * few, "%d bytes are written", count);
        MPI_File_read_at_all(fh, (MPI_Offset)rank * BYTES, memory, 1, type, &status);
        count = bytes_of(&status);
        CHECK(count == ROW * few, "%d bytes are read", count);
    }
    MPI_File_close(&fh);
    MPI_Type_free(&type);
    free(memory);
    free(path);
}

/* ---- short reads and failing writes ------------------------------------------------------------------------------ */

/* Reads from a file of `length` bytes, against a read of contiguous bytes. */
static void check_short(const files *f, int length, way how)
{
    static unsigned char bytes[BYTES];
    transfer t = {.reads = true, .how = how, .count = 1}, dense = {true, how, 0, bytes, BYTES, MPI_BYTE};
    MPI_Status status[2];
    test_buffer got, expected;
    int n;

    t.type = type_of(ROWS_OF_ONE, &t.count);
    got = test_buffer_create(t.type, 1);
    expected = test_buffer_create(t.type, 1);
    test_buffer_fill(&got, 5);
    test_buffer_fill(&expected, 5);
    t.buf = got.origin;
    PMPI_File_set_size(f->ours, length);
    PMPI_carry_out(f->ours, &dense, &status[1]);
    n = (int)position_of(f->ours);
    MPI_carry_out(f->ours, &t, &status[0]);
    for (int i = 0; i < length; i++)
        expected.origin[i / ROW * STRIDE + i % ROW] = bytes[i];
    CHECK(bytes_of(&status[0]) == length && bytes_of(&status[1]) == length, "%d bytes in the file: %d and %d read",
          length, bytes_of(&status[0]), bytes_of(&status[1]));
    CHECK(how != POINTER || n == position_of(f->ours), "%d bytes in the file: at %lld, and by one read at %d", length,
          (long long)position_of(f->ours), n);
    CHECK(test_buffer_equal(&got, &expected), "%d bytes in the file: memory", length);
    test_buffer_free(&got);
    test_buffer_free(&expected);
    MPI_Type_free(&t.type);
}

static void check_short_reads(void)
{
    unsigned char *memory = malloc(BYTES);
    files f = open_files();

    test_fill(memory, BYTES, 6);
    PMPI_File_write_at(f.ours, 0, memory, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    for (int k = BYTES / (256 << 10); k >= 0; k--) /* whole pieces, whatever power of two they are, or a byte more */
        for (int more = 1; more >= 0; more--)
            check_short(&f, k * (256 << 10) + more, (way)(k % 2));
    close_files(&f);
    free(memory);
}

/* Beyond the limit of a file's size the system writes no more. MPI gets the same call, but bytes where it blocks:
 * MPICH would wait for ever for a nonblocking write of bytes. */
static void check_failing(way how)
{
    static unsigned char bytes[BYTES];
    transfer t = {.how = how}, dense = {.how = how, .buf = bytes, .count = BYTES, .type = MPI_BYTE};
    struct rlimit all, some;
    MPI_Status status[2];
    test_buffer from;
    files f = open_files();
    int rc[2];

    t.type = type_of(ROWS_OF_ONE, &t.count);
    from = test_buffer_create(t.type, 1);
    test_buffer_fill(&from, 7);
    t.buf = from.origin;
    for (int i = 0; i < BYTES; i++)
        bytes[i] = from.origin[i / ROW * STRIDE + i % ROW];
    getrlimit(RLIMIT_FSIZE, &all);
    some = (struct rlimit){.rlim_cur = BYTES / 2, .rlim_max = all.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &some);
    rc[0] = MPI_carry_out(f.ours, &t, &status[0]);
    rc[1] = PMPI_carry_out(f.theirs, how == LATER ? &t : &dense, &status[1]);
    setrlimit(RLIMIT_FSIZE, &all);
    CHECK(test_class_of(rc[0]) == test_class_of(rc[1]), "beyond the limit: error classes %d and %d",
          test_class_of(rc[0]), test_class_of(rc[1]));
    CHECK(rc[0] != MPI_SUCCESS || bytes_of(&status[0]) == bytes_of(&status[1]), "beyond the limit: %d and %d bytes",
          bytes_of(&status[0]), bytes_of(&status[1]));
    test_files_compare(f.paths[0], f.paths[1], "beyond the limit");
    close_files(&f);
    test_buffer_free(&from);
    MPI_Type_free(&t.type);
}

int main(int argc, char **argv)
{
    int provided, rc;

    MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    has_threads = provided == MPI_THREAD_MULTIPLE;
    count_before_write = count_write;
    check_transfers();
    check_together();
    check_short_reads();
    check_failing(AT);
    check_failing(POINTER);
#ifndef OPEN_MPI /* which crashes in MPI_Wait, with any memory */
    check_failing(LATER);
#endif
    rc = test_result();
    MPI_Finalize();
    return rc;
}
