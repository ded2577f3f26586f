/*
 * A run that asks for every kind of module for GPUs: kernels of random types and of the predefined pairs, tier 0 for a
 * type of too many regions, and the one for several transfers. With PACKWRIGHT_JIT=sync each is asked for in the call
 * that needs it, so that seeded.py knows which they are. One rank.
 *
 * usage: seeded <driver, or -> [types [first-seed]]. Exits 77, for "skipped", without a GPU.
 */
#include "tests/mpi/gpu/regions.h"
#include "tests/mpi/gpu/subject.h"

enum { SKIPPED = 77, REGIONS = 140, ELEMENTS = 40, MESSAGES = 6, ROUNDS = 12, SPAN = 1 << 20 };

static gpu_memory user, packed;
static unsigned char image[SPAN], expected[SUBJECT_PACKED];

/* Packs `count` elements in GPU memory, and compares with what the MPI packs of a copy in host memory. */
static void check_pack(const char *what, MPI_Datatype type, int count, int64_t lo, int64_t span)
{
    static unsigned char got[SUBJECT_PACKED];
    int position = 0, there = 0;
    pw_rng rng = {.state = (uint64_t)span + 1};

    pw_rng_fill(&rng, image, (size_t)span);
    gpu_write(&user, 0, image, (size_t)span);
    MPI_Pack(user.at - lo, count, type, packed.at, SUBJECT_PACKED, &there, MPI_COMM_SELF);
    PMPI_Pack(image - lo, count, type, expected, SUBJECT_PACKED, &position, MPI_COMM_SELF);
    gpu_read(&packed, 0, got, (size_t)there);
    CHECK(position == there && memcmp(got, expected, (size_t)there) == 0, "%s: %d bytes are packed otherwise", what,
          there);
}

static void check_random(int types, uint64_t seed)
{
    for (int i = 0; i < types; i++) {
        subject s;

        subject_make(&s, seed + (uint64_t)i, true);
        check_pack(s.random.text, s.random.type, s.count, s.lo, s.span);
        subject_free(&s);
    }
}

static void check_pairs(void)
{
    check_pack("MPI_DOUBLE_INT", MPI_DOUBLE_INT, ELEMENTS, 0, ELEMENTS * 16);
    check_pack("MPI_SHORT_INT", MPI_SHORT_INT, ELEMENTS, 0, ELEMENTS * 8);
    check_pack("MPI_LONG_INT", MPI_LONG_INT, ELEMENTS, 0, ELEMENTS * 16);
    check_pack("MPI_LONG_DOUBLE_INT", MPI_LONG_DOUBLE_INT, ELEMENTS, 0, ELEMENTS * (int)(2 * sizeof(long double)));
}

/* A type with too many regions for a kernel of its own. */
static void check_regions(void)
{
    MPI_Aint span;
    MPI_Datatype type = regions_make(REGIONS, &span);

    check_pack("many regions", type, 1, 0, span);
    MPI_Type_free(&type);
}

/* Short messages that are received together are unpacked together, after some whose times were taken one by one. As
 * they may come from anywhere, they are not moved by joined kernels, which nothing makes ahead of time. Whether one is
 * ever packed alone is a matter of time, so one is before. */
static void check_several(void)
{
    MPI_Request requests[2 * MESSAGES];
    MPI_Status statuses[2 * MESSAGES];
    MPI_Datatype type;
    size_t step = (size_t)ELEMENTS * 2 * sizeof(double);

    MPI_Type_vector(ELEMENTS, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    check_pack("one of several", type, 1, 0, (int64_t)step);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < MESSAGES; i++)
            MPI_Irecv(user.at + SPAN / 2 + (size_t)i * step, 1, type, MPI_ANY_SOURCE, i, MPI_COMM_SELF, &requests[i]);
        for (int i = 0; i < MESSAGES; i++)
            MPI_Isend(user.at + (size_t)i * step, 1, type, 0, i, MPI_COMM_SELF, &requests[MESSAGES + i]);
        MPI_Waitall(2 * MESSAGES, requests, statuses);
    }
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    int types = argc > 2 ? atoi(argv[2]) : 8, rc;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;

    MPI_Init(&argc, &argv);
    if (!gpu_start(argc > 1 && strcmp(argv[1], "-") != 0 ? argv[1] : NULL)) {
        MPI_Finalize();
        return SKIPPED;
    }
    user = gpu_memory_make(GPU_DEVICE, SPAN);
    packed = subject_packed_memory(GPU_DEVICE);
    check_random(types, seed);
    check_pairs();
    check_regions();
    check_several();
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
