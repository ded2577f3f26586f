/* The stress test's files: one of all ranks for each lane, in $TMPDIR. */
#include "tests/mpi/stress/stress.h"

#include <aio.h>
#include <unistd.h>

enum { REGION_BYTES = 1 << 15, MOST_ELEMENTS = 1500 };

/*
 * ROMIO's nonblocking calls are the C library's, whose helper threads start each other unseen by ThreadSanitizer, which
 * does not survive that: one helper has none to start.
 */
static void limit_helpers(void)
{
#ifdef __SANITIZE_THREAD__
    aio_init(&(struct aioinit){.aio_threads = 1, .aio_num = 64});
#endif
}

/* All ranks take the name that the first one makes. */
void stress_open_file(lane *l)
{
    const char *dir = getenv("TMPDIR");
    char path[1024];
    int pid = (int)getpid();

    limit_helpers();
    MPI_Bcast(&pid, 1, MPI_INT, 0, l->comm);
    snprintf(path, sizeof path, "%s/packwright-stress-%d-%d", dir ? dir : "/tmp", pid, l->id);
    MPI_File_open(l->comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &l->file);
    MPI_File_set_errhandler(l->file, MPI_ERRORS_ARE_FATAL);
}

void stress_close_file(lane *l)
{
    MPI_File_close(&l->file);
}

typedef enum way { AT, AT_ALL, I_AT, I_AT_ALL, WAYS } way;

/* The type is freed under way, except with ROMIO's nonblocking collective calls, which go on using its handle. */
#define FILE_CALL(name)                                                                                \
    static void name##_by(const lane *l, way w, MPI_Offset at, void *origin, MPI_Datatype type)        \
    {                                                                                                  \
        MPI_Request request = MPI_REQUEST_NULL;                                                        \
        MPI_Status status;                                                                             \
                                                                                                       \
        switch (w) {                                                                                   \
        case AT: MPI_File_##name##_at(l->file, at, origin, 1, type, &status); break;                   \
        case AT_ALL: MPI_File_##name##_at_all(l->file, at, origin, 1, type, MPI_STATUS_IGNORE); break; \
        case I_AT: MPI_File_i##name##_at(l->file, at, origin, 1, type, &request); break;               \
        default: MPI_File_i##name##_at_all(l->file, at, origin, 1, type, &request);                    \
        }                                                                                              \
        if (w != I_AT_ALL)                                                                             \
            MPI_Type_free(&type);                                                                      \
        MPI_Wait(&request, &status);                                                                   \
        if (w == I_AT_ALL)                                                                             \
            MPI_Type_free(&type);                                                                      \
    }

FILE_CALL(write)
FILE_CALL(read)

static void place(MPI_Datatype basic, int elements, unsigned fill, MPI_Datatype type, const test_buffer *b)
{
    unsigned char *packed = stress_packed(basic, elements, fill);
    int p = 0;

    PMPI_Unpack(packed, test_packed_bytes(basic, elements), &p, b->origin, 1, type, MPI_COMM_SELF);
    free(packed);
}

/* Lets other ranks read what was written. On one machine a barrier is enough for both MPIs; Open MPI's MPI_File_sync
 * fails while another thread has an operation under way in any file. */
static void meet(const lane *l)
{
    if (l->alone)
        MPI_File_sync(l->file);
    MPI_Barrier(l->comm);
    if (l->alone)
        MPI_File_sync(l->file);
}

/*
 * What several threads can do at a time. ROMIO has one lock for all files, which collective operations hold while they
 * wait for other ranks: those of two threads would wait for each other. Open MPI's nonblocking operations are of one
 * thread only: another one's progress may meet a list that is being changed (4.1).
 */
static way draw_way(lane *l)
{
#ifdef OPEN_MPI
    static const way of_many[] = {AT, AT_ALL};
#else
    static const way of_many[] = {AT, I_AT};
#endif

    return l->alone ? (way)stress_draw(l, WAYS) : of_many[stress_draw(l, 2)];
}

/* Each rank has a region of the file; what it writes is read by the rank before it, perhaps into another type. */
void stress_file(lane *l)
{
    MPI_Datatype basics[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE}, basic = basics[stress_draw(l, 4)];
    int elements = 2 + stress_draw(l, stress_draw(l, 3) ? 40 : MOST_ELEMENTS), at = stress_draw(l, 4096);
    way out = draw_way(l), in = draw_way(l);
    int next = (l->rank + 1) % l->ranks;
    MPI_Datatype written = stress_plain_type(l, basic, elements), read = stress_plain_type(l, basic, elements);
    test_buffer from = test_buffer_create(written, 1), kept = test_buffer_create(written, 1);
    test_buffer to = test_buffer_create(read, 1), want = test_buffer_create(read, 1);

    test_buffer_fill(&from, 6);
    test_buffer_fill(&kept, 6);
    place(basic, elements, stress_fill(l, l->rank), written, &from);
    place(basic, elements, stress_fill(l, l->rank), written, &kept);
    test_buffer_fill(&to, 3);
    test_buffer_fill(&want, 3);
    place(basic, elements, stress_fill(l, next), read, &want);
    write_by(l, out, (MPI_Offset)l->rank * REGION_BYTES + at, from.origin, written);
    stress_check(l, FILE_IO, "written memory", &from, &kept);
    meet(l);
    read_by(l, in, (MPI_Offset)next * REGION_BYTES + at, to.origin, read);
    stress_check(l, FILE_IO, "reading", &to, &want);
    MPI_Barrier(l->comm);
    test_buffer_free(&from);
    test_buffer_free(&kept);
    test_buffer_free(&to);
    test_buffer_free(&want);
}
