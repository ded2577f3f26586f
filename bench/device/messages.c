/*
 * Messages between the GPU memory of two ranks of a node, as Packwright carries them out: this program calls MPI_X, and
 * is linked with the interposer. What is compared are runs: with PACKWRIGHT_SHARED=0 and without, by strategies
 * (PACKWRIGHT_STRATEGY), by MPIs. Within a run, unless PACKWRIGHT_STRATEGY is set, the same messages follow by each
 * strategy that may carry them, by turns: two processes differ by more than two strategies, and so do the first second
 * and the tenth. For contiguous messages, what a program does that copies to and from pinned memory itself, with one
 * message at a time, comes last. Each layout is verified before it is timed.
 *
 * usage: device_messages_<mpi> [-s sizes in KiB, by commas] [-t seconds a column; 0: only verifies] [-f layout] [-n
 * messages in flight] [-d driver]
 */
#include "base/samples.h"
#include "bench/clock.h"
#include "bench/device/layouts.h"
#include "bench/device/options.h"
#include "runtime/mpi/strategy/strategy.h"
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

enum { SKIPPED = 77, TAG = 1, MOST_FLIGHT = 64, MAX_SAMPLES = 2001, TURNS = 5, FIRST = 128, WARM = 10, LAYOUTS = 12 };

static const char *const layouts[LAYOUTS] = {"contiguous", "blocks_8",    "blocks_64",    "blocks_512",
                                             "sparse_8",   "box",         "odd_251",      "nas_mg_y",
                                             "wrf_y",      "milc_su3_zd", "specfem3d_cm", "lammps_full"};

typedef struct row {
    MPI_Datatype type;
    int bytes; /* packed */
    test_buffer image;
    size_t origin;
    gpu_memory out, in[MOST_FLIGHT];
    gpu_memory pinned[2]; /* to send from and to receive into, by hand */
} row;

typedef void exchange_fn(const row *r);

static int rank, flight = 8;

static MPI_Datatype make_type(int layout, int bytes)
{
    MPI_Datatype type;
    int n = 8;

    switch (layout) {
    case 0: MPI_Type_contiguous(bytes, MPI_BYTE, &type); break;
    case 1: MPI_Type_vector(bytes / 8, 1, 2, MPI_DOUBLE, &type); break;
    case 2: MPI_Type_vector(bytes / 64, 8, 16, MPI_DOUBLE, &type); break;
    case 3: MPI_Type_vector(bytes / 512, 64, 128, MPI_DOUBLE, &type); break;
    case 4: MPI_Type_vector(bytes / 8, 1, 8, MPI_DOUBLE, &type); break;
    case 5: /* three of sixteen columns of doubles, as a narrow box's halo has */
        while (8 * 3 * (n + 1) * (n + 1) <= bytes)
            n++;
        MPI_Type_create_subarray(3, (int[]){n, n, 16}, (int[]){n, n, 3}, (int[]){0, 0, 3}, MPI_ORDER_C, MPI_DOUBLE,
                                 &type);
        break;
    case 6: MPI_Type_vector(bytes / 251, 251, 509, MPI_BYTE, &type); break;
    default: type = device_layout(layouts[layout], bytes); break;
    }
    MPI_Type_commit(&type);
    return type;
}

static row make_row(int layout, int bytes)
{
    row r = {.type = make_type(layout, bytes)};

    r.bytes = test_packed_bytes(r.type, 1);
    r.image = test_buffer_create(r.type, 1);
    r.origin = (size_t)(r.image.origin - r.image.memory);
    r.out = gpu_memory_make(GPU_DEVICE, r.image.bytes);
    for (int i = 0; i < flight; i++)
        r.in[i] = gpu_memory_make(GPU_DEVICE, r.image.bytes);
    for (int i = 0; i < 2; i++)
        r.pinned[i] = gpu_memory_make(GPU_PINNED, (size_t)r.bytes);
    return r;
}

static void free_row(row *r)
{
    gpu_memory_free(&r->out);
    for (int i = 0; i < flight; i++)
        gpu_memory_free(&r->in[i]);
    for (int i = 0; i < 2; i++)
        gpu_memory_free(&r->pinned[i]);
    test_buffer_free(&r->image);
    MPI_Type_free(&r->type);
}

/* ---- exchanges --------------------------------------------------------------------------------------------------- */

static void there_and_back(const row *r)
{
    void *out = r->out.at + r->origin, *in = r->in[0].at + r->origin;

    if (rank == 0)
        MPI_Send(out, 1, r->type, 1, TAG, MPI_COMM_WORLD);
    MPI_Recv(in, 1, r->type, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Send(out, 1, r->type, 0, TAG, MPI_COMM_WORLD);
}

static void in_flight(const row *r)
{
    MPI_Request requests[2 * MOST_FLIGHT];
    MPI_Status statuses[2 * MOST_FLIGHT];

    for (int i = 0; i < flight; i++)
        MPI_Irecv(r->in[i].at + r->origin, 1, r->type, 1 - rank, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < flight; i++)
        MPI_Isend(r->out.at + r->origin, 1, r->type, 1 - rank, i, MPI_COMM_WORLD, &requests[flight + i]);
    MPI_Waitall(2 * flight, requests, statuses);
}

static void send_by_hand(const row *r)
{
    gpu_read(&r->out, r->origin, r->pinned[0].at, (size_t)r->bytes);
    PMPI_Send(r->pinned[0].at, r->bytes, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD);
}

static void by_hand(const row *r)
{
    if (rank == 0)
        send_by_hand(r);
    PMPI_Recv(r->pinned[1].at, r->bytes, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    gpu_write(&r->in[0], r->origin, r->pinned[1].at, (size_t)r->bytes);
    if (rank == 1)
        send_by_hand(r);
}

#define CHOSEN PW_STRATEGY_COUNT /* by Packwright, for each message */

static const struct {
    const char *name;
    exchange_fn *run;
    int ways;       /* the time of one way is reported */
    bool in_flight; /* many messages, else one */
    int layouts;    /* the first so many */
    pw_strategy_id by;
} modes[] = {{"ping-pong", there_and_back, 2, false, LAYOUTS, CHOSEN},
             {"direct", there_and_back, 2, false, LAYOUTS, PW_STRATEGY_DIRECT},
             {"one_shot", there_and_back, 2, false, LAYOUTS, PW_STRATEGY_ONE_SHOT},
             {"staged", there_and_back, 2, false, LAYOUTS, PW_STRATEGY_STAGED},
             {"in flight", in_flight, 1, true, LAYOUTS, CHOSEN},
             {"direct", in_flight, 1, true, LAYOUTS, PW_STRATEGY_DIRECT},
             {"one_shot", in_flight, 1, true, LAYOUTS, PW_STRATEGY_ONE_SHOT},
             {"staged", in_flight, 1, true, LAYOUTS, PW_STRATEGY_STAGED},
             {"by hand", by_hand, 2, false, 1, CHOSEN}};
enum { MODES = 9 };

/* Returns whether the mode is to be run: PACKWRIGHT_STRATEGY says by which strategy all messages go. */
static bool enter_mode(int mode)
{
    if (getenv("PACKWRIGHT_STRATEGY"))
        return modes[mode].by == CHOSEN;
    return packwright_force_strategy(modes[mode].by);
}

static int messages_of(int mode)
{
    return modes[mode].in_flight ? flight : 1;
}

/* Both ranks have sent the same, into memory that held something else. */
static void verify(row *r, const char *name, int mode)
{
    test_buffer want = test_buffer_create(r->type, 1);
    int bytes = test_packed_bytes(r->type, 1), at = 0;
    char *packed = malloc((size_t)bytes);

    test_buffer_fill(&r->image, 1);
    gpu_write(&r->out, 0, r->image.memory, r->image.bytes);
    PMPI_Pack(r->image.origin, 1, r->type, packed, bytes, &at, MPI_COMM_SELF);
    test_buffer_fill(&r->image, 2);
    for (int i = 0; i < messages_of(mode); i++)
        gpu_write(&r->in[i], 0, r->image.memory, r->image.bytes);
    test_buffer_fill(&want, 2);
    at = 0;
    PMPI_Unpack(packed, bytes, &at, want.origin, 1, r->type, MPI_COMM_SELF);
    modes[mode].run(r);
    for (int i = 0; i < messages_of(mode); i++) {
        gpu_read(&r->in[i], 0, r->image.memory, r->image.bytes);
        CHECK(test_buffer_equal(&r->image, &want), "%s of %d bytes, %s, message %d", name, bytes, modes[mode].name, i);
    }
    test_buffer_free(&want);
    free(packed);
}

/* Returns the median, µs, after so many exchanges that are not counted. */
static double measure(const row *r, int mode, int warm, double seconds)
{
    static double samples[MAX_SAMPLES];
    double begin;
    int n;

    begin = bench_now();
    for (int i = 0; i < warm; i++)
        modes[mode].run(r);
    n = (int)(seconds * 1e9 / ((bench_now() - begin) / warm));
    n = n < 15 ? 15 : n > MAX_SAMPLES ? MAX_SAMPLES : n;
    PMPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        PMPI_Barrier(MPI_COMM_WORLD);
        begin = bench_now();
        modes[mode].run(r);
        samples[i] = (bench_now() - begin) / 1e3 / modes[mode].ways;
    }
    return pw_samples_median(samples, n);
}

/* The first turn of each mode is long enough that Packwright has tried its ways before the others are counted. */
static void run_modes(int layout, int bytes, double seconds, double *us)
{
    double turns[MODES][TURNS];
    row r = make_row(layout, bytes);

    for (int turn = 0; turn < TURNS && (turn == 0 || seconds > 0); turn++)
        for (int mode = 0; mode < MODES && layout < modes[mode].layouts; mode++) {
            if (!enter_mode(mode))
                continue;
            if (turn == 0)
                verify(&r, layouts[layout], mode);
            if (seconds > 0)
                turns[mode][turn] = measure(&r, mode, turn ? WARM : FIRST, seconds / TURNS);
            if (seconds > 0 && turn == TURNS - 1)
                us[mode] = pw_samples_median(turns[mode], TURNS);
        }
    free_row(&r);
}

static void print(int layout, int bytes, const double *us)
{
    MPI_Datatype type = make_type(layout, bytes);
    int packed = test_packed_bytes(type, 1);

    printf("%-12s %8d", layouts[layout], packed);
    for (int mode = 0; mode < MODES; mode++)
        if (us[mode] > 0)
            printf(" | %s %9.1f µs %6.2f GB/s", modes[mode].name, us[mode],
                   (double)packed * messages_of(mode) / us[mode] * 1e-3);
    printf("\n");
    fflush(stdout);
    MPI_Type_free(&type);
}

/* Returns what follows the next comma, or NULL. */
static const char *next_size(const char *sizes)
{
    const char *comma = strchr(sizes, ',');

    return comma ? comma + 1 : NULL;
}

int main(int argc, char **argv)
{
    device_options o = {.seconds = 0.2, .sizes = "64,512,4096,32768", .flight = flight};
    int rc, ranks;

    if (!device_read_options(argc, argv, "s:t:f:n:d:", &o) || o.flight < 1 || o.flight > MOST_FLIGHT)
        return 2;
    flight = o.flight;
    if (!device_begin(&argc, &argv, o.driver, &rank, &ranks))
        return SKIPPED;
    for (int layout = 0; layout < LAYOUTS; layout++)
        for (const char *s = o.sizes; s && (!o.only || !strcmp(o.only, layouts[layout])); s = next_size(s)) {
            double us[MODES] = {0};

            run_modes(layout, atoi(s) << 10, o.seconds, us);
            if (rank == 0)
                print(layout, atoi(s) << 10, us);
        }
    rc = test_result();
    MPI_Finalize();
    return rc;
}
