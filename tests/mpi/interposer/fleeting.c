/*
 * A type for each message: what is sent is what MPI alone sends, short messages are left to it, and everything else is
 * ours from the first use on. A tool below counts what reaches it.
 */
#include "count_calls.h"
#include "harness.h"

enum { MANY = 100, TAG = 7 };
enum { SHORT = 25, LONG = 8192 }; /* doubles */

static int rank;

/* `n` doubles, every other one, committed. */
static MPI_Datatype strided(int n)
{
    MPI_Datatype type;

    MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* From rank 0 to rank 1, which looks at each double and at what lies between. */
static void send(MPI_Datatype type, int n, double seed)
{
    double *memory = calloc(2 * (size_t)n, sizeof *memory);

    for (int i = 0; i < n && rank == 0; i++)
        memory[2 * i] = seed + i;
    if (rank == 0)
        MPI_Send(memory, 1, type, 1, TAG, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Recv(memory, 1, type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < n && rank == 1; i++)
        CHECK(memory[2 * i] == seed + i && (i == n - 1 || memory[2 * i + 1] == 0), "%d of %d doubles", i, n);
    free(memory);
}

/* Did the message that rank 0 sends reach MPI as the user's type? */
static void check_send(MPI_Datatype type, int n, bool stays, const char *what)
{
    send(type, n, n);
    CHECK(rank != 0 || (count_sent_type == type) == stays, "%s: left to MPI: %d", what, count_sent_type == type);
}

/* Is a pack ours, without a call before that the type could be learned from? */
static void check_pack(MPI_Datatype type, const char *what)
{
    double memory[2 * SHORT], packed[SHORT] = {0};
    long packs = count_pack;
    int position = 0;

    for (int i = 0; i < 2 * SHORT; i++)
        memory[i] = i;
    MPI_Pack(memory, 1, type, packed, sizeof packed, &position, MPI_COMM_WORLD);
    CHECK(count_pack == packs, "%s: pack reached the tool", what);
    for (int i = 0; i < SHORT; i++)
        CHECK(packed[i] == 2 * i, "%s: double %d is %g", what, i, packed[i]);
}

static void let_many_die(void)
{
    for (int i = 0; i < MANY; i++) {
        MPI_Datatype type = strided(SHORT);

        send(type, SHORT, i);
        MPI_Type_free(&type);
    }
}

static void check_messages(void)
{
    MPI_Datatype type = strided(SHORT);

    check_send(type, SHORT, true, "a short message");
    MPI_Type_free(&type);
    type = strided(LONG);
    check_send(type, LONG, false, "a long message");
    check_send(type, LONG, false, "another long one");
    MPI_Type_free(&type);
    type = strided(SHORT);
    for (int i = 0; i < 20; i++)
        send(type, SHORT, i);
    check_pack(type, "a type that is used again and again");
    MPI_Type_free(&type);
}

static void check_other_calls(void)
{
    MPI_Datatype type = strided(SHORT), dup;
    double memory[2 * SHORT] = {0};

    check_pack(type, "a new type");
    MPI_Type_free(&type);
    type = strided(SHORT);
    MPI_Type_dup(type, &dup);
    MPI_Type_free(&type);
    check_pack(dup, "a duplicate of a new type");
    MPI_Type_free(&dup);
    type = strided(SHORT);
    for (int i = 0; i < 2 * SHORT && rank == 0; i++)
        memory[i] = i;
    MPI_Bcast(memory, 1, type, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 2 * SHORT; i++)
        CHECK(memory[i] == (i % 2 == 0 || rank == 0 ? i : 0), "double %d is %g", i, memory[i]);
    MPI_Type_free(&type);
}

/* Freed while its message is under way, and its handle, as a rule, given to another type at once. */
static void check_pending(void)
{
    MPI_Datatype type = strided(SHORT), other;
    double memory[2 * SHORT] = {0};
    MPI_Request request = MPI_REQUEST_NULL;

    for (int i = 0; i < SHORT && rank == 0; i++)
        memory[2 * i] = i;
    if (rank == 1)
        MPI_Irecv(memory, 1, type, 0, TAG, MPI_COMM_WORLD, &request);
    else if (rank == 0)
        MPI_Isend(memory, 1, type, 1, TAG, MPI_COMM_WORLD, &request);
    MPI_Type_free(&type);
    other = strided(LONG);
    check_send(other, LONG, false, "another type");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < SHORT; i++)
        CHECK(memory[2 * i] == i, "double %d is %g", i, memory[2 * i]);
    MPI_Type_free(&other);
}

/* Of a type that has not been committed, though its handle may be that of one that was. */
static int send_uncommitted(int (*how)(const void *, int, MPI_Datatype, int, int, MPI_Comm))
{
    MPI_Datatype type = strided(LONG);
    double memory[2 * LONG] = {0};
    int rc;

    MPI_Type_free(&type);
    MPI_Type_vector(LONG, 1, 2, MPI_DOUBLE, &type);
    rc = how(memory, 1, type, 0, TAG, MPI_COMM_SELF);
    MPI_Type_free(&type);
    return test_class_of(rc);
}

static void check_errors(void)
{
    int ours, alone;

    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    alone = send_uncommitted(PMPI_Send);
    ours = send_uncommitted(MPI_Send);
    CHECK(alone != MPI_SUCCESS && ours == alone, "an uncommitted type: error class %d, alone %d", ours, alone);
}

static void check(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    let_many_die();
    check_messages();
    let_many_die();
    check_other_calls();
    let_many_die();
    check_pending();
    check_errors();
}

int main(int argc, char **argv)
{
    return test_run(&argc, &argv, check);
}
