/*
 * Which messages between two GPU buffers go directly if the model chooses. Rank 0 sends, and the launches of the
 * stand-in driver on rank 0 tell whether it has packed a message. Long blocks go directly, once the receiver has shown
 * that its GPU reads rank 0's memory, and short blocks far apart are packed. With "corrected" the model says that the
 * receiver's kernel takes no time to speak of. Then short blocks go directly, too, until the times that the receiver
 * tells have corrected that.
 *
 * With "proof" messages take ways by turns: what has been proven of direct ones holds after others.
 *
 * usage: chosen <driver, or -> [corrected, proof, or unknown: with a driver that has FAKE_MAJOR in the environment].
 * Exits 77, for "skipped", without a GPU.
 */
#include <unistd.h>

#include "runtime/mpi/strategy/strategy.h"
#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"

/* A trial takes a message and a turn of FEW by the guess before it tries other ways. */
enum { SKIPPED = 77, TAG = 3, FEW = 4, PROOF = 3, GUESSED = 2, MANY = 80, MEG = 1 << 20 };

static int rank;
static bool counted; /* the stand-in's calls tell how messages went */

/* ---- a model ----------------------------------------------------------------------------------------------------- */

/* Has Packwright read a model in which direct messages are far too cheap. */
static void use_wrong_model(char *path)
{
    FILE *f = fdopen(mkstemp(path), "w");

    fprintf(f, "{\"format\": \"packwright-model\", \"version\": 2, \"mpi\": \"\", \"mpi_version\": \"\", "
               "\"cpu\": \"\", \"gpu\": \"\", \"date\": \"\", \"facts\": {\"peer_launch\": 12000, "
               "\"peer_bytes\": 60000}}\n");
    fclose(f);
    setenv("PACKWRIGHT_MODEL", path, 1);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

typedef struct layout {
    const char *name;
    int bytes, block, stride;
    MPI_Datatype type;
    gpu_memory gpu;
    unsigned char *image, *packed;
} layout;

static size_t span_of(const layout *l)
{
    return (size_t)(l->bytes / l->block) * (size_t)l->stride;
}

static layout make(const char *name, int bytes, int block, int stride)
{
    layout l = {.name = name, .bytes = bytes, .block = block, .stride = stride};

    MPI_Type_vector(bytes / block, block, stride, MPI_BYTE, &l.type);
    MPI_Type_commit(&l.type);
    l.gpu = gpu_memory_make(GPU_DEVICE, span_of(&l));
    l.image = malloc(span_of(&l));
    l.packed = malloc((size_t)bytes);
    return l;
}

static void release(layout *l)
{
    MPI_Type_free(&l->type);
    gpu_memory_free(&l->gpu);
    free(l->image);
    free(l->packed);
}

static void put(layout *l, unsigned seed, unsigned gaps)
{
    int at = 0;

    test_fill(l->packed, (size_t)l->bytes, seed);
    test_fill(l->image, span_of(l), gaps);
    PMPI_Unpack(l->packed, l->bytes, &at, l->image, 1, l->type, MPI_COMM_SELF);
}

static long launches(void)
{
    return counted ? gpu_calls("cuLaunchKernel") + gpu_calls("cuGraphLaunch") : 0;
}

/* Returns how often rank 0 has launched. */
static long exchange(layout *l, unsigned seed)
{
    unsigned char *got = malloc(span_of(l));
    long before;

    put(l, seed, rank == 0 ? 1 : 9);
    if (rank == 1)
        test_fill(l->image, span_of(l), 9);
    gpu_write(&l->gpu, 0, l->image, span_of(l));
    before = launches();
    if (rank == 0) {
        MPI_Send(l->gpu.at, 1, l->type, 1, TAG, MPI_COMM_WORLD);
        before = launches() - before;
    } else {
        MPI_Recv(l->gpu.at, 1, l->type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        gpu_read(&l->gpu, 0, got, span_of(l));
        put(l, seed, 9);
        CHECK(!memcmp(got, l->image, span_of(l)), "%s, message %u", l->name, seed);
        before = 0;
    }
    free(got);
    return before;
}

static long exchange_many(layout *l, int n)
{
    long all = 0;

    for (int i = 0; i < n; i++)
        all += exchange(l, (unsigned)i + 1);
    return all;
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

/* The first ones of all are packed, since the receiver has not shown yet what its GPU reads; then two are packed for
 * the channel. Each message here has another octave of sizes, so that no observed time counts. */
static void by_estimates(void)
{
    layout first = make("to begin with", 512 << 10, 64, 128), dense = make("64 of 128", 2 * MEG, 64, 128),
           longer = make("1024 of 2048, 9 MiB", 9 * MEG, 1024, 2048), sparse = make("8 of 64", MEG, 8, 64);
    long n;

    n = exchange(&first, 1);
    CHECK(!counted || rank != 0 || n > 0, "the first message of all was not packed");
    exchange_many(&first, FEW);
    n = exchange_many(&dense, FEW);
    CHECK(n == 0, "%s: rank 0 has launched %ld kernels", dense.name, n);
    n = exchange_many(&longer, 1);
    CHECK(n == 0, "%s: rank 0 has launched %ld kernels", longer.name, n);
    n = exchange_many(&sparse, FEW);
    CHECK(!counted || rank != 0 || n >= FEW, "%s: rank 0 has launched %ld kernels for %d messages", sparse.name, n,
          FEW);
    release(&first);
    release(&dense);
    release(&longer);
    release(&sparse);
}

static void corrected(void)
{
    layout first = make("to begin with", 512 << 10, 64, 128), sparse = make("8 of 64", 256 << 10, 8, 64);
    long n;

    exchange_many(&first, FEW);
    exchange_many(&sparse, PROOF); /* of messages of this length */
    n = exchange_many(&sparse, GUESSED);
    CHECK(n == 0, "a message that costs nothing by the model: rank 0 has launched %ld kernels", n);
    n = exchange_many(&sparse, MANY);
    CHECK(!counted || rank != 0 || n >= FEW, "rank 0 has launched %ld kernels for %d messages", n, MANY);
    release(&first);
    release(&sparse);
}

/* On a GPU that nothing was measured on, long blocks go directly, which cross any link as packed bytes do. */
static void of_unknown_gpu(void)
{
    layout first = make("to begin with", 512 << 10, 64, 128), dense = make("64 of 128", 2 * MEG, 64, 128),
           rows = make("1024 of 2048", MEG, 1024, 2048);
    long n;

    exchange_many(&first, FEW);
    n = exchange_many(&dense, FEW);
    CHECK(!counted || rank != 0 || n >= FEW, "%s: rank 0 has launched %ld kernels for %d messages", dense.name, n, FEW);
    exchange_many(&rows, PROOF); /* of the channel */
    n = exchange_many(&rows, GUESSED);
    CHECK(n == 0, "%s: rank 0 has launched %ld kernels", rows.name, n);
    release(&first);
    release(&dense);
    release(&rows);
}

static void proof_outlasts_other_ways(void)
{
    layout l = make("64 of 128", MEG, 64, 128);
    long n;

    exchange_many(&l, 1);
    packwright_force_strategy(PW_STRATEGY_DIRECT);
    exchange_many(&l, PROOF);
    for (int i = 0; i < 2; i++) {
        n = exchange_many(&l, FEW);
        CHECK(n == 0, "direct messages after %s: rank 0 has launched %ld kernels", i ? "others" : "their proof", n);
        packwright_force_strategy(PW_STRATEGY_ONE_SHOT);
        n = exchange_many(&l, FEW);
        CHECK(!counted || rank != 0 || n >= FEW, "rank 0 has launched %ld kernels for %d packed messages", n, FEW);
        packwright_force_strategy(PW_STRATEGY_DIRECT);
    }
    release(&l);
}

int main(int argc, char **argv)
{
    bool wrong = argc > 2 && !strcmp(argv[2], "corrected");
    char path[] = "/tmp/packwright-model-XXXXXX";
    int rc;

    if (wrong)
        use_wrong_model(path);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!gpu_start_as_told(argc, argv)) {
        MPI_Finalize();
        return SKIPPED;
    }
    gpu_set_current_of(rank);
    counted = test_can_read_peer() && test_reads_are_seen() && gpu_is_fake() && test_has_userfaultfd();
    if (wrong)
        corrected();
    else if (argc > 2 && !strcmp(argv[2], "proof"))
        proof_outlasts_other_ways();
    else if (argc > 2)
        of_unknown_gpu();
    else
        by_estimates();
    rc = test_result();
    MPI_Finalize();
    if (wrong)
        unlink(path);
    return rc;
}
