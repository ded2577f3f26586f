/* MPI_THREAD_MULTIPLE: threads commit, dup, pack and free types of their own and pack with types that all share. */
#include "tests/mpi/support/harness.h"

#include <pthread.h>

enum { THREADS = 4, SHARED = 8 };

static MPI_Datatype shared_types[SHARED];
static int rounds;

/* CHECK's counter is not atomic; threads report through their result. */
static bool packs_right(MPI_Datatype type, unsigned seed)
{
    int bytes = test_packed_bytes(type, 2), p = 0, q = 0;
    unsigned char *ours = malloc((size_t)bytes + 1), *theirs = malloc((size_t)bytes + 1);
    test_buffer memory = test_buffer_create(type, 2), back = test_buffer_create(type, 2),
                expected = test_buffer_create(type, 2);
    bool same;

    test_buffer_fill(&memory, seed);
    MPI_Pack(memory.origin, 2, type, ours, bytes, &p, MPI_COMM_SELF);
    PMPI_Pack(memory.origin, 2, type, theirs, bytes, &q, MPI_COMM_SELF);
    same = p == q && !memcmp(ours, theirs, (size_t)bytes);
    test_buffer_fill(&back, 1);
    test_buffer_fill(&expected, 1);
    p = q = 0;
    MPI_Unpack(theirs, bytes, &p, back.origin, 2, type, MPI_COMM_SELF);
    PMPI_Unpack(theirs, bytes, &q, expected.origin, 2, type, MPI_COMM_SELF);
    same = same && p == q && test_buffer_equal(&back, &expected);
    test_buffer_free(&memory);
    test_buffer_free(&back);
    test_buffer_free(&expected);
    free(ours);
    free(theirs);
    return same;
}

static void *work(void *arg)
{
    uint64_t state = 1000 + (uint64_t)(uintptr_t)arg;
    uintptr_t wrong = 0;

    for (int i = 0; i < rounds; i++) {
        MPI_Datatype own, dup;

        MPI_Type_vector(1 + (int)(test_random(&state) % 40), 1, 2 + (int)(test_random(&state) % 50), MPI_INT, &own);
        MPI_Type_commit(&own);
        MPI_Type_dup(own, &dup);
        wrong += !packs_right(own, (unsigned)i);
        MPI_Type_free(&own);
        wrong += !packs_right(dup, (unsigned)i);
        MPI_Type_free(&dup);
        wrong += !packs_right(shared_types[test_random(&state) % SHARED], (unsigned)i);
    }
    return (void *)wrong;
}

/* Each thread talks to its like on the other rank, over a tag of its own. */
static void *talk(void *arg)
{
    int tag = (int)(uintptr_t)arg, rank;
    uintptr_t wrong = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < rounds / 4; i++) {
        MPI_Datatype type = shared_types[(i + tag) % SHARED];
        test_buffer sent = test_buffer_create(type, 1), got = test_buffer_create(type, 1),
                    expected = test_buffer_create(type, 1);
        int bytes = test_packed_bytes(type, 1), p = 0;
        unsigned char *packed = malloc((size_t)bytes + 1);

        test_buffer_fill(&sent, (unsigned)(i * 5 + tag));
        test_buffer_fill(&got, 1);
        test_buffer_fill(&expected, 1);
        if (rank == 0) {
            MPI_Send(sent.origin, 1, type, 1, tag, MPI_COMM_WORLD);
            MPI_Recv(got.origin, 1, type, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(got.origin, 1, type, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(sent.origin, 1, type, 0, tag, MPI_COMM_WORLD);
        }
        PMPI_Pack(sent.origin, 1, type, packed, bytes, &p, MPI_COMM_SELF);
        p = 0;
        PMPI_Unpack(packed, bytes, &p, expected.origin, 1, type, MPI_COMM_SELF);
        wrong += !test_buffer_equal(&got, &expected);
        test_buffer_free(&sent);
        test_buffer_free(&got);
        test_buffer_free(&expected);
        free(packed);
    }
    return (void *)wrong;
}

static void run(void *(*body)(void *), const char *what)
{
    pthread_t threads[THREADS];

    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, body, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;

        pthread_join(threads[i], &wrong);
        CHECK(wrong == NULL, "thread %d: %lu wrong %ss", i, (unsigned long)(uintptr_t)wrong, what);
    }
}

int main(int argc, char **argv)
{
    int rc, provided, size;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) {
        printf("passed (no MPI_THREAD_MULTIPLE here)\n");
        MPI_Finalize();
        return 0;
    }
    rounds = argc > 1 ? atoi(argv[1]) : 1000;
    for (int i = 0; i < SHARED; i++)
        shared_types[i] = test_type(i, 50);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    run(work, "pack");
    if (size == 2)
        run(talk, "message");
    rc = test_result();
    MPI_Finalize();
    return rc;
}
