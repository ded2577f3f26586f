/*
 * Misuse of calls with requests. Each is done twice, with requests made through MPI_ and through PMPI_, under a
 * counting error handler: same error class, the handler called as often, the same requests left, the same in the
 * statuses. A receive that fails leaves its buffer alone, and one that does not gets its message.
 */
#include "tests/mpi/support/completion.h"

static int rank, handled;

static void count_errors(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

static int class_of(int rc)
{
    int class = MPI_SUCCESS;

    if (rc != MPI_SUCCESS)
        PMPI_Error_class(rc, &class);
    return class;
}

/* ---- calls that start operations --------------------------------------------------------------------------------- */

typedef struct bad_start {
    const char *what;
    int count, peer, tag;
    bool null_comm, null_type, uncommitted;
} bad_start;

static const bad_start bad_starts[] = {
    {"nothing wrong but the peer", 1, 99, 1, false, false, false},
    {"negative rank", 1, -77, 1, false, false, false},
    {"negative count", -1, 0, 1, false, false, false},
    {"negative tag", 1, 0, -77, false, false, false},
    {"null communicator", 1, 0, 1, true, false, false},
    {"null type", 1, 0, 1, false, true, false},
    {"uncommitted type", 1, 0, 1, false, false, true},
};

typedef int start_fn(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

typedef struct start_call {
    const char *name;
    void *ours, *theirs; /* start functions; those of sends have const buffers */
} start_call;

static const start_call start_calls[] = {
    {"Isend", MPI_Isend, PMPI_Isend},
    {"Issend", MPI_Issend, PMPI_Issend},
    {"Irsend", MPI_Irsend, PMPI_Irsend},
    {"Irecv", MPI_Irecv, PMPI_Irecv},
    {"Send_init", MPI_Send_init, PMPI_Send_init},
    {"Ssend_init", MPI_Ssend_init, PMPI_Ssend_init},
    {"Rsend_init", MPI_Rsend_init, PMPI_Rsend_init},
    {"Recv_init", MPI_Recv_init, PMPI_Recv_init},
};

static int run_start(void *fn, const bad_start *bad, MPI_Datatype type, void *memory)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int rc;

    handled = 0;
    rc = ((start_fn *)fn)(memory, bad->count, type, bad->peer, bad->tag,
                          bad->null_comm ? MPI_COMM_NULL : MPI_COMM_WORLD, &request);
    return class_of(rc);
}

/* Returns whether Open MPI crashes: some of its persistent sends use the type before they check it. */
static bool crashes(const start_call *call, const bad_start *bad)
{
#ifdef OPEN_MPI
    return strstr(call->name, "send_init") && (bad->null_type || bad->uncommitted);
#else
    (void)call, (void)bad;
    return false;
#endif
}

static void check_bad_starts(void)
{
    MPI_Datatype good = test_type(1, 100), uncommitted;
    test_buffer memory = test_buffer_create(good, 1);

    PMPI_Type_vector(20, 1, 3, MPI_DOUBLE, &uncommitted);
    for (size_t c = 0; c < sizeof start_calls / sizeof *start_calls; c++)
        for (size_t i = 0; i < sizeof bad_starts / sizeof *bad_starts; i++) {
            const bad_start *bad = &bad_starts[i];
            MPI_Datatype type = bad->null_type ? MPI_DATATYPE_NULL : bad->uncommitted ? uncommitted : good;
            int ours, theirs, first;

            if (crashes(&start_calls[c], bad))
                continue;
            ours = run_start(start_calls[c].ours, bad, type, memory.origin);
            first = handled;
            theirs = run_start(start_calls[c].theirs, bad, type, memory.origin);
            CHECK(ours == theirs && first == handled && ours != MPI_SUCCESS,
                  "%s, %s: class %d (handler %d), natively %d (%d)", start_calls[c].name, bad->what, ours, first,
                  theirs, handled);
        }
    test_buffer_free(&memory);
    PMPI_Type_free(&uncommitted);
    MPI_Type_free(&good);
}

/* ---- messages that are too long ---------------------------------------------------------------------------------- */

enum { RECEIVES = 3, LONG_ONE = 1 };

typedef struct outcome {
    int class, handled, flag, number, indices[RECEIVES];
    bool null[RECEIVES];
    int errors[RECEIVES];
} outcome;

typedef struct trial {
    test_way way;
    bool persistent, ignore, native;
    int n; /* number of doubles */
} trial;

static MPI_Datatype whole_type, short_type; /* types of n and of n - 1 doubles */

/* Makes one completing call. If it tests, the messages have come before. */
static outcome complete(const trial *t, MPI_Request *requests)
{
    MPI_Status statuses[RECEIVES], *all = t->ignore ? test_ignored() : statuses,
                                   *one = t->ignore ? MPI_STATUS_IGNORE : statuses;
    outcome o = {.flag = -5, .number = -5, .indices = {-5, -5, -5}};
    int rc;

    for (int i = 0; i < RECEIVES; i++)
        statuses[i].MPI_ERROR = MPI_ERR_OTHER;
    handled = 0;
    switch (t->way) {
    case TEST_WAIT: rc = MPI_Wait(&requests[LONG_ONE], one); break;
    case TEST_TEST: rc = MPI_Test(&requests[LONG_ONE], &o.flag, one); break;
    case TEST_WAITALL: rc = MPI_Waitall(RECEIVES, requests, all); break;
    case TEST_TESTALL: rc = MPI_Testall(RECEIVES, requests, &o.flag, all); break;
    case TEST_WAITANY: rc = MPI_Waitany(2, requests + LONG_ONE, &o.number, one); break;
    case TEST_TESTANY: rc = MPI_Testany(2, requests + LONG_ONE, &o.number, &o.flag, one); break;
    case TEST_WAITSOME: rc = MPI_Waitsome(RECEIVES, requests, &o.number, o.indices, all); break;
    case TEST_TESTSOME: rc = MPI_Testsome(RECEIVES, requests, &o.number, o.indices, all); break;
    default: rc = MPI_Request_get_status(requests[LONG_ONE], &o.flag, one); break;
    }
    o.class = class_of(rc);
    o.handled = handled;
    for (int i = 0; i < RECEIVES; i++) {
        o.null[i] = requests[i] == MPI_REQUEST_NULL;
        /* MPI_ERROR is only set with MPI_ERR_IN_STATUS. */
        o.errors[i] = t->ignore || o.class != MPI_ERR_IN_STATUS ? 0 : class_of(statuses[i].MPI_ERROR);
    }
    return o;
}

static void send_messages(int n, int long_by, MPI_Request *sends)
{
    double *values = malloc(sizeof *values * (size_t)(n + 1) * RECEIVES);

    test_fill(values, sizeof *values * (size_t)(n + 1) * RECEIVES, 1);
    PMPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < RECEIVES; i++)
        PMPI_Isend(values, i == LONG_ONE ? n - 1 + long_by : n, MPI_DOUBLE, 1, i, MPI_COMM_WORLD, &sends[i]);
    PMPI_Waitall(RECEIVES, sends, test_ignored());
    PMPI_Send(NULL, 0, MPI_BYTE, 1, RECEIVES, MPI_COMM_WORLD);
    free(values);
}

static void post(const trial *t, int i, const test_buffer *in, MPI_Request *request)
{
    MPI_Datatype type = i == LONG_ONE ? short_type : whole_type;

    if (t->persistent)
        (t->native ? PMPI_Recv_init : MPI_Recv_init)(in->origin, 1, type, 0, i, MPI_COMM_WORLD, request);
    else
        (t->native ? PMPI_Irecv : MPI_Irecv)(in->origin, 1, type, 0, i, MPI_COMM_WORLD, request);
}

/* Starts the messages, and returns when they have come, or before the last one has. */
static void start(const trial *t, MPI_Request *requests)
{
    if (t->persistent)
        MPI_Startall(RECEIVES, requests);
    PMPI_Barrier(MPI_COMM_WORLD);
    PMPI_Recv(NULL, 0, MPI_BYTE, 0, RECEIVES, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void check_memory(const trial *t, const test_buffer *in, bool failed, const char *what)
{
    double *values = malloc(sizeof *values * (size_t)(t->n + 1));

    test_fill(values, sizeof *values * (size_t)(t->n + 1), 1);
    for (int i = 0; i < RECEIVES; i++) {
        test_buffer expected = test_buffer_create(whole_type, 1);
        int elements = i == LONG_ONE ? t->n - 1 : t->n, p = 0;

        test_buffer_fill(&expected, 4);
        if (i != LONG_ONE || !failed)
            PMPI_Unpack(values, elements * 8, &p, expected.origin, 1, i == LONG_ONE ? short_type : whole_type,
                        MPI_COMM_SELF);
        /* Natively, a part of a message that is too long may have come. */
        CHECK(t->native || (i == LONG_ONE && failed) || test_buffer_equal(&in[i], &expected), "%s: memory %d", what, i);
        test_buffer_free(&expected);
    }
    free(values);
}

static outcome run_trial(const trial *t)
{
    test_buffer in[RECEIVES];
    MPI_Request requests[RECEIVES];
    outcome o;

    for (int i = 0; i < RECEIVES; i++) {
        in[i] = test_buffer_create(whole_type, 1);
        test_buffer_fill(&in[i], 4);
        post(t, i, &in[i], &requests[i]);
    }
    start(t, requests);
    o = complete(t, requests);
    for (int i = 0; i < RECEIVES; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    check_memory(t, in, true, "after a message that is too long");
    if (t->persistent) {
        /* Does the same without a fault. Open MPI has freed the request that failed. */
        for (int i = 0; i < RECEIVES; i++) {
            test_buffer_fill(&in[i], 4);
            if (requests[i] == MPI_REQUEST_NULL)
                post(t, i, &in[i], &requests[i]);
        }
        start(t, requests);
        for (int i = 0; i < RECEIVES; i++)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        check_memory(t, in, false, "the start after an error");
        for (int i = 0; i < RECEIVES; i++)
            MPI_Request_free(&requests[i]);
    }
    for (int i = 0; i < RECEIVES; i++)
        test_buffer_free(&in[i]);
    return o;
}

/*
 * Open MPI 5.0 (5.0.11) returns MPI_SUCCESS from an MPI_Waitall that ignores statuses when the request that has failed
 * was over before, and leaves its handle for the next call to find. Staged receives are reported as to a caller who
 * takes the statuses.
 */
static bool is_overlooked(const trial *t)
{
#if defined OPEN_MPI && OMPI_MAJOR_VERSION == 5
    return t->way == TEST_WAITALL && t->ignore;
#else
    (void)t;
    return false;
#endif
}

/*
 * After an error, an MPI_Waitall that ignores statuses waits for the other requests, too, in MPICH from 4.3 on and in
 * Intel MPI; to one that takes them, as must be done for staged receives, it tells that they are pending. Both are
 * allowed where natively none is pending.
 */
static bool may_leave_others(const trial *t, const outcome *natively)
{
    return t->way == TEST_WAITALL && t->ignore && natively->null[0] && natively->null[RECEIVES - 1];
}

/*
 * A persistent receive that is staged fails as a nonblocking one does: its request stays, and its status tells the
 * error. Open MPI frees a persistent receive that has failed, and some calls do not report the failure; MPI_Waitsome
 * and MPI_Testsome of MPICH 5 leave the error out of its status.
 */
static bool is_staged(const trial *t, const outcome *a, const outcome *natively)
{
#ifdef OPEN_MPI
    (void)natively;
    return t->persistent && a->class != MPI_SUCCESS && a->handled == 1 && !a->null[LONG_ONE];
#else
    return t->persistent && a->class == natively->class && a->errors[LONG_ONE] == MPI_ERR_TRUNCATE &&
           natively->errors[LONG_ONE] == MPI_SUCCESS;
#endif
}

/* What comes in pieces may come in any order: then only what is certain is compared. */
static void compare(const trial *t, const outcome *a, const outcome *b)
{
    bool certain = t->n < 100 && !may_leave_others(t, b), same = a->class == b->class && a->handled == b->handled;

    same = same && a->null[LONG_ONE] == b->null[LONG_ONE];
    if (t->way != TEST_WAITSOME)
        same = same && a->errors[LONG_ONE] == b->errors[LONG_ONE];
    if (certain)
        same = same && !memcmp(a->indices, b->indices, sizeof a->indices) && a->flag == b->flag &&
               a->number == b->number && !memcmp(a->null, b->null, sizeof a->null) &&
               !memcmp(a->errors, b->errors, sizeof a->errors);
    CHECK(same,
          "%s%s%s, %d doubles: class %d handler %d flag %d number %d null %d%d%d errors %d %d %d, natively class %d "
          "handler %d flag %d number %d null %d%d%d errors %d %d %d",
          test_way_name(t->way), t->persistent ? ", persistent" : "", t->ignore ? ", ignored" : "", t->n, a->class,
          a->handled, a->flag, a->number, a->null[0], a->null[1], a->null[2], a->errors[0], a->errors[1], a->errors[2],
          b->class, b->handled, b->flag, b->number, b->null[0], b->null[1], b->null[2], b->errors[0], b->errors[1],
          b->errors[2]);
}

static void check_truncation(int n)
{
    PMPI_Type_vector(n, 1, 3, MPI_DOUBLE, &whole_type);
    PMPI_Type_vector(n - 1, 1, 3, MPI_DOUBLE, &short_type);
    MPI_Type_commit(&whole_type);
    MPI_Type_commit(&short_type);
    for (int way = 0; way < TEST_WAYS; way++)
        for (int form = 0; form < 4; form++) {
            trial ours = {.way = (test_way)way, .persistent = form & 1, .ignore = form & 2, .n = n}, theirs = ours;
            outcome a, b;

            /* For these it is open whether a long message has come yet. */
            if (n > 100 && (way == TEST_TEST || way == TEST_TESTALL || way == TEST_TESTANY || way == TEST_TESTSOME ||
                            way >= TEST_GET_STATUS))
                continue;
            theirs.native = true;
            if (rank == 0) {
                MPI_Request sends[RECEIVES];

                for (int i = 0; i < 2; i++) {
                    send_messages(n, 1, sends);
                    if (ours.persistent)
                        send_messages(n, 0, sends);
                }
                continue;
            }
            a = run_trial(&ours);
            b = run_trial(&theirs);
            if (!is_overlooked(&ours) && !is_staged(&ours, &a, &b))
                compare(&ours, &a, &b);
        }
    MPI_Type_free(&whole_type);
    MPI_Type_free(&short_type);
}

/* ---- many receives, of which one fails --------------------------------------------------------------------------- */

enum { MANY = 100, FAILING = 50, MANY_DOUBLES = 20 };

static double many_memory[MANY][3 * MANY_DOUBLES];

static void post_many(bool persistent, MPI_Datatype type, MPI_Datatype shorter, MPI_Request *requests)
{
    for (int i = 0; i < MANY; i++) {
        for (int k = 0; k < 3 * MANY_DOUBLES; k++)
            many_memory[i][k] = -1;
        (persistent ? MPI_Recv_init : MPI_Irecv)(many_memory[i], 1, i == FAILING ? shorter : type, 0, i, MPI_COMM_WORLD,
                                                 &requests[i]);
    }
    if (persistent)
        MPI_Startall(MANY, requests);
}

static void send_many(MPI_Datatype type)
{
    for (int i = 0; i < MANY; i++)
        for (int k = 0; k < 3 * MANY_DOUBLES; k++)
            many_memory[i][k] = i * 100 + k;
    PMPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MANY; i++)
        PMPI_Send(many_memory[i], 1, type, 1, i, MPI_COMM_WORLD);
    PMPI_Send(NULL, 0, MPI_BYTE, 1, MANY, MPI_COMM_WORLD);
}

/* An operation that is not complete then can be waited for, and all other messages have come. MPICH completes 64
 * requests at a time, and leaves arbitrary values in the statuses behind a failure. */
static void check_many(bool test, bool persistent, bool ignore, MPI_Datatype type, MPI_Datatype shorter)
{
    MPI_Status statuses[MANY], *all = ignore ? test_ignored() : statuses;
    MPI_Request requests[MANY];
    int flag = 1, wrong = 0;

    memset(statuses, 0, sizeof statuses);
    post_many(persistent, type, shorter, requests);
    PMPI_Barrier(MPI_COMM_WORLD);
    PMPI_Recv(NULL, 0, MPI_BYTE, 0, MANY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (test)
        MPI_Testall(MANY, requests, &flag, all);
    else
        MPI_Waitall(MANY, requests, all);
    for (int i = 0; i < MANY; i++) {
        if (requests[i] != MPI_REQUEST_NULL)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        for (int k = 0; k < 3 * MANY_DOUBLES && i != FAILING; k++)
            wrong += many_memory[i][k] != (k % 3 ? -1 : i * 100 + k);
        if (requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&requests[i]);
    }
    CHECK(wrong == 0, "%s of %d%s receives%s, one of which fails: %d doubles wrong", test ? "Testall" : "Waitall", MANY,
          persistent ? " persistent" : "", ignore ? ", ignored" : "", wrong);
}

static void check_many_forms(void)
{
    MPI_Datatype type, shorter;

    PMPI_Type_vector(MANY_DOUBLES, 1, 3, MPI_DOUBLE, &type);
    PMPI_Type_vector(MANY_DOUBLES - 5, 1, 3, MPI_DOUBLE, &shorter);
    MPI_Type_commit(&type);
    MPI_Type_commit(&shorter);
    for (int form = 0; form < 8; form++) {
        if (rank == 0)
            send_many(type);
        else
            check_many(form & 1, form & 2, form & 4, type, shorter);
    }
    MPI_Type_free(&type);
    MPI_Type_free(&shorter);
}

/* ---- calls on requests ------------------------------------------------------------------------------------------- */

/* Makes a wrong call. `what`: starting an active request, freeing a null one, and so on. */
static int misuse(int what, bool native, MPI_Datatype type, test_buffer *memory)
{
    MPI_Request request = MPI_REQUEST_NULL, persistent, requests[2];
    int rc = MPI_SUCCESS, flag, index, out, indices[2];

    (native ? PMPI_Recv_init : MPI_Recv_init)(memory->origin, 1, type, 0, 5, MPI_COMM_SELF, &persistent);
    requests[0] = requests[1] = persistent;
    handled = 0;
    switch (what) {
    case 0: rc = MPI_Request_free(&request); break;
    case 1: rc = MPI_Start(&request); break;
    case 2: rc = MPI_Waitall(-1, requests, test_ignored()); break;
    case 3: rc = MPI_Testall(-1, requests, &flag, test_ignored()); break;
    case 4: rc = MPI_Waitany(-1, requests, &index, MPI_STATUS_IGNORE); break;
    case 5: rc = MPI_Waitsome(-1, requests, &out, indices, test_ignored()); break;
    case 6: rc = MPI_Startall(-1, requests); break;
    case 7: rc = MPI_Wait(NULL, MPI_STATUS_IGNORE); break;
    case 8: rc = MPI_Test(&persistent, NULL, MPI_STATUS_IGNORE); break;
    case 9: rc = MPI_Waitany(1, &persistent, NULL, MPI_STATUS_IGNORE); break;
    case 10: rc = MPI_Waitsome(1, &persistent, NULL, indices, test_ignored()); break;
    default: rc = MPI_Cancel(&request); break;
    }
    MPI_Request_free(&persistent);
    return class_of(rc);
}

static void check_misuse(void)
{
    MPI_Datatype type = test_type(1, 50);
    test_buffer memory = test_buffer_create(type, 1);

    for (int what = 0; what < 12; what++) {
        int ours, first, theirs;

        if (TEST_MPICH_ABI && (what == 4 || what == 5 || what == 9 || what == 10))
            continue;
        ours = misuse(what, false, type, &memory);
        first = handled;
        theirs = misuse(what, true, type, &memory);
        CHECK(ours == theirs && first == handled, "misuse %d: class %d (handler %d), natively %d (%d)", what, ours,
              first, theirs, handled);
    }
    test_buffer_free(&memory);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    int rc, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    handler = test_handler_create(count_errors);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    check_bad_starts();
    check_misuse();
    if (size == 2) {
        check_truncation(16);
        check_truncation(60000);
        check_many_forms();
    }
    test_handler_free(&handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
