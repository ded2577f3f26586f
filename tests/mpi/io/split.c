/*
 * The order of split collective calls (io.c has what they move): two files at once, other calls in between, types that
 * are freed early, other ends than belong to the beginning, files that are closed too early, and what MPI refuses. Run
 * with each strategy; an argument is the number of elements. Files lie in $TMPDIR.
 */
#include "tests/mpi/io/files.h"
#include "tests/mpi/support/harness.h"

#include <unistd.h>

enum { MOST = 4096 };

static int rank, ranks, n;
static MPI_Datatype type; /* n doubles, every third one */
static double out[3 * MOST], in[3 * MOST], other[3 * MOST];

static bool is_packed(void)
{
    const char *strategy = getenv("PACKWRIGHT_STRATEGY");

    return strategy && !strcmp(strategy, "packed");
}

static MPI_Datatype every_third(void)
{
    MPI_Datatype made;

    MPI_Type_vector(n, 1, 3, MPI_DOUBLE, &made);
    MPI_Type_commit(&made);
    return made;
}

static MPI_Offset offset_of(int which)
{
    return (MPI_Offset)which * n * (MPI_Offset)sizeof(double);
}

static MPI_File open_file(const char *path, int mode)
{
    MPI_File fh = MPI_FILE_NULL;
    int rc = MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &fh);

    CHECK(rc == MPI_SUCCESS, "opening %s", path);
    return fh;
}

static void close_file(MPI_File *fh, char *path)
{
    MPI_File_close(fh);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(path);
    free(path);
}

/* Fills values so that each says which rank has written it. */
static void fill(double *values, int seed)
{
    for (int i = 0; i < 3 * MOST; i++)
        values[i] = seed + i / 1000.;
}

/* Checks that `got`, which was filled with 7, has what rank `whose` wrote. */
static void check_read(const double *got, int seed, const char *what)
{
    int wrong = 0;

    for (int i = 0; i < 3 * n; i++)
        wrong += got[i] != (i % 3 == 0 ? seed + i / 1000. : 7 + i / 1000.);
    CHECK(wrong == 0, "%s: %d of %d elements wrong", what, wrong, 3 * n);
}

static void check_count(const MPI_Status *status, const char *what)
{
    int objects = -1, elements = -1;

    MPI_Get_count(status, type, &objects);
    MPI_Get_elements(status, type, &elements);
    CHECK(objects == 1 && elements == n, "%s: %d objects, %d elements of %d", what, objects, elements, n);
}

/* ---- several at once --------------------------------------------------------------------------------------------- */

/* Sends a message of the same type while files are between begin and end. */
static void send_around(void)
{
    MPI_Status status;

    fill(other, 7);
    MPI_Sendrecv(out, 1, type, (rank + 1) % ranks, 5, other, 1, type, (rank + ranks - 1) % ranks, 5, MPI_COMM_WORLD,
                 &status);
    check_read(other, 100 * ((rank + ranks - 1) % ranks), "a message in between");
}

static void check_two_files(void)
{
    char *paths[2] = {test_file_path("first"), test_file_path("second")};
    MPI_File files[2];
    MPI_Status status;

    fill(out, 100 * rank);
    for (int i = 0; i < 2; i++)
        files[i] = open_file(paths[i], MPI_MODE_RDWR | MPI_MODE_CREATE);
    for (int round = 0; round < 3; round++) {
        MPI_File_write_at_all_begin(files[0], offset_of(rank), out, 1, type);
        MPI_File_seek(files[1], offset_of(rank), MPI_SEEK_SET);
        MPI_File_write_all_begin(files[1], out, 1, type);
        send_around();
        MPI_File_write_at_all_end(files[0], out, &status);
        check_count(&status, "the first file");
        MPI_File_write_all_end(files[1], out, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        test_files_compare(paths[0], paths[1], "two files at once");
        fill(in, 7);
        MPI_File_read_at_all_begin(files[1], offset_of(ranks - 1 - rank), in, 1, type);
        send_around();
        MPI_File_write_at(files[0], offset_of(rank), out, 1, type, MPI_STATUS_IGNORE);
        MPI_File_read_at_all_end(files[1], in, &status);
        check_count(&status, "reading");
        check_read(in, 100 * (ranks - 1 - rank), "reading");
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 0; i < 2; i++)
        close_file(&files[i], paths[i]);
}

/* The staging buffer needs no type; ROMIO would look at it. */
static void check_freed(void)
{
    char *path = test_file_path("freed");
    MPI_File fh = open_file(path, MPI_MODE_RDWR | MPI_MODE_CREATE);

    for (int round = 0; round < 3 && is_packed(); round++) {
        MPI_Datatype mine = every_third();

        MPI_File_write_at_all_begin(fh, offset_of(rank), out, 1, mine);
        MPI_Type_free(&mine);
        MPI_File_write_at_all_end(fh, out, MPI_STATUS_IGNORE);
        fill(in, 7);
        mine = every_third();
        MPI_File_read_at_all_begin(fh, offset_of(rank), in, 1, mine);
        MPI_Type_free(&mine);
        MPI_File_read_at_all_end(fh, in, MPI_STATUS_IGNORE);
        check_read(in, 100 * rank, "with types that are gone");
    }
    close_file(&fh, path);
}

/* ---- errors of the program that MPIs do not look for ------------------------------------------------------------- */

static void check_other_ends(void)
{
    char *path = test_file_path("ends");
    MPI_File fh = open_file(path, MPI_MODE_RDWR | MPI_MODE_CREATE);

    MPI_File_write_at_all_begin(fh, offset_of(rank), out, 1, type);
    MPI_File_write_all_end(fh, other, MPI_STATUS_IGNORE);
    fill(in, 7);
    fill(other, 7);
    MPI_File_read_at_all_begin(fh, offset_of(rank), in, 1, type);
    MPI_File_read_all_end(fh, other, MPI_STATUS_IGNORE);
    check_read(in, 100 * rank, "the end of another call");
    for (int i = 0; i < 3 * n; i++)
        CHECK(other[i] == 7 + i / 1000., "the buffer of the end, element %d: %g", i, other[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    close_file(&fh, path);
}

static void check_closed(void)
{
    char *path = test_file_path("closed");
    MPI_File fh;

    for (int round = 0; round < 2 && is_packed(); round++) {
        fh = open_file(path, MPI_MODE_RDWR | MPI_MODE_CREATE);
        MPI_File_write_at_all_begin(fh, offset_of(rank), out, 1, type);
        MPI_File_close(&fh);
        fh = open_file(path, MPI_MODE_RDWR | MPI_MODE_CREATE);
        fill(in, 7);
        MPI_File_read_at_all_begin(fh, offset_of(rank), in, 1, type);
        MPI_File_close(&fh);
        check_read(in, 100 * rank, "a file that was closed too early");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(path);
    free(path);
}

/* ---- what MPI refuses -------------------------------------------------------------------------------------------- */

static int handled;

static void count_error(MPI_File *fh, int *error, ...)
{
    (void)fh, (void)error;
    handled++;
}

/* Error classes, and calls of the error handler, one after the other. */
typedef struct outcome {
    int n, classes[32], handled[32];
} outcome;

static void note(outcome *o, int rc)
{
    o->classes[o->n] = test_class_of(rc);
    o->handled[o->n++] = handled;
    handled = 0;
}

/* Open MPI (4.1.4) crashes in an end without a beginning: it looks for the request of the beginning. */
#ifdef OPEN_MPI
enum { REFUSES_ENDS = false };
#else
enum { REFUSES_ENDS = true };
#endif

#define MISUSES(prefix)                                                                   \
    static void prefix##misuse_end(outcome *o, MPI_File fh)                               \
    {                                                                                     \
        if (!REFUSES_ENDS)                                                                \
            return;                                                                       \
        note(o, prefix##File_read_all_end(fh, in, MPI_STATUS_IGNORE));                    \
        note(o, prefix##File_write_at_all_end(fh, out, MPI_STATUS_IGNORE));               \
        if (!TEST_MPICH_ABI)                                                              \
            note(o, prefix##File_read_ordered_end(MPI_FILE_NULL, in, MPI_STATUS_IGNORE)); \
    }                                                                                     \
                                                                                          \
    static void prefix##misuse(outcome *o, MPI_File fh, MPI_File read_only)               \
    {                                                                                     \
        MPI_Offset at = offset_of(rank);                                                  \
                                                                                          \
        prefix##misuse_end(o, fh);                                                        \
        if (!TEST_MPICH_ABI)                                                              \
            note(o, prefix##File_read_all_begin(MPI_FILE_NULL, in, 1, type));             \
        note(o, prefix##File_write_at_all_begin(fh, 0, out, -1, type));                   \
        note(o, prefix##File_write_at_all_begin(fh, 0, out, 1, MPI_DATATYPE_NULL));       \
        note(o, prefix##File_write_at_all_begin(fh, at, out, 1, type));                   \
        note(o, prefix##File_write_at_all_begin(fh, at, other, 1, type));                 \
        note(o, prefix##File_read_all_begin(fh, in, 1, type));                            \
        note(o, prefix##File_write_at_all_end(fh, out, MPI_STATUS_IGNORE));               \
        prefix##misuse_end(o, fh);                                                        \
        note(o, prefix##File_write_at_all_begin(fh, at, out, 0, type));                   \
        note(o, prefix##File_write_at_all_end(fh, out, MPI_STATUS_IGNORE));               \
        note(o, prefix##File_write_at_all_begin(read_only, at, out, 1, type));            \
        if (REFUSES_ENDS)                                                                 \
            note(o, prefix##File_write_at_all_end(read_only, out, MPI_STATUS_IGNORE));    \
        note(o, prefix##File_read_at_all_begin(fh, -8, in, 1, type));                     \
    }

MISUSES(MPI_)
MISUSES(PMPI_)

static void check_refused(void)
{
    char *paths[2] = {test_file_path("refused"), test_file_path("native")};
    MPI_Errhandler handler;
    outcome outcomes[2] = {{0}, {0}};

    MPI_File_create_errhandler(count_error, &handler);
    fill(other, 3);
    for (int i = 0; i < 2; i++) {
        MPI_File fh = open_file(paths[i], MPI_MODE_RDWR | MPI_MODE_CREATE),
                 read_only = open_file(paths[i], MPI_MODE_RDONLY);

        MPI_File_set_errhandler(fh, handler);
        MPI_File_set_errhandler(read_only, handler);
        handled = 0;
        (i ? PMPI_misuse : MPI_misuse)(&outcomes[i], fh, read_only);
        MPI_File_close(&read_only);
        MPI_File_close(&fh);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 0; i < outcomes[0].n; i++)
        CHECK(outcomes[0].classes[i] == outcomes[1].classes[i] && outcomes[0].handled[i] == outcomes[1].handled[i],
              "misuse %d: class %d, handler called %d times; natively %d, %d", i, outcomes[0].classes[i],
              outcomes[0].handled[i], outcomes[1].classes[i], outcomes[1].handled[i]);
    test_files_compare(paths[0], paths[1], "what is written in spite of errors");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Errhandler_free(&handler);
    for (int i = 0; i < 2; i++) {
        if (rank == 0)
            unlink(paths[i]);
        free(paths[i]);
    }
}

int main(int argc, char **argv)
{
    int rc;

    n = argc > 1 ? atoi(argv[1]) : 1000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    type = every_third();
    check_two_files();
    check_freed();
    check_other_ends();
    check_closed();
    check_refused();
    MPI_Type_free(&type);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
