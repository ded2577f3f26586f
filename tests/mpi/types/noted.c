/*
 * A committed type is left to MPI until its uses pay for learning it: whatever the call, and however the type comes and
 * goes. A tool below counts what reaches it. "threads" as argument: several threads use types at once; "forced": a
 * strategy is forced when types are noted already.
 */
#include "base/strategy_table.h"
#include "tests/mpi/support/count_calls.h"
#include "tests/mpi/support/harness.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>

enum { TAG = 7, SHORT = 25, LONG = 8192 }; /* doubles */
enum { ENOUGH = 40 /* short uses */, TYPES = 100000, THREADS = 4, ROUNDS = 300 };

static int rank;
static _Atomic long learned; /* types that were given Packwright's attribute */

/* Packwright calls this in place of the MPI's, since the program comes first. */
__attribute__((visibility("default"))) int PMPI_Type_set_attr(MPI_Datatype type, int keyval, void *value)
{
    int (*below)(MPI_Datatype, int, void *);

    *(void **)&below = dlsym(RTLD_NEXT, "PMPI_Type_set_attr");
    learned++;
    return below(type, keyval, value);
}

static _Atomic long asked; /* how often Packwright has asked the MPI how a type was made */

#if MPI_VERSION >= 4
__attribute__((visibility("default"))) int PMPI_Type_get_contents_c(MPI_Datatype type, MPI_Count nints,
                                                                    MPI_Count naddrs, MPI_Count ncounts,
                                                                    MPI_Count ntypes, int *ints, MPI_Aint *addrs,
                                                                    MPI_Count *counts, MPI_Datatype *types)
{
    int (*below)(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int *, MPI_Aint *, MPI_Count *,
                 MPI_Datatype *);

    *(void **)&below = dlsym(RTLD_NEXT, "PMPI_Type_get_contents_c");
    asked++;
    return below(type, nints, naddrs, ncounts, ntypes, ints, addrs, counts, types);
}
#else
__attribute__((visibility("default"))) int PMPI_Type_get_contents(MPI_Datatype type, int nints, int naddrs, int ntypes,
                                                                  int *ints, MPI_Aint *addrs, MPI_Datatype *types)
{
    int (*below)(MPI_Datatype, int, int, int, int *, MPI_Aint *, MPI_Datatype *);

    *(void **)&below = dlsym(RTLD_NEXT, "PMPI_Type_get_contents");
    asked++;
    return below(type, nints, naddrs, ntypes, ints, addrs, types);
}
#endif

/* `n` doubles, every other one. */
static MPI_Datatype strided(int n)
{
    MPI_Datatype type;

    MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &type);
    return type;
}

static MPI_Datatype committed(int n)
{
    MPI_Datatype type = strided(n);

    MPI_Type_commit(&type);
    return type;
}

/* ---- is a use left to MPI? --------------------------------------------------------------------------------------- */

/* Packs one object of `n` doubles, which must come out right. */
static bool pack_stays(MPI_Datatype type, int n)
{
    double *memory = malloc(sizeof *memory * 2 * (size_t)n), *packed = calloc((size_t)n, sizeof *packed);
    long before = count_pack;
    int position = 0;

    for (int i = 0; i < 2 * n; i++)
        memory[i] = i;
    MPI_Pack(memory, 1, type, packed, 8 * n, &position, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++)
        if (packed[i] != 2 * i) {
            CHECK(false, "double %d of %d is %g", i, n, packed[i]);
            break;
        }
    free(memory);
    free(packed);
    return count_pack != before;
}

/* From rank 0 to rank 1, which looks at each double and at what lies between. On rank 0, did the type stay as it was,
 * without being learned? Learned types may be packed or not. */
static bool send_stays(MPI_Datatype type, int n)
{
    double *memory = calloc(2 * (size_t)n, sizeof *memory);
    long before = learned;

    for (int i = 0; i < n && rank == 0; i++)
        memory[2 * i] = n + i;
    if (rank == 0)
        MPI_Send(memory, 1, type, 1, TAG, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Recv(memory, 1, type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < n && rank == 1; i++)
        if (memory[2 * i] != n + i || (i < n - 1 && memory[2 * i + 1] != 0)) {
            CHECK(false, "%d of %d doubles", i, n);
            break;
        }
    free(memory);
    return learned == before;
}

/* After how many short packs the type is learned; at most ENOUGH. */
static int short_packs(MPI_Datatype type)
{
    int packs = 0;

    while (packs < ENOUGH && pack_stays(type, SHORT))
        packs++;
    return packs;
}

/* ---- what pays --------------------------------------------------------------------------------------------------- */

static void check_short_uses(void)
{
    MPI_Datatype type = committed(SHORT);
    int packs = short_packs(type);

    CHECK(packs > 2 && packs < ENOUGH, "%d short packs were left to MPI", packs);
    MPI_Type_free(&type);
    for (int i = 0; i < ENOUGH; i++) {
        type = committed(SHORT);
        CHECK(pack_stays(type, SHORT), "the only pack of type %d", i);
        CHECK(send_stays(type, SHORT) || rank != 0, "the only message of type %d", i);
        MPI_Type_free(&type);
    }
}

/* What staging takes is more than so short a message gains, so it has to come often. */
static void check_short_messages(void)
{
    enum { FIRST = 64, MANY = 100 };
    MPI_Datatype type = committed(SHORT);
    long before = learned;

    for (int i = 0; i < FIRST; i++)
        CHECK(send_stays(type, SHORT), "short message %d", i);
    for (int i = FIRST; i < MANY; i++)
        send_stays(type, SHORT);
    CHECK(learned > before || rank > 1, "a type of %d short messages was not learned", MANY);
    MPI_Type_free(&type);
}

/* Staging a side takes more than staging a message, and its blocks share that. */
static void check_short_collectives(void)
{
    enum { FIRST = 64, MANY = 80, FEW = 5, LONGER = 200, RANKS = 2 };
    static double memory[RANKS * 2 * LONGER], other[RANKS * 2 * LONGER];
    MPI_Datatype type = committed(SHORT), types[RANKS];
    int counts[RANKS] = {1, 1}, displs[RANKS] = {0, 16 * LONGER};
    long before = learned;

    for (int i = 0; i < FIRST; i++)
        MPI_Bcast(memory, 1, type, 0, MPI_COMM_WORLD);
    CHECK(learned == before, "a type of %d short broadcasts was learned", FIRST);
    for (int i = FIRST; i < MANY; i++)
        MPI_Bcast(memory, 1, type, 0, MPI_COMM_WORLD);
    CHECK(learned > before, "a type of %d short broadcasts was not learned", MANY);
    MPI_Type_free(&type);
    before = learned;
    types[0] = types[1] = committed(LONGER);
    for (int i = 0; i < FEW; i++)
        MPI_Alltoallw(memory, counts, displs, types, other, counts, displs, types, MPI_COMM_WORLD);
    CHECK(learned > before, "a type of %d blocks was not learned", 2 * RANKS * FEW);
    MPI_Type_free(&types[0]);
}

static void check_long_use(void)
{
    MPI_Datatype type = committed(LONG);

    CHECK(!pack_stays(type, LONG), "a long pack");
    MPI_Type_free(&type);
    type = committed(LONG);
    CHECK(!send_stays(type, LONG) || rank != 0, "a long message");
    MPI_Type_free(&type);
}

enum { BLOCK = 64, MOST_BLOCKS = 128 }; /* doubles; blocks of the longest type */
static double blocks_sent[2 * BLOCK * MOST_BLOCKS], blocks_received[2 * BLOCK * MOST_BLOCKS];

/* The left or the right half of `n` rows. */
static MPI_Datatype blocks_of(int n, bool right)
{
    MPI_Datatype type;

    MPI_Type_create_subarray(2, (int[]){n, 2 * BLOCK}, (int[]){n, BLOCK}, (int[]){0, right ? BLOCK : 0}, MPI_ORDER_C,
                             MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* One message. Returns how many uses of types it is. */
static int pass_blocks(int n)
{
    MPI_Datatype type = blocks_of(n, false);

    if (rank == 0)
        MPI_Send(blocks_sent, 1, type, 1, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(blocks_received, 1, type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
    return 1;
}

/* Messages there and back, of one type. */
static int return_blocks(int n)
{
    MPI_Datatype type = blocks_of(n, false);

    if (rank == 0)
        MPI_Send(blocks_sent, 1, type, 1, TAG, MPI_COMM_WORLD);
    MPI_Recv(blocks_received, 1, type, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Send(blocks_sent, 1, type, 0, TAG, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    return 2;
}

/* Messages there and back at once, each end of which has a type of its own. */
static int swap_blocks(int n)
{
    MPI_Datatype from = blocks_of(n, true), to = blocks_of(n, false);

    MPI_Sendrecv(blocks_sent, 1, from, 1 - rank, TAG, blocks_received, 1, to, 1 - rank, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Type_free(&from);
    MPI_Type_free(&to);
    return 2;
}

static MPI_Win blocks_window; /* of blocks_received */

/* Blocks put into this rank's window by an accumulate, which MPI carries out. */
static int replace_blocks(int n)
{
    MPI_Datatype from = blocks_of(n, true), to = blocks_of(n, false);

    blocks_sent[BLOCK] = n;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, blocks_window);
    MPI_Accumulate(blocks_sent, 1, from, rank, 0, 1, to, MPI_REPLACE, blocks_window);
    MPI_Win_unlock(rank, blocks_window);
    CHECK(blocks_received[0] == n, "the first of %d blocks put into a window", n);
    MPI_Type_free(&from);
    MPI_Type_free(&to);
    return 2;
}

/*
 * Messages of blocks this long are left to MPI, whether their type was learned or not, and so are those of types that
 * differ in their numbers of blocks; MPI is asked once in a use how such a type was made. A choice is made again for
 * its first 64 uses.
 */
static void check_alike(const char *how, int (*move)(int blocks), int unlike)
{
    enum { TIMES = 800 };
    long before = learned, asked_before = asked;
    int uses = 0;

    for (int i = 0; i < TIMES && rank < 2; i++)
        uses += move(MOST_BLOCKS - i % unlike);
    CHECK(learned < before + TIMES / 4, "%s: in %d uses %ld types of long blocks were learned", how, uses,
          learned - before);
    CHECK(asked - asked_before <= uses + learned - before, "%s: asked %ld times in %d uses how types were made", how,
          asked - asked_before, uses);
}

static void check_all_alike(void)
{
    enum { UNLIKE = 61 };
    long before = learned;

    check_alike("one way", pass_blocks, UNLIKE);
    CHECK(learned > before || rank > 1, "no type of long blocks was learned");
    check_alike("there and back", return_blocks, UNLIKE);
    check_alike("at once", swap_blocks, UNLIKE);
    check_alike("there and back, equal", return_blocks, 1);
    check_alike("at once, equal", swap_blocks, 1);
    MPI_Win_create(blocks_received, sizeof blocks_received, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &blocks_window);
    check_alike("into a window", replace_blocks, UNLIKE);
    MPI_Win_free(&blocks_window);
}

/* With a strategy that is forced, accumulates into gaps are staged, too, so both types of each are learned. */
static void check_forced(void)
{
    enum { TIMES = 8 };
    bool (*force)(pw_strategy_id id);
    long before = learned;
    int uses = 0;

    *(void **)&force = dlsym(RTLD_DEFAULT, "packwright_force_strategy");
    CHECK(force && force(PW_STRATEGY_PACKED), "no strategy can be forced");
    MPI_Win_create(blocks_received, sizeof blocks_received, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &blocks_window);
    for (int i = 0; i < TIMES; i++)
        uses += replace_blocks(MOST_BLOCKS);
    MPI_Win_free(&blocks_window);
    CHECK(learned == before + uses, "in %d uses %ld types of long blocks were learned", uses, learned - before);
}

/* A dense type that is made for one use and freed is not learned. */
static void check_dense(void)
{
    enum { TIMES = 20 };
    static double from[LONG], to[LONG];
    long before = learned;

    for (int i = 0; i < TIMES; i++) {
        int n = LONG - i, position = 0;
        MPI_Datatype type;

        from[n - 1] = i;
        MPI_Type_vector(n, 1, 1, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        MPI_Pack(from, 1, type, to, sizeof to, &position, MPI_COMM_WORLD);
        CHECK(to[n - 1] == i && position == 8 * n, "%d of %d bytes of a dense type", position, 8 * n);
        MPI_Type_free(&type);
    }
    CHECK(learned == before, "%ld of %d dense types were learned", learned - before, TIMES);
}

/* A type without gaps whose elements are out of order is learned, though a dense one of its size is known. */
static void check_transposed(void)
{
    enum { TIMES = 5, N = 64 };
    static double from[N * N], to[N * N];
    long before = 0;

    for (int i = 0; i < N * N; i++)
        from[i] = i;
    for (int i = 0; i <= TIMES; i++) {
        int position = 0;
        MPI_Datatype column, type;

        MPI_Type_vector(N, 1, N, MPI_DOUBLE, &column);
        if (i == 0)
            MPI_Type_vector(N * N, 1, 1, MPI_DOUBLE, &type);
        else
            MPI_Type_create_hvector(N, 1, 8, column, &type);
        MPI_Type_commit(&type);
        before = i == 1 ? learned : before;
        MPI_Pack(from, 1, type, to, sizeof to, &position, MPI_COMM_WORLD);
        CHECK(to[1] == (i == 0 ? 1 : N) && to[N] == (i == 0 ? N : 1), "%g and %g of a type without gaps", to[1], to[N]);
        MPI_Type_free(&type);
        MPI_Type_free(&column);
    }
    CHECK(learned == before + TIMES, "%ld of %d transposed types were learned", learned - before, TIMES);
}

/* Blocks of strided types are staged only if the dense types beside them are known. */
static void check_dense_beside_strided(void)
{
    enum { TIMES = 5 };
    static double from[4 * LONG], to[4 * LONG];
    static const int counts[2] = {1, 1}, displs[2] = {0, 2 * 8 * LONG};
    long before = learned;

    for (int i = 0; i < TIMES; i++) {
        MPI_Datatype types[2];

        MPI_Type_vector(LONG, 1, 1, MPI_DOUBLE, &types[rank]);
        MPI_Type_vector(LONG, 1, 2, MPI_DOUBLE, &types[1 - rank]);
        MPI_Type_commit(&types[0]);
        MPI_Type_commit(&types[1]);
        MPI_Alltoallw(from, counts, displs, types, to, counts, displs, types, MPI_COMM_WORLD);
        MPI_Type_free(&types[0]);
        MPI_Type_free(&types[1]);
    }
    CHECK(learned == before + 2 * TIMES, "%ld of %d types of MPI_Alltoallw were learned", learned - before, 2 * TIMES);
}

/* Messages of short blocks are fewer than those before the first trial, which may end otherwise where packing is slow,
 * as under a sanitizer. */
static void check_short_blocks(void)
{
    enum { FEW = 8 };
    long before = learned;

    for (int i = 0; i < FEW && rank < 2; i++) {
        MPI_Datatype type = committed(LONG);

        send_stays(type, LONG);
        MPI_Type_free(&type);
    }
    CHECK(learned == before + FEW || rank > 1, "%ld of %d types of short blocks were learned", learned - before, FEW);
}

/* Only a receive may have to be staged for its type's sake, so a sender need not know how its type was made. */
static void check_send_asks_nothing(void)
{
    enum { SOME = 500 }; /* doubles: more than MPICH delivers whole, and too few to learn the type for them */
    MPI_Datatype type = committed(SOME);
    long before = asked;

    CHECK(send_stays(type, SOME), "a message of %d doubles", SOME);
    CHECK(asked == before || rank == 1, "rank %d asked %ld times how the type was made", rank, asked - before);
    MPI_Type_free(&type);
}

/* Several short objects in one call are as much as a long one. */
static void check_counts(void)
{
    static double memory[2 * LONG], packed[LONG];
    MPI_Datatype type = committed(SHORT);
    long before = count_pack;
    int position = 0;

    MPI_Pack(memory, LONG / SHORT, type, packed, sizeof packed, &position, MPI_COMM_WORLD);
    CHECK(count_pack == before, "many objects in one pack");
    MPI_Type_free(&type);
}

/* Are as many short objects as fill `memory` enough, in a call of another kind? It must be asked before any other. */
static void expect_learned(MPI_Datatype *type, const char *what)
{
    CHECK(!pack_stays(*type, SHORT), "after %s", what);
    MPI_Type_free(type);
}

static void check_other_calls(void)
{
    static double memory[2 * LONG], other[2 * LONG];
    int ranks, blocks;
    MPI_Datatype type = committed(SHORT);
    MPI_Request request;
    MPI_Win win;

    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    blocks = LONG / SHORT / ranks;
    MPI_Bcast(memory, LONG / SHORT, type, 0, MPI_COMM_WORLD);
    expect_learned(&type, "a broadcast");
    type = committed(SHORT);
    MPI_Alltoall(memory, blocks, type, other, blocks, type, MPI_COMM_WORLD);
    expect_learned(&type, "an exchange of all with all");
    type = committed(SHORT);
    MPI_Win_create(other, sizeof other, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(memory, LONG / SHORT, type, rank, 0, LONG / SHORT, type, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    expect_learned(&type, "a put");
    type = committed(SHORT);
    for (int i = 0; i < 2; i++) {
        MPI_Send_init(memory, 1, type, rank, TAG, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
    expect_learned(&type, "two persistent requests");
}

/* A list costs as much to learn as it is long. */
static void check_list(void)
{
    enum { BLOCKS = 4 * LONG };
    int *places = malloc(sizeof *places * BLOCKS), uses = 0;
    char *memory = calloc(2 * BLOCKS, 1), *packed = malloc(BLOCKS);
    MPI_Datatype type;

    for (int i = 0; i < BLOCKS; i++)
        places[i] = 2 * i;
    MPI_Type_create_indexed_block(BLOCKS, 1, places, MPI_CHAR, &type);
    MPI_Type_commit(&type);
    for (long before = count_pack - 1; uses < 10 * ENOUGH && count_pack != before; uses++) {
        int position = 0;

        before = count_pack;
        MPI_Pack(memory, 1, type, packed, BLOCKS, &position, MPI_COMM_WORLD);
    }
    CHECK(uses > 2 && uses < 10 * ENOUGH, "a list was learned at use %d", uses);
    MPI_Type_free(&type);
    free(places);
    free(memory);
    free(packed);
}

/* ---- how types come and go --------------------------------------------------------------------------------------- */

static void check_duplicates(void)
{
    MPI_Datatype type = committed(SHORT), dup;
    int all = short_packs(type), some = 0;

    MPI_Type_dup(type, &dup);
    MPI_Type_free(&type);
    CHECK(!pack_stays(dup, SHORT), "the duplicate of a learned type");
    MPI_Type_free(&dup);
    type = committed(SHORT);
    while (some < all - 2 && pack_stays(type, SHORT))
        some++;
    MPI_Type_dup(type, &dup);
    MPI_Type_free(&type);
    some += short_packs(dup);
    CHECK(some == all, "original and duplicate had %d uses, a single type %d", some, all);
    MPI_Type_free(&dup);
}

/* MPI gives the handle to the next type, as a rule, which begins anew. */
static void check_handles(void)
{
    MPI_Datatype type = committed(SHORT);
    int all = short_packs(type);

    for (int i = 0; i < 3; i++) {
        MPI_Type_free(&type);
        type = committed(SHORT);
        for (int k = 0; k < all - 1; k++)
            CHECK(pack_stays(type, SHORT), "use %d of type %d", k, i);
    }
    MPI_Type_free(&type);
}

/* Committed without Packwright. */
static void check_foreign_commit(void)
{
    MPI_Datatype type = strided(SHORT);

    PMPI_Type_commit(&type);
    CHECK(short_packs(type) == ENOUGH, "a type committed by PMPI was learned");
    MPI_Type_free(&type);
}

static void check_pending(void)
{
    MPI_Datatype type = committed(SHORT), other;
    double memory[2 * SHORT] = {0};
    MPI_Request request = MPI_REQUEST_NULL;

    for (int i = 0; i < SHORT && rank == 0; i++)
        memory[2 * i] = i;
    if (rank == 1)
        MPI_Irecv(memory, 1, type, 0, TAG, MPI_COMM_WORLD, &request);
    else if (rank == 0)
        MPI_Isend(memory, 1, type, 1, TAG, MPI_COMM_WORLD, &request);
    MPI_Type_free(&type);
    other = committed(LONG);
    CHECK(!send_stays(other, LONG) || rank != 0, "a message beside that of a freed type");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < SHORT; i++)
        CHECK(memory[2 * i] == i, "double %d is %g", i, memory[2 * i]);
    MPI_Type_free(&other);
}

/* Sends with a type that has not been committed, though its handle may be that of one that was. Returns the error
 * class. */
static int send_uncommitted(int (*how)(const void *, int, MPI_Datatype, int, int, MPI_Comm),
                            int (*free_type)(MPI_Datatype *))
{
    MPI_Datatype type = committed(LONG);
    double *memory = calloc(2 * LONG, sizeof *memory);
    int rc;

    free_type(&type);
    type = strided(LONG);
    rc = how(memory, 1, type, 0, TAG, MPI_COMM_SELF);
    MPI_Type_free(&type);
    free(memory);
    return test_class_of(rc);
}

static void check_errors(void)
{
    int ours, alone;

    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    alone = send_uncommitted(PMPI_Send, MPI_Type_free);
    ours = send_uncommitted(MPI_Send, MPI_Type_free);
    CHECK(alone != MPI_SUCCESS && ours == alone, "an uncommitted type: error class %d, alone %d", ours, alone);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static long allocated(void)
{
    struct mallinfo2 m = mallinfo2();

    return (long)(m.uordblks + m.hblkhd);
}

/* What it takes to have TYPES types, in bytes for each. */
static long bytes_of_types(MPI_Datatype *types, int (*commit)(MPI_Datatype *))
{
    long before = allocated(), each;

    for (int i = 0; i < TYPES; i++) {
        MPI_Type_vector(2 + i % 50, 1, 2 + i % 11, MPI_INT, &types[i]);
        commit(&types[i]);
    }
    each = (allocated() - before) / TYPES;
    for (int i = 0; i < TYPES; i++)
        MPI_Type_free(&types[i]);
    return each;
}

static void check_memory(void)
{
    MPI_Datatype *types = malloc(sizeof *types * TYPES);
    long warm = bytes_of_types(types, PMPI_Type_commit), alone = bytes_of_types(types, PMPI_Type_commit);
    long ours = bytes_of_types(types, MPI_Type_commit);

    (void)warm;
    CHECK(ours < alone + 200, "a committed type takes %ld bytes, alone %ld", ours, alone);
    free(types);
}
#else
/* Sanitizers have an allocator of their own. */
static void check_memory(void)
{
}
#endif

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static MPI_Datatype shared_types[ROUNDS];

/* All threads bring the same types over the threshold, while each makes and frees types of its own. */
static void *use_types(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Datatype own = committed(SHORT);

        pack_stays(shared_types[i], SHORT);
        pack_stays(own, SHORT);
        for (int k = 0; k < ENOUGH / THREADS; k++)
            pack_stays(shared_types[i], SHORT);
        MPI_Type_free(&own);
    }
    return NULL;
}

static void check_threads(void)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < ROUNDS; i++)
        shared_types[i] = committed(SHORT);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, use_types, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(!pack_stays(shared_types[i], SHORT), "type %d has been used by all threads", i);
        MPI_Type_free(&shared_types[i]);
    }
}

static void check(void)
{
    check_short_uses();
    check_short_messages();
    check_short_collectives();
    check_long_use();
    check_send_asks_nothing();
    check_all_alike();
    check_short_blocks();
    check_dense();
    check_transposed();
    check_dense_beside_strided();
    check_counts();
    check_other_calls();
    check_list();
    check_duplicates();
    check_handles();
    check_foreign_commit();
    check_pending();
    check_errors();
    check_memory();
}

int main(int argc, char **argv)
{
    int rc, provided;

    MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc == 1)
        check();
    else if (!strcmp(argv[1], "forced"))
        check_forced();
    else if (provided == MPI_THREAD_MULTIPLE)
        check_threads();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
