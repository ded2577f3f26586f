/*
 * One-sided transfers whose origin is in GPU memory, against the typemap: rank 0 works on the window of rank 1, which
 * is in host memory. Puts and gets of random types; accumulating calls, whose elements MPI must know; requests, whose
 * end must be one.
 *
 * usage: windows <driver, or -> [types [first-seed]]. Exits 77, for "skipped", without a GPU.
 */
#include "tests/mpi/gpu/subject.h"

enum { SKIPPED = 77, N = 60, BASE = SUBJECT_SPAN, WINDOW = 3 * SUBJECT_SPAN };

typedef enum way { LOCKED, FLUSHED, FENCED, REQUESTED, WAYS } way;
static const char *const way_names[WAYS] = {"unlock", "flush", "fence", "request"};

static int rank;
static bool is_aware; /* the MPI takes GPU memory, or PACKWRIGHT_GPU_AWARE says so */
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
static void complete(way how, MPI_Request *request)
{
    switch (how) {
    case LOCKED: MPI_Win_unlock(1, win); break;
    case FLUSHED: MPI_Win_flush_local(1, win); break;
    case FENCED: MPI_Win_fence(0, win); break;
    default: MPI_Wait(request, MPI_STATUS_IGNORE); break;
    }
}

static void end(way how)
{
    if (how == FLUSHED || how == REQUESTED)
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
    MPI_Request request = MPI_REQUEST_NULL;

    begin(how);
    if (how == REQUESTED && puts)
        MPI_Rput(buf, s->count, type, 1, t->disp, t->count, t->type, win, &request);
    else if (how == REQUESTED)
        MPI_Rget(buf, s->count, type, 1, t->disp, t->count, t->type, win, &request);
    else if (puts)
        MPI_Put(buf, s->count, type, 1, t->disp, t->count, t->type, win);
    else
        MPI_Get(buf, s->count, type, 1, t->disp, t->count, t->type, win);
    complete(how, &request);
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

/* ---- accumulating calls ------------------------------------------------------------------------------------------ */

typedef struct double_pair {
    double value;
    int index;
} double_pair;

/* Adds every second of 2 N elements in GPU memory to N elements of the window. */
static void check_sums(way how, bool shorts)
{
    static int ints[2 * N], got[2 * N];
    static short few[2 * N], got_few[2 * N];
    MPI_Datatype basic = shorts ? MPI_SHORT : MPI_INT, type;
    size_t size = shorts ? sizeof(short) : sizeof(int);
    gpu_memory result = gpu_memory_make(GPU_DEVICE, sizeof ints);
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int wrong = 0;

    MPI_Type_vector(N, 1, 2, basic, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 2 * N; i++) {
        ints[i] = 1000 + i;
        few[i] = (short)(1000 + i);
        got[i] = got_few[i] = -1;
    }
    gpu_write(&origin, 0, shorts ? (void *)few : (void *)ints, 2 * N * size);
    gpu_write(&result, 0, shorts ? (void *)got_few : (void *)got, 2 * N * size);
    for (int i = 0; i < N; i++)
        shorts ? (void)(((short *)memory)[i] = (short)(10 * i)) : (void)(((int *)memory)[i] = 10 * i);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        begin(how);
        if (how == REQUESTED) {
            MPI_Raccumulate(origin.at, 1, type, 1, 0, N, basic, MPI_SUM, win, &requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            MPI_Rget_accumulate(origin.at, 1, type, result.at, 1, type, 1, 0, N, basic, MPI_SUM, win, &requests[1]);
        } else {
            MPI_Accumulate(origin.at, 1, type, 1, 0, N, basic, MPI_SUM, win);
            MPI_Get_accumulate(origin.at, 1, type, result.at, 1, type, 1, 0, N, basic, MPI_SUM, win);
        }
        complete(how, &requests[1]);
        gpu_read(&result, 0, shorts ? (void *)got_few : (void *)got, 2 * N * size);
        for (int i = 0; i < 2 * N; i++)
            wrong += (shorts ? got_few[i] : got[i]) != (i % 2 ? -1 : 10 * (i / 2) + 1000 + i);
        CHECK(wrong == 0, "%s, %s: %d results wrong", shorts ? "shorts" : "ints", way_names[how], wrong);
        end(how);
    } else {
        accompany(how);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    for (int i = 0; i < N && rank == 1; i++)
        wrong += (shorts ? ((short *)memory)[i] : ((int *)memory)[i]) != 10 * i + 2 * (1000 + 2 * i);
    MPI_Win_unlock(rank, win);
    CHECK(rank == 0 || wrong == 0, "%s, %s: %d sums wrong", shorts ? "shorts" : "ints", way_names[how], wrong);
    MPI_Type_free(&type);
    gpu_memory_free(&result);
}

/* Pairs have a hole, so packed ones are no array that MPI could combine. */
static void check_pairs(way how, bool spread)
{
    static double_pair pairs[2 * N], got[2 * N];
    const double_pair *there = (const double_pair *)memory;
    gpu_memory result = gpu_memory_make(GPU_DEVICE, sizeof pairs);
    MPI_Datatype type = MPI_DOUBLE_INT;
    int count = spread ? 1 : N, step = spread ? 2 : 1, wrong = 0;

    if (spread) {
        MPI_Type_vector(N, 1, 2, MPI_DOUBLE_INT, &type);
        MPI_Type_commit(&type);
    }
    memset(pairs, 0, sizeof pairs);
    memset(got, 0, sizeof got);
    for (int i = 0; i < 2 * N; i++)
        pairs[i] = (double_pair){i % 3, i};
    gpu_write(&origin, 0, pairs, sizeof pairs);
    gpu_write(&result, 0, got, sizeof got);
    memset(memory, 0, N * sizeof *pairs);
    for (int i = 0; i < N; i++)
        ((double_pair *)memory)[i] = (double_pair){1, 1000};
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        begin(how);
        MPI_Get_accumulate(origin.at, count, type, result.at, count, type, 1, 0, N, MPI_DOUBLE_INT, MPI_MAXLOC, win);
        complete(how, NULL);
        gpu_read(&result, 0, got, sizeof got);
        for (int i = 0; i < N; i++)
            wrong += got[step * i].value != 1 || got[step * i].index != 1000;
        end(how);
    } else {
        accompany(how);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    for (int i = 0; i < N && rank == 1; i++) {
        int mine = step * i, v = mine % 3;

        wrong +=
            there[i].value != (v > 1 ? v : 1) || there[i].index != (v > 1 || (v == 1 && mine < 1000) ? mine : 1000);
    }
    MPI_Win_unlock(rank, win);
    CHECK(wrong == 0, "pairs, %s, %s: %d wrong", spread ? "spread" : "dense", way_names[how], wrong);
    if (spread)
        MPI_Type_free(&type);
    gpu_memory_free(&result);
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

/* Open MPI (4.1.4, osc/rdma) takes pairs one after the other for memory without holes in windows that it has not
 * allocated, and writes behind the end of what it has for them. */
static bool takes_pairs(bool spread, bool allocated)
{
#ifdef OPEN_MPI
    return spread || allocated;
#else
    (void)spread, (void)allocated;
    return true;
#endif
}

/* What is left to MPICH (4.0.2) may be under way when its request is complete (docs/mpi-libraries.md). */
static bool tells_the_end(way how)
{
#ifdef OPEN_MPI
    (void)how;
    return true;
#else
    return how != REQUESTED || !is_aware;
#endif
}

static void check_window(int types, uint64_t seed, bool allocated)
{
    for (int i = 0; i < types; i++) {
        way how = (way)(i % WAYS);
        subject s;

        if (!tells_the_end(how))
            continue;

        subject_make(&s, seed + (uint64_t)i, true);
        for (int typed = 0; typed < 2; typed++) {
            check_put(&s, how, typed);
            check_get(&s, how, typed);
        }
        subject_free(&s);
    }
    for (int how = 0; how < WAYS; how++)
        for (int k = 0; k < 2; k++) {
            if (tells_the_end((way)how))
                check_sums((way)how, k);
            if (how != REQUESTED && takes_pairs(k, allocated))
                check_pairs((way)how, k);
        }
}

int main(int argc, char **argv)
{
    int types = argc > 2 ? atoi(argv[2]) : 40, rc;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
    static unsigned char own[WINDOW];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    is_aware = gpu_mpi_is_said_aware();
    if (!gpu_start_as_told(argc, argv)) {
        MPI_Finalize();
        return SKIPPED;
    }
    origin = subject_memory(GPU_DEVICE);
    MPI_Win_allocate(WINDOW, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    check_window(types, seed, true);
    MPI_Win_free(&win);
    memory = own;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Win_create(own, sizeof own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS) {
        check_window(types, seed + 100000, false);
        MPI_Win_free(&win);
    } else {
        printf("SKIPPED: this MPI makes no windows of other memory\n"); /* Open MPI without a network that it likes */
    }
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
