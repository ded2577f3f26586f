/* The stress test's collectives: blocking, nonblocking ones that complete with the messages, and persistent ones. */
#include "tests/mpi/stress/stress.h"

/* Whether this MPI starts persistent collectives again as the standard says (docs/mpi-libraries.md). */
#if defined OPEN_MPI ? OMPI_MAJOR_VERSION >= 5 : MPICH_NUMVERSION >= 40300000
#define HAVE_PERSISTENT 1
#else
#define HAVE_PERSISTENT 0
#endif

typedef enum shape { BCAST, GATHER, SCATTER, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLW, REDUCE, SHAPES } shape;

static const char *const shape_names[SHAPES] = {"bcast",      "gather",   "scatter",   "allgather",
                                                "allgatherv", "alltoall", "alltoallw", "allreduce"};

/* One collective as all ranks know it. */
typedef struct collective {
    shape shape;
    int root, count;
    MPI_Datatype type;
    MPI_Aint extent;
} collective;

/* ---- arguments in arrays ---- */

typedef struct arrays {
    int *counts, *displs; /* displacements in bytes of the w-form, in extents of the v-form */
    MPI_Datatype *types;
} arrays;

static size_t array_bytes(const lane *l)
{
    return (size_t)l->ranks * (2 * sizeof(int) + sizeof(MPI_Datatype));
}

static arrays arrays_in(const lane *l, void *memory)
{
    arrays a = {.types = memory};

    a.counts = (int *)(a.types + l->ranks);
    a.displs = a.counts + l->ranks;
    return a;
}

static void fill_arrays(const lane *l, const collective *c, void *memory)
{
    arrays a = arrays_in(l, memory);

    for (int i = 0; i < l->ranks; i++) {
        a.types[i] = c->type;
        a.counts[i] = c->count;
        a.displs[i] = i * c->count * (c->shape == ALLTOALLW ? (int)c->extent : 1);
    }
}

/* ---- buffers and their contents ---- */

static int sent_blocks(const lane *l, const collective *c)
{
    if (c->shape == SCATTER)
        return l->rank == c->root ? l->ranks : 1;
    return c->shape == ALLTOALL || c->shape == ALLTOALLW ? l->ranks : 1;
}

static int received_blocks(const lane *l, const collective *c)
{
    return c->shape == BCAST || c->shape == SCATTER || c->shape == REDUCE ? 1 : l->ranks;
}

static slot open_collective(const lane *l, const collective *c)
{
    slot s = {.family = COLLECTIVE_NONBLOCKING,
              .what = shape_names[c->shape],
              .receives = true,
              .type = MPI_BYTE,
              .tag = (int)l->step,
              .count = c->count};

    s.memory = test_buffer_create(c->type, c->count * received_blocks(l, c));
    s.expected = test_buffer_create(c->type, c->count * received_blocks(l, c));
    s.other = test_buffer_create(c->type, c->count * sent_blocks(l, c));
    s.arrays = malloc(array_bytes(l));
    fill_arrays(l, c, s.arrays);
    return s;
}

static void close_collective(slot *s)
{
    test_buffer_free(&s->memory);
    test_buffer_free(&s->expected);
    test_buffer_free(&s->other);
    free(s->arrays);
}

/* Computes the block that this rank gets of those that `from` sends. */
static void expect_block(const lane *l, const collective *c, unsigned fill, unsigned char *at)
{
    unsigned char *all = stress_packed(c->type, c->count * l->ranks, fill);
    int bytes = test_packed_bytes(c->type, c->count), p = 0;

    PMPI_Unpack(all + (size_t)l->rank * (size_t)bytes, bytes, &p, at, c->count, c->type, MPI_COMM_SELF);
    free(all);
}

static void expect_sum(const lane *l, const collective *c, unsigned turn, int *sum)
{
    test_buffer b = test_buffer_create(c->type, c->count);

    memset(sum, 0, sizeof *sum * (size_t)c->count);
    for (int i = 0; i < l->ranks; i++) {
        test_buffer_fill(&b, stress_fill(l, i) + turn);
        for (int k = 0; k < c->count; k++)
            sum[k] = (int)((unsigned)sum[k] ^ (unsigned)((int *)(void *)b.origin)[k]);
    }
    test_buffer_free(&b);
}

/* `turn` makes the starts of a persistent collective differ. */
static void fill_collective(const lane *l, const collective *c, slot *s, unsigned turn)
{
    MPI_Aint block = c->count * c->extent;
    bool root = l->rank == c->root;

    test_buffer_fill(&s->other, stress_fill(l, l->rank) + turn);
    test_buffer_fill(&s->memory, c->shape == BCAST && root ? stress_fill(l, l->rank) + turn : 3);
    test_buffer_fill(&s->expected, c->shape == BCAST && root ? stress_fill(l, l->rank) + turn : 3);
    switch (c->shape) {
    case BCAST:
        if (!root)
            stress_place(c->type, c->count, stress_fill(l, c->root) + turn, s->expected.origin);
        break;
    case SCATTER: expect_block(l, c, stress_fill(l, c->root) + turn, s->expected.origin); break;
    case REDUCE: expect_sum(l, c, turn, (int *)(void *)s->expected.origin); break;
    case ALLTOALL:
    case ALLTOALLW:
        for (int i = 0; i < l->ranks; i++)
            expect_block(l, c, stress_fill(l, i) + turn, s->expected.origin + i * block);
        break;
    default:
        for (int i = 0; i < l->ranks && (c->shape != GATHER || root); i++)
            stress_place(c->type, c->count, stress_fill(l, i) + turn, s->expected.origin + i * block);
    }
}

/* ---- calls ---- */

#if HAVE_PERSISTENT
#define INIT(name, ...) MPI_##name##_init(__VA_ARGS__, l->comm, MPI_INFO_NULL, request)
#else
#define INIT(name, ...) (void)0
#endif

#define CALL(name, iname, ...)                           \
    do {                                                 \
        if (f == COLLECTIVE)                             \
            MPI_##name(__VA_ARGS__, l->comm);            \
        else if (f == COLLECTIVE_NONBLOCKING)            \
            MPI_I##iname(__VA_ARGS__, l->comm, request); \
        else                                             \
            INIT(name, __VA_ARGS__);                     \
    } while (0)

static void call(const lane *l, const collective *c, const slot *s, family f, MPI_Request *request)
{
    arrays a = arrays_in(l, s->arrays);
    void *from = s->other.origin, *to = s->memory.origin;
    MPI_Datatype type = c->type;
    int n = c->count, root = c->root;

    switch (c->shape) {
    case BCAST: CALL(Bcast, bcast, to, n, type, root); break;
    case GATHER: CALL(Gather, gather, from, n, type, to, n, type, root); break;
    case SCATTER: CALL(Scatter, scatter, from, n, type, to, n, type, root); break;
    case ALLGATHER: CALL(Allgather, allgather, from, n, type, to, n, type); break;
    case ALLGATHERV: CALL(Allgatherv, allgatherv, from, n, type, to, a.counts, a.displs, type); break;
    case ALLTOALL: CALL(Alltoall, alltoall, from, n, type, to, n, type); break;
    case ALLTOALLW:
        CALL(Alltoallw, alltoallw, from, a.counts, a.displs, a.types, to, a.counts, a.displs, a.types);
        break;
    default: CALL(Allreduce, allreduce, from, to, n, type, MPI_BXOR); break;
    }
}

static void run_persistent(lane *l, const collective *c, slot *s)
{
    MPI_Request request;

    fill_collective(l, c, s, 0);
    call(l, c, s, COLLECTIVE_PERSISTENT, &request);
    for (unsigned turn = 0; turn < 2; turn++) {
        fill_collective(l, c, s, 13 * turn);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        stress_check(l, COLLECTIVE_PERSISTENT, s->what, &s->memory, &s->expected);
    }
    MPI_Request_free(&request);
}

void stress_collective(lane *l)
{
    collective c = {.type = stress_type(l), .root = stress_draw(l, l->ranks), .count = 1 + stress_draw(l, 3)};
    int form = stress_draw(l, 8);
    MPI_Datatype pooled = c.type;
    MPI_Aint lb;
    slot s;

    c.shape = (shape)stress_draw(l, SHAPES);
    if (c.shape == REDUCE || stress_is_split(l, pooled))
        c.type = MPI_INT;
    PMPI_Type_get_extent(c.type, &lb, &c.extent);
    s = open_collective(l, &c);
    if (form >= 4) {
        slot *taken;

        stress_make_room(l, 1);
        taken = stress_take_slot(l, s);
        fill_collective(l, &c, taken, 0);
        taken->started = true;
        call(l, &c, taken, COLLECTIVE_NONBLOCKING, stress_request(l, taken));
        if (form == 4)
            stress_drop_type(l, pooled);
        return;
    }
    if (HAVE_PERSISTENT && form == 3) {
        run_persistent(l, &c, &s);
    } else {
        fill_collective(l, &c, &s, 0);
        call(l, &c, &s, COLLECTIVE, NULL);
        stress_check(l, COLLECTIVE, s.what, &s.memory, &s.expected);
    }
    close_collective(&s);
}
