/*
 * Reductions and one-sided calls of one element in host memory: a tool below Packwright must see the caller's own
 * arguments, each time and in every form, and the results must be right.
 */
#include "tests/mpi/collective/reduction_calls.h"
#include "tests/mpi/support/count_reductions.h"
#include "tests/mpi/support/harness.h"

enum { MOST = 4096, ROOM = 1024, ROUNDS = 2 };

static int rank, size;

/* Every second int, and an operation of the program's own that adds them. */
static MPI_Datatype spread;
static MPI_Op own_sum;

static void sum_spread(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++) {
        ((int *)inout)[4 * i] += ((const int *)in)[4 * i];
        ((int *)inout)[4 * i + 2] += ((const int *)in)[4 * i + 2];
    }
}

static void make_type(void)
{
    MPI_Datatype two;

    MPI_Type_vector(2, 1, 2, MPI_INT, &two);
    MPI_Type_create_resized(two, 0, 4 * sizeof(int), &spread);
    MPI_Type_commit(&spread);
    MPI_Type_free(&two);
    MPI_Op_create(sum_spread, 1, &own_sum);
}

/* What may stand in place of a buffer that a rank does not need. */
typedef enum buffers { TWO, IN_PLACE, NOTHING_ELSEWHERE, BUFFERS } buffers;

static void check_seen(const char *what, long before, const reduction_args *a, const void *counts)
{
    CHECK(count_reductions == before + 1, "%s: %ld calls have come through", what, count_reductions - before);
    CHECK(count_last.read == a->send && count_last.written == a->recv, "%s: other buffers have come through", what);
    CHECK(count_last.type == a->type && count_last.op == a->op && (!counts || count_last.counts == counts),
          "%s: other arguments have come through", what);
}

static void complete(reduction_mode mode, MPI_Request *request)
{
    if (mode == PERSISTENT)
        MPI_Start(request);
    if (mode != BLOCKING)
        MPI_Wait(request, MPI_STATUS_IGNORE);
    if (mode == PERSISTENT)
        MPI_Request_free(request);
}

static reduction_args args_of(bool own, bool large, int count)
{
    reduction_args a = {.count = count,
                        .type = own ? spread : MPI_INT,
                        .op = own ? own_sum : MPI_SUM,
                        .comm = MPI_COMM_WORLD,
                        .large = large};

    for (int i = 0; i < size; i++)
        a.counts[i] = (int)(a.wide_counts[i] = count);
    return a;
}

static void run(reduction which, reduction_mode mode, bool large, bool own, buffers b, int count)
{
    static int send[MOST], recv[MOST], want[MOST];
    reduction_args a = args_of(own, large, count), native;
    MPI_Request request = MPI_REQUEST_NULL;
    bool is_root = which != REDUCE || rank == 0;
    long before;

    for (int i = 0; i < MOST; i++) {
        send[i] = 1000 * rank + i;
        recv[i] = want[i] = 7 * i + rank;
    }
    native = a;
    native.native = true;
    native.large = false;
    native.send = b == IN_PLACE && is_root ? MPI_IN_PLACE : send;
    native.recv = want;
    reduction_call(which, BLOCKING, &native, NULL);
    a.send = native.send;
    a.recv = b == NOTHING_ELSEWHERE && !is_root ? NULL : recv;
    before = count_reductions;
    reduction_call(which, mode, &a, &request);
    check_seen(reduction_name(which), before, &a,
               which != REDUCE_SCATTER ? NULL
               : large                 ? (const void *)a.wide_counts
                                       : (const void *)a.counts);
    complete(mode, &request);
    CHECK(!memcmp(recv, want, sizeof recv), "%s, form %d: wrong result", reduction_name(which), mode);
}

static void check_reductions(void)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int which = 0; which < REDUCTIONS; which++)
            for (int mode = 0; mode < REDUCTION_MODES; mode++)
                for (int large = 0; large < 2; large++)
                    for (int own = 0; own < 2; own++)
                        for (int b = 0; b < (which == REDUCE_LOCAL ? 1 : BUFFERS); b++)
                            if (reduction_exists((reduction)which, (reduction_mode)mode, large))
                                run((reduction)which, (reduction_mode)mode, large, own, (buffers)b, 1 + 60 * round);
}

/* ---- of one element ---------------------------------------------------------------------------------------------- */

static void check_element(MPI_Win win, const int *memory)
{
    int one = 1, two = 2, got = -1, right = (rank + 1) % size;
    long before = count_reductions;

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
    MPI_Fetch_and_op(&one, &got, MPI_INT, right, 0, MPI_SUM, win);
    CHECK(count_reductions == before + 1 && count_last.read == &one && count_last.written == &got &&
              count_last.op == MPI_SUM && count_last.type == MPI_INT,
          "Fetch_and_op did not come through as it was");
    MPI_Win_flush(right, win);
    CHECK(got == 0, "%d was fetched", got);
    MPI_Fetch_and_op(NULL, &got, MPI_INT, right, 0, MPI_NO_OP, win);
    CHECK(count_last.read == NULL && count_last.written == &got, "Fetch_and_op without an origin");
    MPI_Win_flush(right, win);
    CHECK(got == 1, "%d was fetched", got);
    MPI_Compare_and_swap(&two, &one, &got, MPI_INT, right, 0, win);
    CHECK(count_reductions == before + 3 && count_last.read == &two && count_last.compared == &one &&
              count_last.written == &got,
          "Compare_and_swap did not come through as it was");
    MPI_Win_unlock(right, win);
    CHECK(got == 1, "%d was swapped", got);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    CHECK(*memory == 2, "%d was left", *memory);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_elements(void)
{
    int *memory;
    MPI_Win win;

    MPI_Win_allocate(ROOM * sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
        *memory = 0;
        MPI_Win_unlock(rank, win);
        MPI_Barrier(MPI_COMM_WORLD);
        check_element(win, memory);
    }
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    int rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    make_type();
    check_reductions();
    check_elements();
    MPI_Type_free(&spread);
    MPI_Op_free(&own_sum);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
