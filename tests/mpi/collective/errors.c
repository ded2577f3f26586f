/*
 * Misuse of collectives. Each is done twice, through MPI_ and through PMPI_, under a counting error handler: same error
 * class, at the same moment, the handler called as often and for the same communicator, statuses and memory alike. An
 * argument that matters at the root only is misused there only, in a call that no other rank makes.
 */
#include "tests/mpi/collective/outcome.h"
#include "tests/mpi/support/harness.h"

enum { OBJECTS = 3, ELEMENTS = 20, BYTES = 4096, RANKS = 3 };

/* ---- correct arguments ------------------------------------------------------------------------------------------- */

static int rank, size, type_bytes;
static MPI_Datatype type, uncommitted;
static MPI_Comm world, ring;
static unsigned char sent[BYTES], received[BYTES];

static int blocks_of(const call *c)
{
    return c->neighbours ? 2 : size;
}

static void fill_side(call_side *s, call_form form, void *buf)
{
    *s = (call_side){.buf = buf, .count = OBJECTS, .type = type};
    for (int i = 0; i < RANKS; i++) {
        s->counts[i] = OBJECTS;
        s->wide_counts[i] = OBJECTS;
        s->displs[i] = form == FORM_TYPED ? 1024 * i : OBJECTS * i;
        s->wide_displs[i] = s->displs[i];
        s->types[i] = type;
    }
}

static call_args correct(const call *c)
{
    call_args a = {.root = size - 1, .comm = c->neighbours ? ring : world};

    fill_side(&a.send, c->send, sent);
    fill_side(&a.recv, c->recv, received);
    return a;
}

/* ---- wrong ones -------------------------------------------------------------------------------------------------- */

typedef enum misuse {
    NONE,
    NO_OBJECTS,
    NEGATIVE_SENT,
    NEGATIVE_RECEIVED,
    NULL_TYPE_SENT,
    NULL_TYPE_RECEIVED,
    UNCOMMITTED_SENT,
    UNCOMMITTED_RECEIVED,
    NULL_COMM,
    NEGATIVE_ROOT,
    LARGE_ROOT,
    ROOT_OF_GROUPS,
    NULL_ROOT,
    NO_TOPOLOGY,
    SAME_BUFFER,
    OWN_BLOCK,
    NULL_SENT,
    NULL_RECEIVED,
    IN_PLACE_SENT,
    IN_PLACE_RECEIVED,
    NULL_REQUEST,
    MISUSES
} misuse;

static const char *const misuse_names[MISUSES] = {
    "nothing wrong",         "no objects",           "negative count sent",   "negative count received",
    "null type sent",        "null type received",   "uncommitted type sent", "uncommitted type received",
    "null communicator",     "negative root",        "root too large",        "MPI_ROOT in one group",
    "MPI_PROC_NULL as root", "no topology",          "one buffer for both",   "own block the same",
    "null buffer sent",      "null buffer received", "MPI_IN_PLACE sent",     "MPI_IN_PLACE received",
    "null request",
};

/* Misuses the last block, if there are several. */
static void set_count(const call *c, call_side *s, call_form form, int count)
{
    int last = blocks_of(c) - 1;

    if (form <= FORM_EQUAL)
        s->count = count;
    else
        s->counts[last] = count;
    s->wide_counts[last] = count;
}

static void set_no_objects(call_side *s)
{
    s->count = 0;
    for (int i = 0; i < RANKS; i++)
        s->counts[i] = s->wide_counts[i] = 0;
}

static void set_type(const call *c, call_side *s, call_form form, MPI_Datatype t)
{
    if (form == FORM_TYPED)
        s->types[blocks_of(c) - 1] = t;
    else
        s->type = t;
}

/* Misuses the rank's own block at both ends. MPICH looks for it at a distance of sizes, not extents. */
static void set_own_block(const call *c, call_args *a)
{
    call_side *many = c->send == FORM_EQUAL || c->send == FORM_VARYING ? &a->send : &a->recv;
    call_side *one = many == &a->send ? &a->recv : &a->send;

    one->buf = (unsigned char *)many->buf + rank * OBJECTS * type_bytes;
}

static call_args misused(const call *c, misuse m)
{
    call_args a = correct(c);

    switch (m) {
    case NO_OBJECTS:
        set_no_objects(&a.send);
        set_no_objects(&a.recv);
        break;
    case NEGATIVE_SENT: set_count(c, &a.send, c->send, -1); break;
    case NEGATIVE_RECEIVED: set_count(c, &a.recv, c->recv, -1); break;
    case NULL_TYPE_SENT: set_type(c, &a.send, c->send, MPI_DATATYPE_NULL); break;
    case NULL_TYPE_RECEIVED: set_type(c, &a.recv, c->recv, MPI_DATATYPE_NULL); break;
    case UNCOMMITTED_SENT: set_type(c, &a.send, c->send, uncommitted); break;
    case UNCOMMITTED_RECEIVED: set_type(c, &a.recv, c->recv, uncommitted); break;
    case NULL_COMM: a.comm = MPI_COMM_NULL; break;
    case NEGATIVE_ROOT: a.root = -7; break;
    case LARGE_ROOT: a.root = size; break;
    case ROOT_OF_GROUPS: a.root = MPI_ROOT; break;
    case NULL_ROOT: a.root = MPI_PROC_NULL; break;
    case NO_TOPOLOGY: a.comm = world; break;
    case SAME_BUFFER: a.recv.buf = a.send.buf; break;
    case OWN_BLOCK: set_own_block(c, &a); break;
    case NULL_SENT: a.send.buf = NULL; break;
    case NULL_RECEIVED: a.recv.buf = NULL; break;
    case IN_PLACE_SENT: a.send.buf = MPI_IN_PLACE; break;
    case IN_PLACE_RECEIVED: a.recv.buf = MPI_IN_PLACE; break;
    default: break;
    }
    return a;
}

/* ---- both ways --------------------------------------------------------------------------------------------------- */

typedef struct result {
    outcome o;
    unsigned char sent[BYTES], received[BYTES];
} result;

static void try(const call *c, call_mode mode, call_ending ending, misuse m, bool native, result *r)
{
    call_args a = misused(c, m);

    test_fill(sent, sizeof sent, 1 + (unsigned)rank);
    test_fill(received, sizeof received, 7);
    r->o = outcome_of(c, mode, ending, &a, native, m == NULL_REQUEST);
    memcpy(r->sent, sent, sizeof sent);
    memcpy(r->received, received, sizeof received);
}

static void check_misuse(const call *c, call_mode mode, call_ending ending, misuse m)
{
    static result ours, theirs;
    char what[128];

    snprintf(what, sizeof what, "%s, %s, %s, %s", c->name, outcome_mode(mode), misuse_names[m], outcome_ending(ending));
    try(c, mode, ending, m, true, &theirs);
    try(c, mode, ending, m, false, &ours);
    outcome_compare(&ours.o, &theirs.o, what);
    CHECK((ours.o.started == MPI_SUCCESS) == (m <= NO_OBJECTS), "%s: class %d", what, ours.o.started);
    CHECK(!memcmp(ours.sent, theirs.sent, BYTES) && !memcmp(ours.received, theirs.received, BYTES), "%s: memory", what);
}

/* ---- which of them where ----------------------------------------------------------------------------------------- */

static bool is_of_received(misuse m)
{
    return m == NEGATIVE_RECEIVED || m == NULL_TYPE_RECEIVED || m == UNCOMMITTED_RECEIVED || m == NULL_RECEIVED ||
           m == IN_PLACE_RECEIVED;
}

static bool is_of_sent(misuse m)
{
    return m == NEGATIVE_SENT || m == NULL_TYPE_SENT || m == UNCOMMITTED_SENT || m == NULL_SENT || m == IN_PLACE_SENT;
}

static bool is_of_both(misuse m)
{
    return m == SAME_BUFFER || m == OWN_BLOCK;
}

static bool is_sensible(const call *c, misuse m)
{
    if (m >= NEGATIVE_ROOT && m <= NULL_ROOT)
        return c->kind <= KIND_SCATTER;
    if (m == NO_TOPOLOGY)
        return c->neighbours;
    return c->recv != FORM_NONE || !(is_of_received(m) || is_of_both(m));
}

#ifdef OPEN_MPI

/* Returns whether the MPI looks for the error. 4.1.4 looks for fewer errors; one that it does not find may end the
 * process. */
static bool is_looked_for(const call *c, misuse m)
{
    bool many = c->kind == KIND_ALLTOALL, varying = c->recv == FORM_VARYING;

    switch (m) {
    case NEGATIVE_SENT:
    case NULL_TYPE_SENT:
    case UNCOMMITTED_SENT: return c->send != FORM_EQUAL || many;
    case NEGATIVE_RECEIVED: return c->kind != KIND_ALLGATHER || !varying;
    case UNCOMMITTED_RECEIVED: return many;
    case NULL_COMM: return c->kind != KIND_ALLGATHER || varying;
    case IN_PLACE_SENT: return c->kind <= KIND_SCATTER || c->neighbours;
    case IN_PLACE_RECEIVED: return true;
    default: return m < SAME_BUFFER;
    }
}

#else

static bool is_looked_for(const call *c, misuse m)
{
    switch (m) {
    case NO_TOPOLOGY: return c->recv == FORM_EQUAL; /* for the others it reads as many counts as happen to be */
    case SAME_BUFFER: return c->recv == FORM_EQUAL && c->send == FORM_EQUAL && !c->neighbours;
    case OWN_BLOCK: return c->kind != KIND_ALLTOALL && !c->neighbours;
    case IN_PLACE_SENT: return c->kind == KIND_SCATTER;
    case IN_PLACE_RECEIVED: return !c->neighbours && c->kind != KIND_SCATTER;
    default: return true;
    }
}

#endif

/* Returns whether the argument matters to this rank, or is wrong here. Ranks to which it does not matter make no call.
 */
static bool concerns(const call *c, misuse m)
{
    bool is_root = rank == size - 1;

    if (c->kind == KIND_GATHER)
        return m == IN_PLACE_SENT ? !is_root : !(is_of_received(m) || is_of_both(m)) || is_root;
    if (c->kind == KIND_SCATTER)
        return m == IN_PLACE_RECEIVED ? !is_root : !(is_of_sent(m) || is_of_both(m)) || is_root;
    return true;
}

static bool is_tried(const call *c, call_mode mode, misuse m)
{
    bool request = mode != MODE_BLOCKING && mode != MODE_LARGE;

    if (m == NULL_REQUEST && !request)
        return false;
    if (mode >= MODE_INIT && m <= NO_OBJECTS)
        return false;
    return outcome_exists(c, mode) && is_sensible(c, m) && is_looked_for(c, m) && concerns(c, m);
}

static void check_call(const call *c)
{
    for (call_mode mode = 0; mode < MODES; mode++)
        for (misuse m = NONE; m < MISUSES; m++)
            if (is_tried(c, mode, m))
                check_misuse(c, mode, BY_WAIT, m);
    for (call_ending ending = BY_WAIT; ending < ENDINGS; ending++)
        check_misuse(c, MODE_NONBLOCKING, ending, NONE);
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static void set_up(void)
{
    int periodic = 1;
    MPI_Errhandler handler = outcome_handler();

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Cart_create(world, 1, &size, &periodic, 0, &ring);
    MPI_Comm_set_errhandler(world, handler);
    MPI_Comm_set_errhandler(ring, handler);
    /* Errors of null communicators go to these handlers. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    test_handler_free(&handler);
    MPI_Type_vector(ELEMENTS, 1, 3, MPI_INT, &type);
    MPI_Type_vector(ELEMENTS, 1, 3, MPI_INT, &uncommitted);
    MPI_Type_commit(&type);
    MPI_Type_size(type, &type_bytes);
}

int main(int argc, char **argv)
{
    int rc;

    MPI_Init(&argc, &argv);
    set_up();
    for (int i = 0; i < calls_count; i++)
        check_call(&calls[i]);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Type_free(&type);
    MPI_Type_free(&uncommitted);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&world);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
