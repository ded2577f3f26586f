/*
 * Exchanges of blocks in GPU memory, which the receiver's GPU reads in the sender's: MPI_Alltoall, MPI_Alltoallv of
 * bytes and of spread doubles, MPI_Alltoallw, the same with a request, and a neighbourhood. Blocks of many lengths, of
 * which some are empty and some so short that the MPI copies them; again and again, since the first ones go by pinned
 * memory; sent from GPU memory to ranks of which one receives into host memory. The stand-in tells whether memory of
 * other processes was opened.
 *
 * usage: exchanged <driver, or ->. Exits 77, for "skipped", without a GPU.
 */
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

enum { SKIPPED = 77, RANKS = 3, ROUNDS = 5, SPREAD = 2, SLOT = 1 << 20, BYTES = RANKS * SLOT * SPREAD };

typedef enum call { ALLTOALL, ALLTOALLV, SPREAD_ALLTOALLV, ALLTOALLW, IALLTOALLV, NEIGHBOUR, CALLS } call;

static const char *const names[CALLS] = {"alltoall",  "alltoallv",  "alltoallv of spread doubles",
                                         "alltoallw", "ialltoallv", "neighbor_alltoallw"};

static int rank, ranks;
static MPI_Comm ring; /* each rank's neighbours are all ranks */
static MPI_Datatype spread;
static gpu_memory out, in, host;
static unsigned char *image, *want;

/* Doubles of the block that goes from one rank to another. */
static int doubles(call c, int from, int to)
{
    static const int sizes[] = {90000, 5000, 30, 0, 131072 / 2, 70001, 40000};

    return c == ALLTOALL ? 40000 : sizes[(from * 3 + to * 2) % 7];
}

static bool is_spread(call c)
{
    return c == SPREAD_ALLTOALLV || c == ALLTOALLW || c == NEIGHBOUR;
}

/* In which doubles a block begins. */
static int slot(call c, int other)
{
    return c == ALLTOALL ? other * doubles(c, 0, 0) : other * (SLOT / 8) * (is_spread(c) ? SPREAD : 1);
}

static double value(call c, int round, int from, int to, int k)
{
    return (((c * 7 + round) * RANKS + from) * RANKS + to) * 1e6 + k;
}

/* Writes the values of blocks to a buffer that is otherwise as test_fill makes it. */
static void make(unsigned char *buffer, call c, int round, bool sent)
{
    double *at = (double *)(void *)buffer;

    test_fill(buffer, BYTES, (unsigned)(sent ? 5 : 9));
    for (int other = 0; other < ranks; other++) {
        int from = sent ? rank : other, to = sent ? other : rank;

        for (int k = 0; k < doubles(c, from, to); k++)
            at[slot(c, other) + k * (is_spread(c) ? SPREAD : 1)] = value(c, round, from, to, k);
    }
}

typedef struct arguments {
    int counts[RANKS], displs[RANKS];
    MPI_Aint places[RANKS];
    MPI_Datatype types[RANKS];
} arguments;

/* Displacements of bytes for the calls with a type for each block. */
static void fill_in(arguments *a, call c, bool sent)
{
    MPI_Datatype type = is_spread(c) ? spread : c == ALLTOALLV ? MPI_BYTE : MPI_DOUBLE;
    int scale = c == ALLTOALLV ? 8 : 1;

    for (int i = 0; i < ranks; i++) {
        a->counts[i] = scale * doubles(c, sent ? rank : i, sent ? i : rank);
        a->displs[i] = slot(c, i) *
                       (c == ALLTOALLW ? 8
                        : is_spread(c) ? 1
                                       : scale) /
                       (c == SPREAD_ALLTOALLV ? SPREAD : 1);
        a->places[i] = (MPI_Aint)slot(c, i) * 8;
        a->types[i] = type;
    }
}

static void carry_out(call c, const void *from, void *to)
{
    MPI_Request request;
    arguments s, r;

    fill_in(&s, c, true);
    fill_in(&r, c, false);
    switch (c) {
    case ALLTOALL: MPI_Alltoall(from, s.counts[0], MPI_DOUBLE, to, r.counts[0], MPI_DOUBLE, MPI_COMM_WORLD); break;
    case ALLTOALLW:
        MPI_Alltoallw(from, s.counts, s.displs, s.types, to, r.counts, r.displs, r.types, MPI_COMM_WORLD);
        break;
    case NEIGHBOUR:
        MPI_Neighbor_alltoallw(from, s.counts, s.places, s.types, to, r.counts, r.places, r.types, ring);
        break;
    case IALLTOALLV:
        MPI_Ialltoallv(from, s.counts, s.displs, s.types[0], to, r.counts, r.displs, r.types[0], MPI_COMM_WORLD,
                       &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    default: MPI_Alltoallv(from, s.counts, s.displs, s.types[0], to, r.counts, r.displs, r.types[0], MPI_COMM_WORLD);
    }
}

/* The sender's buffer is overwritten as soon as the call has returned. */
static void exchange(call c, int round, const gpu_memory *to)
{
    make(image, c, round, true);
    gpu_write(&out, 0, image, BYTES);
    test_fill(want, BYTES, 9);
    gpu_write(to, 0, want, BYTES);
    carry_out(c, out.at, to->at);
    test_fill(image, BYTES, 77);
    gpu_write(&out, 0, image, BYTES);
    make(want, c, round, false);
    gpu_read(to, 0, image, BYTES);
    CHECK(!memcmp(image, want, BYTES), "%s, round %d, rank %d", names[c], round, rank);
}

static void make_ring(void)
{
    int all[RANKS], weights[RANKS];

    for (int i = 0; i < ranks; i++) {
        all[i] = i;
        weights[i] = 1;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ranks, all, weights, ranks, all, weights, MPI_INFO_NULL, 0, &ring);
    MPI_Type_create_resized(MPI_DOUBLE, 0, 8 * SPREAD, &spread);
    MPI_Type_commit(&spread);
}

int main(int argc, char **argv)
{
    long opened;
    bool readable, has_gpu = gpu_start_as_told(argc, argv);
    int rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!has_gpu || ranks > RANKS) {
        MPI_Finalize();
        return SKIPPED;
    }
    gpu_set_current_of(rank);
    out = gpu_memory_make(GPU_DEVICE, BYTES);
    in = gpu_memory_make(GPU_DEVICE, BYTES);
    host = gpu_memory_make(GPU_HOST, BYTES);
    image = malloc(BYTES);
    want = malloc(BYTES);
    make_ring();
    readable = test_reads_are_seen() && (ranks != 2 || test_can_read_peer());
    for (int c = 0; c < CALLS; c++)
        for (int round = 0; round < ROUNDS; round++)
            exchange((call)c, round, &in);
    opened = gpu_calls("cuIpcOpenMemHandle_v2");
    CHECK(!gpu_is_fake() || !readable || opened > 0, "rank %d has opened no memory of another one", rank);
    for (int c = 0; c < CALLS; c++)
        for (int round = 0; round < ROUNDS; round++)
            exchange((call)c, ROUNDS + round, rank == 1 ? &host : &in);
    MPI_Comm_free(&ring);
    MPI_Type_free(&spread);
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
