/*
 * PACKWRIGHT_Type_commit_all on two ranks with types of different layouts, then one message. What the interposer did
 * for the message is in its statistics, which the run compares. With the argument "unused" there is no message, with
 * "error" rank 1 has a type that cannot be committed.
 */
#include <packwright/packwright-mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 2000, SEND_STRIDE = 20, RECV_STRIDE = 28, WIDTH = 8 };

static int rank, failures;

static void check(int good, const char *what)
{
    if (!good) {
        printf("FAILED: rank %d: %s\n", rank, what);
        failures++;
    }
}

static int stride(void)
{
    return rank == 0 ? SEND_STRIDE : RECV_STRIDE;
}

/* Rank 0 sends, rank 1 receives. */
static void exchange(MPI_Datatype type)
{
    int numbers = ROWS * stride(), wrong = 0, *memory;

    MPI_Alloc_mem((MPI_Aint)(sizeof(int) * (size_t)numbers), MPI_INFO_NULL, (void *)&memory);
    for (int i = 0; i < numbers; i++)
        memory[i] = rank == 0 ? i / SEND_STRIDE * WIDTH + i % SEND_STRIDE : -1;
    if (rank == 0)
        MPI_Send(memory, 1, type, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(memory, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; rank == 1 && i < numbers; i++)
        wrong += memory[i] != (i % RECV_STRIDE < WIDTH ? i / RECV_STRIDE * WIDTH + i % RECV_STRIDE : -1);
    check(wrong == 0, "the message is not what was sent");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Free_mem(memory);
}

/* Rank 1 has no type to commit. No rank hangs, and the others' types are committed. */
static void commit_bad(MPI_Datatype type)
{
    MPI_Datatype none = MPI_DATATYPE_NULL;
    int rc, packed = 0;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    rc = PACKWRIGHT_Type_commit_all(MPI_COMM_WORLD, rank == 1 ? &none : &type);
    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &rc);
    check(rank == 1 ? rc == MPI_ERR_TYPE : rc == MPI_SUCCESS, "the wrong error for a null type");
    if (rank == 0)
        check(MPI_Pack_size(1, type, MPI_COMM_WORLD, &packed) == MPI_SUCCESS && packed > 0,
              "the type is not committed");
    rc = PACKWRIGHT_Type_commit_all(MPI_COMM_NULL, &type);
    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &rc);
    check(rc == MPI_ERR_COMM, "the wrong error for a null communicator");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "message";
    MPI_Datatype type;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_vector(ROWS, WIDTH, stride(), MPI_INT, &type);
    if (strcmp(what, "error") == 0)
        commit_bad(type);
    else
        check(PACKWRIGHT_Type_commit_all(MPI_COMM_WORLD, &type) == MPI_SUCCESS, "PACKWRIGHT_Type_commit_all");
    if (strcmp(what, "message") == 0)
        exchange(type);
    MPI_Type_free(&type);
    MPI_Finalize();
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
