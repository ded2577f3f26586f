/*
 * MPI_Fetch_and_op and MPI_Compare_and_swap with buffers in GPU memory: rank 0 works on the window of rank 1, which is
 * in host memory.
 *
 * usage: atomics <driver, or ->. Exits 77, for "skipped", without a GPU.
 */
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

enum { SKIPPED = 77, MOST = 16, SLOTS = 8, AT = 3, GUARD = 0xa5 };

typedef enum way { LOCKED, FLUSHED, FENCED, WAYS } way;
static const char *const way_names[WAYS] = {"unlock", "flush", "fence"};

static int rank;
static bool is_aware; /* the MPI takes GPU memory, or PACKWRIGHT_GPU_AWARE says so */
static MPI_Win win;
static unsigned char *memory; /* the window of this rank */

/* ---- epochs ------------------------------------------------------------------------------------------------------ */

static void begin(way how)
{
    if (how == FENCED)
        MPI_Win_fence(0, win);
    else if (rank == 0)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
}

static void complete(way how)
{
    switch (how) {
    case FENCED: MPI_Win_fence(0, win); break;
    case LOCKED:
        if (rank == 0)
            MPI_Win_unlock(1, win);
        break;
    default:
        if (rank == 0)
            MPI_Win_flush_local(1, win);
        break;
    }
}

static void end(way how)
{
    if (how == FLUSHED && rank == 0)
        MPI_Win_unlock(1, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- buffers of one element -------------------------------------------------------------------------------------- */

typedef enum role { ORIGIN, COMPARE, RESULT, ROLES } role;

/* The buffers of each role, in GPU memory and in host memory: MOST bytes and a guard. */
static gpu_memory device[ROLES], host[ROLES];

/* Returns the buffer of a role: in GPU memory if its bit in `places` is set. */
static gpu_memory *buffer(int places, role r)
{
    return places >> r & 1 ? &device[r] : &host[r];
}

static void set(int places, role r, const void *value, size_t bytes)
{
    unsigned char image[2 * MOST];

    memset(image, GUARD, sizeof image);
    memcpy(image, value, bytes);
    gpu_write(buffer(places, r), 0, image, sizeof image);
}

static void check_result(int places, const void *want, size_t bytes, const char *what)
{
    unsigned char image[2 * MOST];

    gpu_read(buffer(places, RESULT), 0, image, sizeof image);
    CHECK(!memcmp(image, want, bytes), "%s, buffers in GPU memory %d: wrong result", what, places);
    for (size_t i = bytes; i < sizeof image; i++)
        if (image[i] != GUARD) {
            CHECK(false, "%s, buffers in GPU memory %d: byte %zu behind the result was written", what, places, i);
            break;
        }
}

/* ---- one element: its type, and what the window has before and after --------------------------------------------- */

typedef struct element {
    const char *name;
    MPI_Datatype type;
    MPI_Op op;
    size_t bytes;
    unsigned char before[MOST], operand[MOST], after[MOST];
} element;

#define ELEMENT(T, type, op, is, with, becomes) \
    element_of(#type " " #op, type, op, sizeof(T), &(T){is}, &(T){with}, &(T){becomes})

static element element_of(const char *name, MPI_Datatype type, MPI_Op op, size_t bytes, const void *before,
                          const void *operand, const void *after)
{
    element e = {.name = name, .type = type, .op = op, .bytes = bytes};

    memcpy(e.before, before, bytes);
    memcpy(e.operand, operand, bytes);
    memcpy(e.after, after, bytes);
    return e;
}

static void set_window(const element *e)
{
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        memset(memory, GUARD, SLOTS * MOST);
        memcpy(memory + AT * e->bytes, e->before, e->bytes);
        MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_window(const element *e, const unsigned char *want, way how)
{
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        CHECK(!memcmp(memory + AT * e->bytes, want, e->bytes) && memory[AT * e->bytes - 1] == GUARD &&
                  memory[(AT + 1) * e->bytes] == GUARD,
              "%s by %s: the window is wrong", e->name, way_names[how]);
        MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_fetch(const element *e, way how, int places)
{
    static const unsigned char nothing[MOST];
    /* MPI_NO_OP has no origin. */
    void *origin = e->op == MPI_NO_OP ? NULL : buffer(places, ORIGIN)->at;

    set_window(e);
    set(places, ORIGIN, e->operand, e->bytes);
    set(places, RESULT, nothing, e->bytes);
    begin(how);
    if (rank == 0)
        MPI_Fetch_and_op(origin, buffer(places, RESULT)->at, e->type, 1, (MPI_Aint)(AT * e->bytes), e->op, win);
    complete(how);
    if (rank == 0)
        check_result(places, e->before, e->bytes, e->name);
    end(how);
    check_window(e, e->after, how);
}

/* `after` is swapped in; `operand` is another value than the window's. */
static void check_swap(const element *e, way how, int places, bool equal)
{
    static const unsigned char nothing[MOST];

    set_window(e);
    set(places, ORIGIN, e->after, e->bytes);
    set(places, COMPARE, equal ? e->before : e->operand, e->bytes);
    set(places, RESULT, nothing, e->bytes);
    begin(how);
    if (rank == 0)
        MPI_Compare_and_swap(buffer(places, ORIGIN)->at, buffer(places, COMPARE)->at, buffer(places, RESULT)->at,
                             e->type, 1, (MPI_Aint)(AT * e->bytes), win);
    complete(how);
    if (rank == 0)
        check_result(places, e->before, e->bytes, e->name);
    end(how);
    check_window(e, equal ? e->after : e->before, how);
}

/* ---- several in one epoch ---------------------------------------------------------------------------------------- */

/* Starts many; their buffers must last until the epoch ends. */
static void check_many(void)
{
    enum { N = 40 };
    gpu_memory ones = gpu_memory_make(GPU_DEVICE, N * sizeof(long)),
               got = gpu_memory_make(GPU_DEVICE, N * sizeof(long));
    element e = ELEMENT(long, MPI_LONG, MPI_SUM, 5, 1, 5 + N);
    long values[N], results[N];

    for (int i = 0; i < N; i++)
        values[i] = 1;
    gpu_write(&ones, 0, values, sizeof values);
    set_window(&e);
    begin(LOCKED);
    for (int i = 0; i < N && rank == 0; i++)
        MPI_Fetch_and_op((long *)(void *)ones.at + i, (long *)(void *)got.at + i, MPI_LONG, 1,
                         (MPI_Aint)(AT * sizeof(long)), MPI_SUM, win);
    complete(LOCKED);
    gpu_read(&got, 0, results, sizeof results);
    for (int i = 0; i < N && rank == 0; i++)
        CHECK(results[i] == 5 + i, "fetch %d of many is %ld", i, results[i]); /* accumulating calls are ordered */
    end(LOCKED);
    check_window(&e, e.after, LOCKED);
    gpu_memory_free(&ones);
    gpu_memory_free(&got);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static int class_of(int rc)
{
    int class = MPI_SUCCESS;

    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &class);
    return class;
}

static void check_error(const char *what, const gpu_memory *from, MPI_Datatype type, int target, MPI_Op op)
{
    int ours, native, swap, native_swap;

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    ours = class_of(MPI_Fetch_and_op(from[ORIGIN].at, from[RESULT].at, type, target, 0, op, win));
    native = class_of(PMPI_Fetch_and_op(host[ORIGIN].at, host[RESULT].at, type, target, 0, op, win));
    swap = class_of(MPI_Compare_and_swap(from[ORIGIN].at, from[COMPARE].at, from[RESULT].at, type, target, 0, win));
    native_swap =
        class_of(PMPI_Compare_and_swap(host[ORIGIN].at, host[COMPARE].at, host[RESULT].at, type, target, 0, win));
    MPI_Win_unlock(1, win);
    CHECK(ours == native && swap == native_swap, "%s: classes %d and %d instead of %d and %d", what, ours, swap, native,
          native_swap);
    CHECK(native != MPI_SUCCESS || native_swap != MPI_SUCCESS, "%s is no error", what);
}

static void check_errors(void)
{
    MPI_Datatype two;

    MPI_Type_contiguous(2, MPI_INT, &two);
    MPI_Type_commit(&two);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    if (rank == 0) {
        check_error("a null type", device, MPI_DATATYPE_NULL, 1, MPI_SUM);
        check_error("no such rank", device, MPI_INT, 99, MPI_SUM);
#ifndef OPEN_MPI /* 4.1.4 does not look for the error, and crashes */
        check_error("a derived type", device, two, 1, MPI_SUM);
        check_error("a null operation", device, MPI_INT, 1, MPI_OP_NULL);
#endif
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&two);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static void check_all(void)
{
    const element fetched[] = {
        ELEMENT(int, MPI_INT, MPI_SUM, 40, 2, 42),        ELEMENT(long, MPI_LONG, MPI_REPLACE, 7, -9, -9),
        ELEMENT(int, MPI_INT, MPI_NO_OP, 12, 99, 12),     ELEMENT(double, MPI_DOUBLE, MPI_MAX, 1.5, 2.5, 2.5),
        ELEMENT(short, MPI_SHORT, MPI_SUM, 100, 23, 123), ELEMENT(unsigned char, MPI_BYTE, MPI_BXOR, 0x0f, 0x3c, 0x33)};
    const element swapped[] = {ELEMENT(int, MPI_INT, MPI_REPLACE, 5, 6, 7),
#ifndef OPEN_MPI /* in 4.1.4 the target uses an address of the origin's as its own */
                               ELEMENT(long, MPI_LONG, MPI_REPLACE, 1L << 40, 2, 3),
#endif
                               ELEMENT(unsigned, MPI_UNSIGNED, MPI_REPLACE, 8, 9, 10)};

    for (int how = 0; how < WAYS; how++) {
        for (int places = 0; places < 1 << ROLES; places++) {
            for (size_t i = 0; i < sizeof fetched / sizeof *fetched; i++)
                if (!(places >> COMPARE & 1))
                    check_fetch(&fetched[i], (way)how, places);
            for (size_t i = 0; i < sizeof swapped / sizeof *swapped; i++)
                for (int equal = 0; equal < 2; equal++)
                    check_swap(&swapped[i], (way)how, places, equal);
        }
        check_many();
    }
    check_errors();
}

int main(int argc, char **argv)
{
    int rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    is_aware = gpu_mpi_is_said_aware();
    if (!gpu_start_as_told(argc, argv)) {
        MPI_Finalize();
        return SKIPPED;
    }
    for (int r = 0; r < ROLES; r++) {
        device[r] = gpu_memory_make(GPU_DEVICE, 2 * MOST);
        host[r] = gpu_memory_make(GPU_HOST, 2 * MOST);
    }
    MPI_Win_allocate(SLOTS * MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    check_all();
    MPI_Win_free(&win);
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
