/*
 * The forms with MPI_Count of messages, one-sided operations and files, each once with counts that are small: an
 * exchange around the ring of ranks, whatever call carries it. The collectives' forms are in
 * tests/mpi/collective/collectives.c. Run with each strategy; files lie in $TMPDIR.
 */
#include "tests/mpi/support/completion.h"

#include <unistd.h>

#if MPI_VERSION >= 4

enum { COUNT = 2 };

static int rank, ranks, next, before;
static MPI_File file;
static MPI_Request requests[2];

/* Sends `out` to the next rank, and receives `in` from the one before. */
typedef void ring_fn(const void *out, void *in, MPI_Datatype type);

static void finish(MPI_Datatype type)
{
    MPI_Status statuses[2];
    MPI_Count n = -1;

    MPI_Waitall(2, requests, statuses);
    MPI_Get_count_c(&statuses[0], type, &n);
    CHECK(n == COUNT && statuses[0].MPI_SOURCE == before, "status: %ld objects", (long)n);
}

/* Posts the receive before anything is sent. */
static void post(void *in, MPI_Datatype type)
{
    MPI_Irecv_c(in, COUNT, type, before, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    requests[1] = MPI_REQUEST_NULL;
}

#define BLOCKING(name)                                             \
    static void name(const void *out, void *in, MPI_Datatype type) \
    {                                                              \
        post(in, type);                                            \
        MPI_##name##_c(out, COUNT, type, next, 0, MPI_COMM_WORLD); \
        finish(type);                                              \
    }
#define NONBLOCKING(name)                                                        \
    static void name(const void *out, void *in, MPI_Datatype type)               \
    {                                                                            \
        post(in, type);                                                          \
        MPI_##name##_c(out, COUNT, type, next, 0, MPI_COMM_WORLD, &requests[1]); \
        finish(type);                                                            \
    }
#define PERSISTENT(name)                                                           \
    static void name(const void *out, void *in, MPI_Datatype type)                 \
    {                                                                              \
        MPI_Recv_init_c(in, COUNT, type, before, 0, MPI_COMM_WORLD, &requests[0]); \
        MPI_##name##_c(out, COUNT, type, next, 0, MPI_COMM_WORLD, &requests[1]);   \
        for (int i = 0; i < 2; i++) {                                              \
            MPI_Start(&requests[0]);                                               \
            MPI_Barrier(MPI_COMM_WORLD);                                           \
            MPI_Start(&requests[1]);                                               \
            finish(type);                                                          \
        }                                                                          \
        MPI_Request_free(&requests[0]);                                            \
        MPI_Request_free(&requests[1]);                                            \
    }

BLOCKING(Send)
BLOCKING(Ssend)
BLOCKING(Bsend)
BLOCKING(Rsend)
NONBLOCKING(Isend)
NONBLOCKING(Issend)
NONBLOCKING(Ibsend)
NONBLOCKING(Irsend)
PERSISTENT(Send_init)
PERSISTENT(Ssend_init)
PERSISTENT(Bsend_init)
PERSISTENT(Rsend_init)

static void Recv(const void *out, void *in, MPI_Datatype type)
{
    MPI_Isend_c(out, COUNT, type, next, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Recv_c(in, COUNT, type, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
}

static void Mrecv(const void *out, void *in, MPI_Datatype type)
{
    MPI_Message message;

    MPI_Isend_c(out, COUNT, type, next, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Mprobe(before, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv_c(in, COUNT, type, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
}

static void Imrecv(const void *out, void *in, MPI_Datatype type)
{
    MPI_Message message;

    MPI_Isend_c(out, COUNT, type, next, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Mprobe(before, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv_c(in, COUNT, type, &message, &requests[0]);
    finish(type);
}

static void Sendrecv(const void *out, void *in, MPI_Datatype type)
{
    MPI_Sendrecv_c(out, COUNT, type, next, 0, in, COUNT, type, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* `out` is copied into the buffer that is replaced, and the result is copied to `in`. */
static void Sendrecv_replace(const void *out, void *in, MPI_Datatype type)
{
    int bytes = test_packed_bytes(type, COUNT), p = 0;
    unsigned char *packed = malloc((size_t)bytes);
    test_buffer b = test_buffer_create(type, COUNT);

    PMPI_Pack(out, COUNT, type, packed, bytes, &p, MPI_COMM_SELF);
    p = 0;
    PMPI_Unpack(packed, bytes, &p, b.origin, COUNT, type, MPI_COMM_SELF);
    MPI_Sendrecv_replace_c(b.origin, COUNT, type, next, 0, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    p = 0;
    PMPI_Pack(b.origin, COUNT, type, packed, bytes, &p, MPI_COMM_SELF);
    p = 0;
    PMPI_Unpack(packed, bytes, &p, in, COUNT, type, MPI_COMM_SELF);
    test_buffer_free(&b);
    free(packed);
}

/* ---- windows, of packed contents --------------------------------------------------------------------------------- */

typedef int transfer_fn(const void *out, void *in, MPI_Datatype type, int bytes, MPI_Win win, MPI_Request *request);

static int put(const void *out, void *in, MPI_Datatype type, int bytes, MPI_Win win, MPI_Request *request)
{
    (void)in;
    return request ? MPI_Rput_c(out, COUNT, type, next, 0, bytes, MPI_BYTE, win, request)
                   : MPI_Put_c(out, COUNT, type, next, 0, bytes, MPI_BYTE, win);
}

static int get(const void *out, void *in, MPI_Datatype type, int bytes, MPI_Win win, MPI_Request *request)
{
    (void)out;
    return request ? MPI_Rget_c(in, COUNT, type, before, 0, bytes, MPI_BYTE, win, request)
                   : MPI_Get_c(in, COUNT, type, before, 0, bytes, MPI_BYTE, win);
}

/* A flush first, since MPICH 4.0's requests of gets complete too early; whole pages, since it misplaces the second
 * rank's memory where the first has a few bytes. */
static void through_window(const void *out, void *in, MPI_Datatype type, transfer_fn *transfer, bool asks)
{
    int bytes = test_packed_bytes(type, COUNT), p = 0;
    unsigned char *memory;
    MPI_Win win;

    MPI_Win_allocate((bytes / 4096 + 1) * 4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    if (transfer == get)
        PMPI_Pack(out, COUNT, type, memory, bytes, &p, MPI_COMM_SELF);
    MPI_Win_lock_all(0, win);
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    transfer(out, in, type, bytes, win, asks ? &requests[0] : NULL);
    MPI_Win_flush_all(win);
    if (asks)
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    p = 0;
    if (transfer == put)
        PMPI_Unpack(memory, bytes, &p, in, COUNT, type, MPI_COMM_SELF);
    MPI_Win_free(&win);
}

#define WINDOW(name, transfer, asks)                               \
    static void name(const void *out, void *in, MPI_Datatype type) \
    {                                                              \
        through_window(out, in, type, transfer, asks);             \
    }

WINDOW(Put, put, false)
WINDOW(Get, get, false)
WINDOW(Rput, put, true)
WINDOW(Rget, get, true)

/* ---- files ------------------------------------------------------------------------------------------------------- */

#define AT(of, bytes) (MPI_Offset)(of) * (bytes)

#define THROUGH_FILE(name, write, read)                            \
    static void name(const void *out, void *in, MPI_Datatype type) \
    {                                                              \
        int bytes = test_packed_bytes(type, COUNT);                \
                                                                   \
        MPI_File_seek(file, AT(rank, bytes), MPI_SEEK_SET);        \
        write;                                                     \
        MPI_File_sync(file);                                       \
        MPI_Barrier(MPI_COMM_WORLD);                               \
        MPI_File_sync(file);                                       \
        MPI_File_seek(file, AT(before, bytes), MPI_SEEK_SET);      \
        read;                                                      \
        MPI_Barrier(MPI_COMM_WORLD);                               \
    }

#define POINTER(name, write, read)                                                      \
    THROUGH_FILE(name, MPI_File_##write##_c(file, out, COUNT, type, MPI_STATUS_IGNORE), \
                 MPI_File_##read##_c(file, in, COUNT, type, MPI_STATUS_IGNORE))
#define OFFSET(name, write, read)                                                                        \
    THROUGH_FILE(name, MPI_File_##write##_c(file, AT(rank, bytes), out, COUNT, type, MPI_STATUS_IGNORE), \
                 MPI_File_##read##_c(file, AT(before, bytes), in, COUNT, type, MPI_STATUS_IGNORE))
#define WAITED(call) (call, MPI_Wait(&requests[0], MPI_STATUS_IGNORE))
#define IPOINTER(name, write, read)                                                        \
    THROUGH_FILE(name, WAITED(MPI_File_##write##_c(file, out, COUNT, type, &requests[0])), \
                 WAITED(MPI_File_##read##_c(file, in, COUNT, type, &requests[0])))
#define IOFFSET(name, write, read)                                                                          \
    THROUGH_FILE(name, WAITED(MPI_File_##write##_c(file, AT(rank, bytes), out, COUNT, type, &requests[0])), \
                 WAITED(MPI_File_##read##_c(file, AT(before, bytes), in, COUNT, type, &requests[0])))
#define ENDED(call, end) (call, MPI_File_##end)
#define HALVES(name, write, read)                                                                                      \
    THROUGH_FILE(name,                                                                                                 \
                 ENDED(MPI_File_##write##_begin_c(file, out, COUNT, type), write##_end(file, out, MPI_STATUS_IGNORE)), \
                 ENDED(MPI_File_##read##_begin_c(file, in, COUNT, type), read##_end(file, in, MPI_STATUS_IGNORE)))
#define HALVES_AT(name, write, read)                                                        \
    THROUGH_FILE(name,                                                                      \
                 ENDED(MPI_File_##write##_begin_c(file, AT(rank, bytes), out, COUNT, type), \
                       write##_end(file, out, MPI_STATUS_IGNORE)),                          \
                 ENDED(MPI_File_##read##_begin_c(file, AT(before, bytes), in, COUNT, type), \
                       read##_end(file, in, MPI_STATUS_IGNORE)))

POINTER(File_write, write, read)
POINTER(File_write_all, write_all, read_all)
OFFSET(File_write_at, write_at, read_at)
OFFSET(File_write_at_all, write_at_all, read_at_all)
IPOINTER(File_iwrite, iwrite, iread)
IPOINTER(File_iwrite_all, iwrite_all, iread_all)
IOFFSET(File_iwrite_at, iwrite_at, iread_at)
IOFFSET(File_iwrite_at_all, iwrite_at_all, iread_at_all)
HALVES(File_write_all_begin, write_all, read_all)
HALVES_AT(File_write_at_all_begin, write_at_all, read_at_all)

static void open_file(void)
{
    const char *dir = getenv("TMPDIR");
    char path[1024];
    int pid = (int)getpid();

    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s/packwright-large-counts-%d", dir ? dir : "/tmp", pid);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &file);
    MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    ring_fn *ring;
} calls[] = {
#define ROW(name) {#name, name}
    ROW(Send),
    ROW(Ssend),
    ROW(Bsend),
    ROW(Rsend),
    ROW(Isend),
    ROW(Issend),
    ROW(Ibsend),
    ROW(Irsend),
    ROW(Send_init),
    ROW(Ssend_init),
    ROW(Bsend_init),
    ROW(Rsend_init),
    ROW(Recv),
    ROW(Mrecv),
    ROW(Imrecv),
    ROW(Sendrecv),
    ROW(Sendrecv_replace),
    ROW(Put),
    ROW(Get),
    ROW(Rput),
    ROW(Rget),
    ROW(File_write),
    ROW(File_write_all),
    ROW(File_write_at),
    ROW(File_write_at_all),
    ROW(File_iwrite),
    ROW(File_iwrite_all),
    ROW(File_iwrite_at),
    ROW(File_iwrite_at_all),
    ROW(File_write_all_begin),
    ROW(File_write_at_all_begin),
#undef ROW
};

static void check(int which, int n)
{
    static const int types[] = {0, 1, 3, 9, 13};

    for (int i = 0; i < (int)(sizeof types / sizeof *types); i++) {
        MPI_Datatype type = test_type(types[i], n);
        test_buffer out = test_buffer_create(type, COUNT), in = test_buffer_create(type, COUNT), want;

        test_buffer_fill(&out, (unsigned)rank);
        test_buffer_fill(&in, 70);
        calls[which].ring(out.origin, in.origin, type);
        want = test_expected(type, COUNT, (unsigned)before, type, COUNT, 70);
        CHECK(test_buffer_equal(&in, &want), "%s_c of %s, n=%d", calls[which].name, test_type_name(types[i]), n);
        test_buffer_free(&out);
        test_buffer_free(&in);
        test_buffer_free(&want);
        MPI_Type_free(&type);
    }
}

static void check_all(void)
{
    static char attached[4 << 20];

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    next = (rank + 1) % ranks;
    before = (rank + ranks - 1) % ranks;
    MPI_Buffer_attach(attached, sizeof attached);
    open_file();
    for (int which = 0; which < (int)(sizeof calls / sizeof *calls); which++)
        for (int n = 1; n <= 1000; n *= 10)
            check(which, n);
    MPI_File_close(&file);
}

#else

static void check_all(void)
{
    /* This MPI has no such forms. */
}

#endif

int main(int argc, char **argv)
{
    return test_run(&argc, &argv, check_all);
}
