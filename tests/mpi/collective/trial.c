#include "tests/mpi/collective/trial.h"

#include "tests/mpi/collective/data.h"
#include "tests/mpi/support/harness.h"
#include "tests/support/intel_mpi.h"

int trial_skipped;

#ifdef OPEN_MPI
static const bool is_open_mpi = true;
#else
static const bool is_open_mpi = false;
#endif

/* A trial that takes longer hangs. MPICH delivers longer messages from contiguous memory in pieces
 * (docs/mpi-libraries.md). */
enum { MOST_SECONDS = 60, ONE_PIECE = 8000 };

typedef enum mode { BLOCKING, NONBLOCKING, PERSISTENT, LARGE, LARGE_NONBLOCKING, LARGE_PERSISTENT, MODES } mode;

static const char *const mode_names[MODES] = {"blocking",      "nonblocking",           "persistent",
                                              "large (count)", "large and nonblocking", "large and persistent"};

/* ---- what is agreed upon ----------------------------------------------------------------------------------------- */

typedef struct trial {
    const trial_group *group;
    const call *c;
    uint64_t seed;
    mode mode;
    bool in_place;  /* where the call and the rank allow it */
    bool symmetric; /* from i to j as much as from j to i */
    bool freed;     /* types and communicator are freed while the operation is under way */
    bool absolute;  /* displacements are addresses, where they can be */
    bool has_comm;  /* the trial has a communicator of its own */
    int most;       /* the most objects in one block */
    int root;       /* the process that is the root */
    data_base base;
    pw_rng own; /* random numbers of this rank only */
    call_args args;
    data_side send, recv;
    char text[512];
} trial;

bool trial_restarts(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, major = 0, minor = 0;
    const char *at;

    MPI_Get_library_version(text, &length);
    at = strstr(text, "MPICH Version:");
    if (at)
        sscanf(at + strlen("MPICH Version:"), " %d.%d", &major, &minor);
    return (!at && !test_is_intel_mpi()) || major > 4 || (major == 4 && minor >= 3);
}

/* Returns how many objects go from rank i to rank j. */
static int amount(const trial *t, int i, int j)
{
    bool uniform = t->c->send <= FORM_EQUAL && t->c->recv <= FORM_EQUAL;
    int a = t->symmetric && i > j ? j : i, b = t->symmetric && i > j ? i : j;
    pw_rng rng = {t->seed * 17 + (uint64_t)(uniform ? 0 : a * 64)};

    if (!uniform && t->c->kind == KIND_ALLTOALL)
        rng.state += (uint64_t)b;
    else if (!uniform && t->c->kind == KIND_SCATTER)
        rng.state = t->seed * 17 + (uint64_t)b * 64;
    return pw_rng_one_in(&rng, 5) ? 0 : (int)pw_rng_range(&rng, 1, t->most);
}

/* The argument `root` of this process. */
static int root_argument(const trial *t)
{
    const trial_group *g = t->group;
    int first = t->root < g->first_size ? 0 : g->first_size; /* the first process of the root's group */

    if (g->between && (t->root >= g->first_size) == g->second)
        return t->root == g->me ? MPI_ROOT : MPI_PROC_NULL;
    return g->between ? t->root - first : t->root;
}

static void agree(trial *t, const trial_group *group, const call *c, uint64_t seed)
{
    static const int most[] = {1, 3, 3, 20, 20, 250};
    pw_rng shared = {seed};

    *t = (trial){.group = group, .c = c, .seed = seed};
    t->mode = (mode)pw_rng_range(&shared, 0, c->large ? MODES - 1 : c->init ? PERSISTENT : NONBLOCKING);
    if ((t->mode == PERSISTENT || t->mode == LARGE_PERSISTENT) && !trial_restarts())
        t->mode = BLOCKING;
    t->in_place = !c->neighbours && !group->between && c->kind != KIND_BCAST && pw_rng_one_in(&shared, 3);
    t->symmetric = t->in_place && c->kind == KIND_ALLTOALL;
    /* Open MPI 5.0 starts persistent collectives with the types that they were made with, freed or not. */
    t->freed = pw_rng_one_in(&shared, 3) && !(is_open_mpi && t->mode == PERSISTENT);
    t->absolute = pw_rng_one_in(&shared, 4);
    t->most = most[pw_rng_range(&shared, 0, 5)];
    data_base_create(&t->base, &shared, t->most * (group->size > 8 ? group->size : 8));
    t->args.comm = group->comm;
    t->root = (int)pw_rng_range(&shared, 0, group->size - 1);
    t->args.root = root_argument(t);
    t->own = (pw_rng){seed * 1000003 + (uint64_t)group->me};
    snprintf(t->text, sizeof t->text, "%s, %s, on %s (%d ranks), root %d%s, seed %llu: objects of %s", c->name,
             mode_names[t->mode], group->name, group->size, t->root, t->in_place ? ", in place" : "",
             (unsigned long long)seed, t->base.text);
}

/* ---- sides ------------------------------------------------------------------------------------------------------- */

/* Makes a side, of the sender or of the receiver. `peers` may have MPI_PROC_NULL among them. */
static void make_side(trial *t, call_side *s, data_side *d, call_form form, bool sends, const int *peers, int blocks)
{
    s->type = data_type(&t->base, &t->own);
    for (int i = 0; i < blocks; i++) {
        int peer = peers[i], me = t->group->me;

        /* Blocks that do not exist may have any count. */
        s->counts[i] = peer == MPI_PROC_NULL ? (int)pw_rng_range(&t->own, 0, 2)
                       : sends               ? amount(t, me, peer)
                                             : amount(t, peer, me);
        s->types[i] = form == FORM_TYPED ? data_type(&t->base, &t->own) : MPI_DATATYPE_NULL;
        s->count = peer == MPI_PROC_NULL ? s->count : s->counts[i];
    }
    if (form == FORM_EQUAL && t->c->neighbours) /* blocks are all alike, even those of neighbours that do not exist */
        s->count = amount(t, 0, 0);
    data_place(d, s, form, sends && t->c->kind != KIND_BCAST, blocks, &t->own);
}

static bool is_rooted(const trial *t)
{
    return t->c->kind <= KIND_SCATTER;
}

static bool is_root(const trial *t)
{
    return t->group->me == t->root;
}

/* Returns whether this rank sends to the root or receives from it. */
static bool faces_root(const trial *t)
{
    return t->args.root >= 0;
}

static void make_sides(trial *t)
{
    const trial_group *g = t->group;
    call_args *a = &t->args;

    switch (t->c->kind) {
    case KIND_BCAST:
        if (is_root(t) || faces_root(t))
            make_side(t, &a->send, &t->send, FORM_ONE, true, &g->me, 1);
        break;
    case KIND_GATHER:
        if (faces_root(t))
            make_side(t, &a->send, &t->send, FORM_ONE, true, &t->root, 1);
        if (is_root(t))
            make_side(t, &a->recv, &t->recv, t->c->recv, false, g->sources, g->in);
        break;
    case KIND_SCATTER:
        if (is_root(t))
            make_side(t, &a->send, &t->send, t->c->send, true, g->destinations, g->out);
        if (faces_root(t))
            make_side(t, &a->recv, &t->recv, FORM_ONE, false, &t->root, 1);
        break;
    default:
        make_side(t, &a->send, &t->send, t->c->send, true, t->c->kind == KIND_ALLGATHER ? &g->me : g->destinations,
                  t->c->kind == KIND_ALLGATHER ? 1 : g->out);
        make_side(t, &a->recv, &t->recv, t->c->recv, false, g->sources, g->in);
    }
}

/* Gives arguments that are not significant arbitrary values. */
static void spoil(call_side *s)
{
    *s = (call_side){.count = -5, .type = MPI_DATATYPE_NULL};
}

static bool is_large(const trial *t)
{
    return t->mode >= LARGE;
}

static void make_absolute(call_side *s)
{
    for (int i = 0; i < CALL_MOST_BLOCKS; i++)
        s->wide_displs[i] += (MPI_Aint)s->buf;
    s->buf = MPI_BOTTOM;
}

/* Returns the arguments of one run. */
static call_args arguments(trial *t, bool native)
{
    call_args a = t->args;
    bool root = is_root(t);

    if (t->send.memory[0])
        a.send.buf = data_origin(&t->send, native);
    if (t->recv.memory[0])
        a.recv.buf = data_origin(&t->recv, native);
    if (is_rooted(t) && !t->send.memory[0])
        spoil(&a.send);
    if (is_rooted(t) && !t->recv.memory[0])
        spoil(&a.recv);
    if (t->in_place && (root || !is_rooted(t))) {
        call_side *replaced = t->c->kind == KIND_SCATTER ? &a.recv : &a.send;

        spoil(replaced);
        replaced->count = 0; /* some MPIs look at it, although it does not matter */
        replaced->type = MPI_BYTE;
        replaced->buf = MPI_IN_PLACE;
    } else if (t->absolute && t->c->send == FORM_TYPED && (t->c->neighbours || is_large(t))) {
        make_absolute(&a.send);
        make_absolute(&a.recv);
    }
    return a;
}

static void free_types(call_side *s)
{
    if (s->type != MPI_DATATYPE_NULL)
        MPI_Type_free(&s->type);
    for (int i = 0; i < CALL_MOST_BLOCKS; i++)
        if (s->types[i] != MPI_DATATYPE_NULL)
            MPI_Type_free(&s->types[i]);
}

static void no_types(call_side *s)
{
    s->type = MPI_DATATYPE_NULL;
    for (int i = 0; i < CALL_MOST_BLOCKS; i++)
        s->types[i] = MPI_DATATYPE_NULL;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static int complete(trial *t, MPI_Request *request, bool native)
{
    MPI_Status status;
    int done = 0, index, rc = MPI_SUCCESS;

    if (native)
        return PMPI_Wait(request, MPI_STATUS_IGNORE);
    switch (pw_rng_range(&t->own, 0, 4)) {
    case 0: return MPI_Wait(request, MPI_STATUS_IGNORE);
    case 1: return MPI_Waitall(1, request, &status);
    case 2: return MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE);
    case 3: return MPI_Waitsome(1, request, &done, &index, &status);
    default:
        while (!done && rc == MPI_SUCCESS)
            rc = MPI_Test(request, &done, &status);
        return rc;
    }
}

static void check_side(const trial *t, const data_side *d, const char *which, const char *when)
{
    const char *difference = d->memory[0] ? data_difference(d) : NULL;

    CHECK(!difference, "%s: %s: %s buffer: %s", t->text, when, which, difference);
}

static void check_memory(const trial *t, const char *when)
{
    check_side(t, &t->send, "send", when);
    check_side(t, &t->recv, "receive", when);
}

static void fill(trial *t)
{
    if (t->send.memory[0])
        data_fill(&t->send, &t->own);
    if (t->recv.memory[0])
        data_fill(&t->recv, &t->own);
}

/* Open MPI 4.1.4 asks the communicator of a w-form under way how many types it has to release. */
static bool may_lose_comm(const trial *t)
{
    return !is_open_mpi || t->c->send != FORM_TYPED;
}

static void free_comm(trial *t)
{
    if (t->has_comm)
        MPI_Comm_free(&t->args.comm);
    t->has_comm = false;
}

static void free_early(trial *t)
{
    free_types(&t->args.send);
    free_types(&t->args.recv);
}

static void check_result(const trial *t, int rc)
{
    char text[8 * MPI_MAX_ERROR_STRING] = ""; /* some MPIs write longer texts */
    int length;

    if (rc != MPI_SUCCESS)
        MPI_Error_string(rc, text, &length);
    CHECK(rc == MPI_SUCCESS, "%s: %s", t->text, text);
}

static int run_blocking(trial *t, bool native)
{
    call_args a = arguments(t, native);

    return (t->mode == LARGE ? t->c->large : t->c->blocking)(&a, native);
}

static int run_nonblocking(trial *t, bool native, bool last)
{
    call_args a = arguments(t, native);
    MPI_Request request;
    int rc = (t->mode == LARGE_NONBLOCKING ? t->c->start_large : t->c->start)(&a, &request, native);

    if (t->freed && last && !native) {
        free_early(t);
        if (may_lose_comm(t))
            free_comm(t);
    }
    if (rc == MPI_SUCCESS)
        rc = complete(t, &request, native);
    CHECK(rc != MPI_SUCCESS || request == MPI_REQUEST_NULL, "%s: the request is still there", t->text);
    return rc;
}

static int run_once(trial *t, bool native, bool last)
{
    return t->mode == BLOCKING || t->mode == LARGE ? run_blocking(t, native) : run_nonblocking(t, native, last);
}

/* Returns whether the MPI below carries out the call at all, on all ranks. */
static bool succeeds(const trial *t, int rc)
{
    int failed = rc != MPI_SUCCESS, any;

    PMPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, t->group->all);
    trial_skipped += any;
    return !any;
}

/* Runs a call twice, since types may be learned in the first one. */
static void run_twice(trial *t)
{
    for (int round = 0; round < 2; round++) {
        fill(t);
        if (!succeeds(t, run_once(t, true, round == 1)))
            return;
        check_result(t, run_once(t, false, round == 1));
        check_memory(t, round ? "second call" : "first call");
    }
}

/* Runs a persistent call with other data in each start. */
static void run_persistent(trial *t)
{
    call_args ours = arguments(t, false), theirs = arguments(t, true);
    int (*init)(const call_args *, MPI_Request *, bool) = t->mode == LARGE_PERSISTENT ? t->c->init_large : t->c->init;
    MPI_Request mine, native;

    init(&theirs, &native, true);
    init(&ours, &mine, false);
    if (t->freed)
        free_early(t);
    for (int round = 0; round < 3; round++) {
        fill(t);
        PMPI_Start(&native);
        complete(t, &native, true);
        if (round % 2)
            MPI_Startall(1, &mine);
        else
            MPI_Start(&mine);
        complete(t, &mine, false);
        check_memory(t, round ? "later round" : "first round");
    }
    PMPI_Request_free(&native);
    MPI_Request_free(&mine);
}

/* ---- a trial ----------------------------------------------------------------------------------------------------- */

#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40300000
/* Returns whether there are basic elements of several sizes, and enough of them for pieces that may end inside one. */
static bool cuts_elements(const trial *t)
{
    const pw_naive_map *map = &t->base.type.map;
    int64_t sizes = 0; /* a pair counts as one entry */

    for (int64_t i = 0; t->base.random && i < map->n; i++)
        sizes |= map->entries[i].bytes;
    return (sizes & (sizes - 1)) != 0 && map->size * t->most > ONE_PIECE;
}
#endif

/* Returns whether the MPI below fails in this trial by itself. */
static bool is_broken_below(const trial *t)
{
    const call *c = t->c;
    bool alone = t->group->size == 1 && !c->neighbours;

    if (t->group->between && t->base.random && t->base.type.map.size == 0 && test_is_intel_mpi())
        return true; /* the MPI waits for messages that hold nothing */
#ifdef OPEN_MPI
    if (c->kind == KIND_ALLTOALL && t->in_place && (t->mode == NONBLOCKING || t->mode == PERSISTENT))
        return true;                       /* the MPI delivers wrong data, or none */
    return alone && c->send == FORM_TYPED; /* the MPI takes displacements for extents */
#elif defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40300000
    if (c->neighbours && c->send == FORM_TYPED && !is_large(t) && t->group->lopsided)
        return true; /* the MPI copies as many counts as the wrong degree says */
    if (c->neighbours && cuts_elements(t))
        return true; /* and the receiver's error is not reported (docs/mpi-libraries.md) */
    if (t->group->between && t->base.random && t->base.type.map.size * t->most > ONE_PIECE)
        return true; /* the error that the receiver of pieces finds gets lost */
    return alone && c->kind == KIND_ALLGATHER && c->recv == FORM_VARYING; /* the MPI ignores displacements */
#else
    (void)alone; /* if the root is not the first of its group, the MPI delivers data that was in the buffer at another
                    time */
    return t->group->between && c->kind == KIND_BCAST && (t->mode == PERSISTENT || t->mode == LARGE_PERSISTENT) &&
           t->root != 0 && t->root != t->group->first_size;
#endif
}

/* Between groups each trial has a communicator of its own: processes that take no part in a nonblocking call lose count
 * in both MPIs, and later calls hang. */
static void make_comm(trial *t)
{
    t->has_comm = t->group->between || (t->freed && may_lose_comm(t));
    if (t->has_comm)
        MPI_Comm_dup(t->group->comm, &t->args.comm);
}

static void run(trial *t)
{
    make_comm(t);
    no_types(&t->args.send);
    no_types(&t->args.recv);
    make_sides(t);
    if (t->mode == PERSISTENT || t->mode == LARGE_PERSISTENT)
        run_persistent(t);
    else
        run_twice(t);
    free_early(t);
    free_comm(t);
    data_free(&t->send);
    data_free(&t->recv);
}

void trial_run(const trial_group *group, const call *c, uint64_t seed)
{
    trial t;

    if (group->comm == MPI_COMM_NULL)
        return;
    agree(&t, group, c, seed);
    test_watch(t.text, MOST_SECONDS);
    if (!is_broken_below(&t))
        run(&t);
    test_watch(NULL, 0);
    data_base_free(&t.base);
}
