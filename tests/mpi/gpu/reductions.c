/*
 * MPI_Reduce and MPI_Allreduce of buffers in GPU memory: every form, in place and between groups, of predefined types,
 * pairs with a hole, and types of the program's own under operations of its own, which see host memory. The oracle is
 * the MPI below, on copies in host memory.
 *
 * usage: reductions <driver, or -> [rounds]. Exits 77, for "skipped", without a GPU.
 */
#include "tests/mpi/collective/reduction_calls.h"
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/gpu/reduction_errors.h"
#include "tests/mpi/support/harness.h"

enum { SKIPPED = 77, GUARD = 64, MOST = 1 << 20, ROOM = MOST + 2 * GUARD, MODULUS = 1009 };

static int rank, size;
static bool is_aware; /* the MPI takes GPU memory, or PACKWRIGHT_GPU_AWARE says so */

/* ---- what is combined -------------------------------------------------------------------------------------------- */

typedef struct kind {
    const char *name;
    MPI_Datatype type;
    MPI_Op op;
    int extent;
    int lowest; /* the offset of its first byte */
    /* Sets the members of an object; `at` is where the object begins, whatever its lower bound. */
    void (*set)(unsigned char *at, uint64_t random);
    bool (*is_member)(int byte); /* of the byte at this distance from the lowest one */
    bool own;                    /* the type and the operation are the program's own */
} kind;

static void set_int(unsigned char *at, uint64_t random)
{
    int value = (int)(random % 100000);

    memcpy(at, &value, sizeof value);
}

static void set_double(unsigned char *at, uint64_t random)
{
    double value = (double)(random % 1000) / 8;

    memcpy(at, &value, sizeof value);
}

static void set_pair(unsigned char *at, uint64_t random)
{
    int index = (int)(random >> 40);

    set_double(at, random % 5);
    memcpy(at + sizeof(double), &index, sizeof index);
}

static bool is_always(int byte)
{
    (void)byte;
    return true;
}

static bool is_in_pair(int byte)
{
    return byte < (int)(sizeof(double) + sizeof(int));
}

/*
 * A 2 x 2 matrix with gaps around it: its product depends on the order of ranks, that of its elements does not. BEHIND
 * says where a type lies that begins before its address. Open MPI 4.1.4 writes beside its own memory in reductions of
 * types whose first byte is not at their address, and so do MPICH 5.0.2 and Intel MPI in MPI_Allreduce.
 */
#if defined OPEN_MPI || defined I_MPI_VERSION || MPICH_NUMVERSION >= 50000000
enum { MATRIX_AT = 0, MATRIX_EXTENT = 32, BEHIND = 0 };
#else
enum { MATRIX_AT = 8, MATRIX_EXTENT = 32, BEHIND = -MATRIX_EXTENT };
#endif

static void set_matrix(unsigned char *at, uint64_t random)
{
    int m[4];

    for (int i = 0; i < 4; i++)
        m[i] = (int)((random >> (12 * i)) % MODULUS);
    memcpy(at, m, sizeof m);
}

static bool is_in_matrix(int byte)
{
    return byte < (int)(4 * sizeof(int));
}

static void multiply_matrices(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++) {
        const int *a = (const int *)((char *)in + MATRIX_AT + (ptrdiff_t)i * MATRIX_EXTENT);
        int *b = (int *)((char *)inout + MATRIX_AT + (ptrdiff_t)i * MATRIX_EXTENT);
        int c[4];

        for (int k = 0; k < 4; k++)
            c[k] = (a[k / 2 * 2] * b[k % 2] + a[k / 2 * 2 + 1] * b[2 + k % 2]) % MODULUS;
        memcpy(b, c, sizeof c);
    }
}

static void multiply_elements(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++) {
        const int *a = (const int *)((char *)in + BEHIND + MATRIX_AT + (ptrdiff_t)i * MATRIX_EXTENT);
        int *b = (int *)((char *)inout + BEHIND + MATRIX_AT + (ptrdiff_t)i * MATRIX_EXTENT);

        for (int k = 0; k < 4; k++)
            b[k] = a[k] * b[k] % MODULUS;
    }
}

static kind matrix_kind(bool behind)
{
    kind k = {.name = behind ? "matrices behind" : "matrices",
              .extent = MATRIX_EXTENT,
              .lowest = MATRIX_AT + (behind ? BEHIND : 0),
              .set = set_matrix,
              .is_member = is_in_matrix,
              .own = true};
    MPI_Datatype four;

    MPI_Type_create_hindexed_block(1, 4, &(MPI_Aint){k.lowest}, MPI_INT, &four);
    MPI_Type_create_resized(four, behind ? BEHIND : 0, MATRIX_EXTENT, &k.type);
    MPI_Type_commit(&k.type);
    MPI_Type_free(&four);
    MPI_Op_create(behind ? multiply_elements : multiply_matrices, behind, &k.op);
    return k;
}

enum { KINDS = 5 };

static kind make_kind(int i)
{
    switch (i) {
    case 0: return (kind){"ints", MPI_INT, MPI_SUM, sizeof(int), 0, set_int, is_always, false};
    case 1: return (kind){"doubles", MPI_DOUBLE, MPI_MAX, sizeof(double), 0, set_double, is_always, false};
    case 2: return (kind){"pairs", MPI_DOUBLE_INT, MPI_MAXLOC, 16, 0, set_pair, is_in_pair, false};
    case 3: return matrix_kind(false);
    default: return matrix_kind(true);
    }
}

static void free_kind(kind *k)
{
    if (!k->own)
        return;
    MPI_Type_free(&k->type);
    MPI_Op_free(&k->op);
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

/* Returns the address for a call, with which the lowest byte of the first object is behind the guard. */
static void *address(const kind *k, unsigned char *memory)
{
    return memory + GUARD - k->lowest;
}

static size_t bytes_of(const kind *k, int count)
{
    return (size_t)count * (size_t)k->extent + 2 * GUARD;
}

static void fill(const kind *k, unsigned char *image, int count, uint64_t seed)
{
    uint64_t state = seed * 1000 + (uint64_t)rank * 77 + 1;

    test_fill(image, bytes_of(k, count), (unsigned)(seed + 5));
    for (int i = 0; i < count; i++)
        k->set(image + GUARD + (size_t)i * (size_t)k->extent, test_random(&state));
}

/* Checks that the first `count` objects are as in `want`, and that all other bytes are as they were, where only this
 * rank writes. */
static void check_result(const kind *k, const char *what, const unsigned char *got, const unsigned char *want,
                         const unsigned char *before, int count, int all, bool gaps)
{
    size_t bytes = bytes_of(k, all), end = GUARD + (size_t)count * (size_t)k->extent;
    size_t last = GUARD + (size_t)all * (size_t)k->extent;

    for (size_t i = 0; i < bytes; i++) {
        bool inside = i >= GUARD && i < end, guard = i < GUARD || i >= last;
        bool member = inside && k->is_member((int)((i - GUARD) % (size_t)k->extent));

        if (member ? got[i] == want[i] : !(guard || (inside && gaps)) || got[i] == before[i])
            continue;
        CHECK(false, "%s of %s: byte %zd of object %zd is %02x instead of %02x", what, k->name,
              (ssize_t)(i - GUARD) % k->extent, (ssize_t)(i - GUARD) / k->extent, got[i], member ? want[i] : before[i]);
        return;
    }
}

/* ---- one call ---------------------------------------------------------------------------------------------------- */

typedef struct trial {
    const kind *k;
    reduction which;
    reduction_mode mode;
    bool large, in_place;
    gpu_memory send, recv;
    MPI_Comm comm;
    bool between_groups;
    int root;
    int count; /* of one block */
    uint64_t seed;
} trial;

/* The size of a trial on this rank. */
typedef struct extent {
    int sent, received, room; /* objects; room: those of the larger buffer */
    bool sends_in_place;
} extent;

static extent extent_of(const trial *t, reduction_args *a)
{
    extent e = {.sent = t->count, .received = t->count};
    int me;

    MPI_Comm_rank(t->comm, &me);
    a->count = t->count;
    e.sends_in_place = t->in_place && (t->which != REDUCE || me == t->root);
    if (t->which == REDUCE && (t->between_groups ? t->root != MPI_ROOT : me != t->root))
        e.received = 0;
    e.room = e.sent > t->count ? e.sent : t->count;
    return e;
}

static void start_and_wait(const trial *t, MPI_Request *request)
{
    if (t->mode == PERSISTENT)
        MPI_Start(request);
    if (t->mode != BLOCKING)
        MPI_Wait(request, MPI_STATUS_IGNORE);
}

static unsigned char sent[ROOM], before[ROOM], want[ROOM], got[ROOM];

/* Puts new data into the buffers, and computes the results. */
static void prepare(const trial *t, const reduction_args *a, const extent *e, uint64_t seed)
{
    static unsigned char copy[ROOM];
    reduction_args native = *a;

    fill(t->k, sent, e->room, seed);
    fill(t->k, before, e->room, seed + 1);
    memcpy(copy, sent, bytes_of(t->k, e->room));
    memcpy(want, before, bytes_of(t->k, e->room));
    native.send = e->sends_in_place ? MPI_IN_PLACE : address(t->k, copy);
    native.recv = address(t->k, want);
    native.native = true;
    native.large = false;
    reduction_call(t->which, BLOCKING, &native, NULL);
    gpu_write(&t->send, 0, sent, bytes_of(t->k, e->room));
    gpu_write(&t->recv, 0, before, bytes_of(t->k, e->room));
}

static void check(const trial *t, const extent *e)
{
    char what[128];

    snprintf(what, sizeof what, "%s%s (form %d), %s to %s memory, %d objects, seed %llu%s%s%s",
             reduction_name(t->which), t->large ? "_c" : "", t->mode, gpu_kind_name(t->send.kind),
             gpu_kind_name(t->recv.kind), t->count, (unsigned long long)t->seed, e->sends_in_place ? ", in place" : "",
             t->between_groups ? ", between groups" : "", is_aware ? ", aware" : "");
    gpu_read(&t->recv, 0, got, bytes_of(t->k, e->room));
    check_result(t->k, what, got, want, before, e->received, e->received ? e->room : 0,
                 t->recv.kind == GPU_DEVICE && !is_aware);
    gpu_read(&t->send, 0, got, bytes_of(t->k, e->room));
    CHECK(!memcmp(got, sent, bytes_of(t->k, e->room)), "%s of %s: the send buffer was written", what, t->k->name);
}

static void run(const trial *t)
{
    reduction_args a = {.type = t->k->type, .op = t->k->op, .root = t->root, .comm = t->comm, .large = t->large};
    extent e = extent_of(t, &a);
    MPI_Request request = MPI_REQUEST_NULL;
    int rounds = t->mode == PERSISTENT ? 2 : 1;

    a.send = e.sends_in_place ? MPI_IN_PLACE : address(t->k, t->send.at);
    /* A rank that gets no result may pass anything for the result buffer. */
    a.recv = e.received || t->seed / 10 % 2 ? address(t->k, t->recv.at) : MPI_IN_PLACE;
    for (int i = 0; i < rounds; i++) {
        prepare(t, &a, &e, t->seed + 2 * (uint64_t)i);
        if (i == 0)
            CHECK(reduction_call(t->which, t->mode, &a, &request) == MPI_SUCCESS, "%s", reduction_name(t->which));
        start_and_wait(t, &request);
        check(t, &e);
    }
    if (t->mode == PERSISTENT)
        MPI_Request_free(&request);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static gpu_memory device[2], host[2];

/* Places both buffers in GPU memory, or one of them. */
static void place(trial *t, int where)
{
    t->send = where == 1 ? host[0] : device[0];
    t->recv = where == 2 ? host[1] : device[1];
}

/* Returns whether the MPI itself gets the trial right. MPICH 4.0.2 takes MPI_IN_PLACE for an address in a long Reduce
 * of more than two ranks to another root than 0. */
static bool is_right(const trial *t)
{
#ifdef OPEN_MPI
    (void)t;
    return true;
#else
    return t->which != REDUCE || !t->in_place || t->root == 0 || size <= 2;
#endif
}

/* Tries all forms with both buffers in GPU memory, and some with one. */
static void check_forms(trial *t, bool all)
{
    for (int mode = 0; mode < (all ? REDUCTION_MODES : PERSISTENT); mode++)
        for (int large = 0; large < (all ? 2 : 1); large++) {
            t->mode = (reduction_mode)mode;
            t->large = large;
            if (reduction_exists(t->which, t->mode, large) && is_right(t))
                run(t);
        }
}

static void check_kind(const kind *k, int count, uint64_t seed)
{
    trial t = {.k = k, .comm = MPI_COMM_WORLD, .count = count, .seed = seed};

    for (int which = 0; which <= ALLREDUCE; which++)
        for (int where = 0; where < 3; where++)
            for (int in_place = 0; in_place < 2; in_place++) {
                t.which = (reduction)which;
                t.in_place = in_place;
                t.root = (int)(seed % (uint64_t)size);
                t.seed += 10;
                place(&t, where);
                check_forms(&t, where == 0);
            }
}

static void check_between_groups(const kind *k, int count, uint64_t seed)
{
    trial t = {.k = k, .between_groups = true, .count = count, .seed = seed};
    MPI_Comm group, both;

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &group);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &both);
    t.comm = both;
    for (int which = 0; which <= ALLREDUCE; which++)
        for (int where = 0; where < 3; where++) {
            t.which = (reduction)which;
            t.root = rank % 2 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
            place(&t, where);
            if (is_right(&t))
                run(&t);
        }
    MPI_Comm_free(&both);
    MPI_Comm_free(&group);
}

/* Several reductions are under way at once, while their types, operations and send buffers have been freed. */
static void check_overlap(int count, uint64_t seed)
{
    enum { BYTES = 1 << 14 };
    static unsigned char images[KINDS][2][BYTES], wants[KINDS][BYTES];
    gpu_memory memory[KINDS][2];
    MPI_Request requests[KINDS];
    MPI_Status statuses[KINDS];
    kind kinds[KINDS];

    for (int i = 0; i < KINDS; i++) {
        kind *k = &kinds[i];

        *k = make_kind(i);
        for (int j = 0; j < 2; j++) {
            fill(k, images[i][j], count, seed + (uint64_t)(2 * i + j));
            memory[i][j] = gpu_memory_make(GPU_DEVICE, BYTES);
            gpu_write(&memory[i][j], 0, images[i][j], bytes_of(k, count));
        }
        memcpy(wants[i], images[i][1], sizeof wants[i]);
        PMPI_Allreduce(address(k, images[i][0]), address(k, wants[i]), count, k->type, k->op, MPI_COMM_WORLD);
    }
    for (int i = 0; i < KINDS; i++) {
        kind *k = &kinds[i];

        MPI_Iallreduce(address(k, memory[i][0].at), address(k, memory[i][1].at), count, k->type, k->op, MPI_COMM_WORLD,
                       &requests[i]);
        free_kind(k);
    }
    MPI_Waitall(KINDS, requests, statuses);
    for (int i = 0; i < KINDS; i++) {
        gpu_read(&memory[i][1], 0, got, bytes_of(&kinds[i], count));
        check_result(&kinds[i], "one of several Iallreduce", got, wants[i], images[i][1], count, count, !is_aware);
        for (int j = 0; j < 2; j++)
            gpu_memory_free(&memory[i][j]);
    }
}

/* The very first call with GPU memory, before which the library has seen none, must not reach MPI either. */
static void check_first(void)
{
    kind k = make_kind(0);
    trial t = {.k = &k, .which = ALLREDUCE, .comm = MPI_COMM_WORLD, .count = 1, .seed = 3};
    int one = 1, sum = 0;

    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size, "a sum in host memory is %d", sum);
    place(&t, 0);
    run(&t);
    sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size, "a sum in host memory, with a GPU, is %d", sum);
}

static void check_all(int rounds)
{
    static const int counts[] = {1, 7000, 40, 700};

    check_first();
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < KINDS; i++) {
            kind k = make_kind(i);

            check_kind(&k, counts[r % 4], (uint64_t)(1000 * r + 100 * i));
            if (size > 1)
                check_between_groups(&k, counts[r % 4], (uint64_t)(1000 * r + 100 * i + 50));
            free_kind(&k);
        }
    check_overlap(100, 77);
    check_reduction_errors(device[0].at, device[1].at);
}

int main(int argc, char **argv)
{
    int rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    is_aware = gpu_mpi_is_said_aware();
    if (!gpu_start_as_told(argc, argv)) {
        MPI_Finalize();
        return SKIPPED;
    }
    for (int i = 0; i < 2; i++) {
        device[i] = gpu_memory_make(GPU_DEVICE, ROOM);
        host[i] = gpu_memory_make(GPU_HOST, ROOM);
    }
    check_all(argc > 2 ? atoi(argv[2]) : 2);
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
