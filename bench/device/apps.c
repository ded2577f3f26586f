/*
 * What programs exchange whose data lie in GPU memory. Two after HAND (Hashmi et al., SC 2018): the halo of a
 * two-dimensional stencil, by nonblocking messages of rows and columns; and the particles of an n-body simulation, by
 * MPI_Allgather of structs. And the halo of a box across its fastest axis, as 2DECOMP exchanges it: vectors of one
 * double, or of three. Beside them, in turns, is what programs do by hand: rows are copied by the driver
 * (cuMemcpy2DAsync) to and from pinned memory, those of the box to and from memory of the GPU that is sent as it is;
 * structs are gathered whole, holes and all. Each row is verified before it is timed and after; medians, the largest of
 * all ranks. With PACKWRIGHT_DISABLE=1 "ours" is the MPI's own.
 *
 * usage: device_apps_<mpi> [-t seconds a row; 0: only verifies] [-f application] [-s sizes, by commas] [-d driver]
 */
#include "base/samples.h"
#include "bench/clock.h"
#include "bench/device/options.h"
#include "runtime/engine/gpu/driver.h"
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

enum { SKIPPED = 77, MAX_SAMPLES = 1001, WARM = 20, DOUBLE = 8, SIDES = 4, PARTICLE = 64, MAX_SIZES = 8 };

static int rank, ranks;

/* Memory of the GPU, its image in the host, and what is sent and received by hand: pinned memory, or the GPU's. */
typedef struct app {
    int n, depth, neighbours[SIDES]; /* `depth`: of a box's halo */
    MPI_Datatype type;               /* a column, a particle, or a layer */
    gpu_memory device, sent, staged[2];
    unsigned char *image;
} app;

/* When packing by hand was over, and when all had arrived. */
typedef struct phases {
    double packed, arrived;
} phases;

typedef void step_fn(const app *a, phases *p);

/* ---- the driver -------------------------------------------------------------------------------------------------- */

static void copied(int result)
{
    if (result != 0) {
        fprintf(stderr, "a copy of the driver: CUDA error %d\n", result);
        exit(2);
    }
}

static void wait_for_copies(void)
{
    copied(((int (*)(void *))gpu_symbol("cuStreamSynchronize"))(NULL));
}

static void copy(const void *to, const void *from, size_t bytes)
{
    int (*call)(pw_cu_ptr, pw_cu_ptr, size_t, void *) =
        (int (*)(pw_cu_ptr, pw_cu_ptr, size_t, void *))gpu_symbol("cuMemcpyAsync");

    copied(call((pw_cu_ptr)(uintptr_t)to, (pw_cu_ptr)(uintptr_t)from, bytes, NULL));
}

/* ---- the stencil: a grid of n x n doubles and a halo of one ------------------------------------------------------ */

static unsigned char *cell(const app *a, const gpu_memory *grid, int row, int column)
{
    return grid->at + ((size_t)row * (size_t)(a->n + 2) + (size_t)column) * DOUBLE;
}

/* The side of the grid that a neighbour gets, or the part of the halo that comes from there: first row and column. */
static unsigned char *side(const app *a, int which, bool is_halo)
{
    const int near = is_halo ? 0 : 1, far = is_halo ? a->n + 1 : a->n;

    switch (which) {
    case 0: return cell(a, &a->device, near, 1);
    case 1: return cell(a, &a->device, far, 1);
    case 2: return cell(a, &a->device, 1, near);
    default: return cell(a, &a->device, 1, far);
    }
}

static bool is_column(int which)
{
    return which >= 2;
}

/* The ranks lie in a periodic grid, and two of them beside each other: columns are what types are for. */
static void find_neighbours(app *a)
{
    int dims[2] = {0}, periodic[2] = {1, 1};
    MPI_Comm grid;

    MPI_Dims_create(ranks, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){dims[1], dims[0]}, periodic, 0, &grid);
    MPI_Cart_shift(grid, 0, 1, &a->neighbours[0], &a->neighbours[1]);
    MPI_Cart_shift(grid, 1, 1, &a->neighbours[2], &a->neighbours[3]);
    MPI_Comm_free(&grid);
}

static void stencil(const app *a, phases *p)
{
    MPI_Request requests[2 * SIDES];
    MPI_Status statuses[2 * SIDES];

    (void)p;
    for (int i = 0; i < SIDES; i++)
        MPI_Irecv(side(a, i, true), is_column(i) ? 1 : a->n, is_column(i) ? a->type : MPI_DOUBLE, a->neighbours[i], i,
                  MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < SIDES; i++)
        MPI_Isend(side(a, i, false), is_column(i) ? 1 : a->n, is_column(i) ? a->type : MPI_DOUBLE, a->neighbours[i],
                  i ^ 1, MPI_COMM_WORLD, &requests[SIDES + i]);
    MPI_Waitall(2 * SIDES, requests, statuses);
}

/* The part of pinned memory that belongs to a side. */
static unsigned char *kept(const app *a, bool is_halo, int which)
{
    return a->staged[is_halo].at + (size_t)which * (size_t)a->n * DOUBLE;
}

static void copy_side(const app *a, int which, bool is_halo)
{
    const size_t pitch = (size_t)(a->n + 2) * DOUBLE, bytes = (size_t)a->n * DOUBLE;
    const pw_cu_ptr device = (pw_cu_ptr)(uintptr_t)side(a, which, is_halo);
    const pw_cu_ptr host = (pw_cu_ptr)(uintptr_t)kept(a, is_halo, which);
    pw_cu_copy_2d rows = {
        .src_type = 4, .dst_type = 4, .width = DOUBLE, .height = (size_t)a->n}; /* unified addresses */

    if (!is_column(which)) {
        copy((void *)(uintptr_t)(is_halo ? device : host), (void *)(uintptr_t)(is_halo ? host : device), bytes);
        return;
    }
    rows.src_device = is_halo ? host : device;
    rows.src_pitch = is_halo ? DOUBLE : pitch;
    rows.dst_device = is_halo ? device : host;
    rows.dst_pitch = is_halo ? pitch : DOUBLE;
    copied(((int (*)(const pw_cu_copy_2d *, void *))gpu_symbol("cuMemcpy2DAsync_v2"))(&rows, NULL));
}

static void stencil_by_hand(const app *a, phases *p)
{
    MPI_Request requests[2 * SIDES];
    MPI_Status statuses[2 * SIDES];

    for (int i = 0; i < SIDES; i++)
        PMPI_Irecv(kept(a, true, i), a->n, MPI_DOUBLE, a->neighbours[i], i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < SIDES; i++)
        copy_side(a, i, false);
    wait_for_copies();
    p->packed = bench_now();
    for (int i = 0; i < SIDES; i++)
        PMPI_Isend(kept(a, false, i), a->n, MPI_DOUBLE, a->neighbours[i], i ^ 1, MPI_COMM_WORLD, &requests[SIDES + i]);
    PMPI_Waitall(2 * SIDES, requests, statuses);
    p->arrived = bench_now();
    for (int i = 0; i < SIDES; i++)
        copy_side(a, i, true);
    wait_for_copies();
}

static app make_stencil(int n)
{
    const size_t cells = (size_t)(n + 2) * (size_t)(n + 2);
    app a = {.n = n, .device = gpu_memory_make(GPU_DEVICE, cells * DOUBLE), .image = malloc(cells * DOUBLE)};

    MPI_Type_vector(n, 1, n + 2, MPI_DOUBLE, &a.type);
    MPI_Type_commit(&a.type);
    for (int i = 0; i < 2; i++)
        a.staged[i] = gpu_memory_make(GPU_PINNED, (size_t)n * SIDES * DOUBLE);
    find_neighbours(&a);
    return a;
}

/* ---- the box: n^3 doubles, and a halo of `depth` along its fastest axis ------------------------------------------ */

static size_t box_row(const app *a)
{
    return (size_t)(a->n + 2 * a->depth) * DOUBLE;
}

/* The layer that the neighbour on a side gets, or the part of the halo that comes from there: its first row. */
static unsigned char *layer(const app *a, int which, bool is_halo)
{
    int near = is_halo ? 0 : a->depth, far = is_halo ? a->n + a->depth : a->n;

    return a->device.at + (size_t)(which == 0 ? near : far) * DOUBLE;
}

/* Exchanges both layers, `count` objects each, from and to memory of the box or of packed layers. */
static void exchange_layers(const app *a, unsigned char *const at[2][2], int count, MPI_Datatype type)
{
    MPI_Request requests[4];
    MPI_Status statuses[4];

    for (int i = 0; i < 2; i++)
        MPI_Irecv(at[true][i], count, type, a->neighbours[i], i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 2; i++)
        MPI_Isend(at[false][i], count, type, a->neighbours[i], i ^ 1, MPI_COMM_WORLD, &requests[2 + i]);
    MPI_Waitall(4, requests, statuses);
}

static void box(const app *a, phases *p)
{
    unsigned char *const at[2][2] = {{layer(a, 0, false), layer(a, 1, false)}, {layer(a, 0, true), layer(a, 1, true)}};

    (void)p;
    exchange_layers(a, at, 1, a->type);
}

static void copy_layer(const app *a, unsigned char *packed, int which, bool is_halo)
{
    const pw_cu_ptr in_box = (pw_cu_ptr)(uintptr_t)layer(a, which, is_halo), dense = (pw_cu_ptr)(uintptr_t)packed;
    const size_t width = (size_t)a->depth * DOUBLE, pitch = box_row(a);
    const pw_cu_copy_2d rows = {.src_type = 4, /* unified addresses */
                                .dst_type = 4,
                                .width = width,
                                .height = (size_t)a->n * (size_t)a->n,
                                .src_device = is_halo ? dense : in_box,
                                .src_pitch = is_halo ? width : pitch,
                                .dst_device = is_halo ? in_box : dense,
                                .dst_pitch = is_halo ? pitch : width};

    copied(((int (*)(const pw_cu_copy_2d *, void *))gpu_symbol("cuMemcpy2DAsync_v2"))(&rows, NULL));
}

static void box_by_hand(const app *a, phases *p)
{
    const size_t bytes = a->staged[0].bytes / 2;
    unsigned char *const at[2][2] = {{a->staged[0].at, a->staged[0].at + bytes},
                                     {a->staged[1].at, a->staged[1].at + bytes}};

    for (int i = 0; i < 2; i++)
        copy_layer(a, at[false][i], i, false);
    wait_for_copies();
    p->packed = bench_now();
    exchange_layers(a, at, (int)(bytes / DOUBLE), MPI_DOUBLE);
    p->arrived = bench_now();
    for (int i = 0; i < 2; i++)
        copy_layer(a, at[true][i], i, true);
    wait_for_copies();
}

static app make_box(int n, int depth)
{
    app a = {.n = n, .depth = depth};
    const size_t rows = (size_t)n * (size_t)n;

    a.device = gpu_memory_make(GPU_DEVICE, rows * box_row(&a));
    a.image = malloc(a.device.bytes);
    MPI_Type_vector(n * n, depth, n + 2 * depth, MPI_DOUBLE, &a.type);
    MPI_Type_commit(&a.type);
    for (int i = 0; i < 2; i++) {
        a.staged[i] = gpu_memory_make(GPU_DEVICE, 2 * rows * (size_t)depth * DOUBLE);
        a.neighbours[i] = (rank + (i == 0 ? ranks - 1 : 1)) % ranks;
    }
    return a;
}

static app make_thin_box(int n)
{
    return make_box(n, 1);
}

static app make_deep_box(int n)
{
    return make_box(n, 3);
}

/* ---- the particles: n of each rank are gathered by all ----------------------------------------------------------- */

static void n_body(const app *a, phases *p)
{
    (void)p;
    MPI_Allgather(a->sent.at, a->n, a->type, a->device.at, a->n, a->type, MPI_COMM_WORLD);
}

static void n_body_by_hand(const app *a, phases *p)
{
    copy(a->staged[0].at, a->sent.at, a->sent.bytes);
    wait_for_copies();
    p->packed = bench_now();
    PMPI_Allgather(a->staged[0].at, a->n * PARTICLE, MPI_BYTE, a->staged[1].at, a->n * PARTICLE, MPI_BYTE,
                   MPI_COMM_WORLD);
    p->arrived = bench_now();
    copy(a->device.at, a->staged[1].at, a->device.bytes);
    wait_for_copies();
}

static app make_particles(int n, int parts, const int *lengths, const MPI_Aint *at, const MPI_Datatype *types)
{
    const size_t bytes = (size_t)n * PARTICLE;
    app a = {.n = n, .sent = gpu_memory_make(GPU_DEVICE, bytes), .image = malloc(bytes * (size_t)ranks)};
    MPI_Datatype fields;

    a.device = gpu_memory_make(GPU_DEVICE, bytes * (size_t)ranks);
    a.staged[0] = gpu_memory_make(GPU_PINNED, bytes);
    a.staged[1] = gpu_memory_make(GPU_PINNED, bytes * (size_t)ranks);
    MPI_Type_create_struct(parts, lengths, at, types, &fields);
    MPI_Type_create_resized(fields, 0, PARTICLE, &a.type);
    MPI_Type_commit(&a.type);
    MPI_Type_free(&fields);
    return a;
}

/* Position and mass of {position, velocity, mass, number}. */
static app make_simple(int n)
{
    return make_particles(n, 2, (int[]){3, 1}, (MPI_Aint[]){0, 48}, (MPI_Datatype[]){MPI_DOUBLE, MPI_DOUBLE});
}

/* Five fields of four types, one of which lies at the particle's end. */
static app make_complex(int n)
{
    return make_particles(n, 5, (int[]){1, 1, 1, 3, 3}, (MPI_Aint[]){0, 2, 4, 8, 52},
                          (MPI_Datatype[]){MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_FLOAT});
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    app (*make)(int n);
    step_fn *ours, *by_hand;
    int sizes[4]; /* 0 after the last */
} apps[] = {{"stencil2d", make_stencil, stencil, stencil_by_hand, {2048, 4096, 8192}},
            {"2decomp_8", make_thin_box, box, box_by_hand, {64, 128, 256}},
            {"2decomp_24", make_deep_box, box, box_by_hand, {64, 128, 256}},
            {"nbody_simple", make_simple, n_body, n_body_by_hand, {1024, 16384, 262144}},
            {"nbody_complex", make_complex, n_body, n_body_by_hand, {1024, 16384, 262144}}};
enum { APPS = sizeof apps / sizeof *apps };

static void free_app(app *a)
{
    gpu_memory_free(&a->device);
    if (a->sent.at)
        gpu_memory_free(&a->sent);
    for (int i = 0; i < 2; i++)
        gpu_memory_free(&a->staged[i]);
    free(a->image);
    MPI_Type_free(&a->type);
}

/* Returns a copy of what the application's memory holds after a step that began with bytes of `seed`. */
static unsigned char *after(const app *a, step_fn *step)
{
    unsigned char *held = malloc(a->device.bytes);

    test_fill(a->image, a->device.bytes, 1 + (unsigned)rank);
    gpu_write(&a->device, 0, a->image, a->device.bytes);
    if (a->sent.at)
        gpu_write(&a->sent, 0, a->image, a->sent.bytes);
    PMPI_Barrier(MPI_COMM_WORLD);
    step(a, &(phases){0});
    gpu_read(&a->device, 0, held, a->device.bytes);
    return held;
}

/* The halo must be what is exchanged by hand. Of particles, the type's bytes must be, and all others as before. */
static void verify(const app *a, int which)
{
    unsigned char *got = after(a, apps[which].ours), *want = after(a, apps[which].by_hand);

    if (a->sent.at) {
        const int n = a->n * ranks, bytes = test_packed_bytes(a->type, n);
        char *packed = malloc((size_t)bytes);
        int at = 0;

        PMPI_Pack(want, n, a->type, packed, bytes, &at, MPI_COMM_SELF);
        test_fill(want, a->device.bytes, 1 + (unsigned)rank);
        at = 0;
        PMPI_Unpack(packed, bytes, &at, want, n, a->type, MPI_COMM_SELF);
        free(packed);
    }
    CHECK(memcmp(got, want, a->device.bytes) == 0, "%s, %d", apps[which].name, a->n);
    free(got);
    free(want);
}

/* What a step by hand consists of, and the whole, microseconds. */
enum { PACK, EXCHANGE, UNPACK, STEP, TIMES };
typedef double step_times[TIMES][MAX_SAMPLES];

static void time_step(const app *a, step_fn *step, step_times times, int sample)
{
    phases p = {0};
    double begin, end;

    PMPI_Barrier(MPI_COMM_WORLD);
    begin = bench_now();
    step(a, &p);
    end = bench_now();
    times[PACK][sample] = (p.packed - begin) / 1e3;
    times[EXCHANGE][sample] = (p.arrived - p.packed) / 1e3;
    times[UNPACK][sample] = (end - p.arrived) / 1e3;
    times[STEP][sample] = (end - begin) / 1e3;
}

/* Medians, the largest of all ranks. */
static void worst_medians(step_times times, int n, double us[TIMES])
{
    for (int i = 0; i < TIMES; i++)
        us[i] = pw_samples_median(times[i], n);
    PMPI_Allreduce(MPI_IN_PLACE, us, TIMES, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

/* Returns how many samples the time is enough for, on rank 0. */
static int warm_up(const app *a, int which, double seconds)
{
    double begin = bench_now();
    phases p;
    int n;

    for (int i = 0; i < WARM; i++) {
        apps[which].ours(a, &p);
        apps[which].by_hand(a, &p);
    }
    n = (int)(seconds * 1e9 / ((bench_now() - begin) / WARM));
    n = n < 15 ? 15 : n > MAX_SAMPLES ? MAX_SAMPLES : n;
    PMPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return n;
}

static void measure(const app *a, int which, double seconds)
{
    static step_times ours, by_hand;
    double us[TIMES], hand_us[TIMES];
    int n = warm_up(a, which, seconds);

    for (int i = 0; i < n; i++) {
        time_step(a, apps[which].ours, ours, i);
        time_step(a, apps[which].by_hand, by_hand, i);
    }
    worst_medians(ours, n, us);
    worst_medians(by_hand, n, hand_us);
    if (rank == 0)
        printf("%-14s %8d | ours %9.1f µs | by hand %9.1f µs = pack %.1f, exchange %.1f, unpack %.1f | %6.2f\n",
               apps[which].name, a->n, us[STEP], hand_us[STEP], hand_us[PACK], hand_us[EXCHANGE], hand_us[UNPACK],
               hand_us[STEP] / us[STEP]);
    fflush(stdout);
}

static void run(int which, int n, double seconds)
{
    app a = apps[which].make(n);

    verify(&a, which);
    if (seconds > 0) {
        measure(&a, which, seconds);
        verify(&a, which);
    }
    free_app(&a);
}

/* Reads sizes by commas, 0 after the last. False: one is no size. */
static bool read_sizes(const char *text, int sizes[MAX_SIZES])
{
    int n = 0;

    for (const char *s = text; s && n < MAX_SIZES - 1; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL)
        if ((sizes[n++] = atoi(s)) < 1)
            return false;
    sizes[n] = 0;
    return true;
}

static void run_all(int which, const int *sizes, double seconds)
{
    run(which, sizes[0], seconds);
    for (int i = 1; sizes[i] && seconds > 0; i++) /* the stand-in for the driver interprets */
        run(which, sizes[i], seconds);
}

int main(int argc, char **argv)
{
    device_options o = {.seconds = 0.2};
    int rc, sizes[MAX_SIZES];

    if (!device_read_options(argc, argv, "t:f:s:d:", &o))
        return 2;
    if (!read_sizes(o.sizes, sizes)) {
        fprintf(stderr, "device_apps: -s %s: edges of grids and numbers of particles, by commas\n", o.sizes);
        return 2;
    }
    if (!device_begin(&argc, &argv, o.driver, &rank, &ranks))
        return SKIPPED;
    for (int i = 0; i < APPS; i++)
        if (!o.only || !strcmp(o.only, apps[i].name))
            run_all(i, o.sizes ? sizes : apps[i].sizes, o.seconds);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
