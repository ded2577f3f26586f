/* The stress test's slots, and the messages in them: plain and persistent ones. */
#include "tests/mpi/stress/stress.h"

/* ---- slots ------------------------------------------------------------------------------------------------------ */

static slot *free_slot(lane *l)
{
    for (int i = 0; i < LANE_SLOTS; i++)
        if (!l->slots[i].used)
            return &l->slots[i];
    return NULL;
}

void stress_make_room(lane *l, int n)
{
    for (;;) {
        int used = 0;

        for (int i = 0; i < LANE_SLOTS; i++)
            used += l->slots[i].used;
        if (LANE_SLOTS - used >= n)
            return;
        stress_complete(l, false);
    }
}

slot *stress_take_slot(lane *l, slot with)
{
    slot *s = free_slot(l);

    *s = with;
    s->used = true;
    return s;
}

MPI_Request *stress_request(lane *l, const slot *s)
{
    return &l->requests[s - l->slots];
}

static void release(lane *l, slot *s)
{
    test_buffer_free(&s->memory);
    test_buffer_free(&s->expected);
    test_buffer_free(&s->other);
    free(s->arrays);
    if (s->owns_type)
        MPI_Type_free(&s->reserved);
    *s = (slot){.used = false};
    *stress_request(l, s) = MPI_REQUEST_NULL;
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

/* Opens one end of a message on this rank, with its memory. */
static slot open_message(const lane *l, family f, MPI_Datatype type, int count, int from, int to, bool receives)
{
    slot s = {.family = f,
              .what = f == PERSISTENT ? "persistent message" : "message",
              .receives = receives,
              .type = type,
              .count = count,
              .bytes = test_packed_bytes(type, count),
              .tag = (int)(l->step % 30000),
              .peer = receives ? from : to};

    s.memory = test_buffer_create(type, count);
    if (receives)
        s.expected = test_buffer_create(type, count);
    return s;
}

/* Fills a message before it is started. */
static void fill_message(slot *s, MPI_Datatype type, unsigned fill)
{
    s->fill = fill;
    test_buffer_fill(&s->memory, s->receives ? 99 : fill);
    if (s->receives) {
        test_buffer_fill(&s->expected, 99);
        stress_place(type, s->count, fill, s->expected.origin);
    }
}

/* Opens a receive that takes its message as MPI_PACKED. */
static slot open_packed(const lane *l, MPI_Datatype type, int count, int from, unsigned fill)
{
    int bytes = test_packed_bytes(type, count);
    slot s = open_message(l, NONBLOCKING, MPI_PACKED, bytes, from, l->rank, true);
    unsigned char *packed = stress_packed(type, count, fill);

    s.what = "message as MPI_PACKED";
    s.fill = fill;
    test_buffer_fill(&s.memory, 99);
    test_buffer_fill(&s.expected, 99);
    memcpy(s.expected.origin, packed, (size_t)bytes);
    free(packed);
    return s;
}

static void start(lane *l, slot with, bool synchronous, bool wildcard)
{
    slot *s = stress_take_slot(l, with);
    MPI_Request *r = stress_request(l, s);

    s->started = true;
    if (s->receives)
        MPI_Irecv(s->memory.origin, s->count, s->type, wildcard ? MPI_ANY_SOURCE : s->peer, s->tag, l->comm, r);
    else
        (synchronous ? MPI_Issend : MPI_Isend)(s->memory.origin, s->count, s->type, s->peer, s->tag, l->comm, r);
}

void stress_start_message(lane *l)
{
    MPI_Datatype type = stress_type(l);
    int from = stress_draw(l, l->ranks), to = stress_draw(l, l->ranks), count = 1 + stress_draw(l, 3);
    bool synchronous = stress_draw(l, 2), wildcard = stress_draw(l, 4) == 0, as_packed = stress_draw(l, 5) == 0,
         drop = stress_draw(l, 6) == 0;
    unsigned fill = stress_fill(l, from);

    stress_make_room(l, 2); /* makes room before one end is started, which may wait for the other end on this rank */
    for (int receives = 0; receives < 2; receives++) {
        slot s;

        if (l->rank != (receives ? to : from))
            continue;
        if (receives && as_packed) {
            s = open_packed(l, type, count, from, fill);
        } else {
            s = open_message(l, NONBLOCKING, type, count, from, to, receives);
            fill_message(&s, type, fill);
        }
        start(l, s, synchronous, wildcard);
    }
    if (drop)
        stress_drop_type(l, type);
}

/* ---- channels --------------------------------------------------------------------------------------------------- */

static void init_channel(lane *l, slot *s, bool synchronous)
{
    MPI_Request *r = stress_request(l, s);

    if (s->receives)
        MPI_Recv_init(s->memory.origin, s->count, s->type, s->peer, s->tag, l->comm, r);
    else
        (synchronous ? MPI_Ssend_init : MPI_Send_init)(s->memory.origin, s->count, s->type, s->peer, s->tag, l->comm,
                                                       r);
}

static void close_channel(lane *l, slot *s)
{
    MPI_Request_free(stress_request(l, s));
    release(l, s);
}

void stress_channel(lane *l)
{
    int which = stress_draw(l, LANE_CHANNELS), from = stress_draw(l, l->ranks), to = stress_draw(l, l->ranks - 1),
        count = 1 + stress_draw(l, 3);
    bool synchronous = stress_draw(l, 2), ends = stress_draw(l, 4) == 0, together = stress_draw(l, 2);
    MPI_Datatype type = stress_type(l);
    channel *c = &l->channels[which];
    slot *s = &l->slots[LANE_SLOTS + which];

    if (!c->open) {
        to += to >= from; /* the two ends are different ranks, for the one slot each has */
        *c = (channel){true, from, to};
        if (l->rank == from || l->rank == to) {
            *s = open_message(l, PERSISTENT, type, count, from, to, l->rank == to);
            s->used = true;
            s->reserved = type;
            init_channel(l, s, synchronous);
        }
        return;
    }
    while (s->used && s->started)
        stress_complete(l, false);
    c->open = !ends;
    if (s->used && ends) {
        close_channel(l, s);
    } else if (s->used) {
        s->started = true;
        fill_message(s, s->reserved, stress_fill(l, c->from));
        if (together)
            MPI_Startall(1, stress_request(l, s));
        else
            MPI_Start(stress_request(l, s));
    }
}

void stress_close_channels(lane *l)
{
    for (int i = LANE_SLOTS; i < LANE_REQUESTS; i++)
        if (l->slots[i].used)
            close_channel(l, &l->slots[i]);
}

/* ---- completing ------------------------------------------------------------------------------------------------- */

static void check_status(lane *l, const slot *s, const MPI_Status *status)
{
    int n = -1;

    PMPI_Get_count(status, s->type, &n);
    if (status->MPI_SOURCE != s->peer || status->MPI_TAG != s->tag || n != s->count)
        stress_fail(l, "status", s);
}

/* Finishes a completed request. `status`: NULL if the call ignored it. */
static void finish(lane *l, int i, const MPI_Status *status)
{
    slot *s = &l->slots[i];

    l->operations[s->family]++;
    s->started = false;
    if (s->receives && !test_buffer_equal(&s->memory, &s->expected))
        stress_fail(l, stress_difference(l, &s->memory, &s->expected), s);
    if (s->receives && status && s->family != COLLECTIVE_NONBLOCKING)
        check_status(l, s, status);
    if (i < LANE_SLOTS && l->requests[i] != MPI_REQUEST_NULL)
        stress_fail(l, "the handle is left", s);
    if (i < LANE_SLOTS)
        release(l, s);
}

/* From 4.2 on, at least to 5.0.2, MPICH forgets the status of a persistent request that MPI_Request_get_status has
 * reported. */
static bool forgets_status(const slot *s)
{
#if defined MPICH && MPICH_NUMVERSION >= 40200000
    return s->family == PERSISTENT;
#else
    (void)s;
    return false;
#endif
}

static void complete_one(lane *l)
{
    int i = stress_draw_own(l, LANE_REQUESTS), done = 1;
    bool ignore = stress_draw_own(l, 3) == 0, peek = stress_draw_own(l, 4) == 0, wait = stress_draw_own(l, 3) == 0;
    MPI_Status status, *s = ignore ? MPI_STATUS_IGNORE : &status;

    if (!l->slots[i].started)
        return;
    if (peek) {
        MPI_Request_get_status(l->requests[i], &done, s);
        if (!done)
            return;
        if (forgets_status(&l->slots[i]))
            s = MPI_STATUS_IGNORE; /* the status that get_status gave is checked */
    }
    if (wait)
        MPI_Wait(&l->requests[i], s);
    else
        MPI_Test(&l->requests[i], &done, s);
    if (done)
        finish(l, i, ignore ? NULL : &status);
}

static void complete_any(lane *l, bool wait)
{
    bool ignore = stress_draw_own(l, 3) == 0;
    MPI_Status status, *s = ignore ? MPI_STATUS_IGNORE : &status;
    int i = MPI_UNDEFINED, done = 1;

    if (wait)
        MPI_Waitany(LANE_REQUESTS, l->requests, &i, s);
    else
        MPI_Testany(LANE_REQUESTS, l->requests, &i, &done, s);
    if (done && i != MPI_UNDEFINED)
        finish(l, i, ignore ? NULL : &status);
}

static void complete_some(lane *l, bool wait)
{
    bool ignore = stress_draw_own(l, 3) == 0;
    MPI_Status statuses[LANE_REQUESTS];
    int indices[LANE_REQUESTS], n = 0;

    (wait ? MPI_Waitsome : MPI_Testsome)(LANE_REQUESTS, l->requests, &n, indices,
                                         ignore ? MPI_STATUSES_IGNORE : statuses);
    for (int k = 0; n != MPI_UNDEFINED && k < n; k++)
        finish(l, indices[k], ignore ? NULL : &statuses[k]);
}

static void complete_all(lane *l, bool wait)
{
    bool ignore = stress_draw_own(l, 3) == 0;
    MPI_Status statuses[LANE_REQUESTS], *s = ignore ? MPI_STATUSES_IGNORE : statuses;
    int done = 1;

    if (wait)
        MPI_Waitall(LANE_REQUESTS, l->requests, s);
    else
        MPI_Testall(LANE_REQUESTS, l->requests, &done, s);
    for (int i = 0; done && i < LANE_REQUESTS; i++)
        if (l->slots[i].started)
            finish(l, i, ignore ? NULL : &statuses[i]);
}

static bool any_started(const lane *l)
{
    for (int i = 0; i < LANE_REQUESTS; i++)
        if (l->slots[i].started)
            return true;
    return false;
}

void stress_complete(lane *l, bool all)
{
    do {
        switch (stress_draw_own(l, 8)) {
        case 0: complete_any(l, true); break;
        case 1: complete_any(l, false); break;
        case 2: complete_some(l, true); break;
        case 3: complete_some(l, false); break;
        case 4: complete_all(l, true); break;
        case 5: complete_all(l, false); break;
        default: complete_one(l); break;
        }
    } while (all && any_started(l));
}
