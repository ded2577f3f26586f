/*
 * Collectives as programs use them, where what must come out is known: halo exchanges within one array, absolute
 * addresses, many operations in flight, more sizes of types than are remembered, groups that talk to each other.
 *
 * With "staged" as argument (and the strategy forced), the tool below must see contiguous types only.
 */
#include "tests/mpi/support/count_collectives.h"
#include "tests/mpi/support/harness.h"

static int rank, size;

static MPI_Datatype strided(int n)
{
    MPI_Datatype t;

    MPI_Type_vector(n, 1, 3, MPI_INT, &t);
    MPI_Type_commit(&t);
    return t;
}

/* Returns element i of what rank r sends to rank p. */
static int value(int r, int p, int i)
{
    return r * 100000 + p * 1000 + i;
}

/* ---- a halo exchange --------------------------------------------------------------------------------------------- */

enum { EDGE = 12, WIDTH = EDGE + 2 };

typedef struct halo {
    MPI_Comm comm;
    int coords[2], neighbours[4]; /* neighbours: above, below, left, right */
    int cells[WIDTH][WIDTH];
    MPI_Datatype row, column;
} halo;

static void halo_create(halo *h)
{
    int dims[2] = {0, 0}, periods[2] = {0, 0};

    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &h->comm);
    MPI_Cart_coords(h->comm, rank, 2, h->coords);
    MPI_Cart_shift(h->comm, 0, 1, &h->neighbours[0], &h->neighbours[1]);
    MPI_Cart_shift(h->comm, 1, 1, &h->neighbours[2], &h->neighbours[3]);
    MPI_Type_contiguous(EDGE, MPI_INT, &h->row);
    MPI_Type_vector(EDGE, 1, WIDTH, MPI_INT, &h->column);
    MPI_Type_commit(&h->row);
    MPI_Type_commit(&h->column);
}

/* Returns the value of a cell by its place in the whole grid, so that each rank knows what its neighbour has. */
static int cell(const halo *h, int i, int j)
{
    return (h->coords[0] * EDGE + i) * 1000 + h->coords[1] * EDGE + j;
}

static void halo_fill(halo *h)
{
    for (int i = 0; i < WIDTH; i++)
        for (int j = 0; j < WIDTH; j++)
            h->cells[i][j] = i >= 1 && i <= EDGE && j >= 1 && j <= EDGE ? cell(h, i, j) : -1;
}

static void halo_check(halo *h, const char *what)
{
    for (int i = 0; i < WIDTH; i++)
        for (int j = 0; j < WIDTH; j++) {
            bool inner_i = i >= 1 && i <= EDGE, inner_j = j >= 1 && j <= EDGE;
            bool filled = (inner_i && inner_j) || (i == 0 && inner_j && h->neighbours[0] != MPI_PROC_NULL) ||
                          (i == EDGE + 1 && inner_j && h->neighbours[1] != MPI_PROC_NULL) ||
                          (j == 0 && inner_i && h->neighbours[2] != MPI_PROC_NULL) ||
                          (j == EDGE + 1 && inner_i && h->neighbours[3] != MPI_PROC_NULL);
            int expected = filled ? cell(h, i, j) : -1;

            CHECK(h->cells[i][j] == expected, "%s: cell %d %d is %d, not %d", what, i, j, h->cells[i][j], expected);
        }
}

/* Send and receive buffer are one array; rows are contiguous, columns are not. */
static void halo_exchange(halo *h, bool absolute, bool nonblocking)
{
    int counts[4] = {1, 1, 1, 1};
    int *out[4] = {&h->cells[1][1], &h->cells[EDGE][1], &h->cells[1][1], &h->cells[1][EDGE]};
    int *in[4] = {&h->cells[0][1], &h->cells[EDGE + 1][1], &h->cells[1][0], &h->cells[1][EDGE + 1]};
    MPI_Datatype types[4] = {h->row, h->row, h->column, h->column};
    MPI_Aint from[4], to[4], origin;
    void *base = absolute ? MPI_BOTTOM : h->cells;
    MPI_Request request;

    MPI_Get_address(h->cells, &origin);
    for (int k = 0; k < 4; k++) {
        MPI_Get_address(out[k], &from[k]);
        MPI_Get_address(in[k], &to[k]);
        if (!absolute) {
            from[k] -= origin;
            to[k] -= origin;
        }
    }
    if (nonblocking) {
        MPI_Ineighbor_alltoallw(base, counts, from, types, base, counts, to, types, h->comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Neighbor_alltoallw(base, counts, from, types, base, counts, to, types, h->comm);
    }
}

static void check_halo(void)
{
    static halo h;
    char what[64];

    halo_create(&h);
    for (int form = 0; form < 8; form++) {
        snprintf(what, sizeof what, "halo%s%s", form & 1 ? ", absolute" : "", form & 2 ? ", nonblocking" : "");
        halo_fill(&h);
        halo_exchange(&h, form & 1, form & 2);
        halo_check(&h, what);
    }
    MPI_Type_free(&h.row);
    MPI_Type_free(&h.column);
    MPI_Comm_free(&h.comm);
}

/* ---- absolute addresses ------------------------------------------------------------------------------------------ */

static void check_absolute(void)
{
    enum { N = 50 };
    static int memory[3 * N];
    MPI_Datatype relative, absolute;
    MPI_Aint origin;
    int one = 1;

    for (int i = 0; i < 3 * N; i++)
        memory[i] = rank == 0 ? i : -1;
    MPI_Type_vector(N, 1, 3, MPI_INT, &relative);
    MPI_Get_address(memory, &origin);
    MPI_Type_create_struct(1, &one, &origin, &relative, &absolute);
    MPI_Type_commit(&absolute);
    MPI_Bcast(MPI_BOTTOM, 1, absolute, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 3 * N; i++)
        CHECK(memory[i] == (i % 3 && rank ? -1 : i), "absolute broadcast: element %d is %d", i, memory[i]);
    MPI_Type_free(&relative);
    MPI_Type_free(&absolute);
}

/* ---- more sizes than are remembered ------------------------------------------------------------------------------ */

static void check_sizes(void)
{
    enum { SIZES = 1400, BATCH = 7 };
    int *memory[BATCH];
    MPI_Request requests[BATCH];
    MPI_Status statuses[BATCH];

    for (int n = 1; n + BATCH <= SIZES; n += BATCH) {
        for (int k = 0; k < BATCH; k++) {
            MPI_Datatype t = strided(n + k);

            memory[k] = malloc(sizeof(int) * 3 * (size_t)(n + k));
            for (int i = 0; i < 3 * (n + k); i++)
                memory[k][i] = rank == 0 ? value(0, 0, i) : -1;
            MPI_Ibcast(memory[k], 1, t, 0, MPI_COMM_WORLD, &requests[k]);
            MPI_Type_free(&t);
        }
        MPI_Waitall(BATCH, requests, statuses);
        for (int k = 0; k < BATCH; k++) {
            int bad = 0;

            for (int i = 0; i < n + k; i++)
                bad += memory[k][3 * i] != value(0, 0, 3 * i) || (rank && i + 1 < n + k && memory[k][3 * i + 1] != -1);
            CHECK(bad == 0, "broadcast of %d elements: %d wrong", n + k, bad);
            free(memory[k]);
        }
    }
}

/* ---- many at once ------------------------------------------------------------------------------------------------ */

static void check_flight(void)
{
    enum { OPERATIONS = 12, N = 30 };
    MPI_Datatype t = strided(N);
    size_t block = 3 * N - 2; /* distance from one object to the next, in elements */
    int *out = malloc(sizeof(int) * block * (size_t)size), *in[OPERATIONS], left = OPERATIONS;
    MPI_Request requests[OPERATIONS];
    MPI_Status statuses[OPERATIONS];
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int p = 0; p < size; p++)
        for (int i = 0; i < N; i++)
            out[(size_t)p * block + 3 * (size_t)i] = value(rank, p, i);
    for (int k = 0; k < OPERATIONS; k++) {
        in[k] = calloc(block * (size_t)size, sizeof(int));
        MPI_Ialltoall(out, 1, t, in[k], 1, t, comm, &requests[k]);
    }
    MPI_Comm_free(&comm);
    MPI_Type_free(&t);
    if (size == 1) { /* Open MPI's Waitsome never returns for requests that were done at once */
        MPI_Waitall(OPERATIONS, requests, statuses);
        left = 0;
    }
    while (left > 0) {
        int done, indices[OPERATIONS];

        MPI_Waitsome(OPERATIONS, requests, &done, indices, statuses);
        left -= done;
    }
    for (int k = 0; k < OPERATIONS; k++) {
        int bad = 0;

        for (int p = 0; p < size; p++)
            for (int i = 0; i < (int)block; i++)
                bad += in[k][(size_t)p * block + (size_t)i] != (i % 3 ? 0 : value(p, rank, i / 3));
        CHECK(bad == 0, "operation %d of many: %d elements wrong", k, bad);
        free(in[k]);
    }
    free(out);
}

/* ---- between groups ---------------------------------------------------------------------------------------------- */

/* Calls between even and odd ranks. */
static void check_groups(void)
{
    enum { N = 20 };
    MPI_Comm group, between;
    MPI_Datatype t = strided(N);
    int remote, mine, block = 3 * N - 2, *in, out[3 * N], root;

    if (size < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &group);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &between);
    MPI_Comm_remote_size(between, &remote);
    MPI_Comm_rank(between, &mine);
    in = calloc((size_t)(block * remote), sizeof(int));
    for (int i = 0; i < N; i++)
        out[3 * i] = value(rank, 0, i);
    MPI_Allgather(out, 1, t, in, 1, t, between);
    for (int p = 0; p < remote; p++)
        for (int i = 0; i < N; i++)
            CHECK(in[p * block + 3 * i] == value(2 * p + 1 - rank % 2, 0, i), "between groups: from %d, element %d", p,
                  i);
    root = rank % 2 ? 0 : mine == 0 ? MPI_ROOT : MPI_PROC_NULL;
    memset(in, 0, sizeof(int) * (size_t)block);
    MPI_Bcast(root == MPI_ROOT ? out : in, 1, t, root, between);
    for (int i = 0; i < N && rank % 2; i++)
        CHECK(in[3 * i] == value(0, 0, i), "broadcast between groups: element %d is %d", i, in[3 * i]);
    free(in);
    MPI_Type_free(&t);
    MPI_Comm_free(&between);
    MPI_Comm_free(&group);
}

/* ---- what reaches MPI -------------------------------------------------------------------------------------------- */

static void run_shapes(MPI_Datatype t, int block)
{
    int *out = calloc((size_t)(block * size), sizeof(int)), *in = calloc((size_t)(2 * block * size), sizeof(int));
    int counts[16], extents[16], bytes[16];
    MPI_Datatype types[16];
    MPI_Request request;

    for (int i = 0; i < size && i < 16; i++) {
        counts[i] = 1;
        extents[i] = i % 2 ? i : 2 * size - 2 - i;
        bytes[i] = 4 * block * i;
        types[i] = t;
    }
    MPI_Bcast(out, 1, t, 0, MPI_COMM_WORLD);
    MPI_Allgatherv(out, 1, t, in, counts, extents, t, MPI_COMM_WORLD);
    MPI_Ialltoall(out, 1, t, in, 1, t, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Alltoallw(out, counts, bytes, types, in, counts, bytes, types, MPI_COMM_WORLD);
    free(out);
    free(in);
}

/* Calls between two groups: the first rank, and the others. */
static void check_staged_between(MPI_Datatype t, int block)
{
    int *out = calloc((size_t)block, sizeof(int)), *in = calloc((size_t)(block * size), sizeof(int));
    int ones[16], displs[16], root = rank == 0 ? MPI_ROOT : 0;
    MPI_Comm group, between;

    for (int i = 0; i < 16; i++) {
        ones[i] = 1;
        displs[i] = i;
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &group);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, rank == 0, 5, &between);
    MPI_Bcast(root == MPI_ROOT ? out : in, 1, t, root, between);
    MPI_Allgatherv(out, 1, t, in, ones, displs, t, between);
    CHECK(count_collectives == 2, "calls between groups that reached the tool: %ld", count_collectives);
    CHECK(count_gapped == 0, "calls between groups with gaps that reached the tool: %ld", count_gapped);
    count_collectives = 0;
    MPI_Comm_free(&between);
    MPI_Comm_free(&group);
    free(out);
    free(in);
}

/* In a group of one process a broadcast moves nothing, so there is nothing to stage. */
static void check_alone(MPI_Datatype t, int block)
{
    int *buffer = calloc((size_t)block, sizeof(int));

    for (int i = 0; i < 2; i++)
        MPI_Bcast(buffer, 1, t, 0, MPI_COMM_SELF);
    CHECK(count_collectives == 2, "broadcasts of one process that reached the tool: %ld", count_collectives);
    CHECK(count_gapped == 2, "broadcasts of one process that were staged: %ld", 2 - count_gapped);
    count_collectives = count_gapped = 0;
    free(buffer);
}

static void check_staged(void)
{
    MPI_Datatype t = strided(40), contiguous;

    check_halo();
    run_shapes(t, 3 * 40 - 2);
    CHECK(count_collectives == 8, "calls that reached the tool: %ld", count_collectives);
    CHECK(count_gapped == 0, "calls with gaps that reached the tool: %ld", count_gapped);
    count_collectives = 0;
    check_staged_between(t, 3 * 40 - 2);
    check_alone(t, 3 * 40 - 2);
    MPI_Type_contiguous(40, MPI_INT, &contiguous);
    MPI_Type_commit(&contiguous);
    run_shapes(contiguous, 40);
    CHECK(count_collectives == 4, "calls with contiguous types that reached the tool: %ld", count_collectives);
    MPI_Type_free(&contiguous);
    MPI_Type_free(&t);
}

int main(int argc, char **argv)
{
    int rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && !strcmp(argv[1], "staged")) {
        check_staged();
    } else {
        check_halo();
        check_absolute();
        check_flight();
        check_groups();
        check_sizes();
    }
    rc = test_result();
    MPI_Finalize();
    return rc;
}
