/*
 * Several GPUs: a rank for each, and one rank whose buffers lie on two. Random types against the typemap, with guard
 * bytes; the context that is current must stay so.
 *
 * usage: several <driver, or -> [types [first-seed]]. Exits 77, for "skipped", with fewer than two GPUs.
 */
#include "tests/mpi/gpu/subject.h"

enum { SKIPPED = 77, GPUS = 2, TAG = 11 };

static void *contexts[GPUS];
static gpu_memory users[GPUS], others[GPUS], packs[GPUS];
static unsigned char image[SUBJECT_SPAN], received[SUBJECT_SPAN], packed[SUBJECT_PACKED];
static int rank;

/* Makes a context current around the calls under test; the test's own work needs another one. */
static void enter(void *context)
{
    gpu_set_current(context);
}

static void leave(const subject *s, void *context, const char *call)
{
    CHECK(gpu_current() == context, "seed %llu: another context is current after %s", (unsigned long long)s->seed,
          call);
    gpu_set_current(contexts[0]);
}

/* ---- one process and two GPUs ------------------------------------------------------------------------------------ */

/* Packs by one GPU into the memory of the other, and unpacks there. */
static void check_pack(const subject *s, int from, int to, void *current)
{
    int room = (int)s->size + 2 * SUBJECT_GUARD, position = SUBJECT_GUARD;

    subject_fill(&users[from], image, s->span, s->seed + 1);
    subject_fill(&packs[to], packed, s->size, s->seed + 2);
    enter(current);
    MPI_Pack(subject_buffer(s, &users[from]), s->count, s->random.type, packs[to].at, room, &position, MPI_COMM_WORLD);
    leave(s, current, "MPI_Pack");
    subject_pack(s, image, packed + SUBJECT_GUARD);
    subject_same(s, "packed on another GPU", &packs[to], packed, s->size);

    subject_fill(&users[from], image, s->span, s->seed + 3);
    position = SUBJECT_GUARD;
    enter(current);
    MPI_Unpack(packs[to].at, room, &position, subject_buffer(s, &users[from]), s->count, s->random.type,
               MPI_COMM_WORLD);
    leave(s, current, "MPI_Unpack");
    subject_unpack(s, image, packed + SUBJECT_GUARD, s->size);
    subject_same(s, "unpacked from another GPU", &users[from], image, s->span);
}

/* Sends from the memory of one GPU to that of another, in this process or the next. */
static void check_message(const subject *s, int from, int to, int peer, void *current)
{
    MPI_Datatype type = s->random.type;

    subject_fill(&users[from], image, s->span, s->seed + 4);
    subject_fill(&others[to], received, s->span, s->seed + 5);
    enter(current);
    MPI_Sendrecv(subject_buffer(s, &users[from]), s->count, type, peer, TAG, subject_buffer(s, &others[to]), s->count,
                 type, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    leave(s, current, "MPI_Sendrecv");
    subject_pack(s, image, packed);
    subject_unpack(s, received, packed, s->size);
    subject_same(s, peer == rank ? "to another GPU" : "to another rank", &others[to], received, s->span);
}

static void check_subject(const subject *s, int i)
{
    void *currents[] = {contexts[0], contexts[1], NULL};
    int ranks;

    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int from = 0; from < GPUS; from++) {
        check_pack(s, from, 1 - from, currents[i % 3]);
        check_message(s, from, 1 - from, rank, currents[(i + 1) % 3]);
    }
    check_message(s, rank % GPUS, rank % GPUS, ranks - 1 - rank, contexts[rank % GPUS]);
}

static void make_memory(int gpu)
{
    contexts[gpu] = gpu_primary(gpu);
    gpu_set_current(contexts[gpu]);
    users[gpu] = subject_memory(GPU_DEVICE);
    others[gpu] = subject_memory(GPU_DEVICE);
    packs[gpu] = subject_packed_memory(GPU_DEVICE);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 && strcmp(argv[1], "-") != 0 ? argv[1] : NULL;
    int types = argc > 2 ? atoi(argv[2]) : 50, rc;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!gpu_start(path) || gpu_devices() < GPUS) {
        printf("SKIPPED: fewer than %d GPUs\n", GPUS);
        MPI_Finalize();
        return SKIPPED;
    }
    for (int gpu = 0; gpu < GPUS; gpu++)
        make_memory(gpu);
    gpu_set_current(contexts[0]);
    for (int i = 0; i < types && test_failures < 20; i++) {
        subject s;

        subject_make(&s, seed + (uint64_t)i, true);
        check_subject(&s, i);
        subject_free(&s);
    }
    printf("%d types from seed %llu on %d GPUs\n", types, (unsigned long long)seed, GPUS);
    gpu_report();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
