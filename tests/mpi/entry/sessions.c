/* Sessions without MPI_Init, and sessions that begin before the world and outlive it. */
#include "tests/mpi/support/harness.h"

static int failures;

/* Packs one object of up to 64 doubles, and compares with MPI. */
static void check_pack(const double *memory, MPI_Datatype type, MPI_Comm comm, const char *what, int i)
{
    double ours[64], theirs[64];
    int p = 0, q = 0;

    MPI_Pack(memory, 1, type, ours, sizeof ours, &p, comm);
    PMPI_Pack(memory, 1, type, theirs, sizeof theirs, &q, comm);
    if (p != q || memcmp(ours, theirs, (size_t)q)) {
        fprintf(stderr, "%s: type %d packs wrong\n", what, i);
        failures++;
    }
}

static void use_types(const char *what)
{
    for (int i = 0; i < 6; i++) {
        MPI_Datatype type;
        double memory[256];

        test_fill(memory, sizeof memory, (unsigned)i);
        MPI_Type_vector(8, 1 + i % 3, 8 + i, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        check_pack(memory, type, MPI_COMM_SELF, what, i);
        if (i % 2)
            MPI_Type_free(&type);
    }
}

/* Sessions cannot use MPI_COMM_WORLD and _SELF, so they make their own communicators. */
static MPI_Comm comm_of(MPI_Session session, const char *processes)
{
    MPI_Group group;
    MPI_Comm comm;

    MPI_Group_from_session_pset(session, processes, &group);
    MPI_Comm_create_from_group(group, "packwright", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    return comm;
}

static void use_session(MPI_Session session, const char *what)
{
    MPI_Comm comm = comm_of(session, "mpi://SELF");
    MPI_Datatype type;
    double memory[64], ours[8], theirs[8];
    int p = 0, q = 0;

    test_fill(memory, sizeof memory, 3);
    MPI_Type_vector(8, 1, 7, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    if (MPI_Pack(memory, 1, type, ours, sizeof ours, &p, comm) != MPI_SUCCESS ||
        PMPI_Pack(memory, 1, type, theirs, sizeof theirs, &q, comm) != MPI_SUCCESS || p != q ||
        memcmp(ours, theirs, sizeof ours)) {
        fprintf(stderr, "%s: packs wrong\n", what);
        failures++;
    }
    MPI_Type_free(&type);
    MPI_Comm_free(&comm);
}

/* Types that live longer than what the library keeps for them: the world comes and ends while a session goes on. */
static void check_bypassed(int *argc, char ***argv)
{
    enum { OLD = 8 };
    MPI_Datatype old[OLD];
    MPI_Session session;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    for (int i = 0; i < OLD; i++) {
        MPI_Type_vector(8, 1, 7 + i, MPI_DOUBLE, &old[i]);
        MPI_Type_commit(&old[i]);
    }
    PMPI_Init(argc, argv); /* as some language bindings do */
    MPI_Finalize();
    use_session(session, "session after a world that passed by");
    for (int i = 0; i < OLD; i++)
        MPI_Type_free(&old[i]);
    use_session(session, "session after its old types");
    MPI_Session_finalize(&session);
}

/* A session ends while a message of the world, whose request was freed, still waits for its receive. */
static void check_freed(int *argc, char ***argv)
{
    enum { N = 300000 };
    double *memory = calloc(3 * N, sizeof *memory), *in = malloc(sizeof *in * N);
    MPI_Session session;
    MPI_Request request;
    MPI_Datatype type;

    MPI_Init(argc, argv);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Type_vector(N, 1, 3, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    memory[3 * (N - 1)] = 5;
    MPI_Isend(memory, 1, type, 0, 1, MPI_COMM_SELF, &request);
    MPI_Request_free(&request);
    MPI_Session_finalize(&session);
    MPI_Recv(in, N, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    failures += in[N - 1] != 5;
    MPI_Type_free(&type);
    free(memory);
    free(in);
    MPI_Finalize();
}

/* Types that are never freed. */
static void leave_types(MPI_Comm comm, int round)
{
    enum { TYPES = 8 };
    double memory[128];

    test_fill(memory, sizeof memory, (unsigned)round);
    for (int i = 0; i < TYPES; i++) {
        MPI_Datatype type;

        MPI_Type_vector(3 + round, 2, 4 + i, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        check_pack(memory, type, comm, "in a session", i);
    }
}

/* Messages to itself whose requests are freed, before they have been received and after. */
static void leave_messages(MPI_Comm comm, int round)
{
    enum { N = 30000, STRIDE = 3 };
    double *memory = calloc(STRIDE * N, sizeof *memory), *in = calloc(N, sizeof *in);
    MPI_Request requests[2];
    MPI_Datatype type;
    int self;

    MPI_Comm_rank(comm, &self);
    MPI_Type_vector(N, 1, STRIDE, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    memory[STRIDE * (N - 1)] = 5 + round;
    for (int i = 0; i < 2; i++)
        MPI_Isend(memory, 1, type, self, i, comm, &requests[i]);
    MPI_Request_free(&requests[0]);
    for (int i = 0; i < 2; i++) {
        in[N - 1] = 0;
        MPI_Recv(in, N, MPI_DOUBLE, self, i, comm, MPI_STATUS_IGNORE);
        failures += in[N - 1] != 5 + round;
    }
    MPI_Request_free(&requests[1]);
    free(memory);
    free(in);
}

/* MPICH 4.0.2 and Open MPI 5.0.11 do not survive a second start in one process. */
#if !defined OPEN_MPI && MPICH_NUMVERSION >= 50000000
enum { LIVES = 3 };
#else
enum { LIVES = 1 };
#endif

/* MPI ends with each session, and a later session may get the same handles. Needs two processes or more: in a single
 * one, MPI_Request_free and MPI_Test of MPICH 4.0.2 crash. */
static void check_live(void)
{
    for (int round = 0; round < LIVES; round++) {
        MPI_Session session;
        MPI_Comm comm;

        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
        comm = comm_of(session, "mpi://WORLD");
        leave_types(comm, round);
        leave_messages(comm, round);
        MPI_Comm_free(&comm);
        MPI_Session_finalize(&session);
    }
}

/* An argument: "world", sessions before, beside and after MPI_Init ... MPI_Finalize; "bypassed", "freed", "live": see
 * above. */
int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Session first, second;
    int world = !strcmp(what, "world");

    if (!strcmp(what, "bypassed"))
        check_bypassed(&argc, &argv);
    if (!strcmp(what, "freed"))
        check_freed(&argc, &argv);
    if (!strcmp(what, "live"))
        check_live();
    if (*what && !world) {
        printf("%s\n", failures ? "FAILED" : "passed");
        return failures != 0;
    }
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &first);
    use_session(first, "first session");
    if (world) {
        MPI_Init(&argc, &argv);
        use_types("world beside a session");
    }
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second);
    MPI_Session_finalize(&first);
    use_session(second, "second session");
    if (world) {
        use_types("world beside another session");
        MPI_Finalize();
        use_session(second, "session after the world");
    }
    MPI_Session_finalize(&second);
    printf("%s\n", failures ? "FAILED" : "passed");
    return failures != 0;
}
