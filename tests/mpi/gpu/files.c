/*
 * MPI-IO with buffers in GPU memory, beside the same calls through PMPI_ with host memory: both files must be the same,
 * and what is read from them. Random types, against their packed bytes; so for pairs with a hole;
 * files of another representation. Files lie in $TMPDIR.
 *
 * usage: files <driver, or -> [types [first-seed]]. Exits 77, for "skipped", without a GPU.
 */
#include "tests/mpi/gpu/subject.h"

#include <unistd.h>

enum { SKIPPED = 77, ROOM = 2 * SUBJECT_PACKED, N = 100 };

typedef enum way { AT, AT_ALL, LATER, POINTER, ALL, WAYS } way;
static const char *const way_names[WAYS] = {"_at", "_at_all", "i_at", "", "_all"};

static int rank;
static gpu_memory user;
static unsigned char image[SUBJECT_SPAN], packed[SUBJECT_PACKED];

/* ---- the calls --------------------------------------------------------------------------------------------------- */

#define CALLS(prefix)                                                                                                 \
    static int prefix##move(MPI_File fh, bool write, way how, MPI_Offset at, void *buf, int count, MPI_Datatype type) \
    {                                                                                                                 \
        MPI_Request request;                                                                                          \
        int rc;                                                                                                       \
                                                                                                                      \
        switch (how) {                                                                                                \
        case AT:                                                                                                      \
            return write ? prefix##File_write_at(fh, at, buf, count, type, MPI_STATUS_IGNORE)                         \
                         : prefix##File_read_at(fh, at, buf, count, type, MPI_STATUS_IGNORE);                         \
        case AT_ALL:                                                                                                  \
            return write ? prefix##File_write_at_all(fh, at, buf, count, type, MPI_STATUS_IGNORE)                     \
                         : prefix##File_read_at_all(fh, at, buf, count, type, MPI_STATUS_IGNORE);                     \
        case LATER:                                                                                                   \
            rc = write ? prefix##File_iwrite_at(fh, at, buf, count, type, &request)                                   \
                       : prefix##File_iread_at(fh, at, buf, count, type, &request);                                   \
            return rc == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;                                    \
        case POINTER:                                                                                                 \
            PMPI_File_seek(fh, at, MPI_SEEK_SET);                                                                     \
            return write ? prefix##File_write(fh, buf, count, type, MPI_STATUS_IGNORE)                                \
                         : prefix##File_read(fh, buf, count, type, MPI_STATUS_IGNORE);                                \
        default:                                                                                                      \
            PMPI_File_seek(fh, at, MPI_SEEK_SET);                                                                     \
            return write ? prefix##File_write_all(fh, buf, count, type, MPI_STATUS_IGNORE)                            \
                         : prefix##File_read_all(fh, buf, count, type, MPI_STATUS_IGNORE);                            \
        }                                                                                                             \
    }

CALLS(MPI_)
CALLS(PMPI_)

/* ---- files ------------------------------------------------------------------------------------------------------- */

typedef struct files {
    MPI_File ours, theirs;
} files;

static MPI_File open_file(const char *name)
{
    const char *folder = getenv("TMPDIR");
    char path[512];
    MPI_File fh;

    snprintf(path, sizeof path, "%s/packwright-gpu-%s-%d", folder ? folder : "/tmp", name, (int)getppid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh);
    MPI_File_set_size(fh, 0);
    return fh;
}

static bool view(const files *f, MPI_Datatype type, const char *representation)
{
    return MPI_File_set_view(f->ours, 0, type, type, representation, MPI_INFO_NULL) == MPI_SUCCESS &&
           MPI_File_set_view(f->theirs, 0, type, type, representation, MPI_INFO_NULL) == MPI_SUCCESS;
}

/* Compares the bytes of both files that this rank has written. */
static bool are_same(const files *f, MPI_Offset at, int bytes)
{
    static unsigned char a[ROOM], b[ROOM];

    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    PMPI_File_read_at(f->ours, at, a, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    PMPI_File_read_at(f->theirs, at, b, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    return !memcmp(a, b, (size_t)bytes);
}

/* ---- random types ------------------------------------------------------------------------------------------------ */

/* Compares with the packed bytes, from and to host memory. */
static void check_subject(const subject *s, way how, const files *f)
{
    MPI_Offset at = (MPI_Offset)rank * ROOM;
    int rc;

    PMPI_File_set_size(f->ours, 0);
    PMPI_File_set_size(f->theirs, 0);
    MPI_Barrier(MPI_COMM_WORLD); /* the call does not wait for other ranks, which might cut off what this one writes */
    subject_fill(&user, image, s->span, s->seed * 3 + 1);
    subject_pack(s, image, packed);
    rc = MPI_move(f->ours, true, how, at, subject_buffer(s, &user), s->count, s->random.type);
    CHECK(rc == MPI_SUCCESS, "write%s, seed %llu: %d", way_names[how], (unsigned long long)s->seed, rc);
    PMPI_move(f->theirs, true, how, at, packed, (int)s->size, MPI_BYTE);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(are_same(f, at, ROOM), "write%s, seed %llu: %.300s", way_names[how], (unsigned long long)s->seed,
          s->random.text);
    subject_fill(&user, image, s->span, s->seed * 3 + 2);
    rc = MPI_move(f->ours, false, how, at, subject_buffer(s, &user), s->count, s->random.type);
    CHECK(rc == MPI_SUCCESS, "read%s, seed %llu: %d", way_names[how], (unsigned long long)s->seed, rc);
    subject_unpack(s, image, packed, s->size);
    subject_same(s, way_names[how], &user, image, s->span);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- pairs with a hole ------------------------------------------------------------------------------------------- */

typedef struct short_pair {
    short value;
    int index;
} short_pair;

/* Compares pairs with a hole with their packed bytes, since MPIs treat them differently in host memory. */
static void check_pairs(way how, const files *f)
{
    static short_pair pairs[N], got[N];
    MPI_Offset at = (MPI_Offset)rank * ROOM;
    int position = 0, wrong = 0;

    for (int i = 0; i < N; i++)
        pairs[i] = (short_pair){(short)(i - 50), 1000 * rank + i};
    gpu_write(&user, 0, pairs, sizeof pairs);
    MPI_Pack(user.at, N, MPI_SHORT_INT, packed, sizeof packed, &position, MPI_COMM_WORLD);
    MPI_move(f->ours, true, how, at, user.at, N, MPI_SHORT_INT);
    PMPI_move(f->theirs, true, how, at, packed, position, MPI_BYTE);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(are_same(f, at, position), "pairs, write%s", way_names[how]);
    gpu_write(&user, 0, got, sizeof got);
    MPI_move(f->ours, false, how, at, user.at, N, MPI_SHORT_INT);
    gpu_read(&user, 0, got, sizeof got);
    for (int i = 0; i < N; i++)
        wrong += got[i].value != i - 50 || got[i].index != 1000 * rank + i;
    CHECK(wrong == 0, "%d pairs wrong, read%s", wrong, way_names[how]);
    memset(got, 0, sizeof got);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- files in which MPI converts elements ------------------------------------------------------------------------ */

/* Where MPI would have to look at the elements, a call fails that it cannot carry out. */
static void check_representation(way how, const files *f)
{
    int class = MPI_SUCCESS;

    if (view(f, MPI_INT, "external32")) {
        MPI_Error_class(MPI_move(f->ours, true, how, 0, user.at, N, MPI_INT), &class);
        CHECK(class == MPI_ERR_UNSUPPORTED_OPERATION, "external32, write%s: class %d", way_names[how], class);
    }
    view(f, MPI_BYTE, "native");
}

int main(int argc, char **argv)
{
    int types = argc > 2 ? atoi(argv[2]) : 50, rc;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
    files f;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!gpu_start(argc > 1 && strcmp(argv[1], "-") != 0 ? argv[1] : NULL)) {
        MPI_Finalize();
        return SKIPPED;
    }
    user = subject_memory(GPU_DEVICE);
    f.ours = open_file("ours");
    f.theirs = open_file("theirs");
    for (int i = 0; i < types; i++) {
        subject s;

        subject_make(&s, seed + (uint64_t)i, i % 2);
        check_subject(&s, (way)(i % WAYS), &f);
        subject_free(&s);
    }
    for (int how = 0; how < WAYS; how++) {
        check_pairs((way)how, &f);
        check_representation((way)how, &f);
    }
    MPI_File_close(&f.ours);
    MPI_File_close(&f.theirs);
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
