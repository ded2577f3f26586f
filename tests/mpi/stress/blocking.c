/* The stress test's blocking calls: messages in all modes, found by probes, or let go of; packing; communicators. */
#include "tests/mpi/stress/stress.h"

static void ring(lane *l, MPI_Datatype type, int count)
{
    int next = (l->rank + 1) % l->ranks, previous = (l->rank + l->ranks - 1) % l->ranks;
    bool replace = stress_draw(l, 2) && !stress_is_split(l, type);
    unsigned mine = stress_fill(l, l->rank);
    test_buffer s = test_buffer_create(type, count), r = test_buffer_create(type, count);
    test_buffer want = test_buffer_create(type, count);

    test_buffer_fill(&s, mine);
    test_buffer_fill(&r, replace ? mine : 3);
    test_buffer_fill(&want, replace ? mine : 3);
    if (replace)
        MPI_Sendrecv_replace(r.origin, count, type, next, STRESS_TAG_RING, previous, STRESS_TAG_RING, l->comm,
                             MPI_STATUS_IGNORE);
    else
        MPI_Sendrecv(s.origin, count, type, next, STRESS_TAG_RING, r.origin, count, type, previous, STRESS_TAG_RING,
                     l->comm, MPI_STATUS_IGNORE);
    stress_place(type, count, stress_fill(l, previous), want.origin);
    stress_check(l, BLOCKING, replace ? "sendrecv_replace" : "sendrecv", &r, &want);
    test_buffer_free(&s);
    test_buffer_free(&r);
    test_buffer_free(&want);
}

/* ---- pairs of ranks ---------------------------------------------------------------------------------------------- */

typedef enum sending { STANDARD, SYNCHRONOUS, BUFFERED, READY, FREED, SENDINGS } sending;
typedef enum receiving { BY_RECV, BY_PROBE, BY_MPROBE, BY_IMPROBE, RECEIVINGS } receiving;

/* The buffer is the process's, so only one lane may use it. It is empty again when the call returns. */
static void send_buffered(const lane *l, const void *origin, int count, MPI_Datatype type, int to)
{
    int bytes = test_packed_bytes(type, count) + 4 * MPI_BSEND_OVERHEAD + 4096;
    void *memory = malloc((size_t)bytes), *detached;

    MPI_Buffer_attach(memory, bytes);
    MPI_Bsend(origin, count, type, to, STRESS_TAG_PAIR, l->comm);
    MPI_Buffer_detach(&detached, &bytes);
    free(memory);
}

/* Waits until the receiver reports that the message may be sent, or, if the request was freed, that it has come. */
static void await_token(const lane *l, int from)
{
    MPI_Recv(NULL, 0, MPI_BYTE, from, STRESS_TAG_TOKEN, l->comm, MPI_STATUS_IGNORE);
}

static void send_pair(lane *l, MPI_Datatype type, int count, int to, sending how)
{
    test_buffer b = test_buffer_create(type, count);
    MPI_Request request;

    test_buffer_fill(&b, stress_fill(l, l->rank));
    switch (how) {
    case SYNCHRONOUS: MPI_Ssend(b.origin, count, type, to, STRESS_TAG_PAIR, l->comm); break;
    case BUFFERED: send_buffered(l, b.origin, count, type, to); break;
    case READY:
        await_token(l, to);
        MPI_Rsend(b.origin, count, type, to, STRESS_TAG_PAIR, l->comm);
        break;
    case FREED:
        MPI_Isend(b.origin, count, type, to, STRESS_TAG_PAIR, l->comm, &request);
        MPI_Request_free(&request);
        await_token(l, to);
        break;
    default: MPI_Send(b.origin, count, type, to, STRESS_TAG_PAIR, l->comm);
    }
    l->operations[BLOCKING]++;
    test_buffer_free(&b);
}

static void receive_by(const lane *l, void *origin, int count, MPI_Datatype type, int from, receiving how,
                       MPI_Status *status)
{
    MPI_Message message;
    MPI_Request request;
    int found = 0;

    switch (how) {
    case BY_PROBE:
        MPI_Probe(from, STRESS_TAG_PAIR, l->comm, status);
        MPI_Recv(origin, count, type, from, STRESS_TAG_PAIR, l->comm, status);
        break;
    case BY_MPROBE:
        MPI_Mprobe(from, STRESS_TAG_PAIR, l->comm, &message, status);
        MPI_Mrecv(origin, count, type, &message, status);
        break;
    case BY_IMPROBE:
        while (!found)
            MPI_Improbe(from, STRESS_TAG_PAIR, l->comm, &found, &message, status);
        MPI_Imrecv(origin, count, type, &message, &request);
        MPI_Wait(&request, status);
        break;
    default: MPI_Recv(origin, count, type, from, STRESS_TAG_PAIR, l->comm, status);
    }
}

static void receive_pair(lane *l, MPI_Datatype type, int count, int from, sending sent, receiving how)
{
    test_buffer b = test_buffer_create(type, count), want = test_buffer_create(type, count);
    MPI_Request request;
    MPI_Status status;
    int n = -1;

    test_buffer_fill(&b, 3);
    test_buffer_fill(&want, 3);
    stress_place(type, count, stress_fill(l, from), want.origin);
    if (sent == READY) {
        MPI_Irecv(b.origin, count, type, from, STRESS_TAG_PAIR, l->comm, &request);
        MPI_Send(NULL, 0, MPI_BYTE, from, STRESS_TAG_TOKEN, l->comm);
        MPI_Wait(&request, &status);
    } else {
        receive_by(l, b.origin, count, type, from, how, &status);
    }
    if (sent == FREED)
        MPI_Send(NULL, 0, MPI_BYTE, from, STRESS_TAG_TOKEN, l->comm);
    PMPI_Get_count(&status, type, &n);
    if (n != count || status.MPI_SOURCE != from || status.MPI_TAG != STRESS_TAG_PAIR)
        stress_fail(l, "status of a blocking receive", NULL);
    stress_check(l, BLOCKING, "blocking message", &b, &want);
    test_buffer_free(&b);
    test_buffer_free(&want);
}

static void pair(lane *l, MPI_Datatype type, int count)
{
    int from = stress_draw(l, l->ranks), to = stress_draw(l, l->ranks - 1);
    sending sent = (sending)stress_draw(l, SENDINGS);
    receiving how = (receiving)stress_draw(l, RECEIVINGS);

    to += to >= from;
    if (sent == BUFFERED && (l->id != 0 || stress_is_split(l, type)))
        sent = STANDARD;
    if (l->rank == from)
        send_pair(l, type, count, to, sent);
    else if (l->rank == to)
        receive_pair(l, type, count, from, sent, how);
}

/* ---- alone ------------------------------------------------------------------------------------------------------- */

/* Cancels a receive for which there is no send. */
static void cancel(lane *l, MPI_Datatype type, int count)
{
    test_buffer b = test_buffer_create(type, count), want = test_buffer_create(type, count);
    MPI_Request request;
    MPI_Status status;
    int cancelled = 0;

    test_buffer_fill(&b, 3);
    test_buffer_fill(&want, 3);
    MPI_Irecv(b.origin, count, type, l->rank, STRESS_TAG_NOBODY, l->comm, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    PMPI_Test_cancelled(&status, &cancelled);
    if (!cancelled)
        stress_fail(l, "a cancelled receive", NULL);
    stress_check(l, NONBLOCKING, "a cancelled receive", &b, &want);
    test_buffer_free(&b);
    test_buffer_free(&want);
}

static void pack(lane *l, MPI_Datatype type, int count)
{
    int bytes = test_packed_bytes(type, count), p = 0;
    unsigned fill = stress_fill(l, l->rank);
    test_buffer b = test_buffer_create(type, count), want = test_buffer_create(type, count);
    test_buffer packed = test_buffer_create(MPI_BYTE, bytes), expected = test_buffer_create(MPI_BYTE, bytes);
    unsigned char *contents = stress_packed(type, count, fill);

    test_buffer_fill(&b, fill);
    test_buffer_fill(&packed, 3);
    test_buffer_fill(&expected, 3);
    memcpy(expected.origin, contents, (size_t)bytes);
    MPI_Pack(b.origin, count, type, packed.origin, bytes, &p, l->comm);
    stress_check(l, PACKING, "MPI_Pack", &packed, &expected);
    test_buffer_fill(&b, 3);
    test_buffer_fill(&want, 3);
    stress_place(type, count, fill, want.origin);
    p = 0;
    MPI_Unpack(packed.origin, bytes, &p, b.origin, count, type, l->comm);
    stress_check(l, PACKING, "MPI_Unpack", &b, &want);
    test_buffer_free(&b);
    test_buffer_free(&want);
    test_buffer_free(&packed);
    test_buffer_free(&expected);
    free(contents);
}

void stress_blocking(lane *l)
{
    MPI_Datatype type = stress_type(l);
    int count = 1 + stress_draw(l, 3);

    switch (stress_draw(l, 8)) {
    case 0:
    case 1:
    case 2: ring(l, type, count); break;
    case 3: cancel(l, type, count); break;
    case 4: pack(l, type, count); break;
    default: pair(l, type, count); break;
    }
}

/* Operations under way keep the old communicator alive, and channels do until they are closed. */
void stress_change_comm(lane *l)
{
    MPI_Comm next;

    MPI_Comm_dup(l->comm, &next);
    MPI_Comm_free(&l->comm);
    l->comm = next;
    l->operations[COMMUNICATOR]++;
}
