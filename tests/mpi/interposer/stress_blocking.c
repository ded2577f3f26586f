/* The stress test's blocking calls: every rank takes part, and what comes is compared with what the others' buffers
 * hold by the schedule. */
#include "stress.h"

/* The contents of a buffer that was filled with `fill`, in packed form. The caller frees. */
static unsigned char *packed_contents(MPI_Datatype type, int count, unsigned fill)
{
    test_buffer b = test_buffer_create(type, count);
    int bytes = test_packed_bytes(type, count), p = 0;
    unsigned char *packed = malloc((size_t)bytes + 1);

    test_buffer_fill(&b, fill);
    PMPI_Pack(b.origin, count, type, packed, bytes, &p, MPI_COMM_SELF);
    test_buffer_free(&b);
    return packed;
}

static unsigned fill_of(const lane *l, int rank)
{
    return (unsigned)(l->step * 11 + rank * 5 + l->id);
}

/* Puts rank `from`'s `count` objects to `at` of a buffer, natively. */
static void place(const lane *l, MPI_Datatype type, int count, int from, unsigned char *at)
{
    unsigned char *packed = packed_contents(type, count, fill_of(l, from));
    int p = 0;

    PMPI_Unpack(packed, test_packed_bytes(type, count), &p, at, count, type, MPI_COMM_SELF);
    free(packed);
}

static void check(lane *l, const char *what, const test_buffer *got, const test_buffer *want)
{
    l->operations++;
    if (!test_buffer_equal(got, want))
        stress_fail(l, what, NULL);
}

static void ring(lane *l, MPI_Datatype type, int count)
{
    int next = (l->rank + 1) % l->ranks, previous = (l->rank + l->ranks - 1) % l->ranks;
    bool replace = stress_draw(l, 2);
    test_buffer s = test_buffer_create(type, count), r = test_buffer_create(type, count);
    test_buffer want = test_buffer_create(type, count);

    test_buffer_fill(&s, fill_of(l, l->rank));
    test_buffer_fill(&r, replace ? fill_of(l, l->rank) : 3);
    test_buffer_fill(&want, replace ? fill_of(l, l->rank) : 3);
    if (replace)
        MPI_Sendrecv_replace(r.origin, count, type, next, 31000, previous, 31000, l->comm, MPI_STATUS_IGNORE);
    else
        MPI_Sendrecv(s.origin, count, type, next, 31000, r.origin, count, type, previous, 31000, l->comm,
                     MPI_STATUS_IGNORE);
    place(l, type, count, previous, want.origin);
    check(l, replace ? "MPI_Sendrecv_replace" : "MPI_Sendrecv", &r, &want);
    test_buffer_free(&s);
    test_buffer_free(&r);
    test_buffer_free(&want);
}

static void bcast(lane *l, MPI_Datatype type, int count)
{
    int root = stress_draw(l, l->ranks);
    test_buffer b = test_buffer_create(type, count), want = test_buffer_create(type, count);

    test_buffer_fill(&b, l->rank == root ? fill_of(l, root) : 3);
    test_buffer_fill(&want, l->rank == root ? fill_of(l, root) : 3);
    MPI_Bcast(b.origin, count, type, root, l->comm);
    if (l->rank != root)
        place(l, type, count, root, want.origin);
    check(l, "MPI_Bcast", &b, &want);
    test_buffer_free(&b);
    test_buffer_free(&want);
}

/* Can objects of this type lie one after another without overlapping? */
static bool is_tileable(MPI_Datatype type)
{
    MPI_Aint lb, extent, true_lb, true_extent;

    PMPI_Type_get_extent(type, &lb, &extent);
    PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
    return extent >= true_extent;
}

/* `gather`: only the root receives. */
static void allgather(lane *l, MPI_Datatype type, int count)
{
    int root = stress_draw(l, l->ranks);
    bool gather = stress_draw(l, 2);
    MPI_Aint lb, extent;
    test_buffer s = test_buffer_create(type, count), r = test_buffer_create(type, count * l->ranks);
    test_buffer want = test_buffer_create(type, count * l->ranks);

    PMPI_Type_get_extent(type, &lb, &extent);
    test_buffer_fill(&s, fill_of(l, l->rank));
    test_buffer_fill(&r, 3);
    test_buffer_fill(&want, 3);
    if (gather)
        MPI_Gather(s.origin, count, type, r.origin, count, type, root, l->comm);
    else
        MPI_Allgather(s.origin, count, type, r.origin, count, type, l->comm);
    for (int i = 0; i < l->ranks && (!gather || l->rank == root); i++)
        place(l, type, count, i, want.origin + i * count * extent);
    check(l, gather ? "MPI_Gather" : "MPI_Allgather", &r, &want);
    test_buffer_free(&s);
    test_buffer_free(&r);
    test_buffer_free(&want);
}

static void alltoall(lane *l, MPI_Datatype type, int count)
{
    MPI_Aint lb, extent;
    test_buffer s = test_buffer_create(type, count * l->ranks), r = test_buffer_create(type, count * l->ranks);
    test_buffer want = test_buffer_create(type, count * l->ranks);
    int bytes = test_packed_bytes(type, count);

    PMPI_Type_get_extent(type, &lb, &extent);
    test_buffer_fill(&s, fill_of(l, l->rank));
    test_buffer_fill(&r, 3);
    test_buffer_fill(&want, 3);
    MPI_Alltoall(s.origin, count, type, r.origin, count, type, l->comm);
    for (int i = 0; i < l->ranks; i++) {
        unsigned char *all = packed_contents(type, count * l->ranks, fill_of(l, i));
        int p = 0;

        PMPI_Unpack(all + (size_t)l->rank * (size_t)bytes, bytes, &p, want.origin + i * count * extent, count, type,
                    MPI_COMM_SELF);
        free(all);
    }
    check(l, "MPI_Alltoall", &r, &want);
    test_buffer_free(&s);
    test_buffer_free(&r);
    test_buffer_free(&want);
}

void stress_blocking(lane *l)
{
    MPI_Datatype type = stress_type(l);
    int count = 1 + stress_draw(l, 3), what = stress_draw(l, 4);

    if (!is_tileable(type))
        what %= 2;
    switch (what) {
    case 0: ring(l, type, count); break;
    case 1: bcast(l, type, count); break;
    case 2: allgather(l, type, count); break;
    default: alltoall(l, type, count); break;
    }
}
