/*
 * A block from the first rank to the last that is longer than there is room for. Each call is tried with and without
 * Packwright: same error class, at the same moment, the handler called as often; nothing is written behind the blocks,
 * and nothing at all by a staged call that fails.
 */
#include "tests/mpi/collective/outcome.h"
#include "tests/mpi/support/harness.h"

enum { RANKS = 3, LONGER = 2 }; /* blocks are sent so many times as long as expected */

static int rank, size;
static MPI_Comm world, ring;
static bool is_staged; /* Packwright stages all that it can */

/* ---- one trial --------------------------------------------------------------------------------------------------- */

typedef struct trial {
    const call *c;
    MPI_Datatype type;
    int objects; /* objects that fit */
    MPI_Aint extent;
    test_buffer sent, received, before;
} trial;

static void fill_side(const trial *t, call_side *s, call_form form, void *buf)
{
    *s = (call_side){.buf = buf, .count = t->objects, .type = t->type};
    for (int i = 0; i < RANKS; i++) {
        s->counts[i] = t->objects;
        s->wide_counts[i] = t->objects;
        s->displs[i] = (form == FORM_TYPED ? (int)t->extent : 1) * LONGER * i * t->objects;
        s->wide_displs[i] = s->displs[i];
        s->types[i] = t->type;
    }
}

static void lengthen(call_side *s, int block)
{
    s->count *= LONGER;
    s->counts[block] *= LONGER;
    s->wide_counts[block] *= LONGER;
}

/* Returns the arguments. The last rank's place among the destinations of the first is, on the ring, the one before it.
 */
static call_args arguments(const trial *t)
{
    call_args a = {.root = t->c->kind == KIND_GATHER ? size - 1 : 0, .comm = t->c->neighbours ? ring : world};

    fill_side(t, &a.send, t->c->send, t->sent.origin);
    fill_side(t, &a.recv, t->c->recv, t->received.origin);
    if (t->c->kind == KIND_BCAST && rank == size - 1)
        a.send.buf = t->received.origin;
    if (rank == 0)
        lengthen(&a.send, t->c->neighbours ? 0 : size - 1);
    return a;
}

static bool is_written(const trial *t, size_t from)
{
    for (size_t i = from; i < t->received.bytes; i++)
        if (t->received.memory[i] != t->before.memory[i])
            return true;
    return false;
}

/* Returns how many bytes of memory behind the receive buffer are checked. */
static size_t guard(const trial *t)
{
    int blocks = t->c->kind == KIND_BCAST || t->c->kind == KIND_SCATTER ? 1 : t->c->neighbours ? 2 : size;

    return (size_t)(t->received.origin - t->received.memory) + (size_t)(t->extent * blocks * LONGER * t->objects);
}

static outcome run(const trial *t, call_mode mode, call_ending ending, bool native, const char *what)
{
    call_args a = arguments(t);
    outcome o;

    test_buffer_fill((test_buffer *)&t->sent, 1);
    test_buffer_fill((test_buffer *)&t->received, 2);
    PMPI_Barrier(MPI_COMM_WORLD);
    o = outcome_of(t->c, mode, ending, &a, native, false);
    PMPI_Barrier(MPI_COMM_WORLD);
    CHECK(!is_written(t, guard(t)), "%s, native %d: scribbled behind the buffer", what, native);
    if (!native && is_staged && (o.started != MPI_SUCCESS || o.completed != MPI_SUCCESS))
        CHECK(!is_written(t, 0), "%s: something was received", what);
    return o;
}

static void check(const call *c, call_mode mode, call_ending ending, MPI_Datatype type, int objects)
{
    trial t = {.c = c, .type = type, .objects = objects};
    MPI_Aint lb;
    outcome ours, theirs;
    char what[128];

    PMPI_Type_get_extent(type, &lb, &t.extent);
    t.sent = test_buffer_create(type, LONGER * objects * RANKS);
    t.received = test_buffer_create(type, LONGER * objects * RANKS);
    t.before = test_buffer_create(type, LONGER * objects * RANKS);
    test_buffer_fill(&t.before, 2);
    snprintf(what, sizeof what, "%s, %s, %d objects, %s", c->name, outcome_mode(mode), objects, outcome_ending(ending));
    theirs = run(&t, mode, ending, true, what);
    ours = run(&t, mode, ending, false, what);
    outcome_compare(&ours, &theirs, what);
    test_buffer_free(&t.sent);
    test_buffer_free(&t.received);
    test_buffer_free(&t.before);
}

/* ---- which of them ----------------------------------------------------------------------------------------------- */

/* Returns whether one block of the call can be too long, and no other. */
static bool is_apt(const call *c)
{
    switch (c->kind) {
    case KIND_BCAST: return true;
    case KIND_GATHER: return c->recv == FORM_VARYING;
    case KIND_SCATTER: return c->send == FORM_VARYING;
    case KIND_ALLTOALL: return c->send != FORM_EQUAL;
    default: return false;
    }
}

/* Returns whether the MPI below survives the call. Open MPI 4.1.4 waits for ever in some calls, and in others the error
 * class depends on the order in which blocks arrive. MPICH 5.0.2 waits for ever in long broadcasts. */
static bool is_survived(const call *c, call_mode mode, bool is_long)
{
#ifdef OPEN_MPI
    return (mode == MODE_BLOCKING || mode == MODE_LARGE) && c->kind != KIND_BCAST && !c->neighbours &&
           c->send != FORM_TYPED && !(is_long && c->kind == KIND_GATHER);
#elif defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40300000
    (void)mode, (void)is_long;
    return c->kind != KIND_BCAST;
#else
    (void)c, (void)mode, (void)is_long;
    return true;
#endif
}

static void check_call(const call *c, MPI_Datatype type, int objects, bool is_long)
{
    for (call_mode mode = 0; mode < MODE_INIT; mode++)
        if (outcome_exists(c, mode) && is_survived(c, mode, is_long))
            check(c, mode, BY_WAIT, type, objects);
    for (call_ending ending = BY_TEST; ending < ENDINGS; ending++)
        if (is_survived(c, MODE_NONBLOCKING, is_long))
            check(c, MODE_NONBLOCKING, ending, type, objects);
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static void set_up(void)
{
    MPI_Errhandler handler = outcome_handler();
    const char *strategy = getenv("PACKWRIGHT_STRATEGY");
    int periodic = 1;

    is_staged = strategy && !strcmp(strategy, "packed");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Cart_create(world, 1, &size, &periodic, 0, &ring);
    MPI_Comm_set_errhandler(world, handler);
    MPI_Comm_set_errhandler(ring, handler);
    /* Errors in arrays of requests go to these handlers. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    test_handler_free(&handler);
}

int main(int argc, char **argv)
{
    MPI_Datatype type;
    int rc;

    MPI_Init(&argc, &argv);
    set_up();
    MPI_Type_vector(20, 1, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < calls_count && size > 1; i++)
        if (is_apt(&calls[i])) {
            check_call(&calls[i], type, 3, false);
            check_call(&calls[i], type, 3000, true);
        }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Type_free(&type);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&world);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
