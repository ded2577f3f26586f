/* The stress test's one-sided operations. A round of all ranks leaves nothing under way in the window. */
#include "tests/mpi/stress/stress.h"

enum { WINDOW_BYTES = 1 << 16, MOST_ELEMENTS = 1500 };

typedef enum epoch { FENCE, LOCK, FLUSH, FLUSH_LOCAL, REQUEST, EPOCHS } epoch;

static const char *const epoch_names[EPOCHS] = {"fence", "lock", "flush", "flush_local", "request"};

/* One round as all ranks know it. */
typedef struct round {
    epoch epoch;
    bool get, accumulate, drops;
    MPI_Datatype basic, mine, theirs;
    int elements, their_count, bytes, at;
    int target, origin; /* whom I address, and who addresses me */
} round_t;

void stress_open_window(lane *l)
{
    stress_window *w = &l->window;

    if (l->id % 2) {
        MPI_Alloc_mem(WINDOW_BYTES, MPI_INFO_NULL, &w->memory);
        MPI_Win_create(w->memory, WINDOW_BYTES, 1, MPI_INFO_NULL, l->comm, &w->win);
    } else {
        MPI_Win_allocate(WINDOW_BYTES, 1, MPI_INFO_NULL, l->comm, &w->memory, &w->win);
    }
    w->mirror = malloc(WINDOW_BYTES);
    test_fill(w->memory, WINDOW_BYTES, 5);
    memcpy(w->mirror, w->memory, WINDOW_BYTES);
    MPI_Barrier(l->comm);
}

void stress_close_window(lane *l)
{
    MPI_Barrier(l->comm);
    if (memcmp(l->window.memory, l->window.mirror, WINDOW_BYTES) != 0)
        stress_fail(l, "the window as a whole", NULL);
    MPI_Win_free(&l->window.win);
    if (l->id % 2)
        MPI_Free_mem(l->window.memory);
    free(l->window.mirror);
}

/* The target is contiguous: of n elements, or of a type of them. */
static round_t draw_round(lane *l)
{
    static const int sizes[] = {1, 2, 4, 8};
    MPI_Datatype basics[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE};
    int which = stress_draw(l, 4), shift = stress_draw(l, l->ranks);
    round_t r = {.basic = basics[which], .epoch = (epoch)stress_draw(l, EPOCHS)};

    r.get = stress_draw(l, 2);
    r.accumulate = !r.get && r.epoch != REQUEST && stress_draw(l, 6) == 0;
    r.drops = stress_draw(l, 3) == 0;
    r.elements = 2 + stress_draw(l, stress_draw(l, 3) ? 40 : MOST_ELEMENTS);
    r.bytes = r.elements * sizes[which];
    r.at = stress_draw(l, (WINDOW_BYTES - r.bytes) / 8) * 8;
    r.mine = stress_plain_type(l, r.basic, r.elements);
    r.theirs = r.basic;
    r.their_count = r.elements;
    if (stress_draw(l, 2)) {
        MPI_Type_contiguous(r.elements, r.basic, &r.theirs);
        MPI_Type_commit(&r.theirs);
        r.their_count = 1;
    }
    r.target = (l->rank + shift) % l->ranks;
    r.origin = (l->rank - shift + l->ranks) % l->ranks;
    return r;
}

static void drop_types(round_t *r)
{
    MPI_Type_free(&r->mine);
    if (r->theirs != r->basic)
        MPI_Type_free(&r->theirs);
}

static void begin(const lane *l, const round_t *r)
{
    if (r->epoch == FENCE)
        MPI_Win_fence(0, l->window.win);
    else
        MPI_Barrier(l->comm);
    if (r->epoch == LOCK)
        MPI_Win_lock(MPI_LOCK_SHARED, r->target, 0, l->window.win);
    else if (r->epoch != FENCE)
        MPI_Win_lock_all(0, l->window.win);
}

static void transfer(const lane *l, const round_t *r, void *origin, MPI_Request *request)
{
    MPI_Win win = l->window.win;
    bool asks = r->epoch == REQUEST;

    if (r->get && asks)
        MPI_Rget(origin, 1, r->mine, r->target, r->at, r->their_count, r->theirs, win, request);
    else if (r->get)
        MPI_Get(origin, 1, r->mine, r->target, r->at, r->their_count, r->theirs, win);
    else if (r->accumulate)
        MPI_Accumulate(origin, 1, r->mine, r->target, r->at, r->their_count, r->theirs, MPI_REPLACE, win);
    else if (asks)
        MPI_Rput(origin, 1, r->mine, r->target, r->at, r->their_count, r->theirs, win, request);
    else
        MPI_Put(origin, 1, r->mine, r->target, r->at, r->their_count, r->theirs, win);
}

/* Until the origin's buffer is the program's again. MPICH 4.0's requests of gets are not to be trusted
 * (docs/mpi-libraries.md).
 */
static void complete_here(const lane *l, const round_t *r, MPI_Request *request)
{
    MPI_Win win = l->window.win;

    switch (r->epoch) {
    case FENCE: MPI_Win_fence(0, win); break;
    case LOCK: MPI_Win_unlock(r->target, win); break;
    case FLUSH: MPI_Win_flush(r->target, win); break;
    case FLUSH_LOCAL: MPI_Win_flush_local_all(win); break;
    default: MPI_Wait(request, MPI_STATUS_IGNORE); MPI_Win_flush(r->target, win);
    }
}

static void end(const lane *l, const round_t *r)
{
    if (r->epoch > LOCK)
        MPI_Win_unlock_all(l->window.win);
    MPI_Barrier(l->comm);
}

/* What my part of the window holds before a get, or shall hold after a put, is of the rank `from`. */
static void set_region(const round_t *r, unsigned char *memory, unsigned fill)
{
    unsigned char *packed = stress_packed(r->basic, r->elements, fill);

    memcpy(memory + r->at, packed, (size_t)r->bytes);
    free(packed);
}

static test_buffer make_buffer(const lane *l, const round_t *r, bool after)
{
    test_buffer b = test_buffer_create(r->mine, 1);
    int p = 0, from = r->get ? r->target : l->rank;

    test_buffer_fill(&b, 6);
    if (!r->get || after) {
        unsigned char *packed = stress_packed(r->basic, r->elements, stress_fill(l, from));

        PMPI_Unpack(packed, r->bytes, &p, b.origin, 1, r->mine, MPI_COMM_SELF);
        free(packed);
    }
    return b;
}

static void check_region(lane *l, const round_t *r)
{
    enum { AROUND = 64 };
    int from = r->at > AROUND ? r->at - AROUND : 0, to = r->at + r->bytes + AROUND;

    to = to < WINDOW_BYTES ? to : WINDOW_BYTES;
    if (memcmp(l->window.memory + from, l->window.mirror + from, (size_t)(to - from)) != 0)
        stress_fail(l, r->get ? "the window after a get" : "the window after a put", NULL);
}

void stress_one_sided(lane *l)
{
    round_t r = draw_round(l);
    test_buffer b = make_buffer(l, &r, false), want = make_buffer(l, &r, true);
    MPI_Request request = MPI_REQUEST_NULL;

    set_region(&r, l->window.mirror, stress_fill(l, r.get ? l->rank : r.origin));
    if (r.get)
        set_region(&r, l->window.memory, stress_fill(l, l->rank));
    begin(l, &r);
    transfer(l, &r, b.origin, &request);
    if (r.drops)
        drop_types(&r);
    complete_here(l, &r, &request);
    stress_check(l, ONE_SIDED, epoch_names[r.epoch], &b, &want);
    end(l, &r);
    check_region(l, &r);
    MPI_Barrier(l->comm);
    if (!r.drops)
        drop_types(&r);
    test_buffer_free(&b);
    test_buffer_free(&want);
}
