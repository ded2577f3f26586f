/*
 * Accumulating calls with derived types on all sides, in every kind of window and by every way to complete them. What
 * memory must hold is computed element by element. Each round is carried out without Packwright first; what the MPI
 * gets wrong by itself proves nothing. Run with each strategy; an argument is the number of rounds.
 */
#include "tests/mpi/one_sided/window.h"
#include "tests/mpi/support/harness.h"

/* ---- elements and operations ------------------------------------------------------------------------------------ */

typedef struct element {
    const char *name;
    MPI_Datatype type;
    bool integer;
    void (*store)(unsigned char *at, int value);
} element;

#define STORE(name, c_type)                            \
    static void store_##name(unsigned char *at, int v) \
    {                                                  \
        c_type value = (c_type)v;                      \
                                                       \
        memcpy(at, &value, sizeof value);              \
    }

STORE(byte, unsigned char)
STORE(short, short)
STORE(int, int)
STORE(long, int64_t)
STORE(float, float)
STORE(double, double)

enum { ELEMENTS = 6 };

static element element_of(uint64_t i)
{
    const element all[ELEMENTS] = {
        {"unsigned char", MPI_UNSIGNED_CHAR, true, store_byte},
        {"short", MPI_SHORT, true, store_short},
        {"int", MPI_INT, true, store_int},
        {"int64_t", MPI_INT64_T, true, store_long},
        {"float", MPI_FLOAT, false, store_float},
        {"double", MPI_DOUBLE, false, store_double},
    };

    return all[i % ELEMENTS];
}

typedef enum op_kind { SUM, PROD, MIN, MAX, REPLACE, NO_OP, BAND, BOR, BXOR, LAND, LOR, OPS } op_kind;

static MPI_Op op_of(op_kind k)
{
    const MPI_Op all[OPS] = {MPI_SUM,  MPI_PROD, MPI_MIN,  MPI_MAX,  MPI_REPLACE, MPI_NO_OP,
                             MPI_BAND, MPI_BOR,  MPI_BXOR, MPI_LAND, MPI_LOR};

    return all[k];
}

static const char *op_name(op_kind k)
{
    static const char *const names[OPS] = {"sum",   "product", "minimum", "maximum", "replace", "no-op",
                                           "b-and", "b-or",    "b-xor",   "l-and",   "l-or"};

    return names[k];
}

static int apply(op_kind k, int old, int in)
{
    switch (k) {
    case SUM: return old + in;
    case PROD: return old * in;
    case MIN: return old < in ? old : in;
    case MAX: return old > in ? old : in;
    case REPLACE: return in;
    case BAND: return old & in;
    case BOR: return old | in;
    case BXOR: return old ^ in;
    case LAND: return old && in;
    case LOR: return old || in;
    default: return old;
    }
}

/* ---- layouts ---------------------------------------------------------------------------------------------------- */

enum { LAYOUTS = 8, FORWARD_LAYOUTS = 4 };

static MPI_Datatype two_parts(int n, MPI_Datatype basic, MPI_Aint size)
{
    int lens[2] = {n / 2, n - n / 2};
    MPI_Aint displs[2] = {2 * size, (n + 4) * size};
    MPI_Datatype olds[2] = {basic, basic}, t;

    MPI_Type_create_struct(2, lens, displs, olds, &t);
    return t;
}

/* Makes a layout of n elements. Those from FORWARD_LAYOUTS on are not in ascending order from their origin. */
static MPI_Datatype layout(int kind, int n, MPI_Datatype basic)
{
    MPI_Aint lb, size;
    MPI_Datatype t, inner;
    int *displs = calloc((size_t)n, sizeof *displs);

    MPI_Type_get_extent(basic, &lb, &size);
    for (int i = 0; i < n; i++)
        displs[i] = 2 * (n - 1 - i) + i % 2;
    switch (kind) {
    case 0: MPI_Type_contiguous(n, basic, &t); break;
    case 1: MPI_Type_vector(n, 1, 2, basic, &t); break;
    case 2: MPI_Type_create_hvector(n, 1, 3 * size, basic, &t); break;
    case 3: t = two_parts(n, basic, size); break;
    case 4: MPI_Type_create_hvector(n, 1, -2 * size, basic, &t); break;
    case 5: MPI_Type_create_indexed_block(n, 1, displs, basic, &t); break;
    case 6:
        MPI_Type_vector(n, 1, 3, basic, &inner);
        MPI_Type_create_resized(inner, -size, (3 * n + 2) * size, &t);
        MPI_Type_free(&inner);
        break;
    default:
        inner = two_parts(n, basic, size);
        MPI_Type_dup(inner, &t);
        MPI_Type_free(&inner);
    }
    MPI_Type_commit(&t);
    free(displs);
    return t;
}

/* ---- one round -------------------------------------------------------------------------------------------------- */

typedef struct round {
    uint64_t seed;
    int rank;
    epoch epoch;
    bool gets, frees, bare; /* `frees`: the types, when the calls have been made; `bare`: without an origin's buffer */
    op_kind op;
    element element;
    int count, elements; /* objects, and elements in all of them */
    MPI_Datatype origin, result, target;
    int target_count;
    test_buffer sent[SLOTS], got[SLOTS];
    char text[256];
} round_t;

/* Returns element i of what a rank holds before the round: 0, its operands; 1, its window. */
static int value(const round_t *r, int holder, int what, int op, int i)
{
    uint64_t state = r->seed * 977 + (uint64_t)holder * 131 + (uint64_t)(what * 31 + op * 7 + i) + 1;

    test_random(&state);
    return (int)((test_random(&state) >> 20) % 12);
}

/* Returns an element of a window before the round, or after rank `by` has accumulated. */
static int value_in_window(const round_t *r, int holder, int by, int op, int i)
{
    int old = value(r, holder, 1, op, i);

    return by < 0 ? old : apply(r->op, old, value(r, by, 0, op, i));
}

static void put_in(const round_t *r, int holder, int what, int by, int op, void *memory, int count, MPI_Datatype type)
{
    int size, position = 0;
    unsigned char *packed;

    PMPI_Type_size(r->element.type, &size);
    packed = malloc((size_t)(size * r->elements));
    for (int i = 0; i < r->elements; i++)
        r->element.store(packed + i * size, what ? value_in_window(r, holder, by, op, i) : value(r, holder, 0, op, i));
    PMPI_Unpack(packed, size * r->elements, &position, memory, count, type, MPI_COMM_SELF);
    free(packed);
}

static void fill(round_t *r)
{
    test_fill(r->epoch.w->memory, WINDOW_BYTES, 3);
    for (int op = 0; op < r->epoch.ops; op++) {
        put_in(r, r->rank, 1, -1, op, r->epoch.w->memory + op * SLOT_BYTES, r->target_count, r->target);
        test_buffer_fill(&r->sent[op], 5);
        put_in(r, r->rank, 0, -1, op, r->sent[op].origin, r->count, r->origin);
        test_buffer_fill(&r->got[op], 6);
    }
}

#define CALL(name, ...) (native ? PMPI_##name(__VA_ARGS__) : MPI_##name(__VA_ARGS__))

static void transfer(round_t *r, bool native)
{
    epoch *e = &r->epoch;
    MPI_Win win = e->w->win;
    MPI_Op op = op_of(r->op);
    int count = r->bare ? 0 : r->count;

    for (int i = 0; i < e->ops; i++) {
        MPI_Aint at = e->w->bases[e->target] + (MPI_Aint)i * SLOT_BYTES;
        void *sent = r->bare ? NULL : r->sent[i].origin, *got = r->got[i].origin;

        if (r->gets && epoch_has_requests(e))
            CALL(Rget_accumulate, sent, count, r->origin, got, r->count, r->result, e->target, at, r->target_count,
                 r->target, op, win, &e->requests[i]);
        else if (r->gets)
            CALL(Get_accumulate, sent, count, r->origin, got, r->count, r->result, e->target, at, r->target_count,
                 r->target, op, win);
        else if (epoch_has_requests(e))
            CALL(Raccumulate, sent, count, r->origin, e->target, at, r->target_count, r->target, op, win,
                 &e->requests[i]);
        else
            CALL(Accumulate, sent, count, r->origin, e->target, at, r->target_count, r->target, op, win);
    }
}

/* ---- judgement -------------------------------------------------------------------------------------------------- */

/* Checks the buffers right after completion at the origin: operands are unchanged, and results have come. */
static bool judge_buffers(const round_t *r, const test_buffer *expected)
{
    bool right = true;

    for (int op = 0; op < r->epoch.ops; op++)
        right = right && test_buffer_equal(&r->got[op], &expected[op]);
    for (int op = 0; op < r->epoch.ops; op++)
        memset(r->sent[op].memory, 0xee, r->sent[op].bytes); /* this rank may use the buffer again */
    return right;
}

static unsigned char *expect_window(const round_t *r)
{
    unsigned char *expected = malloc(WINDOW_BYTES);

    test_fill(expected, WINDOW_BYTES, 3);
    for (int op = 0; op < r->epoch.ops; op++)
        put_in(r, r->rank, 1, r->epoch.origin, op, expected + op * SLOT_BYTES, r->target_count, r->target);
    return expected;
}

static void expect_buffers(const round_t *r, test_buffer *expected)
{
    for (int op = 0; op < r->epoch.ops; op++) {
        expected[op] = test_buffer_create(r->result, r->count);
        test_buffer_fill(&expected[op], 6);
        if (r->gets)
            put_in(r, r->epoch.target, 1, -1, op, expected[op].origin, r->count, r->result);
    }
}

static void free_types(round_t *r)
{
    MPI_Datatype *types[3] = {&r->origin, &r->result, &r->target};

    for (int i = 0; i < 3; i++)
        if (*types[i] != r->element.type && *types[i] != MPI_DATATYPE_NULL)
            MPI_Type_free(types[i]);
}

typedef struct verdict {
    bool buffers, window;
} verdict;

static verdict carry_out(round_t *r, bool native, const test_buffer *expected, const unsigned char *expected_window)
{
    verdict v;

    fill(r);
    MPI_Barrier(MPI_COMM_WORLD);
    epoch_begin(&r->epoch);
    transfer(r, native);
    if (!native && r->frees)
        free_types(r);
    epoch_complete(&r->epoch);
    v.buffers = judge_buffers(r, expected);
    epoch_end(&r->epoch);
    v.window = !memcmp(r->epoch.w->memory, expected_window, WINDOW_BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    return v;
}

static int skipped;

static void judge(round_t *r)
{
    test_buffer expected[SLOTS];
    unsigned char *expected_window = expect_window(r);
    verdict theirs, ours;

    expect_buffers(r, expected);
    for (int op = 0; op < r->epoch.ops; op++) {
        r->sent[op] = test_buffer_create(r->origin, r->count);
        r->got[op] = test_buffer_create(r->result, r->count);
    }
    theirs = carry_out(r, true, expected, expected_window);
    ours = carry_out(r, false, expected, expected_window);
    CHECK(ours.buffers || !theirs.buffers, "%s: buffers", r->text);
    CHECK(ours.window || !theirs.window, "%s: window", r->text);
    skipped += !theirs.buffers || !theirs.window;
    for (int op = 0; op < r->epoch.ops; op++) {
        test_buffer_free(&r->sent[op]);
        test_buffer_free(&r->got[op]);
        test_buffer_free(&expected[op]);
    }
    free(expected_window);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

static void choose_types(round_t *r, uint64_t *state)
{
    int n = 2 + (int)(test_random(state) % (test_random(state) % 4 ? 30 : 200)), of_target;

    r->count = 1 + (int)(test_random(state) % 3);
    r->elements = n * r->count;
    r->origin = layout((int)(test_random(state) % LAYOUTS), n, r->element.type);
    r->result = layout((int)(test_random(state) % LAYOUTS), n, r->element.type);
    of_target = (int)(test_random(state) % (2 * FORWARD_LAYOUTS));
    r->target = of_target < FORWARD_LAYOUTS ? layout(of_target, n, r->element.type) : r->element.type;
    r->target_count = of_target < FORWARD_LAYOUTS ? r->count : r->elements;
}

static void choose_call(round_t *r, uint64_t *state)
{
    r->epoch.ending = (ending)(test_random(state) % ENDINGS);
    r->epoch.ops = 1 + (int)(test_random(state) % SLOTS);
    r->gets = test_random(state) % 2;
    r->frees = test_random(state) % 2;
    r->element = element_of(test_random(state));
    r->op = (op_kind)(test_random(state) % (r->element.integer ? OPS : BAND));
    if (r->op == NO_OP && !r->gets)
        r->op = REPLACE;
    r->bare = r->op == NO_OP && test_random(state) % 2;
#ifdef MPICH /* its requests complete too early (rma.c says when) */
    if (r->epoch.ending == REQUEST)
        r->epoch.ending = REQUEST_FLUSHED;
#endif
}

static void run_round(const window *w, uint64_t seed, int rank, int nranks)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u;
    round_t r = {.seed = seed, .rank = rank, .epoch = {.w = w}};
    int shift;

    for (int i = 0; i < 8; i++)
        test_random(&state);
    shift = (int)(test_random(&state) % (uint64_t)nranks);
    r.epoch.target = (rank + shift) % nranks;
    r.epoch.origin = (rank - shift + nranks) % nranks;
    choose_call(&r, &state);
    choose_types(&r, &state);
    snprintf(r.text, sizeof r.text, "seed %llu, %s window, %d %s of %d %s (%s) to rank +%d, %s%s%s",
             (unsigned long long)seed, window_kind(w->kind), r.epoch.ops, r.gets ? "get-accumulates" : "accumulates",
             r.elements, r.element.name, op_name(r.op), shift, ending_name(r.epoch.ending),
             r.frees ? ", types freed" : "", r.bare ? ", no origin" : "");
    judge(&r);
    free_types(&r);
}

static void check_rounds(int rounds, int rank, int nranks)
{
    for (int i = 0; i < rounds;) {
        window w = window_create((win_kind)(i / 25 % WIN_KINDS), nranks);

        for (int end = i + 25; i < end; i++)
            run_round(&w, (uint64_t)i + 1, rank, nranks);
        window_free(&w);
    }
}

/* ---- all at once ------------------------------------------------------------------------------------------------ */

/* All ranks add to the same elements of the first rank, in both forms, and no addition is lost. */
static void check_together(int rank, int nranks)
{
    enum { N = 200, ROUNDS = 10 };
    int *memory, sent[2 * N], got[2 * N], wrong = 0;
    MPI_Datatype gapped;
    MPI_Win win;

    MPI_Type_vector(N, 1, 2, MPI_INT, &gapped);
    MPI_Type_commit(&gapped);
    MPI_Win_allocate(N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0, N * sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2 * N; i++)
            sent[i] = rank + 1;
        MPI_Accumulate(sent, 1, gapped, 0, 0, N, MPI_INT, MPI_SUM, win);
        MPI_Get_accumulate(sent, 1, gapped, got, 1, gapped, 0, 0, N, MPI_INT, MPI_SUM, win);
        MPI_Win_flush(0, win);
        for (int i = 0; i < N; i++) /* at least what this rank has added */
            wrong += got[2 * i] < (2 * round + 1) * (rank + 1);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < N && rank == 0; i++)
        wrong += memory[i] != 2 * ROUNDS * nranks * (nranks + 1) / 2;
    CHECK(wrong == 0, "%d elements wrong", wrong);
    MPI_Win_free(&win);
    MPI_Type_free(&gapped);
}

/* Pairs with a hole between value and index are no array once they are packed. */
static void check_pairs(int rank, int nranks)
{
    struct pair {
        double value;
        int index;
    } *memory, sent[20];
    int target = (rank + 1) % nranks, wrong = 0;
    MPI_Datatype gapped;
    MPI_Win win;

    memset(sent, 0, sizeof sent);
    for (int i = 0; i < 20; i++)
        sent[i] = (struct pair){i % 3, i};
    MPI_Type_vector(10, 1, 2, MPI_DOUBLE_INT, &gapped);
    MPI_Type_commit(&gapped);
    MPI_Win_allocate(10 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 10; i++)
            memory[i] = (struct pair){1, 100};
        MPI_Win_fence(0, win);
        MPI_Accumulate(sent, 1, gapped, target, 0, 10, MPI_DOUBLE_INT, MPI_MAXLOC, win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < 10; i++) {
            int in = 2 * i % 3;

            wrong += memory[i].value != (in > 1 ? in : 1) || memory[i].index != (in < 1 ? 100 : 2 * i);
        }
    }
    CHECK(wrong == 0, "%d pairs wrong", wrong);
    MPI_Win_free(&win);
    MPI_Type_free(&gapped);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static int handled;

static void count_error(MPI_Win *win, int *error, ...)
{
    (void)win, (void)error;
    handled++;
}

static int class_of(int rc)
{
    int class = MPI_SUCCESS;

    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &class);
    return class;
}

/* Makes the i-th wrong call. */
static int misuse(int i, bool native, MPI_Datatype t, MPI_Win win, int nranks)
{
    static double sent[256], got[256];

    switch (i) {
    case 0: return CALL(Accumulate, sent, 1, t, nranks, 0, 8, MPI_DOUBLE, MPI_SUM, win);
    case 1: return CALL(Accumulate, sent, 1, t, -7, 0, 8, MPI_DOUBLE, MPI_SUM, win);
    case 2: return CALL(Accumulate, sent, -1, t, 0, 0, 8, MPI_DOUBLE, MPI_SUM, win);
    case 3: return CALL(Accumulate, sent, 1, t, 0, 0, -8, MPI_DOUBLE, MPI_SUM, win);
    case 4: return CALL(Accumulate, sent, 1, t, 0, 0, 8, MPI_DATATYPE_NULL, MPI_SUM, win);
    case 5: return CALL(Accumulate, sent, 1, MPI_DATATYPE_NULL, 0, 0, 8, MPI_DOUBLE, MPI_SUM, win);
    case 6: return CALL(Accumulate, sent, 1, t, 0, 0, 8, MPI_DOUBLE, MPI_OP_NULL, win);
    case 7: return CALL(Accumulate, sent, 1, t, MPI_PROC_NULL, 0, 8, MPI_DOUBLE, MPI_SUM, win);
    case 8: return CALL(Get_accumulate, sent, 1, t, got, 1, t, nranks, 0, 8, MPI_DOUBLE, MPI_SUM, win);
    case 9: return CALL(Get_accumulate, sent, 1, t, got, -1, t, 0, 0, 8, MPI_DOUBLE, MPI_SUM, win);
#ifndef OPEN_MPI /* Open MPI finds the error while it holds a lock, and keeps the lock */
    case 10: return CALL(Get_accumulate, sent, 1, t, got, 1, MPI_DATATYPE_NULL, 0, 0, 8, MPI_DOUBLE, MPI_SUM, win);
#endif
    default: return CALL(Get_accumulate, sent, 0, t, got, 0, t, 0, 0, 0, MPI_DOUBLE, MPI_SUM, win);
    }
}

static void check_errors(int nranks)
{
    MPI_Errhandler handler;
    MPI_Datatype t;
    MPI_Win win;
    double *memory, sent[16] = {0};

    MPI_Type_vector(8, 1, 2, MPI_DOUBLE, &t);
    MPI_Type_commit(&t);
    MPI_Win_allocate(4096, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_create_errhandler(count_error, &handler);
    MPI_Win_set_errhandler(win, handler);
    MPI_Win_fence(0, win);
    MPI_Accumulate(sent, 1, t, 0, 0, 8, MPI_DOUBLE, MPI_SUM, win); /* the types are learned before the later rounds */
    MPI_Win_fence(0, win);
    for (int i = 0; i < 12; i++) {
        int ours, theirs, ours_handled;

        handled = 0;
        ours = class_of(misuse(i, false, t, win, nranks));
        ours_handled = handled;
        handled = 0;
        theirs = class_of(misuse(i, true, t, win, nranks));
        CHECK(ours == theirs && ours_handled == handled,
              "misuse %d: class %d, handler called %d times; natively %d, %d", i, ours, ours_handled, theirs, handled);
    }
    MPI_Win_fence(0, win);
    MPI_Errhandler_free(&handler);
    MPI_Win_free(&win);
    MPI_Type_free(&t);
}

int main(int argc, char **argv)
{
    int rc, rank, nranks, rounds = argc > 1 ? atoi(argv[1]) : 400;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    check_rounds(rounds, rank, nranks);
    check_together(rank, nranks);
    check_pairs(rank, nranks);
    check_errors(nranks);
    if (skipped > 0)
        printf("rank %d: %d of %d rounds prove nothing\n", rank, skipped, rounds);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
