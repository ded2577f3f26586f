/*
 * What is timed, in turns of all ways:
 *
 * - all messages of a rank at once, as an exchange has them in flight: those to itself, and the others to the peer,
 * which does the same; for a transpose the all-to-all of one rank, and of two;
 * - the messages of a halo one by one. They share the time of all in proportion;
 * - packing and unpacking of each.
 *
 * One round touches the memory of all messages, so the caches hold what they hold in an exchange. Before any round the
 * messages are exchanged until Packwright has made its choices. Each number is the median of its samples.
 */
#include "tools/measure/exchange.h"

#include "base/clock.h"
#include "base/samples.h"
#include "frontend/ddt/ddt.h"
#include "runtime/engine/layout/layout.h"
#include "tools/command.h"
#include "tools/measure/link.h"
#include "tools/measure/mpi_type.h"
#include "tools/measure/stores.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MESSAGES = 80, BLOCKS = 6, ROUNDS = 8, WARM_UP = 4, SAMPLES = BLOCKS * ROUNDS, MOST_SECONDS = 60 };

/* Packwright tries other ways of a message in its first hundred or so. */
enum { SETTLING = 200, SETTLING_SECONDS = 10 };

enum { STORES = 31 };

/* What samples are of. */
enum { PACK, UNPACK, SELF, WHOLE, QUANTITIES };

typedef struct message {
    MPI_Datatype sent, received;
    pw_hash layouts[2]; /* of what is sent, and received */
    int count;          /* objects in each block */
    int bytes;          /* of a block */
    bool kept;          /* it goes to the rank itself */
    char *from, *to;    /* the user's memory */
    char *packed, *got; /* contiguous memory */
} message;

/* A halo has `n` messages; a transpose one, of which each rank sends a block to every rank. */
typedef struct exchange {
    bool transpose;
    bool in_place; /* messages are received into the array that they are sent from */
    int n, rank;
    int blocks;    /* of a message that one rank sends: one to each rank of a transpose */
    bool alone;    /* all messages are kept */
    bool peer;     /* there is another rank on this node */
    bool linked;   /* there is one on another node */
    int near, far; /* how often the two ranks' cores were found to share a cache, or not to */
    MPI_Comm pair;
    message messages[MOST_MESSAGES];
} exchange;

typedef struct calls {
    int (*isend)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*irecv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*waitall)(int, MPI_Request[], MPI_Status *);
    int (*alltoall)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);
    int (*pack)(const void *, int, MPI_Datatype, void *, int, int *, MPI_Comm);
    int (*unpack)(const void *, int, int *, void *, int, MPI_Datatype, MPI_Comm);
} calls;

static const calls below = {PMPI_Isend, PMPI_Irecv, PMPI_Waitall, PMPI_Alltoall, PMPI_Pack, PMPI_Unpack};
static const calls ours = {MPI_Isend, MPI_Irecv, MPI_Waitall, MPI_Alltoall, MPI_Pack, MPI_Unpack};

/* Samples of one way. Those of all messages at once stand behind those of the single ones. */
typedef struct samples {
    double at[QUANTITIES][MOST_MESSAGES + 1][SAMPLES];
} samples;

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* The bytes that `count` objects touch, relative to the address that is passed with them. */
typedef struct range {
    MPI_Aint low, high;
} range;

static range range_of(MPI_Datatype type, int64_t count)
{
    MPI_Aint lb, extent, true_lb, true_extent, stretch;

    PMPI_Type_get_extent(type, &lb, &extent);
    PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
    stretch = extent * (MPI_Aint)(count - 1);
    return (range){true_lb + (stretch < 0 ? stretch : 0), true_lb + true_extent + (stretch > 0 ? stretch : 0)};
}

static void widen(range *all, range more)
{
    all->low = more.low < all->low ? more.low : all->low;
    all->high = more.high > all->high ? more.high : all->high;
}

/* Returns the address that displacement 0 stands for. NULL: there is not so much memory. It comes from malloc, as that
 * of most programs: large arrays then begin 16 bytes behind a page, which kernels feel. */
static char *allocate(range r)
{
    char *p = malloc((size_t)(r.high - r.low));

    return p ? p - r.low : NULL;
}

static bool is_repetition(const message *a, const message *b)
{
    return pw_hash_equal(a->layouts[0], b->layouts[0]) || pw_hash_equal(a->layouts[1], b->layouts[1]);
}

/* Which of the messages of the same layout this is, from 0. */
static int repetition_of(const exchange *x, int k)
{
    int n = 0;

    for (int i = 0; i < k; i++)
        n += is_repetition(&x->messages[i], &x->messages[k]);
    return n;
}

/* Allocates what the first, second ... messages of each layout share: different layouts are places in one array. */
static bool allocate_users(exchange *x)
{
    int done = 0;

    for (int repetition = 0; done < x->n; repetition++) {
        range sent = {0}, received = {0}, *into = x->in_place ? &sent : &received;
        char *from, *to;

        for (int k = 0; k < x->n; k++)
            if (repetition_of(x, k) == repetition) {
                int64_t objects = (int64_t)x->blocks * x->messages[k].count;

                widen(&sent, range_of(x->messages[k].sent, objects));
                widen(into, range_of(x->messages[k].received, objects));
            }
        from = allocate(sent);
        to = x->in_place ? from : allocate(received);
        if (!from || !to)
            return false;
        for (int k = 0; k < x->n; k++)
            if (repetition_of(x, k) == repetition) {
                x->messages[k].from = from;
                x->messages[k].to = to;
                done++;
            }
    }
    return true;
}

static bool allocate_packed(message *m, int blocks)
{
    int64_t bytes;
    int size, position = 0;

    PMPI_Type_size(m->sent, &size);
    bytes = (int64_t)size * m->count;
    if (bytes * blocks > INT32_MAX)
        return false;
    m->bytes = (int)bytes;
    m->packed = allocate((range){0, (MPI_Aint)bytes * blocks});
    m->got = allocate((range){0, (MPI_Aint)bytes * blocks});
    if (!m->packed || !m->got)
        return false;
    /* Pages that were never written would all be one. */
    memset(m->packed, 1, (size_t)(bytes * blocks));
    PMPI_Unpack(m->packed, m->bytes * blocks, &position, m->from, m->count * blocks, m->sent, MPI_COMM_SELF);
    return true;
}

static bool allocate_all(exchange *x)
{
    bool ok = allocate_users(x);

    for (int k = 0; k < x->n && ok; k++)
        ok = allocate_packed(&x->messages[k], x->blocks);
    return ok;
}

/* ---- what is timed ----------------------------------------------------------------------------------------------- */

/* The arguments of a message for MPI: the user's buffers by their types (`typed`), or packed buffers as bytes. */
typedef struct buffers {
    char *from, *to;
    MPI_Datatype sent, received;
    int count;
} buffers;

static buffers buffers_of(const message *m, bool typed)
{
    return typed ? (buffers){m->from, m->to, m->sent, m->received, m->count}
                 : (buffers){m->packed, m->got, MPI_BYTE, MPI_BYTE, m->bytes};
}

/* Whether these ranks can send the message as far as it goes. */
static bool is_within_reach(const exchange *x, int k)
{
    return x->peer || x->messages[k].kept;
}

/* Sends and receives messages [first, last) of a halo. MPIs carry messages to oneself in another way where the
 * communicator has one rank: with MPICH 4.0 in half the time. */
static void halo(const exchange *x, const calls *c, bool typed, int first, int last)
{
    MPI_Comm comm = x->alone ? MPI_COMM_SELF : x->pair;
    MPI_Request requests[2 * MOST_MESSAGES];
    MPI_Status statuses[2 * MOST_MESSAGES]; /* GCC 12 warns of MPICH's constant for none */
    int n = 0, self = x->alone ? 0 : x->rank;

    for (int i = first; i < last; i++) {
        buffers b = buffers_of(&x->messages[i], typed);

        if (is_within_reach(x, i))
            c->irecv(b.to, b.count, b.received, x->messages[i].kept ? self : 1 - self, i, comm, &requests[n++]);
    }
    for (int i = first; i < last; i++) {
        buffers b = buffers_of(&x->messages[i], typed);

        if (is_within_reach(x, i))
            c->isend(b.from, b.count, b.sent, x->messages[i].kept ? self : 1 - self, i, comm, &requests[n++]);
    }
    c->waitall(n, requests, statuses);
}

/* `quantity` is WHOLE, or SELF for the all-to-all of one rank. */
static double time_messages(const exchange *x, const calls *c, bool typed, int quantity, int first, int last)
{
    buffers b = buffers_of(&x->messages[0], typed);
    int64_t begin;

    if (quantity == WHOLE)
        PMPI_Barrier(x->pair);
    begin = pw_clock_ns();
    if (x->transpose)
        c->alltoall(b.from, b.count, b.sent, b.to, b.count, b.received, quantity == WHOLE ? x->pair : MPI_COMM_SELF);
    else
        halo(x, c, typed, first, last);
    return (double)(pw_clock_ns() - begin);
}

static double time_pack(const calls *c, const message *m)
{
    int64_t begin = pw_clock_ns();
    int position = 0;

    c->pack(m->from, m->count, m->sent, m->packed, m->bytes, &position, MPI_COMM_SELF);
    return (double)(pw_clock_ns() - begin);
}

static double time_unpack(const calls *c, const message *m)
{
    int64_t begin = pw_clock_ns();
    int position = 0;

    c->unpack(m->packed, m->bytes, &position, m->to, m->count, m->received, MPI_COMM_SELF);
    return (double)(pw_clock_ns() - begin);
}

/* One block of samples of one way. Rounds below 0 only warm the caches up; all write where the last of them stays. */
static void sample(const exchange *x, int way, int block, samples *s)
{
    const calls *c = way == PW_EXCHANGE_OURS ? &ours : &below;
    bool typed = way != PW_EXCHANGE_CONTIGUOUS;

    for (int q = x->transpose ? SELF : WHOLE; q <= (x->transpose && !x->peer ? SELF : WHOLE); q++) {
        for (int i = -WARM_UP; i < ROUNDS; i++)
            s->at[q][x->n][block * ROUNDS + (i < 0 ? 0 : i)] = time_messages(x, c, typed, q, 0, x->n);
        for (int i = -WARM_UP; i < ROUNDS && x->n > 1; i++)
            for (int k = 0; k < x->n; k++)
                s->at[q][k][block * ROUNDS + (i < 0 ? 0 : i)] = time_messages(x, c, typed, q, k, k + 1);
    }
    for (int i = -WARM_UP; i < ROUNDS && typed; i++) {
        for (int k = 0; k < x->n; k++)
            s->at[PACK][k][block * ROUNDS + (i < 0 ? 0 : i)] = time_pack(c, &x->messages[k]);
        for (int k = 0; k < x->n; k++)
            s->at[UNPACK][k][block * ROUNDS + (i < 0 ? 0 : i)] = time_unpack(c, &x->messages[k]);
    }
}

static bool is_enough(const exchange *x, int64_t begin, int seconds)
{
    int enough = pw_clock_ns() - begin > (int64_t)seconds * 1000000000;

    if (x->pair != MPI_COMM_NULL)
        PMPI_Bcast(&enough, 1, MPI_INT, 0, x->pair);
    return enough;
}

/* Exchanges all messages by Packwright until it has made its choices. */
static void settle(const exchange *x)
{
    int64_t begin = pw_clock_ns();

    for (int i = 0; i < SETTLING && !is_enough(x, begin, SETTLING_SECONDS); i++) {
        if (x->transpose)
            time_messages(x, &ours, true, SELF, 0, x->n);
        if (!x->transpose || x->peer)
            time_messages(x, &ours, true, WHOLE, 0, x->n);
        for (int k = 0; k < x->n; k++) {
            time_pack(&ours, &x->messages[k]);
            time_unpack(&ours, &x->messages[k]);
        }
    }
}

/* Finds out whether the two ranks' cores share a cache now. */
static void look_how_far(exchange *x)
{
    double ns[STORES];

    if (!x->peer)
        return;
    pw_measure_stores(x->pair, 1 - x->rank, ns, STORES);
    if (pw_samples_median(ns, STORES) > PW_MEASURE_FAR_NS)
        x->far++;
    else
        x->near++;
}

/* ---- from samples to times --------------------------------------------------------------------------------------- */

static double median(samples *s, int quantity, int k, int n)
{
    return pw_samples_median(s->at[quantity][k], n);
}

/* Divides the time of all messages among them, in proportion to what each takes alone. */
static void share_out(const exchange *x, samples *s, int quantity, int n, double *times)
{
    double all = median(s, quantity, x->n, n), sum = 0;

    for (int k = 0; k < x->n; k++) {
        times[k] = x->n > 1 ? median(s, quantity, k, n) : all;
        times[k] = is_within_reach(x, k) || x->transpose ? times[k] : 0;
        sum += times[k];
    }
    for (int k = 0; k < x->n && sum > 0; k++)
        times[k] *= all / sum;
}

/* The slower of two ranks tells how long a message takes between them. */
static void agree(const exchange *x, double *times)
{
    double mine[MOST_MESSAGES];

    if (x->pair == MPI_COMM_NULL)
        return;
    memcpy(mine, times, sizeof mine);
    PMPI_Allreduce(mine, times, x->n, MPI_DOUBLE, MPI_MAX, x->pair);
}

static void print_times(const exchange *x, int way, int k, double times[QUANTITIES][MOST_MESSAGES])
{
    double whole = times[WHOLE][k], self = x->transpose ? times[SELF][k] : x->messages[k].kept ? whole : 0;
    double peer = x->messages[k].kept ? 0 : whole;

    /* The all-to-all of two ranks has a block for oneself, too. */
    if (x->transpose)
        peer = fmax(peer - self, peer / 4);
    printf("%d %d %.1f %.1f %.1f %.1f\n", way, k, times[PACK][k], times[UNPACK][k], self, peer);
}

static void print_way(const exchange *x, int way, samples *s, int n)
{
    double times[QUANTITIES][MOST_MESSAGES] = {0};
    bool typed = way != PW_EXCHANGE_CONTIGUOUS;

    for (int k = 0; k < x->n && typed; k++) {
        times[PACK][k] = median(s, PACK, k, n);
        times[UNPACK][k] = median(s, UNPACK, k, n);
    }
    if (x->transpose)
        share_out(x, s, SELF, n, times[SELF]);
    if (!x->transpose || x->peer)
        share_out(x, s, WHOLE, n, times[WHOLE]);
    for (int q = 0; q < QUANTITIES; q++)
        agree(x, times[q]);
    for (int k = 0; k < x->n && x->rank == 0; k++)
        print_times(x, way, k, times);
}

/* ---- the exchange ------------------------------------------------------------------------------------------------ */

static pw_exchange_peer peer_of(const exchange *x)
{
    if (!x->peer)
        return PW_EXCHANGE_ALONE;
    return !x->far ? PW_EXCHANGE_NEAR : !x->near ? PW_EXCHANGE_FAR : PW_EXCHANGE_CHANGED;
}

static int measure(exchange *x, const pw_exchange_link *link)
{
    samples *s = calloc(PW_EXCHANGE_WAYS, sizeof *s);
    int64_t begin = pw_clock_ns();
    int blocks = 0;

    if (!s) {
        pw_command_error("plan", "out of memory");
        return 1;
    }
    settle(x);
    look_how_far(x);
    while (blocks < BLOCKS && (blocks == 0 || !is_enough(x, begin, MOST_SECONDS))) {
        for (int way = 0; way < PW_EXCHANGE_WAYS; way++)
            sample(x, way, blocks, &s[way]);
        look_how_far(x);
        blocks++;
    }
    if (x->rank == 0)
        printf("%.1f %.6f %.1f %d\n", link->latency, link->bandwidth, link->overhead, peer_of(x));
    for (int way = 0; way < PW_EXCHANGE_WAYS; way++)
        print_way(x, way, &s[way], blocks * ROUNDS);
    free(s);
    return 0;
}

static void report_nothing(void *arg, const pw_diag *diag)
{
    (void)arg;
    (void)diag;
}

static bool make_type(const pw_ddt_unit *unit, const long long place[2], MPI_Datatype *out, pw_hash *layout)
{
    pw_builder b = {.arena = pw_arena_create()};
    pw_diag diag;
    pw_dt dt;
    pw_type type;
    bool ok = b.arena && place[0] >= 0 && place[0] < pw_ddt_count(unit) &&
              pw_ddt_build(unit, place[0], place[1], &b, &dt, &diag) == PW_OK &&
              pw_measure_mpi_type(unit, place[0], place[1], out);

    if (ok) {
        type = pw_dt_finish(dt);
        *layout = pw_type_hash(&type);
    }
    pw_arena_destroy(b.arena);
    return ok;
}

/* The types that a message is sent and received as: entries and variants. */
typedef long long places[2][2];

static bool make_types(exchange *x, const places *of, const pw_ddt_unit *unit)
{
    for (int i = 0; i < x->n; i++) {
        message *m = &x->messages[i];

        if (!make_type(unit, of[i][0], &m->sent, &m->layouts[0]))
            return false;
        m->received = m->sent;
        m->layouts[1] = m->layouts[0];
        if (memcmp(of[i][0], of[i][1], sizeof of[i][0]) != 0 &&
            !make_type(unit, of[i][1], &m->received, &m->layouts[1]))
            return false;
    }
    return allocate_all(x);
}

/* Reads what standard input says (exchange.h). */
static bool read_exchange(const char *text, exchange *x)
{
    char pattern[16];
    int count, n, end, in_place;
    places of[MOST_MESSAGES];
    pw_ddt_unit *unit = NULL;
    bool ok;

    if (sscanf(text, "%15s %d %d %d%n", pattern, &n, &count, &in_place, &end) != 4 || n < 1 || n > MOST_MESSAGES)
        return false;
    x->transpose = !strcmp(pattern, "transpose");
    x->in_place = in_place;
    x->n = n;
    x->blocks = x->transpose && x->peer ? 2 : 1;
    x->alone = true;
    for (int i = 0; i < n; i++) {
        int kept;

        text += end;
        if (sscanf(text, "%d %lld %lld %lld %lld%n", &kept, &of[i][0][0], &of[i][0][1], &of[i][1][0], &of[i][1][1],
                   &end) != 5)
            return false;
        x->messages[i] =
            (message){.sent = MPI_DATATYPE_NULL, .received = MPI_DATATYPE_NULL, .count = count, .kept = kept};
        x->alone = x->alone && kept;
    }
    text += end;
    ok = pw_ddt_parse(text, strlen(text), report_nothing, NULL, &unit) == PW_OK && make_types(x, of, unit);
    pw_ddt_destroy(unit);
    return ok;
}

static void free_types(exchange *x)
{
    for (int i = 0; i < x->n; i++) {
        message *m = &x->messages[i];

        if (m->received != m->sent && m->received != MPI_DATATYPE_NULL)
            MPI_Type_free(&m->received);
        if (m->sent != MPI_DATATYPE_NULL)
            MPI_Type_free(&m->sent);
    }
}

/* Returns what is on standard input. NULL: memory is short. The caller frees it. */
static char *read_input(void)
{
    char *text = NULL;
    size_t size = 0;
    ssize_t n = getdelim(&text, &size, '\0', stdin);

    if (n < 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* Ranks 0 and 1 measure; if they are on different nodes, each for itself. */
static void join_peer(exchange *x, int rank)
{
    MPI_Comm node;
    int size, there, all;

    MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &x->pair);
    if (rank > 1)
        return;
    PMPI_Comm_split_type(x->pair, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    MPI_Comm_free(&node);
    there = size == 2;
    PMPI_Allreduce(&there, &all, 1, MPI_INT, MPI_MIN, x->pair);
    MPI_Comm_size(x->pair, &size);
    x->peer = all && size == 2;
    x->linked = !all && size == 2;
}

int pw_measure_exchange(void)
{
    static exchange x;
    pw_exchange_link link = {0};
    char *text = read_input();
    int rank, ok, all, status;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    x.rank = rank;
    join_peer(&x, rank);
    if (rank > 1) {
        free(text);
        return 0;
    }
    ok = text && read_exchange(text, &x);
    free(text);
    PMPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_MIN, x.pair);
    if (all && x.linked && !pw_measure_link(x.pair, &link))
        MPI_Abort(x.pair, 1); /* the other rank would wait for ever */
    if (!ok)
        pw_command_error("plan",
                         "the messages cannot be timed on this machine: a count does not fit an int, a message has 2 "
                         "GiB or more, or there is not enough memory for them");
    status = all ? measure(&x, &link) : 1;
    free_types(&x);
    MPI_Comm_free(&x.pair);
    return status;
}
