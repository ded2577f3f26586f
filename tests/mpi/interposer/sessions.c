/* Sessions without MPI_Init, and sessions that begin before the world and outlive it. */
#include "harness.h"

static int failures;

static void use_types(const char *what)
{
    for (int i = 0; i < 6; i++) {
        MPI_Datatype type;
        double memory[256], ours[64], theirs[64];
        int p = 0, q = 0;

        test_fill(memory, sizeof memory, (unsigned)i);
        MPI_Type_vector(8, 1 + i % 3, 8 + i, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        MPI_Pack(memory, 1, type, ours, sizeof ours, &p, MPI_COMM_SELF);
        PMPI_Pack(memory, 1, type, theirs, sizeof theirs, &q, MPI_COMM_SELF);
        if (p != q || memcmp(ours, theirs, (size_t)q)) {
            fprintf(stderr, "%s: type %d packs wrong\n", what, i);
            failures++;
        }
        if (i % 2)
            MPI_Type_free(&type);
    }
}

/* MPI_COMM_SELF is not for sessions: they make their own. */
static void use_session(MPI_Session session, const char *what)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Datatype type;
    double memory[64], ours[8], theirs[8];
    int p = 0, q = 0;

    MPI_Group_from_session_pset(session, "mpi://SELF", &group);
    MPI_Comm_create_from_group(group, "packwright", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
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

/* With "world" as argument, sessions before, beside and after MPI_Init ... MPI_Finalize. */
int main(int argc, char **argv)
{
    MPI_Session first, second;
    int world = argc > 1;

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
