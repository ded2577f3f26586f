/*
 * Puts and gets with derived types on both sides, in every kind of window and by every way to complete them, between
 * all ranks and to oneself. Both sides know from the seed what the memory must hold. Run with each strategy; an
 * argument is the number of rounds.
 */
#include "tests/mpi/one_sided/window.h"
#include "tests/mpi/support/harness.h"

/* ---- one round -------------------------------------------------------------------------------------------------- */

typedef struct round {
    uint64_t seed;
    int rank, nranks;
    const window *w;
    epoch epoch;
    bool get, frees; /* `frees`: the types are freed as soon as the calls have been made */
    MPI_Datatype mine, theirs;
    int my_count, their_count, bytes;
    MPI_Aint lead; /* offset of the target type's object 0 in its slot */
    test_buffer buffers[SLOTS];
    char text[256];
} round_t;

/* Returns the packed contents of a message of the rank that holds the data. */
static unsigned char *contents(const round_t *r, int holder, int op)
{
    unsigned char *packed = malloc((size_t)r->bytes + 1);

    test_fill(packed, (size_t)r->bytes, (unsigned)(r->seed * 7 + (uint64_t)holder * 31 + (uint64_t)op));
    return packed;
}

static void put_in(const unsigned char *packed, int bytes, void *origin, int count, MPI_Datatype type)
{
    int position = 0;

    PMPI_Unpack(packed, bytes, &position, origin, count, type, MPI_COMM_SELF);
}

static unsigned char *slot(unsigned char *memory, const round_t *r, int op)
{
    return memory + (size_t)op * SLOT_BYTES + r->lead;
}

/* Places the target's side. False: it does not fit its slot. */
static bool place(round_t *r)
{
    test_buffer b = test_buffer_create(r->theirs, r->their_count);
    size_t bytes = b.bytes;

    r->lead = b.origin - b.memory;
    test_buffer_free(&b);
    if (r->lead < 0) { /* the type begins far from its origin, and displacements are not negative */
        bytes += (size_t)-r->lead;
        r->lead = 0;
    }
    return bytes <= SLOT_BYTES;
}

/* Types of one signature: of `n` doubles in different layouts, or the same type twice. */
static void choose_types(round_t *r, uint64_t *state)
{
    int n = 1 << test_random(state) % 10;
    int a = (int)(test_random(state) % 4), b = (int)(test_random(state) % 4);
    MPI_Datatype types[2];

    r->my_count = r->their_count = 1 + (int)(test_random(state) % 4);
    if (test_random(state) % 2) {
        for (int i = 0; i < 2; i++)
            switch (i ? b : a) {
            case 0: MPI_Type_contiguous(n, MPI_DOUBLE, &types[i]); break;
            case 1: MPI_Type_vector(n, 1, 3, MPI_DOUBLE, &types[i]); break;
            case 2: MPI_Type_create_hvector(n, 1, -16, MPI_DOUBLE, &types[i]); break;
            default: MPI_Type_create_hvector(n, 1, 40, MPI_DOUBLE, &types[i]); break;
            }
        MPI_Type_commit(&types[0]);
        MPI_Type_commit(&types[1]);
    } else {
        uint64_t again = *state;

        types[0] = a ? test_random_type(state) : test_type((int)(*state % TEST_TYPES), n);
        types[1] = a ? test_random_type(&again) : test_type((int)(again % TEST_TYPES), n);
    }
    r->mine = types[0];
    r->theirs = types[1];
    r->bytes = test_packed_bytes(r->mine, r->my_count);
    if (test_random(state) % 4 == 0 && b) { /* one predefined type at the target, which needs the same signature */
        int size;

        MPI_Type_size(MPI_DOUBLE, &size);
        MPI_Type_free(&r->mine);
        MPI_Type_free(&r->theirs);
        MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &r->mine);
        MPI_Type_commit(&r->mine);
        r->theirs = MPI_DOUBLE;
        r->their_count = n * r->my_count;
        r->bytes = r->their_count * size;
    }
}

static void release(MPI_Datatype *type)
{
    if (*type != MPI_DOUBLE && *type != MPI_DATATYPE_NULL)
        MPI_Type_free(type);
    *type = MPI_DATATYPE_NULL;
}

static void fill_sides(round_t *r)
{
    test_fill(r->w->memory, WINDOW_BYTES, 3);
    for (int op = 0; op < r->epoch.ops; op++) {
        unsigned char *packed = contents(r, r->rank, op);

        r->buffers[op] = test_buffer_create(r->mine, r->my_count);
        test_buffer_fill(&r->buffers[op], 6);
        if (r->get)
            put_in(packed, r->bytes, slot(r->w->memory, r, op), r->their_count, r->theirs);
        else
            put_in(packed, r->bytes, r->buffers[op].origin, r->my_count, r->mine);
        free(packed);
    }
}

/* ---- transfer ---------------------------------------------------------------------------------------------------- */

static void transfer(round_t *r)
{
    epoch *e = &r->epoch;
    bool request = epoch_has_requests(e);

    for (int op = 0; op < e->ops; op++) {
        MPI_Aint at = r->w->bases[e->target] + (MPI_Aint)op * SLOT_BYTES + r->lead;
        void *origin = r->buffers[op].origin;

        if (r->get && request)
            MPI_Rget(origin, r->my_count, r->mine, e->target, at, r->their_count, r->theirs, r->w->win,
                     &e->requests[op]);
        else if (r->get)
            MPI_Get(origin, r->my_count, r->mine, e->target, at, r->their_count, r->theirs, r->w->win);
        else if (request)
            MPI_Rput(origin, r->my_count, r->mine, e->target, at, r->their_count, r->theirs, r->w->win,
                     &e->requests[op]);
        else
            MPI_Put(origin, r->my_count, r->mine, e->target, at, r->their_count, r->theirs, r->w->win);
    }
    if (r->frees) {
        release(&r->mine);
        release(&r->theirs);
    }
}

/* ---- judgement -------------------------------------------------------------------------------------------------- */

/* Compares the buffers with memory that was made before, right after completion at the origin. The types may be gone.
 */
static void judge_buffers(round_t *r, const test_buffer *expected)
{
    for (int op = 0; op < r->epoch.ops; op++) {
        CHECK(test_buffer_equal(&r->buffers[op], &expected[op]), "%s: buffer of operation %d", r->text, op);
        if (!r->get)
            memset(r->buffers[op].memory, 0xee, r->buffers[op].bytes); /* this rank may use the buffer again */
    }
}

static void expect_buffers(const round_t *r, test_buffer *expected)
{
    for (int op = 0; op < r->epoch.ops; op++) {
        unsigned char *packed = contents(r, r->get ? r->epoch.target : r->rank, op);

        expected[op] = test_buffer_create(r->mine, r->my_count);
        test_buffer_fill(&expected[op], 6);
        put_in(packed, r->bytes, expected[op].origin, r->my_count, r->mine);
        free(packed);
    }
}

static unsigned char *expect_window(const round_t *r)
{
    unsigned char *expected = malloc(WINDOW_BYTES);

    test_fill(expected, WINDOW_BYTES, 3);
    for (int op = 0; op < r->epoch.ops; op++) {
        unsigned char *packed = contents(r, r->get ? r->rank : r->epoch.origin, op);

        put_in(packed, r->bytes, slot(expected, r, op), r->their_count, r->theirs);
        free(packed);
    }
    return expected;
}

/*
 * MPICH 4.0's request of a get completes before the data has come when one of the types is not contiguous: here such
 * gets are flushed. A put's, when the origin alone is contiguous, while the origin is still read; but not of these
 * sizes.
 */
static void run_round(const window *w, uint64_t seed, int rank, int nranks)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u;
    round_t r = {.seed = seed, .rank = rank, .nranks = nranks, .w = w, .epoch = {.w = w}};
    test_buffer expected[SLOTS];
    unsigned char *expected_window;
    int shift;

    for (int i = 0; i < 8; i++)
        test_random(&state);
    shift = (int)(test_random(&state) % (uint64_t)nranks);
    r.epoch.target = (rank + shift) % nranks;
    r.epoch.origin = (rank - shift + nranks) % nranks;
    r.epoch.ending = (ending)(test_random(&state) % ENDINGS);
    r.get = test_random(&state) % 2;
    r.frees = test_random(&state) % 2;
    r.epoch.ops = 1 + (int)(test_random(&state) % SLOTS);
#ifdef MPICH
    if (r.epoch.ending == REQUEST && r.get)
        r.epoch.ending = REQUEST_FLUSHED;
#endif
    choose_types(&r, &state);
    snprintf(r.text, sizeof r.text, "seed %llu, %s window, %d %s to rank +%d, %s, %d bytes%s", (unsigned long long)seed,
             window_kind(w->kind), r.epoch.ops, r.get ? "gets" : "puts", shift, ending_name(r.epoch.ending), r.bytes,
             r.frees ? ", types freed" : "");
    if (place(&r)) {
        fill_sides(&r);
        expect_buffers(&r, expected);
        expected_window = expect_window(&r);
        MPI_Barrier(MPI_COMM_WORLD);
        epoch_begin(&r.epoch);
        transfer(&r);
        epoch_complete(&r.epoch);
        judge_buffers(&r, expected);
        epoch_end(&r.epoch);
        CHECK(!memcmp(w->memory, expected_window, WINDOW_BYTES), "%s: window", r.text);
        for (int op = 0; op < r.epoch.ops; op++) {
            test_buffer_free(&r.buffers[op]);
            test_buffer_free(&expected[op]);
        }
        free(expected_window);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    release(&r.mine);
    release(&r.theirs);
}

/* Frees a window; the next one may get its handle. */
static void check_rounds(int rounds, int rank, int nranks)
{
    for (int i = 0; i < rounds;) {
        window w = window_create((win_kind)(i / 25 % WIN_KINDS), nranks);

        for (int end = i + 25; i < end; i++)
            run_round(&w, (uint64_t)i + 1, rank, nranks);
        window_free(&w);
    }
}

/* ---- long ones -------------------------------------------------------------------------------------------------- */

/* Tries both sides of the thresholds at which MPIs change their protocols. */
static void check_long(int rank, int nranks)
{
    for (int elements = 1 << 10; elements <= 1 << 18; elements *= 4) {
        MPI_Datatype type;
        MPI_Win win;
        double *memory, *buffer = malloc(sizeof *buffer * 2 * (size_t)elements);
        int wrong = 0, target = (rank + 1) % nranks;

        MPI_Type_vector(elements, 1, 2, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        MPI_Win_allocate((MPI_Aint)sizeof *memory * elements, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                         &win);
        for (int i = 0; i < 2 * elements; i++)
            buffer[i] = rank * 1e7 + i;
        MPI_Win_fence(0, win);
        MPI_Put(buffer, 1, type, target, 0, elements, MPI_DOUBLE, win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < elements; i++)
            wrong += memory[i] != (rank + nranks - 1) % nranks * 1e7 + 2 * i;
        CHECK(wrong == 0, "%d doubles put: %d wrong", elements, wrong);
        MPI_Win_fence(0, win);
        for (int i = 0; i < 2 * elements; i++)
            buffer[i] = -1;
        MPI_Get(buffer, 1, type, target, 0, elements, MPI_DOUBLE, win);
        MPI_Get(buffer + 1, 1, type, target, 0, elements, MPI_DOUBLE, win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < elements; i++)
            wrong += buffer[2 * i] != rank * 1e7 + 2 * i || (i + 1 < elements && buffer[2 * i + 1] != buffer[2 * i]);
        CHECK(wrong == 0, "%d doubles got: %d wrong", elements, wrong);
        MPI_Win_free(&win);
        MPI_Type_free(&type);
        free(buffer);
    }
}

/* Gets into a buffer that has room for more than comes (MPI 4.0 section 12.3.2): the rest stays as it was. */
static void check_room(int rank, int nranks)
{
    for (int kind = 0; kind < WIN_KINDS; kind++) {
        window w = window_create((win_kind)kind, nranks);

        for (int n = 4; n <= 4000; n *= 10)
            for (int form = 0; form < 4; form++) {
                int target = (rank + 1) % nranks, far = form & 1, wrong = 0;
                epoch e = {.w = &w, .ending = form & 2 ? FENCE : FLUSH_LOCAL, .target = target, .ops = 1};
                double *buffer = malloc(sizeof *buffer * 6 * (size_t)n);
                MPI_Datatype mine, theirs;

                e.origin = (rank + nranks - 1) % nranks;
                MPI_Type_vector(2 * n, 1, 3, MPI_DOUBLE, &mine);
                MPI_Type_vector(n, 1, 1 + far, MPI_DOUBLE, &theirs);
                MPI_Type_commit(&mine);
                MPI_Type_commit(&theirs);
                for (int i = 0; i < 2 * n; i++)
                    ((double *)w.memory)[i] = rank * 1e6 + i;
                for (int round = 0; round < 2; round++) { /* types are learned in the first round */
                    for (int i = 0; i < 6 * n; i++)
                        buffer[i] = -1 - i;
                    MPI_Barrier(MPI_COMM_WORLD);
                    epoch_begin(&e);
                    MPI_Get(buffer, 1, mine, target, w.bases[target], 1, theirs, w.win);
                    epoch_complete(&e);
                    epoch_end(&e);
                    for (int i = 0; i < 6 * n; i++)
                        wrong += buffer[i] != (i % 3 || i >= 3 * n ? -1 - i : target * 1e6 + i / 3 * (1 + far));
                }
                CHECK(wrong == 0, "%s window, form %d, room for twice %d doubles: %d wrong", window_kind(w.kind), form,
                      n, wrong);
                MPI_Type_free(&mine);
                MPI_Type_free(&theirs);
                free(buffer);
            }
        window_free(&w);
    }
}

/* ---- errors ----------------------------------------------------------------------------------------------------- */

static int handled;

static void count_error(MPI_Win *win, int *error, ...)
{
    (void)win, (void)error;
    handled++;
}

typedef int put_fn(const void *, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win);
typedef int get_fn(void *, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win);

static int class_of(int rc)
{
    int class = MPI_SUCCESS;

    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &class);
    return class;
}

/* Makes the i-th wrong call, with or without Packwright. */
static int misuse(int i, put_fn *put, get_fn *get, MPI_Datatype type, MPI_Win win, int nranks)
{
    static double memory[256];

    switch (i) {
    case 0: return put(memory, 1, type, nranks, 0, 8, MPI_DOUBLE, win);
    case 1: return get(memory, 1, type, nranks + 5, 0, 8, MPI_DOUBLE, win);
    case 2: return put(memory, 1, type, -7, 0, 8, MPI_DOUBLE, win);
    case 3: return put(memory, -1, type, 0, 0, 8, MPI_DOUBLE, win);
    case 4: return get(memory, 1, type, 0, 0, -8, MPI_DOUBLE, win);
    case 5: return get(memory, 1, type, 0, 0, 8, MPI_DATATYPE_NULL, win);
    case 6: return put(memory, 1, MPI_DATATYPE_NULL, 0, 0, 8, MPI_DOUBLE, win);
    case 7: return put(memory, 1, type, MPI_PROC_NULL, 0, 8, MPI_DOUBLE, win);
    case 8: return get(memory, 0, type, 0, 0, 0, MPI_DOUBLE, win);
    default: return -1;
    }
}

static void check_errors(int nranks)
{
    MPI_Errhandler handler;
    MPI_Datatype type;
    MPI_Win win;
    double *memory;

    MPI_Type_vector(8, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Win_allocate(4096, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_create_errhandler(count_error, &handler);
    MPI_Win_set_errhandler(win, handler);
    MPI_Win_fence(0, win);
    /* The types are learned here, so Packwright handles what follows. */
    for (int k = 0; k < 2; k++)
        MPI_Put(memory + 64, 1, type, 0, 0, 8, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 9; i++) {
        int ours, theirs, ours_handled;

        handled = 0;
        ours = class_of(misuse(i, MPI_Put, MPI_Get, type, win, nranks));
        ours_handled = handled;
        handled = 0;
        theirs = class_of(misuse(i, PMPI_Put, PMPI_Get, type, win, nranks));
        CHECK(ours == theirs && ours_handled == handled,
              "misuse %d: class %d, handler called %d times; natively %d, %d", i, ours, ours_handled, theirs, handled);
    }
    MPI_Win_fence(0, win);
    MPI_Errhandler_free(&handler);
    MPI_Win_free(&win);
    MPI_Type_free(&type);
}

/* Calls without an epoch: MPI refuses them or not, Packwright does the same, and keeps nothing of them. */
static void check_no_epoch(void)
{
    MPI_Errhandler handler;
    MPI_Datatype type;
    MPI_Win win;
    double *memory, buffer[16];
    int ours, theirs, ours_handled;

    MPI_Type_vector(8, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Win_allocate(4096, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_create_errhandler(count_error, &handler);
    MPI_Win_set_errhandler(win, handler);
    handled = 0;
    ours = class_of(MPI_Get(buffer, 1, type, 0, 0, 8, MPI_DOUBLE, win));
    ours_handled = handled;
    handled = 0;
    theirs = class_of(PMPI_Get(buffer, 1, type, 0, 0, 8, MPI_DOUBLE, win));
    CHECK(ours == theirs && ours_handled == handled, "no epoch: class %d, natively %d", ours, theirs);
    handled = 0;
    ours = class_of(MPI_Win_flush(0, win));
    ours_handled = handled;
    handled = 0;
    theirs = class_of(PMPI_Win_flush(0, win));
    CHECK(ours == theirs && ours_handled == handled, "flush without epoch: class %d, natively %d", ours, theirs);
    MPI_Errhandler_free(&handler);
    MPI_Win_free(&win);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    int rc, rank, nranks, rounds = argc > 1 ? atoi(argv[1]) : 400;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    check_rounds(rounds, rank, nranks);
    check_long(rank, nranks);
    check_room(rank, nranks);
    check_errors(nranks);
    check_no_epoch();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
