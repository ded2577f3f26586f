/*
 * MPI_Pack and MPI_Unpack with the buffer and the packed bytes in memory of every kind, for random types, against
 * the typemap, with guard bytes around both.
 *
 * usage: pack <driver, or -> [types [first-seed]]. Exits 77, for "skipped", without a GPU.
 */
#include "tests/mpi/gpu/subject.h"

enum { SKIPPED = 77 };

static gpu_memory users[GPU_KINDS], packs[GPU_KINDS];
static unsigned char user_image[SUBJECT_SPAN], packed_image[SUBJECT_PACKED];

static void check_pack(const subject *s, gpu_kind from, gpu_kind to)
{
    int position = SUBJECT_GUARD;
    char what[64];

    snprintf(what, sizeof what, "packed from %s memory", gpu_kind_name(from));
    subject_fill(&users[from], user_image, s->span, s->seed + 1);
    subject_fill(&packs[to], packed_image, s->size, s->seed + 2);
    MPI_Pack(subject_buffer(s, &users[from]), s->count, s->random.type, packs[to].at, (int)s->size + 2 * SUBJECT_GUARD,
             &position, MPI_COMM_WORLD);
    CHECK(position == SUBJECT_GUARD + s->size, "seed %llu: position %d", (unsigned long long)s->seed, position);
    subject_pack(s, user_image, packed_image + SUBJECT_GUARD);
    subject_same(s, what, &packs[to], packed_image, s->size);
    subject_same(s, "the packed buffer", &users[from], user_image, s->span);
}

static void check_unpack(const subject *s, gpu_kind from, gpu_kind to)
{
    int position = SUBJECT_GUARD;
    char what[64];

    snprintf(what, sizeof what, "unpacked from %s memory", gpu_kind_name(from));
    subject_fill(&packs[from], packed_image, s->size, s->seed + 3);
    subject_fill(&users[to], user_image, s->span, s->seed + 4);
    MPI_Unpack(packs[from].at, (int)s->size + 2 * SUBJECT_GUARD, &position, subject_buffer(s, &users[to]), s->count,
               s->random.type, MPI_COMM_WORLD);
    CHECK(position == SUBJECT_GUARD + s->size, "seed %llu: position %d", (unsigned long long)s->seed, position);
    subject_unpack(s, user_image, packed_image + SUBJECT_GUARD, s->size);
    subject_same(s, what, &users[to], user_image, s->span);
}

/* Tries every pair of kinds of memory that has a GPU in it; other pairs have tests of their own. */
static void check_subject(const subject *s)
{
    for (int a = 0; a < GPU_KINDS; a++)
        for (int b = 0; b < GPU_KINDS; b++) {
            if (a != GPU_DEVICE && b != GPU_DEVICE && a != GPU_MANAGED && b != GPU_MANAGED)
                continue;
            check_pack(s, (gpu_kind)a, (gpu_kind)b);
            check_unpack(s, (gpu_kind)a, (gpu_kind)b);
        }
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 && strcmp(argv[1], "-") != 0 ? argv[1] : NULL;
    int types = argc > 2 ? atoi(argv[2]) : 100, rc;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
    void *context;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (!gpu_start(path)) {
        MPI_Finalize();
        return SKIPPED;
    }
    for (int k = 0; k < GPU_KINDS; k++) {
        users[k] = subject_memory((gpu_kind)k);
        packs[k] = subject_packed_memory((gpu_kind)k);
    }
    context = gpu_current();
    for (int i = 0; i < types && test_failures < 20; i++) {
        subject s;

        subject_make(&s, seed + (uint64_t)i, false);
        check_subject(&s);
        subject_free(&s);
    }
    CHECK(gpu_current() == context, "another context is current");
    printf("%d types from seed %llu in %d pairs of kinds\n", types, (unsigned long long)seed, 16);
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
