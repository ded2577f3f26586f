/*
 * A registration lives exactly as long as its type: freed with an operation pending, dup'ed, part of another type, and
 * storms that make MPI reuse its handles.
 */
#include "tests/mpi/support/count_calls.h"
#include "tests/mpi/support/harness.h"

#include <malloc.h>

/* Packs one object both ways. */
static bool packs_right(MPI_Datatype type)
{
    int bytes = test_packed_bytes(type, 1), p = 0, q = 0;
    unsigned char *ours = malloc((size_t)bytes + 1), *theirs = malloc((size_t)bytes + 1);
    test_buffer memory = test_buffer_create(type, 1);
    bool same;

    test_buffer_fill(&memory, 9);
    MPI_Pack(memory.origin, 1, type, ours, bytes, &p, MPI_COMM_SELF);
    PMPI_Pack(memory.origin, 1, type, theirs, bytes, &q, MPI_COMM_SELF);
    same = p == q && !memcmp(ours, theirs, (size_t)bytes);
    test_buffer_free(&memory);
    free(ours);
    free(theirs);
    return same;
}

/* MPI keeps a type that a request uses, whatever the user frees; other types come and go meanwhile. */
static void check_pending(int rank, int size)
{
    enum { N = 1 << 16 };
    int peer = rank ^ 1;
    double *source = malloc(sizeof(double) * 2 * N), *sink = calloc(2 * N, sizeof(double));
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Datatype type;

    if (peer < size) {
        for (int i = 0; i < 2 * N; i++)
            source[i] = rank * 1e6 + i;
        MPI_Type_vector(N, 1, 2, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        MPI_Irecv(sink, 1, type, peer, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Isend(source, 1, type, peer, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Type_free(&type);
        for (int i = 0; i < 50; i++) {
            MPI_Type_vector(20 + i, 1, 3, MPI_INT, &type);
            MPI_Type_commit(&type);
            CHECK(packs_right(type), "type %d beside a pending freed one", i);
            MPI_Type_free(&type);
        }
        MPI_Waitall(2, requests, statuses);
        for (int i = 0; i < N; i++)
            if (sink[2 * i] != peer * 1e6 + 2 * i || sink[2 * i + 1] != 0) {
                CHECK(false, "element %d of the pending receive", i);
                break;
            }
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(source);
    free(sink);
}

static MPI_Datatype received_type;

static void free_received_type(void)
{
    MPI_Type_free(&received_type);
}

/* Another thread, which learns from the sender that the message has been matched, frees the type of a receive under
 * way. */
static void check_freed_while_receiving(int rank)
{
    enum { N = 50 };
    double source[3 * N], sink[3 * N] = {0};
    MPI_Datatype type;
    MPI_Request request;

    for (int i = 0; i < 3 * N; i++)
        source[i] = rank + i;
    for (int round = 0; round < 3; round++) {
        MPI_Type_vector(N, 1, 3, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        MPI_Isend(source, 1, type, rank, 2, MPI_COMM_WORLD, &request);
        received_type = type;
        count_after_recv = free_received_type;
        MPI_Recv(sink, 1, type, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        count_after_recv = NULL;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < 3 * N; i++)
            CHECK(sink[i] == (i % 3 ? 0 : source[i]), "freed while receiving, round %d: element %d", round, i);
    }
}

static void check_dup(void)
{
    MPI_Datatype type, dups[20], outer;

    MPI_Type_vector(33, 2, 5, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_dup(type, &dups[0]);
    CHECK(packs_right(dups[0]), "dup");
    MPI_Type_free(&type);
    for (int i = 1; i < 20; i++) {
        MPI_Type_dup(dups[i - 1], &dups[i]);
        if (i % 3)
            CHECK(packs_right(dups[i]), "dup %d", i);
        MPI_Type_free(&dups[i - 1]);
    }
    /* The inner type outlives its handle inside the outer one. */
    MPI_Type_contiguous(3, dups[19], &outer);
    MPI_Type_free(&dups[19]);
    MPI_Type_commit(&outer);
    CHECK(packs_right(outer), "type of a freed type");
    MPI_Type_free(&outer);
    /* Never used, never freed. */
    MPI_Type_vector(7, 1, 9, MPI_CHAR, &type);
    MPI_Type_commit(&type);
    MPI_Type_commit(&type);
    MPI_Type_dup(type, &dups[0]);
}

/* Not what is resident: MPICH 4.0 loses 64 bytes a type in some processes, and the heap has holes between these. */
static long allocated_kib(void)
{
    struct mallinfo2 m = mallinfo2();

    return (long)((m.uordblks + m.hblkhd) / 1024);
}

/* What the process has allocated since `before`. 0 where others take memory at times of their own: the compiler, which
 * is loaded in the background; statistics, which remember layouts whose types are gone; sanitizers, which keep what is
 * freed. */
static long growth_kib(long before)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)before;
    return 0;
#else
    const char *jit = getenv("PACKWRIGHT_JIT");

    return jit && !strcmp(jit, "off") && !getenv("PACKWRIGHT_STATS") ? allocated_kib() - before : 0;
#endif
}

/* Types come and go; up to 64 are alive at once, in no order. Handles are reused all the time. */
static void check_storm(int n)
{
    MPI_Datatype alive[64];
    uint64_t state = 4711;
    long before = 0;

    for (int i = 0; i < 64; i++)
        alive[i] = MPI_DATATYPE_NULL;
    for (int i = 0; i < n; i++) {
        MPI_Datatype *slot = &alive[test_random(&state) % 64];
        int count = 1 + (int)(test_random(&state) % 30), len = 1 + (int)(test_random(&state) % 4);

        if (*slot != MPI_DATATYPE_NULL)
            MPI_Type_free(slot);
        MPI_Type_vector(count, len, len + (int)(test_random(&state) % 300), MPI_SHORT, slot);
        MPI_Type_commit(slot);
        if (i % 4 == 0)
            CHECK(packs_right(*slot), "storm, step %d: vector of %d x %d", i, count, len);
        if (i == n / 4)
            before = allocated_kib();
    }
    CHECK(growth_kib(before) < 16 * 1024, "%ld KiB more after the storm", growth_kib(before));
    for (int i = 0; i < 64; i++)
        if (alive[i] != MPI_DATATYPE_NULL)
            MPI_Type_free(&alive[i]);
}

/* Hardly any two alike, so each has a kernel of its own that is never asked for. */
static void check_shapes(int n)
{
    uint64_t state = 815;
    long before = 0;

    for (int i = 0; i < n; i++) {
        int lens[12], places[12], blocks = 3 + (int)(test_random(&state) % 10), at = 0;
        MPI_Datatype type;

        for (int j = 0; j < blocks; j++) {
            places[j] = at += 1 + (int)(test_random(&state) % 9);
            lens[j] = 1 + (int)(test_random(&state) % 7);
            at += lens[j];
        }
        MPI_Type_indexed(blocks, lens, places, MPI_CHAR, &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&type);
        if (i == n / 4)
            before = allocated_kib();
    }
    CHECK(growth_kib(before) < 16 * 1024, "%ld KiB more after %d shapes", growth_kib(before), n);
}

/* Very many alive at once, freed in another order. */
static void check_crowd(int n)
{
    MPI_Datatype *types = malloc(sizeof *types * (size_t)n);

    for (int i = 0; i < n; i++) {
        MPI_Type_vector(2 + i % 5, 1, 2 + i % 11, MPI_INT, &types[i]);
        MPI_Type_commit(&types[i]);
    }
    for (int i = 0; i < n; i += 97)
        CHECK(packs_right(types[i]), "crowd, type %d", i);
    for (int i = 0; i < n; i += 2)
        MPI_Type_free(&types[i]);
    for (int i = 1; i < n; i += 2) {
        if (i % 99 == 0)
            CHECK(packs_right(types[i]), "crowd, half gone, type %d", i);
        MPI_Type_free(&types[i]);
    }
    free(types);
}

int main(int argc, char **argv)
{
    int rc, rank, size, n;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    n = argc > 1 ? atoi(argv[1]) : 100000;
    check_pending(rank, size);
    check_freed_while_receiving(rank);
    check_dup();
    check_shapes(n / 2);
    check_storm(n);
    check_crowd(n / 5);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
