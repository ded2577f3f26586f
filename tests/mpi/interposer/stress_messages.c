#include "stress.h"

static MPI_Datatype make_type(lane *l)
{
    MPI_Datatype type;
    int size;

    for (;;) {
        type = test_random_type(&l->schedule);
        PMPI_Type_size(type, &size);
        if (size > 0)
            return type;
        MPI_Type_free(&type);
    }
}

/* The user lets go of a type of the pool. Messages of it that are under way go on with a duplicate made natively. */
static void drop_type(lane *l, int i)
{
    for (int k = 0; k < LANE_REQUESTS; k++) {
        slot *s = &l->slots[k];

        if (s->used && !s->owns_type && s->type == l->types[i]) {
            PMPI_Type_dup(s->type, &s->type);
            s->owns_type = true;
        }
    }
    MPI_Type_free(&l->types[i]);
}

MPI_Datatype stress_type(lane *l)
{
    int i = stress_draw(l, LANE_TYPES);

    if (l->types[i] != MPI_DATATYPE_NULL && stress_draw(l, 8) == 0)
        drop_type(l, i);
    if (l->types[i] == MPI_DATATYPE_NULL)
        l->types[i] = make_type(l);
    return l->types[i];
}

/* ---- slots ------------------------------------------------------------------------------------------------------ */

/* Waits until `n` slots are free. */
static void make_room(lane *l, int n)
{
    for (;;) {
        int nfree = 0;

        for (int i = 0; i < LANE_SLOTS; i++)
            nfree += !l->slots[i].used;
        if (nfree >= n)
            return;
        stress_complete(l, false);
    }
}

static slot *free_slot(lane *l)
{
    int i = 0;

    while (l->slots[i].used)
        i++;
    return &l->slots[i];
}

static MPI_Request *request_of(lane *l, const slot *s)
{
    return &l->requests[s - l->slots];
}

/* What the receiver's memory looks like after a message of the sender's `fill`. */
static void expect(slot *s)
{
    test_buffer source = test_buffer_create(s->type, s->count);
    int p = 0;

    test_buffer_fill(&source, s->fill);
    PMPI_Pack(source.origin, s->count, s->type, s->packed, s->packed_bytes, &p, MPI_COMM_SELF);
    test_buffer_fill(&s->expected, 99);
    p = 0;
    PMPI_Unpack(s->packed, s->packed_bytes, &p, s->expected.origin, s->count, s->type, MPI_COMM_SELF);
    memset(s->packed, 0, (size_t)s->packed_bytes);
    test_buffer_free(&source);
}

static void prepare(slot *s)
{
    if (s->receives) {
        expect(s);
        test_buffer_fill(&s->memory, 99);
    } else {
        test_buffer_fill(&s->memory, s->fill);
    }
}

static void release(lane *l, slot *s)
{
    test_buffer_free(&s->memory);
    if (s->receives)
        test_buffer_free(&s->expected);
    free(s->packed);
    if (s->owns_type)
        MPI_Type_free(&s->type);
    *s = (slot){.used = false};
    *request_of(l, s) = MPI_REQUEST_NULL;
}

/* Fills everything but the slot's way of receiving. */
static void open_slot(lane *l, slot *s, MPI_Datatype type, int count, int from, int to, bool receives)
{
    *s = (slot){.used = true,
                .receives = receives,
                .type = type,
                .count = count,
                .tag = (int)(l->step % 30000),
                .peer = receives ? from : to,
                .packed_bytes = test_packed_bytes(type, count)};
    s->memory = test_buffer_create(type, count);
    s->packed = calloc(1, (size_t)s->packed_bytes + 1);
    if (receives)
        s->expected = test_buffer_create(type, count);
}

/* ---- plain messages -----------------------------------------------------------------------------------------------
 */

static void start_send(lane *l, slot *s, int mode)
{
    (mode % 2 ? MPI_Isend : MPI_Issend)(s->memory.origin, s->count, s->type, s->peer, s->tag, l->comm,
                                        request_of(l, s));
}

static void start_recv(lane *l, slot *s, bool wildcard)
{
    int source = wildcard ? MPI_ANY_SOURCE : s->peer;

    if (s->as_packed)
        MPI_Irecv(s->packed, s->packed_bytes, MPI_PACKED, source, s->tag, l->comm, request_of(l, s));
    else
        MPI_Irecv(s->memory.origin, s->count, s->type, source, s->tag, l->comm, request_of(l, s));
}

void stress_start_message(lane *l)
{
    MPI_Datatype type = stress_type(l);
    int from = stress_draw(l, l->ranks), to = stress_draw(l, l->ranks), count = 1 + stress_draw(l, 3),
        mode = stress_draw(l, 8);
    bool wildcard = stress_draw(l, 4) == 0, as_packed = stress_draw(l, 5) == 0, drop = stress_draw(l, 6) == 0;

    make_room(l, 2);
    for (int receives = 0; receives < 2; receives++) {
        slot *s;

        if (l->rank != (receives ? to : from))
            continue;
        s = free_slot(l);
        open_slot(l, s, type, count, from, to, receives);
        s->fill = (unsigned)(l->step * 7 + l->id);
        s->as_packed = receives && as_packed;
        s->started = true;
        prepare(s);
        if (receives)
            start_recv(l, s, wildcard);
        else
            start_send(l, s, mode);
    }
    for (int i = 0; drop && i < LANE_TYPES; i++)
        if (l->types[i] == type)
            drop_type(l, i);
}

/* ---- channels -------------------------------------------------------------------------------------------------------
 */

static void init_channel(lane *l, slot *s, bool synchronous)
{
    MPI_Request *r = request_of(l, s);

    if (s->receives)
        MPI_Recv_init(s->memory.origin, s->count, s->type, s->peer, s->tag, l->comm, r);
    else
        (synchronous ? MPI_Ssend_init : MPI_Send_init)(s->memory.origin, s->count, s->type, s->peer, s->tag, l->comm,
                                                       r);
}

static void close_channel(lane *l, slot *s)
{
    MPI_Request_free(request_of(l, s));
    release(l, s);
}

void stress_channel(lane *l)
{
    int which = stress_draw(l, LANE_CHANNELS), from = stress_draw(l, l->ranks), to = stress_draw(l, l->ranks - 1),
        count = 1 + stress_draw(l, 3);
    bool synchronous = stress_draw(l, 2), ends = stress_draw(l, 4) == 0;
    MPI_Datatype type = stress_type(l);
    channel *c = &l->channels[which];
    slot *s = &l->slots[LANE_SLOTS + which];

    if (!c->open) {
        to += to >= from; /* the two ends are different ranks, for the one slot each has */
        *c = (channel){true, from, to};
        if (l->rank == from || l->rank == to) {
            open_slot(l, s, type, count, from, to, l->rank == to);
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
        s->fill = (unsigned)(l->step * 7 + l->id);
        s->started = true;
        prepare(s);
        MPI_Start(request_of(l, s));
    }
}

void stress_close_channels(lane *l)
{
    for (int i = LANE_SLOTS; i < LANE_REQUESTS; i++)
        if (l->slots[i].used)
            close_channel(l, &l->slots[i]);
}

/* ---- completing ---------------------------------------------------------------------------------------------------
 */

static void check_received(lane *l, slot *s, const MPI_Status *status)
{
    MPI_Datatype type = s->as_packed ? MPI_PACKED : s->type;
    int p = 0, n = -1;

    if (s->as_packed)
        PMPI_Unpack(s->packed, s->packed_bytes, &p, s->memory.origin, s->count, s->type, MPI_COMM_SELF);
    if (!test_buffer_equal(&s->memory, &s->expected))
        stress_fail(l, "received memory", s);
    if (!status)
        return;
    PMPI_Get_count(status, type, &n);
    if (status->MPI_SOURCE != s->peer || status->MPI_TAG != s->tag || n != (s->as_packed ? s->packed_bytes : s->count))
        stress_fail(l, "status", s);
}

/* A completed request. `status`: NULL when it was ignored. */
static void finish(lane *l, int i, const MPI_Status *status)
{
    slot *s = &l->slots[i];

    l->operations++;
    s->started = false;
    if (s->receives)
        check_received(l, s, status);
    if (i < LANE_SLOTS && l->requests[i] != MPI_REQUEST_NULL)
        stress_fail(l, "the handle is left", s);
    if (i < LANE_SLOTS)
        release(l, s);
}

static void complete_one(lane *l)
{
    int i = stress_draw_own(l, LANE_REQUESTS), done = 1;
    bool ignore = stress_draw_own(l, 3) == 0, peek = stress_draw_own(l, 4) == 0;
    MPI_Status status, *s = ignore ? MPI_STATUS_IGNORE : &status;

    if (!l->slots[i].started)
        return;
    if (peek) {
        MPI_Request_get_status(l->requests[i], &done, s);
        if (!done)
            return;
    }
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
