/*
 * Several nonblocking sends from GPU memory at once: MPI_Irecv, MPI_Isend and MPI_Waitall, one rank to itself or two
 * ranks to each other, as Packwright carries them out. What is compared are runs: PACKWRIGHT_GATHER=0 packs each send
 * by a launch of its own. Each row is verified before it is timed; medians. "a send": the time in one call of
 * MPI_Isend.
 *
 * With -m the same messages go by persistent requests (startall), or by one MPI_Neighbor_alltoallw (neighbours).
 *
 * usage: device_sends_<mpi> [-t seconds a row] [-f layout] [-n messages] [-m isend|startall|neighbours] [-d driver]
 */
#include "base/samples.h"
#include "bench/clock.h"
#include "bench/device/layouts.h"
#include "bench/device/options.h"
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

enum { SKIPPED = 77, TAG = 1, MOST = 64, MAX_SAMPLES = 2001, WARM = 30 };

static int rank, ranks, peer;

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

static MPI_Datatype blocks(int bytes)
{
    MPI_Datatype type;

    MPI_Type_vector(bytes / 8, 1, 2, MPI_DOUBLE, &type);
    return type;
}

static const struct {
    const char *name;
    MPI_Datatype (*make)(int);
    int argument, messages;
} rows[] = {
    {"blocks_4K", blocks, 4096, 1},
    {"blocks_4K", blocks, 4096, 6},
    {"blocks_4K", blocks, 4096, 26},
    {"blocks_64K", blocks, 65536, 1},
    {"blocks_64K", blocks, 65536, 26},
    {"blocks_64K", blocks, 65536, 32},
    {"specfem3d_cm", device_points, 2202, 1},
    {"specfem3d_cm", device_points, 2202, 32},
    {"specfem3d_cm", device_points, 14806, 32},
    {"nas_mg_y", device_face, 34, 32},
    {"nas_mg_y", device_face, 130, 32},
    {"milc_su3_zd", device_lattice, 8, 32},
    {"milc_su3_zd", device_lattice, 16, 32},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- a row ------------------------------------------------------------------------------------------------------- */

typedef struct row {
    MPI_Datatype type;
    int n;
    test_buffer image;
    size_t origin;
    gpu_memory all, out[MOST], in[MOST]; /* the messages lie in one allocation, as those of a grid do */
    double isend_ns;
    MPI_Request kept[2 * MOST]; /* persistent: receives, then sends */
    MPI_Comm graph;             /* an edge for each message */
} row;

typedef void exchange_fn(row *r);

static row make_row(int i)
{
    row r = {.type = rows[i].make(rows[i].argument), .n = rows[i].messages};
    size_t each;

    MPI_Type_commit(&r.type);
    r.image = test_buffer_create(r.type, 1);
    r.origin = (size_t)(r.image.origin - r.image.memory);
    each = (r.image.bytes + 255) / 256 * 256;
    r.all = gpu_memory_make(GPU_DEVICE, 2 * each * (size_t)r.n);
    for (int k = 0; k < r.n; k++) {
        r.out[k] = r.in[k] = (gpu_memory){.kind = GPU_DEVICE, .bytes = r.image.bytes};
        r.out[k].at = r.all.at + (size_t)k * each;
        r.in[k].at = r.all.at + (size_t)(r.n + k) * each;
    }
    return r;
}

static void free_row(row *r)
{
    gpu_memory_free(&r->all);
    test_buffer_free(&r->image);
    MPI_Type_free(&r->type);
}

static void exchange_isend(row *r)
{
    MPI_Request requests[2 * MOST];
    MPI_Status statuses[2 * MOST];
    double begin;

    for (int i = 0; i < r->n; i++)
        MPI_Irecv(r->in[i].at + r->origin, 1, r->type, peer, TAG + i, MPI_COMM_WORLD, &requests[i]);
    begin = bench_now();
    for (int i = 0; i < r->n; i++)
        MPI_Isend(r->out[i].at + r->origin, 1, r->type, peer, TAG + i, MPI_COMM_WORLD, &requests[r->n + i]);
    r->isend_ns = (bench_now() - begin) / r->n;
    MPI_Waitall(2 * r->n, requests, statuses);
}

static void exchange_startall(row *r)
{
    MPI_Status statuses[2 * MOST];

    MPI_Startall(2 * r->n, r->kept);
    MPI_Waitall(2 * r->n, r->kept, statuses);
}

static void exchange_neighbours(row *r)
{
    MPI_Aint outs[MOST], ins[MOST];
    MPI_Datatype types[MOST];
    int ones[MOST];

    for (int i = 0; i < r->n; i++) {
        ones[i] = 1;
        types[i] = r->type;
        outs[i] = (MPI_Aint)(r->out[i].at + r->origin);
        ins[i] = (MPI_Aint)(r->in[i].at + r->origin);
    }
    MPI_Neighbor_alltoallw(MPI_BOTTOM, ones, outs, types, MPI_BOTTOM, ones, ins, types, r->graph);
}

static const struct {
    const char *name;
    exchange_fn *run;
} modes[] = {{"isend", exchange_isend}, {"startall", exchange_startall}, {"neighbours", exchange_neighbours}};
enum { MODES = sizeof modes / sizeof *modes };

static exchange_fn *exchange = exchange_isend;

/* What the modes other than isend need. */
static void keep(row *r)
{
    int peers[MOST], weights[MOST];

    for (int i = 0; i < r->n; i++) {
        MPI_Recv_init(r->in[i].at + r->origin, 1, r->type, peer, TAG + i, MPI_COMM_WORLD, &r->kept[i]);
        MPI_Send_init(r->out[i].at + r->origin, 1, r->type, peer, TAG + i, MPI_COMM_WORLD, &r->kept[r->n + i]);
        peers[i] = peer;
        weights[i] = 1;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, r->n, peers, weights, r->n, peers, weights, MPI_INFO_NULL, 0,
                                   &r->graph);
}

static void drop(row *r)
{
    for (int i = 0; i < 2 * r->n; i++)
        MPI_Request_free(&r->kept[i]);
    MPI_Comm_free(&r->graph);
}

static void verify(row *r, const char *name)
{
    test_buffer want = test_buffer_create(r->type, 1);
    int bytes = test_packed_bytes(r->type, 1);
    char *packed = malloc((size_t)bytes);

    for (int i = 0; i < r->n; i++) {
        test_buffer_fill(&r->image, (unsigned)i);
        gpu_write(&r->out[i], 0, r->image.memory, r->image.bytes);
        test_buffer_fill(&r->image, 99);
        gpu_write(&r->in[i], 0, r->image.memory, r->image.bytes);
    }
    PMPI_Barrier(MPI_COMM_WORLD);
    exchange(r);
    for (int i = 0; i < r->n; i++) {
        int at = 0;

        test_buffer_fill(&want, (unsigned)i);
        PMPI_Pack(want.origin, 1, r->type, packed, bytes, &at, MPI_COMM_SELF);
        test_buffer_fill(&want, 99);
        at = 0;
        PMPI_Unpack(packed, bytes, &at, want.origin, 1, r->type, MPI_COMM_SELF);
        gpu_read(&r->in[i], 0, r->image.memory, r->image.bytes);
        CHECK(test_buffer_equal(&r->image, &want), "%s, message %d of %d", name, i, r->n);
    }
    test_buffer_free(&want);
    free(packed);
}

static void run(int i, double seconds)
{
    static double all[MAX_SAMPLES], sends[MAX_SAMPLES];
    row r = make_row(i);
    double begin = bench_now();
    int n;

    keep(&r);
    verify(&r, rows[i].name);
    if (seconds <= 0) {
        drop(&r);
        free_row(&r);
        return;
    }
    for (int k = 0; k < WARM; k++)
        exchange(&r);
    verify(&r, rows[i].name);
    begin = bench_now();
    for (int k = 0; k < WARM; k++)
        exchange(&r);
    n = (int)(seconds * 1e9 / ((bench_now() - begin) / WARM));
    n = n < 15 ? 15 : n > MAX_SAMPLES ? MAX_SAMPLES : n;
    PMPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int k = 0; k < n; k++) {
        PMPI_Barrier(MPI_COMM_WORLD);
        begin = bench_now();
        exchange(&r);
        all[k] = (bench_now() - begin) / 1e3;
        sends[k] = r.isend_ns / 1e3;
    }
    if (rank == 0)
        printf("%-14s %9d B x %3d  %9.1f us   a send %6.2f us\n", rows[i].name, test_packed_bytes(r.type, 1), r.n,
               pw_samples_median(all, n), pw_samples_median(sends, n));
    fflush(stdout);
    drop(&r);
    free_row(&r);
}

/* False: there is no such mode. */
static bool choose(const char *mode)
{
    for (int i = 0; i < MODES; i++)
        if (!mode || !strcmp(mode, modes[i].name)) {
            exchange = modes[i].run;
            return true;
        }
    return false;
}

int main(int argc, char **argv)
{
    device_options o = {.seconds = 0.2};
    int rc;

    if (!device_read_options(argc, argv, "t:f:n:d:m:", &o) || !choose(o.mode))
        return 2;
    if (!device_begin(&argc, &argv, o.driver, &rank, &ranks))
        return SKIPPED;
    peer = ranks - 1 - rank;
    for (int i = 0; i < ROWS; i++)
        if ((!o.only || !strcmp(o.only, rows[i].name)) && (o.flight == 0 || o.flight == rows[i].messages))
            run(i, o.seconds);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
