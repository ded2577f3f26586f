/*
 * Nonblocking point to point: every mode of sending, every way to receive and to complete, between all pairs of ranks
 * and to oneself, with Packwright at both ends, at one of them, and at none. Both ends know what a message holds from
 * its seed. Run with each strategy, and with one rank inert ("0" or "1" as argument).
 */
#include "tests/mpi/support/completion.h"

#include "tests/support/random_mpi.h"

#include <sched.h>

enum { PER_PAIR = 6, MOST_RANKS = 4, MOST = 2 * PER_PAIR * MOST_RANKS };

static int rank, ranks;
static bool one_is_inert;

/* ---- one message ------------------------------------------------------------------------------------------------ */

typedef enum sending { ISEND, ISSEND, IBSEND, IRSEND, NATIVE_ISEND, SENDINGS } sending;
typedef enum receiving { IRECV, ANY_IRECV, NATIVE_IRECV, BYTES_IRECV, IMRECV, RECEIVINGS } receiving;

typedef struct message {
    uint64_t seed;
    int source, dest, tag;
    int count, posted; /* objects sent, and objects that the receive has room for */
    MPI_Datatype type;
    pw_random_mpi random;
    bool is_random;
    int of_set; /* else */
    sending sending;
    receiving receiving;
    test_buffer memory, expected;
    unsigned char *bytes; /* the buffer of BYTES_IRECV */
    int size;             /* the size of the type */
    char what[512];
} message;

/*
 * Types that this MPI handles rightly itself (tests/mpi/random/subjects.c), and that can be received. long double is
 * left out since its unused bytes may or may not travel, and pair types, of which MPICH 4.0 buffers too little in
 * MPI_Ibsend.
 */
static bool is_usable(const pw_random_mpi *t, int count)
{
    for (int64_t i = 0; i < t->map.n; i++)
        if (t->map.entries[i].padding)
            return false;
    return !t->hollow && !t->backwards && !t->creeping && !(t->used >> PW_RANDOM_PAIR & 1) &&
           !pw_naive_overlaps(&t->map, t->extent, count);
}

/* MPICH 4.0 receives what comes in several pieces from contiguous memory wrongly into types whose elements differ in
 * size: a piece may end inside an element. */
enum { ONE_PIECE = 8000 };

static void choose_type(message *m, pw_rng *rng)
{
    static const pw_random_mpi_limits limits = {.depth = 3, .max_entries = 300, .max_span = 6000};
    bool of_one_size;

    m->is_random = pw_rng_one_in(rng, 2);
    m->count = (int)pw_rng_range(rng, 0, 9);
    m->posted = m->count + (int)pw_rng_range(rng, 0, 2);
    if (m->is_random) {
        pw_random_mpi_create(rng, &limits, &m->random);
        m->type = m->random.type;
        if (is_usable(&m->random, m->posted) && m->random.map.size * m->posted < ONE_PIECE)
            return;
        pw_random_mpi_free(&m->random);
        m->is_random = false;
    }
    do
        m->of_set = (int)pw_rng_range(rng, 0, TEST_TYPES - 1);
    while (m->sending == IBSEND && (m->of_set == 8 || m->of_set == 16)); /* the type is made of pairs */
    of_one_size = m->of_set != 7 && m->of_set != 8 && m->of_set != 16;
    m->type = test_type(m->of_set, (int)pw_rng_range(rng, 1, !of_one_size ? 20 : pw_rng_one_in(rng, 8) ? 2000 : 60));
}

static message message_create(uint64_t seed, int source, int dest, int tag)
{
    message m = {.seed = seed, .source = source, .dest = dest, .tag = tag};
    pw_rng rng = {seed};

    m.sending = (sending)pw_rng_range(&rng, 0, SENDINGS - 1);
    m.receiving = (receiving)pw_rng_range(&rng, 0, RECEIVINGS - 1);
    if (m.sending == IRSEND && m.receiving == IMRECV)
        m.receiving = IRECV; /* a ready send wants its receive posted */
    choose_type(&m, &rng);
    m.size = test_packed_bytes(m.type, 1);
    snprintf(m.what, sizeof m.what, "message seed %llu from %d to %d, sent as %d, received as %d, %d of %d x %.300s",
             (unsigned long long)seed, source, dest, m.sending, m.receiving, m.count, m.posted,
             m.is_random ? m.random.text : test_type_name(m.of_set));
    return m;
}

static void message_free(message *m)
{
    if (m->is_random)
        pw_random_mpi_free(&m->random);
    else
        MPI_Type_free(&m->type);
    test_buffer_free(&m->memory);
    free(m->bytes);
}

static void start_send(message *m, MPI_Request *request)
{
    static int (*const sends[])(const void *, int, MPI_Datatype, int, int, MPI_Comm,
                                MPI_Request *) = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend, PMPI_Isend};

    m->memory = test_buffer_create(m->type, m->count);
    test_buffer_fill(&m->memory, (unsigned)m->seed);
    sends[m->sending](m->memory.origin, m->count, m->type, m->dest, m->tag, MPI_COMM_WORLD, request);
}

/* Starts a receive, except by MPI_Imrecv, which must come after the sends. */
static void start_recv(message *m, MPI_Request *request)
{
    int source = m->receiving == ANY_IRECV ? MPI_ANY_SOURCE : m->source;

    m->memory = test_buffer_create(m->type, m->posted);
    test_buffer_fill(&m->memory, 3);
    switch (m->receiving) {
    case BYTES_IRECV:
        m->bytes = malloc((size_t)m->size * (size_t)m->posted + 1);
        MPI_Irecv(m->bytes, m->size * m->posted, MPI_BYTE, source, m->tag, MPI_COMM_WORLD, request);
        break;
    case NATIVE_IRECV: PMPI_Irecv(m->memory.origin, m->posted, m->type, source, m->tag, MPI_COMM_WORLD, request); break;
    default: MPI_Irecv(m->memory.origin, m->posted, m->type, source, m->tag, MPI_COMM_WORLD, request);
    }
}

static void start_imrecv(message *m, MPI_Request *request)
{
    MPI_Message matched;
    MPI_Status status;
    int flag = 0, n = -1;

    m->memory = test_buffer_create(m->type, m->posted);
    test_buffer_fill(&m->memory, 3);
    while (!flag) {
        MPI_Improbe(m->source, m->tag, MPI_COMM_WORLD, &flag, &matched, &status);
        sched_yield();
    }
    MPI_Get_count(&status, MPI_BYTE, &n);
    CHECK(n == m->count * m->size, "%s: probed %d bytes", m->what, n);
    MPI_Imrecv(m->memory.origin, m->posted, m->type, &matched, request);
}

static void check_received(message *m, const MPI_Status *status)
{
    test_buffer expected = test_expected(m->type, m->count, (unsigned)m->seed, m->type, m->posted, 3);
    int p = 0, n = -1;

    if (m->receiving == BYTES_IRECV && m->count * m->size > 0)
        PMPI_Unpack(m->bytes, m->count * m->size, &p, m->memory.origin, m->count, m->type, MPI_COMM_SELF);
    CHECK(test_buffer_equal(&m->memory, &expected), "%s: memory", m->what);
    test_buffer_free(&expected);
    if (!status)
        return;
    CHECK(status->MPI_SOURCE == m->source && status->MPI_TAG == m->tag, "%s: source %d, tag %d", m->what,
          status->MPI_SOURCE, status->MPI_TAG);
    MPI_Get_count(status, m->type, &n);
    CHECK(m->size == 0 || n == m->count, "%s: Get_count %d", m->what, n);
}

/* ---- a round of messages ----------------------------------------------------------------------------------------- */

typedef struct round {
    message messages[MOST];
    MPI_Request requests[MOST];
    MPI_Status statuses[MOST];
    int n, received; /* the first of them are received */
} round_of;

static void add(round_of *r, uint64_t seed, int source, int dest, int k)
{
    uint64_t of_message = ((seed * 31 + (uint64_t)source) * 31 + (uint64_t)dest) * 31 + (uint64_t)k;

    r->messages[r->n++] = message_create(of_message, source, dest, source * PER_PAIR + k);
}

/* Completes requests in another order than they were made in. */
static void complete(round_of *r, test_way way, bool ignore, const char *what)
{
    int order[MOST];
    MPI_Request requests[MOST];
    MPI_Status statuses[MOST];

    for (int i = 0; i < r->n; i++)
        order[i] = r->n % 5 ? i * 5 % r->n : r->n - 1 - i;
    for (int i = 0; i < r->n; i++)
        requests[i] = r->requests[order[i]];
    test_complete(way, r->n, requests, ignore ? NULL : statuses, what);
    for (int i = 0; i < r->n; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL, "%s: request %d is left", what, i);
        r->statuses[order[i]] = statuses[i];
    }
}

static void run_round(uint64_t seed, test_way way, bool ignore)
{
    static round_of r;
    static char attached[4 << 20];
    void *detached;
    int bytes;
    char what[128];

    r.n = 0;
    snprintf(what, sizeof what, "round %llu, %s%s", (unsigned long long)seed, test_way_name(way),
             ignore ? ", statuses ignored" : "");
    for (int peer = 0; peer < ranks; peer++)
        for (int k = 0; k < PER_PAIR; k++)
            add(&r, seed, peer, rank, k);
    r.received = r.n;
    for (int peer = 0; peer < ranks; peer++)
        for (int k = 0; k < PER_PAIR; k++)
            add(&r, seed, rank, peer, k);
    MPI_Buffer_attach(attached, sizeof attached);
    for (int i = 0; i < r.received; i++)
        if (r.messages[i].receiving != IMRECV)
            start_recv(&r.messages[i], &r.requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = r.received; i < r.n; i++)
        start_send(&r.messages[i], &r.requests[i]);
    for (int i = 0; i < r.received; i++)
        if (r.messages[i].receiving == IMRECV)
            start_imrecv(&r.messages[i], &r.requests[i]);
    complete(&r, way, ignore, what);
    for (int i = 0; i < r.received; i++)
        check_received(&r.messages[i], ignore ? NULL : &r.statuses[i]);
    MPI_Buffer_detach(&detached, &bytes);
    for (int i = 0; i < r.n; i++)
        message_free(&r.messages[i]);
}

/* ---- messages shorter than what was posted, in elements --------------------------------------------------------- */

static void check_short(test_way way, int elements)
{
    MPI_Datatype type;
    double values[24];
    test_buffer ours, theirs;
    MPI_Request requests[4];
    MPI_Status statuses[4];
    int n = -1, m = -1, peer = rank ^ 1;

    if (peer >= ranks)
        return;
    MPI_Type_vector(8, 1, 3, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    ours = test_buffer_create(type, 3);
    theirs = test_buffer_create(type, 3);
    test_fill(values, sizeof values, 8);
    test_buffer_fill(&ours, 2);
    test_buffer_fill(&theirs, 2);
    MPI_Irecv(ours.origin, 3, type, peer, 1, MPI_COMM_WORLD, &requests[0]);
    PMPI_Irecv(theirs.origin, 3, type, peer, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(values, elements, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(values, elements, MPI_DOUBLE, peer, 2, MPI_COMM_WORLD, &requests[3]);
    test_complete(way, 4, requests, statuses, "short messages");
    CHECK(test_buffer_equal(&ours, &theirs), "%d elements of 24, %s", elements, test_way_name(way));
    MPI_Get_count(&statuses[0], type, &n);
    MPI_Get_count(&statuses[1], type, &m);
    CHECK(n == m, "%d elements: Get_count %d, natively %d", elements, n, m);
    MPI_Get_elements(&statuses[0], type, &n);
    CHECK(n == elements, "%d elements: Get_elements %d", elements, n);
    test_buffer_free(&ours);
    test_buffer_free(&theirs);
    MPI_Type_free(&type);
}

/* ---- what is no message, or none any more ------------------------------------------------------------------------ */

/* A status is what MPI makes it: MPICH 4.0 leaves some as they were. */
static void check_proc_null(test_way way)
{
    MPI_Datatype type = test_type(1, 100);
    test_buffer a = test_buffer_create(type, 1), b = test_buffer_create(type, 1);
    MPI_Request requests[2];
    MPI_Status statuses[2] = {{.MPI_SOURCE = 7}, {.MPI_SOURCE = 7}}, native[2] = {{.MPI_SOURCE = 7}, {.MPI_SOURCE = 7}};
    int n = -1, m = -1;

    test_buffer_fill(&a, 4);
    test_buffer_fill(&b, 4);
    MPI_Irecv(a.origin, 1, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(a.origin, 1, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]);
    test_complete(way, 2, requests, statuses, "MPI_PROC_NULL");
    PMPI_Irecv(a.origin, 1, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
    PMPI_Isend(a.origin, 1, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]);
    test_complete(way, 2, requests, native, "MPI_PROC_NULL");
    PMPI_Get_count(&statuses[0], type, &n);
    PMPI_Get_count(&native[0], type, &m);
    CHECK(test_buffer_equal(&a, &b) && statuses[0].MPI_SOURCE == native[0].MPI_SOURCE && n == m,
          "MPI_PROC_NULL: source %d, natively %d, count %d, natively %d", statuses[0].MPI_SOURCE, native[0].MPI_SOURCE,
          n, m);
    test_buffer_free(&a);
    test_buffer_free(&b);
    MPI_Type_free(&type);
}

/* A receive that is cancelled leaves its buffer alone; what was sent afterwards reaches the next one. */
static void check_cancel(test_way way)
{
    MPI_Datatype type = test_type(1, 1000);
    test_buffer a = test_buffer_create(type, 1), before = test_buffer_create(type, 1),
                expected = test_expected(type, 1, 9, type, 1, 4);
    MPI_Request request;
    MPI_Status status;
    int cancelled = 0;

    test_buffer_fill(&a, 4);
    test_buffer_fill(&before, 4);
    MPI_Irecv(a.origin, 1, type, rank, 77, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    test_complete(way, 1, &request, &status, "cancel");
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled && test_buffer_equal(&a, &before), "cancelled %d, %s", cancelled, test_way_name(way));
    MPI_Irecv(a.origin, 1, type, rank, 77, MPI_COMM_WORLD, &request);
    test_buffer_fill(&before, 9);
    MPI_Send(before.origin, 1, type, rank, 77, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(test_buffer_equal(&a, &expected), "after a cancelled receive");
    test_buffer_free(&a);
    test_buffer_free(&before);
    test_buffer_free(&expected);
    MPI_Type_free(&type);
}

/* Frees a type while its message is under way; another type gets its handle. */
static void check_freed_type(void)
{
    MPI_Datatype type, others[4];
    test_buffer sent, got, expected;
    MPI_Request requests[2];

    type = test_type(0, 20000);
    sent = test_buffer_create(type, 1);
    got = test_buffer_create(type, 1);
    expected = test_expected(type, 1, 5, type, 1, 6);
    test_buffer_fill(&sent, 5);
    test_buffer_fill(&got, 6);
    MPI_Irecv(got.origin, 1, type, rank, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(sent.origin, 1, type, rank, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Type_free(&type);
    for (int i = 0; i < 4; i++)
        others[i] = test_type(2, 3 + i);
    MPI_Waitall(2, requests, test_ignored());
    CHECK(test_buffer_equal(&got, &expected), "a type freed under way");
    for (int i = 0; i < 4; i++)
        MPI_Type_free(&others[i]);
    test_buffer_free(&sent);
    test_buffer_free(&got);
    test_buffer_free(&expected);
}

/* ---- both at once ------------------------------------------------------------------------------------------------ */

/* MPICH 4.0 itself crashes in these with derived types: it releases them once too often. */
#if TEST_MPI_4_CALLS && defined(OPEN_MPI)

/* `arriving` objects arrive where two are posted. */
static void check_isendrecv(int i, int n, int arriving)
{
    MPI_Datatype type = test_type(i, n);
    test_buffer out = test_buffer_create(type, arriving), in = test_buffer_create(type, 2), expected;
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    MPI_Request request;

    test_buffer_fill(&out, (unsigned)rank);
    test_buffer_fill(&in, 70);
    MPI_Isendrecv(out.origin, arriving, type, next, 5, in.origin, 2, type, before, 5, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expected = test_expected(type, arriving, (unsigned)before, type, 2, 70);
    CHECK(test_buffer_equal(&in, &expected), "Isendrecv, %s, n=%d, %d arriving", test_type_name(i), n, arriving);
    test_buffer_free(&expected);
    test_buffer_free(&out);
    test_buffer_free(&in);
    MPI_Type_free(&type);
}

static void check_isendrecv_replace(int i, int n)
{
    MPI_Datatype type = test_type(i, n);
    test_buffer b = test_buffer_create(type, 2), expected;
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    MPI_Request request;

    test_buffer_fill(&b, (unsigned)rank);
    MPI_Isendrecv_replace(b.origin, 2, type, next, 6, before, 6, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expected = test_expected(type, 2, (unsigned)before, type, 2, (unsigned)rank);
    CHECK(test_buffer_equal(&b, &expected), "Isendrecv_replace, %s, n=%d", test_type_name(i), n);
    test_buffer_free(&expected);
    test_buffer_free(&b);
    MPI_Type_free(&type);
}

static void check_both(void)
{
    for (int n = 2; n < 3000; n *= 7)
        for (int i = 0; i < 4; i++) {
            for (int arriving = 1; arriving <= 2; arriving++)
                check_isendrecv(i, n, arriving);
            check_isendrecv_replace(i, n);
        }
}

#else

static void check_both(void)
{
}

#endif

int main(int argc, char **argv)
{
    int rc, rounds;

    one_is_inert = argc > 1 && atoi(argv[1]) >= 0;
    if (one_is_inert && atoi(argv[1]) == test_launch_rank())
        setenv("PACKWRIGHT_DISABLE", "1", 1);
    rounds = argc > 2 ? atoi(argv[2]) : 6;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < rounds; i++)
        for (int way = 0; way < TEST_WAYS; way++)
            run_round((uint64_t)(1 + i * TEST_WAYS + way), (test_way)way, i % 2);
    for (int elements = 0; elements <= 24; elements++)
        check_short((test_way)(elements % TEST_WAYS), elements);
    for (int way = 0; way < TEST_WAYS; way++)
        check_proc_null((test_way)way);
    for (int way = 0; way < TEST_WAYS; way++)
        check_cancel((test_way)way);
    check_freed_type();
    check_both();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
