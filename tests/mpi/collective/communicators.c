/*
 * Communicators come and go, and what is remembered of them with them: handles are used again for groups of other
 * sizes, other neighbourhoods and groups that talk to each other, freed with and without our knowledge, duplicated, and
 * freed under way. Each is used often enough for calls to take the short path of native calls.
 *
 * Arrays of neighbourhoods end at memory that may not be read, so a neighbourhood that was taken for a larger one
 * shows.
 */
#include "tests/mpi/support/harness.h"

#include <sys/mman.h>
#include <unistd.h>

enum { N = 20, STRIDE = 3, BLOCK = STRIDE * N - 2, USES = 80, MOST = 8 };

static int rank, size;
static MPI_Datatype strided;

/* Returns element i of what rank r of a communicator sends to rank p, in the k-th use. */
static int value(int r, int p, int i, int k)
{
    return ((r * 8 + p) * 256 + i) * 1024 + k;
}

static void release(MPI_Comm *comm, int how)
{
    if (how % 2)
        MPI_Comm_free(comm);
    else
        PMPI_Comm_free(comm);
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static void exchange(MPI_Comm comm, int uses, const char *what)
{
    int mine, ranks, *out, *in;

    MPI_Comm_rank(comm, &mine);
    MPI_Comm_size(comm, &ranks);
    out = calloc((size_t)(ranks * BLOCK), sizeof *out);
    in = calloc((size_t)(ranks * BLOCK), sizeof *in);
    for (int k = 0; k < uses; k++) {
        int bad = 0, root = k % ranks;

        for (int p = 0; p < ranks; p++)
            for (int i = 0; i < N; i++)
                out[p * BLOCK + STRIDE * i] = value(mine, p, i, k);
        MPI_Alltoall(out, 1, strided, in, 1, strided, comm);
        for (int p = 0; p < ranks; p++)
            for (int i = 0; i < BLOCK; i++)
                bad += in[p * BLOCK + i] != (i % STRIDE ? 0 : value(p, mine, i / STRIDE, k));
        CHECK(bad == 0, "%s: alltoall %d of %d ranks: %d elements wrong", what, k, ranks, bad);
        MPI_Gather(out, 1, strided, in, mine == root ? 1 : -5, mine == root ? strided : MPI_DATATYPE_NULL, root, comm);
        for (int p = 0; p < ranks && mine == root; p++)
            bad += in[p * BLOCK] != value(p, 0, 0, k);
        CHECK(bad == 0, "%s: gather %d of %d ranks: %d elements wrong", what, k, ranks, bad);
    }
    free(out);
    free(in);
}

/* Makes splits of all sizes, one after the other, so that handles are soon used again. */
static void check_groups(void)
{
    for (int round = 0; round < 7; round++) {
        MPI_Comm comm, dup;

        MPI_Comm_split(MPI_COMM_WORLD, rank >= round % (size + 1), size - rank, &comm);
        exchange(comm, round < 2 ? USES : 3, "split");
        MPI_Comm_dup(comm, &dup);
        release(&comm, round);
        exchange(dup, 3, "duplicate");
        release(&dup, round / 2);
    }
}

/* Calls between even and odd ranks. */
static void check_between(void)
{
    for (int round = 0; round < 3; round++) {
        MPI_Comm group, between;
        int remote, out[BLOCK] = {0}, *in;

        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &group);
        exchange(group, 3, "half");
        MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &between);
        release(&group, round);
        MPI_Comm_remote_size(between, &remote);
        in = calloc((size_t)(remote * BLOCK), sizeof *in);
        for (int k = 0; k < 5; k++) {
            for (int i = 0; i < N; i++)
                out[STRIDE * i] = value(rank, 0, i, k);
            MPI_Allgather(out, 1, strided, in, 1, strided, between);
            for (int p = 0; p < remote; p++)
                for (int i = 0; i < N; i++)
                    CHECK(in[p * BLOCK + STRIDE * i] == value(2 * p + 1 - rank % 2, 0, i, k),
                          "between groups: from %d, element %d", p, i);
        }
        free(in);
        release(&between, round);
    }
}

/* ---- neighbourhoods ---------------------------------------------------------------------------------------------- */

/* Returns the last `bytes` bytes before memory that may not be read. */
static void *at_edge(char *page, size_t bytes)
{
    return page + sysconf(_SC_PAGESIZE) - bytes;
}

static char *edge_page(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED || mprotect(memory + page, page, PROT_NONE) != 0) {
        fprintf(stderr, "no memory for the edge\n");
        abort();
    }
    return memory;
}

typedef struct edges {
    char *counts, *displs, *types;
} edges;

/* Exchanges as many blocks as there are neighbours, the same number out and in. */
static void exchange_halo(const edges *e, MPI_Comm comm, int blocks, int uses, const char *what)
{
    int *counts = at_edge(e->counts, sizeof *counts * (size_t)blocks);
    MPI_Aint *displs = at_edge(e->displs, sizeof *displs * (size_t)blocks);
    MPI_Datatype *types = at_edge(e->types, sizeof *types * (size_t)blocks);
    static int ours[MOST * BLOCK], theirs[MOST * BLOCK], out[MOST * BLOCK];

    for (int b = 0; b < blocks; b++) {
        counts[b] = 1;
        displs[b] = (MPI_Aint)sizeof(int) * b * BLOCK;
        types[b] = strided;
    }
    for (int k = 0; k < uses; k++) {
        for (int i = 0; i < MOST * BLOCK; i++)
            out[i] = value(rank, i / BLOCK, i % BLOCK, k);
        memset(ours, 0, sizeof ours);
        memset(theirs, 0, sizeof theirs);
        MPI_Neighbor_alltoallw(out, counts, displs, types, ours, counts, displs, types, comm);
        PMPI_Neighbor_alltoallw(out, counts, displs, types, theirs, counts, displs, types, comm);
        CHECK(!memcmp(ours, theirs, sizeof ours), "%s: halo %d with %d neighbours", what, k, blocks);
        MPI_Neighbor_alltoall(out, 1, strided, ours, 1, strided, comm);
        PMPI_Neighbor_alltoall(out, 1, strided, theirs, 1, strided, comm);
        CHECK(!memcmp(ours, theirs, sizeof ours), "%s: equal blocks %d with %d neighbours", what, k, blocks);
    }
}

static void check_neighbours(void)
{
    edges e = {edge_page(), edge_page(), edge_page()};

    for (int round = 0; round < 9; round++) {
        int dims[4] = {size, 1, 1, 1}, periods[4] = {round % 3 != 0, round % 2, 1, round % 2}, n = 1 + (round * 3) % 4;
        int uses = round < 2 ? USES : 2;
        MPI_Comm grid, dup;

        MPI_Cart_create(MPI_COMM_WORLD, n, dims, periods, 0, &grid);
        exchange_halo(&e, grid, 2 * n, uses, "grid");
        MPI_Comm_dup(grid, &dup);
        release(&grid, round);
        exchange_halo(&e, dup, 2 * n, 3, "duplicate of a grid");
        release(&dup, round / 2);
    }
    for (int round = 0; round < 5; round++) {
        int n = 1 + round % 3, out[3], in[3], weights[3] = {1, 1, 1};
        MPI_Comm ring;

        for (int i = 0; i < n; i++) {
            out[i] = (rank + i + 1) % size;
            in[i] = (rank + size * 4 - i - 1) % size;
        }
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n, in, weights, n, out, weights, MPI_INFO_NULL, 0, &ring);
        exchange_halo(&e, ring, n, round < 1 ? USES : 2, "ring");
        release(&ring, round);
    }
    munmap(e.counts, 2 * (size_t)sysconf(_SC_PAGESIZE));
    munmap(e.displs, 2 * (size_t)sysconf(_SC_PAGESIZE));
    munmap(e.types, 2 * (size_t)sysconf(_SC_PAGESIZE));
}

/* ---- freed under way, and not there ------------------------------------------------------------------------------ */

static void check_under_way(void)
{
    int *out = calloc((size_t)(size * BLOCK), sizeof *out), *in = calloc((size_t)(size * BLOCK), sizeof *in), bad = 0;
    MPI_Comm comm, next;
    MPI_Request request;

    for (int p = 0; p < size; p++)
        for (int i = 0; i < N; i++)
            out[p * BLOCK + STRIDE * i] = value(rank, p, i, 0);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    exchange(comm, 70, "before it is freed");
    MPI_Ialltoall(out, 1, strided, in, 1, strided, comm, &request);
    MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &next);
    exchange(next, 70, "after one was freed");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int p = 0; p < size; p++)
        for (int i = 0; i < N; i++)
            bad += in[p * BLOCK + STRIDE * i] != value(p, rank, i, 0);
    CHECK(bad == 0, "freed under way: %d elements wrong", bad);
    MPI_Comm_free(&next);
    free(out);
    free(in);
}

static void check_errors(void)
{
    int out[BLOCK] = {0}, *in = calloc((size_t)(size * BLOCK), sizeof *in), class = MPI_SUCCESS, rc;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int k = 0; k < 3; k++) {
        rc = MPI_Allgather(out, 1, strided, in, 1, strided, MPI_COMM_NULL);
        MPI_Error_class(rc, &class);
        CHECK(class == MPI_ERR_COMM, "a null communicator: class %d", class);
        rc = MPI_Neighbor_alltoall(out, 1, strided, in, 1, strided, MPI_COMM_WORLD);
        CHECK(rc != MPI_SUCCESS, "neighbours without a topology: %d", rc);
        rc = MPI_Bcast(out, 1, strided, size + 3, MPI_COMM_WORLD);
        MPI_Error_class(rc, &class);
        CHECK(class == MPI_ERR_ROOT, "a root outside: class %d", class);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    free(in);
}

int main(int argc, char **argv)
{
    int rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_vector(N, 1, STRIDE, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    check_groups();
    check_between();
    check_neighbours();
    check_under_way();
    check_errors();
    MPI_Type_free(&strided);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
