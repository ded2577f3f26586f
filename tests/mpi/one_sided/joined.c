/*
 * Puts and gets with random types on both sides, in windows whose memory the MPI has mapped in all processes. The naive
 * typemap is the judge, so the MPI's own faults do not count. Ranks bring memory of different sizes, the first one at
 * times none, and count displacements in different units. An argument is the number of rounds.
 */
#include "tests/mpi/one_sided/window.h"
#include "tests/mpi/support/harness.h"
#include "tests/support/random_mpi.h"

enum { ROOM = 1 << 17, ROUNDS_OF_A_WINDOW = 20 };

/* One side of a transfer. */
typedef struct side {
    MPI_Datatype type;
    int count;
    const pw_naive_map *map;
    int64_t extent, lo, hi; /* lo and hi: bounds of all objects */
} side;

typedef struct round {
    uint64_t seed;
    int rank, ranks;
    const window *w;
    epoch epoch;
    bool get;
    side origin, target;
    int64_t bytes, at; /* displacement in bytes, a multiple of all units */
} round_t;

static int unit_of(int rank, int variant)
{
    return 1 << (rank + variant) % 4;
}

/* Every other window has no memory at rank 0. */
static MPI_Aint bytes_of(int rank, int variant)
{
    return rank == 0 && variant % 2 ? 0 : ROOM + 64 * rank;
}

static window allocate(int variant, int rank)
{
    window w = {.kind = variant / 2 % 2 ? SHARED : ALLOCATED};
    int (*make)(MPI_Aint, int, MPI_Info, MPI_Comm, void *, MPI_Win *) =
        w.kind == SHARED ? MPI_Win_allocate_shared : MPI_Win_allocate;

    make(bytes_of(rank, variant), unit_of(rank, variant), MPI_INFO_NULL, MPI_COMM_WORLD, &w.memory, &w.win);
    return w;
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static bool is_usable(const pw_random_mpi *t)
{
    for (int64_t i = 0; i < t->map.n; i++)
        if (t->map.entries[i].padding)
            return false;
    return t->map.size > 0;
}

static side side_of(MPI_Datatype type, int count, const pw_naive_map *map, int64_t extent)
{
    side s = {.type = type, .count = count, .map = map, .extent = extent};

    pw_naive_span(map, extent, count, &s.lo, &s.hi);
    return s;
}

/* Makes a list of blocks of bytes that has `bytes` bytes. */
static MPI_Datatype make_list(pw_rng *rng, int64_t bytes, pw_naive_map *map)
{
    enum { MOST = 64 };
    MPI_Aint at[MOST];
    int lengths[MOST], n = 0;
    int64_t place = pw_rng_range(rng, 0, 40);
    MPI_Datatype type;

    while (bytes > 0) {
        int64_t length = n == MOST - 1 ? bytes : pw_rng_range(rng, 1, bytes < 64 ? bytes : 64);

        at[n] = place;
        lengths[n++] = (int)length;
        pw_naive_add(map, place, length, 0);
        place += length + pw_rng_range(rng, 0, 24);
        bytes -= length;
    }
    MPI_Type_create_hindexed(n, lengths, at, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* ---- one transfer ------------------------------------------------------------------------------------------------ */

static unsigned char *contents(const round_t *r, int holder)
{
    unsigned char *packed = malloc((size_t)r->bytes);

    test_fill(packed, (size_t)r->bytes, (unsigned)(r->seed * 7 + (uint64_t)holder * 31));
    return packed;
}

static void put_in(const side *s, unsigned char *memory, const unsigned char *packed, int64_t bytes)
{
    pw_naive_unpack_range(s->map, s->extent, s->count, 0, bytes, memory, packed);
}

/* Memory of `bytes` bytes, in which the objects at `at` have the contents of rank `holder`; -1: of none. */
static unsigned char *image(const round_t *r, const side *s, int64_t at, int64_t bytes, int holder, unsigned before)
{
    unsigned char *memory = malloc((size_t)bytes + 1), *packed;

    test_fill(memory, (size_t)bytes, before);
    if (holder >= 0) {
        packed = contents(r, holder);
        put_in(s, memory + at, packed, r->bytes);
        free(packed);
    }
    return memory;
}

static void transfer(round_t *r, unsigned char *origin, int unit)
{
    MPI_Aint at = r->at / unit;
    const side *o = &r->origin, *t = &r->target;
    epoch *e = &r->epoch;

    e->ops = 1;
    if (epoch_has_requests(e) && r->get)
        MPI_Rget(origin, o->count, o->type, e->target, at, t->count, t->type, r->w->win, &e->requests[0]);
    else if (epoch_has_requests(e))
        MPI_Rput(origin, o->count, o->type, e->target, at, t->count, t->type, r->w->win, &e->requests[0]);
    else if (r->get)
        MPI_Get(origin, o->count, o->type, e->target, at, t->count, t->type, r->w->win);
    else
        MPI_Put(origin, o->count, o->type, e->target, at, t->count, t->type, r->w->win);
}

/* Both the window and the buffer hold what they must, byte for byte. */
static void run(round_t *r, int variant, const char *text)
{
    int64_t mine = bytes_of(r->rank, variant), span = r->origin.hi - r->origin.lo;
    bool sends = bytes_of(r->epoch.target, variant) > 0, receives = mine > 0;
    int put_by = receives && !r->get ? r->epoch.origin : receives ? r->rank : -1;
    unsigned char *before = image(r, &r->target, r->at, mine, receives && r->get ? r->rank : -1, 3);
    unsigned char *after = image(r, &r->target, r->at, mine, put_by, 3);
    unsigned char *buffer = image(r, &r->origin, -r->origin.lo, span, r->get ? -1 : r->rank, 5);
    unsigned char *got = image(r, &r->origin, -r->origin.lo, span, !r->get ? r->rank : sends ? r->epoch.target : -1, 5);

    if (receives)
        memcpy(r->w->memory, before, (size_t)mine);
    MPI_Win_fence(0, r->w->win);
    epoch_begin(&r->epoch);
    if (sends)
        transfer(r, buffer - r->origin.lo, unit_of(r->epoch.target, variant));
    epoch_complete(&r->epoch);
    CHECK(!memcmp(buffer, got, (size_t)span), "%s: buffer", text);
    epoch_end(&r->epoch);
    CHECK(!receives || !memcmp(r->w->memory, after, (size_t)mine), "%s: window", text);
    MPI_Barrier(MPI_COMM_WORLD);
    free(before);
    free(after);
    free(buffer);
    free(got);
}

/* MPICH's requests of gets complete early, so they are flushed. */
static ending ending_of(pw_rng *rng)
{
    ending e = (ending)pw_rng_range(rng, 0, ENDINGS - 1);

#ifdef MPICH
    if (e == REQUEST)
        e = REQUEST_FLUSHED;
#endif
    return e;
}

static void run_round(round_t *r, int variant)
{
    static const pw_random_mpi_limits limits = {.depth = 3, .max_entries = 2000, .max_span = 8000};
    pw_rng rng = {r->seed * 0x9e3779b97f4a7c15u | 1};
    pw_naive_map list = {.n = 0};
    MPI_Datatype listed = MPI_DATATYPE_NULL;
    int shift = (int)pw_rng_range(&rng, 0, r->ranks - 1);
    pw_random_mpi random;
    char text[256];
    side one, other;

    r->epoch = (epoch){.w = r->w,
                       .ending = ending_of(&rng),
                       .target = (r->rank + shift) % r->ranks,
                       .origin = (r->rank - shift + r->ranks) % r->ranks};
    r->get = pw_rng_one_in(&rng, 2);
    pw_random_mpi_create(&rng, &limits, &random);
    other = one = side_of(random.type, (int)pw_rng_range(&rng, 1, 4), &random.map, random.extent);
    r->bytes = one.count * random.map.size;
    if (is_usable(&random) && pw_rng_one_in(&rng, 2)) {
        listed = make_list(&rng, r->bytes, &list);
        other = side_of(listed, 1, &list, 0);
    }
    r->origin = pw_rng_one_in(&rng, 2) ? one : other;
    r->target = r->origin.map == one.map ? other : one;
    r->at = ((r->target.lo < 0 ? -r->target.lo : 0) + 15) / 8 * 8;
    snprintf(text, sizeof text, "seed %llu, %s, %s to rank +%d, %s, %lld bytes", (unsigned long long)r->seed,
             window_kind(r->w->kind), r->get ? "get" : "put", shift, ending_name(r->epoch.ending), (long long)r->bytes);
    if (is_usable(&random) && r->at + r->target.hi <= ROOM && r->target.hi - r->target.lo <= ROOM &&
        r->origin.hi - r->origin.lo <= ROOM && !pw_naive_overlaps(one.map, one.extent, one.count))
        run(r, variant, text);
    if (listed != MPI_DATATYPE_NULL)
        MPI_Type_free(&listed);
    pw_naive_free(&list);
    pw_random_mpi_free(&random);
}

/* The last bytes of a rank's part are written, and nothing beyond them in the next rank's part. */
static void check_bounds(int rank, int ranks)
{
    window w = allocate(2, rank);
    unsigned char *expected = malloc(ROOM + 64 * (size_t)rank), source[256] = {0};
    MPI_Datatype type;

    if (w.kind == SHARED && ranks > 1) {
        test_fill(w.memory, (size_t)bytes_of(rank, 2), 9);
        test_fill(expected, (size_t)bytes_of(rank, 2), 9);
        MPI_Type_vector(8, 8, 16, MPI_BYTE, &type);
        MPI_Type_commit(&type);
        MPI_Win_fence(0, w.win);
        if (rank == 0) /* ends with the last byte of rank 0 */
            MPI_Put(source, 1, type, 0, (ROOM - 120) / unit_of(0, 2), 1, type, w.win);
        for (int i = 0; rank == 0 && i < 8; i++)
            memset(expected + ROOM - 120 + 16 * i, 0, 8);
        MPI_Win_fence(0, w.win);
        CHECK(!memcmp(expected, w.memory, (size_t)bytes_of(rank, 2)), "the last bytes of a window");
        MPI_Type_free(&type);
    }
    MPI_Win_free(&w.win);
    free(expected);
}

enum { COUNTERS = 128, ADDITIONS = 40, POSTS = 10 };

/* An exclusive lock orders moves, although an MPI may take it only when an operation needs it. */
static void check_lock(const window *w, MPI_Datatype at, int rank, int ranks)
{
    int values[COUNTERS], *memory = (int *)w->memory;

    for (int i = 0; i < ADDITIONS; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win);
        MPI_Get(values, COUNTERS, MPI_INT, 0, 0, 1, at, w->win);
        MPI_Win_flush(0, w->win);
        for (int c = 0; c < COUNTERS; c++)
            values[c]++;
        MPI_Put(values, COUNTERS, MPI_INT, 0, 0, 1, at, w->win);
        MPI_Win_unlock(0, w->win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w->win);
    for (int c = 0; rank == 0 && c < COUNTERS; c++)
        CHECK(memory[2 * c] == ADDITIONS * ranks, "counter %d of %d additions has %d", c, ADDITIONS * ranks,
              memory[2 * c]);
    MPI_Win_unlock(0, w->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* No move begins before the target has posted, although MPI_Win_start need not wait for that. */
static void check_post(const window *w, MPI_Datatype at, int rank, int ranks)
{
    int values[COUNTERS], *memory = (int *)w->memory, first = rank == 0 ? 1 : 0, n = rank == 0 ? ranks - 1 : 1;
    MPI_Group all, others;

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_range_incl(all, 1, &(int[3]){first, first + n - 1, 1}, &others);
    for (int i = 0; i < POSTS; i++) {
        if (rank == 0) {
            for (double until = MPI_Wtime() + 1e-3; MPI_Wtime() < until;)
                ;
            for (int c = 0; c < 2 * COUNTERS; c++)
                memory[c] = i;
            MPI_Win_post(others, 0, w->win);
            MPI_Win_wait(w->win);
            continue;
        }
        MPI_Win_start(others, 0, w->win);
        MPI_Get(values, COUNTERS, MPI_INT, 0, 0, 1, at, w->win);
        MPI_Win_complete(w->win);
        for (int c = 0; c < COUNTERS; c++)
            CHECK(values[c] == i, "post %d: counter %d has %d", i, c, values[c]);
    }
    MPI_Group_free(&others);
    MPI_Group_free(&all);
}

static void check_order(int rank, int ranks)
{
    window w = {.kind = ALLOCATED};
    MPI_Datatype at;

    MPI_Win_allocate(2 * COUNTERS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &w.memory, &w.win);
    memset(w.memory, 0, 2 * COUNTERS * sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_vector(COUNTERS, 1, 2, MPI_INT, &at);
    MPI_Type_commit(&at);
    check_lock(&w, at, rank, ranks);
    check_post(&w, at, rank, ranks);
    MPI_Type_free(&at);
    MPI_Win_free(&w.win);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 200, rc;
    round_t r = {.seed = 0};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r.ranks);
    for (int variant = 0; variant * ROUNDS_OF_A_WINDOW < rounds; variant++) {
        window w = allocate(variant, r.rank);

        r.w = &w;
        for (int i = 0; i < ROUNDS_OF_A_WINDOW; i++) {
            r.seed++;
            run_round(&r, variant);
        }
        MPI_Win_free(&w.win);
    }
    check_bounds(r.rank, r.ranks);
    check_order(r.rank, r.ranks);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
