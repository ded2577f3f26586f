/*
 * One-sided transfers whose origin is in GPU memory, against the typemap: rank 0 works on the window of rank 1, which
 * is in host memory. Puts and gets of random types.
 *
 * usage: windows <driver, or -> [types [first-seed]]. Exits 77, for "skipped", without a GPU.
 */
#include "tests/mpi/gpu/subject.h"

enum { SKIPPED = 77, BASE = SUBJECT_SPAN, WINDOW = 3 * SUBJECT_SPAN };

typedef enum way { LOCKED, FLUSHED, FENCED, WAYS } way;
static const char *const way_names[WAYS] = {"unlock", "flush", "fence"};

static int rank;
static MPI_Win win;
static unsigned char *memory; /* the window of this rank */
static gpu_memory origin;
static unsigned char image[SUBJECT_SPAN], source[SUBJECT_SPAN], packed[SUBJECT_PACKED];

/* ---- epochs ------------------------------------------------------------------------------------------------------ */

static void begin(way how)
{
    if (how == FENCED)
        MPI_Win_fence(0, win);
    else
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
}

/* Completes the operations at the origin; the epoch goes on. */
static void complete(way how)
{
    switch (how) {
    case LOCKED: MPI_Win_unlock(1, win); break;
    case FLUSHED: MPI_Win_flush_local(1, win); break;
    default: MPI_Win_fence(0, win); break;
    }
}

static void end(way how)
{
    if (how == FLUSHED)
        MPI_Win_unlock(1, win);
}

/* Does the other rank's part of the epoch. */
static void accompany(way how)
{
    if (how != FENCED)
        return;
    MPI_Win_fence(0, win);
    MPI_Win_fence(0, win);
}

/* ---- puts and gets ----------------------------------------------------------------------------------------------- */

/* The target of a transfer: contiguous bytes, or the origin's type. */
typedef struct target {
    MPI_Aint disp;
    int count;
    MPI_Datatype type;
} target;

static target target_of(const subject *s, bool typed)
{
    return typed ? (target){BASE + SUBJECT_GUARD - s->lo, s->count, s->random.type}
                 : (target){BASE + SUBJECT_GUARD, (int)s->size, MPI_BYTE};
}

/* Rank 0 puts or gets; afterwards the origin must be as `expected`. */
static void transfer(const subject *s, bool puts, way how, const target *t, const unsigned char *expected)
{
    void *buf = subject_buffer(s, &origin);
    MPI_Datatype type = s->random.type;

    begin(how);
    if (puts)
        MPI_Put(buf, s->count, type, 1, t->disp, t->count, t->type, win);
    else
        MPI_Get(buf, s->count, type, 1, t->disp, t->count, t->type, win);
    complete(how);
    subject_same(s, puts ? "the origin of a put" : way_names[how], &origin, expected, s->span);
    end(how);
}

static void take_part(const subject *s, bool puts, way how, const target *t, const unsigned char *expected)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        transfer(s, puts, how, t, expected);
    else
        accompany(how);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Returns the bytes of the window that a target may take. */
static int64_t span_of(const subject *s)
{
    return s->span > s->size ? s->span : s->size;
}

static gpu_memory window_memory(void)
{
    return (gpu_memory){.kind = GPU_HOST, .at = memory + BASE, .bytes = SUBJECT_SPAN};
}

static void check_put(const subject *s, way how, bool typed)
{
    int64_t bytes = span_of(s);
    target t = target_of(s, typed);
    const gpu_memory window = window_memory();

    subject_fill(&origin, source, s->span, s->seed * 7 + 1); /* both ranks know them */
    subject_fill(&window, image, bytes, s->seed * 7 + 2);
    take_part(s, true, how, &t, source);
    if (rank == 0)
        return;
    subject_pack(s, source, packed);
    if (typed)
        subject_unpack(s, image, packed, s->size);
    else
        memcpy(image + SUBJECT_GUARD, packed, (size_t)s->size);
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    CHECK(!memcmp(memory + BASE, image, (size_t)bytes + 2 * SUBJECT_GUARD), "put by %s, %s target, seed %llu: %.200s",
          way_names[how], typed ? "typed" : "dense", (unsigned long long)s->seed, s->random.text);
    MPI_Win_unlock(1, win);
}

static void check_get(const subject *s, way how, bool typed)
{
    target t = target_of(s, typed);
    const gpu_memory window = window_memory();

    subject_fill(&window, source, span_of(s), s->seed * 7 + 3); /* both ranks know them */
    subject_fill(&origin, image, s->span, s->seed * 7 + 4);
    if (typed)
        subject_pack(s, source, packed);
    else
        memcpy(packed, source + SUBJECT_GUARD, (size_t)s->size);
    subject_unpack(s, image, packed, s->size);
    take_part(s, false, how, &t, image);
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static void check_window(int types, uint64_t seed)
{
    for (int i = 0; i < types; i++) {
        way how = (way)(i % WAYS);
        subject s;

        subject_make(&s, seed + (uint64_t)i, true);
        for (int typed = 0; typed < 2; typed++) {
            check_put(&s, how, typed);
            check_get(&s, how, typed);
        }
        subject_free(&s);
    }
}

int main(int argc, char **argv)
{
    int types = argc > 2 ? atoi(argv[2]) : 40, rc;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
    static unsigned char own[WINDOW];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!gpu_start_as_told(argc, argv)) {
        MPI_Finalize();
        return SKIPPED;
    }
    origin = subject_memory(GPU_DEVICE);
    MPI_Win_allocate(WINDOW, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    check_window(types, seed);
    MPI_Win_free(&win);
    memory = own;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Win_create(own, sizeof own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS) {
        check_window(types, seed + 100000);
        MPI_Win_free(&win);
    } else {
        printf("SKIPPED: this MPI makes no windows of other memory\n"); /* Open MPI without a network that it likes */
    }
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
