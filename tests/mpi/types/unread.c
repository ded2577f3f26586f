/* MPI does not say how a type was made: the type is left to it, and the log has MPI's error. */
#include "tests/mpi/support/harness.h"

/* Packwright calls these in place of the MPI's, since the program comes first. */
#if MPI_VERSION >= 4
__attribute__((visibility("default"))) int PMPI_Type_get_contents_c(MPI_Datatype type, MPI_Count nints,
                                                                    MPI_Count naddrs, MPI_Count ncounts,
                                                                    MPI_Count ntypes, int *ints, MPI_Aint *addrs,
                                                                    MPI_Count *counts, MPI_Datatype *types)
{
    (void)type, (void)nints, (void)naddrs, (void)ncounts, (void)ntypes, (void)ints, (void)addrs, (void)counts;
    (void)types;
    return MPI_ERR_OTHER;
}
#else
__attribute__((visibility("default"))) int PMPI_Type_get_contents(MPI_Datatype type, int nints, int naddrs, int ntypes,
                                                                  int *ints, MPI_Aint *addrs, MPI_Datatype *types)
{
    (void)type, (void)nints, (void)naddrs, (void)ntypes, (void)ints, (void)addrs, (void)types;
    return MPI_ERR_OTHER;
}
#endif

int main(int argc, char **argv)
{
    static double memory[16384], packed[8192];
    int n = 8192, position = 0, wrong = 0;
    MPI_Datatype type;

    MPI_Init(&argc, &argv);
    for (int i = 0; i < 2 * n; i++)
        memory[i] = i;
    MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Pack(memory, 1, type, packed, sizeof packed, &position, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++)
        wrong += packed[i] != 2 * i;
    CHECK(wrong == 0, "%d doubles", wrong);
    MPI_Type_free(&type);
    wrong = test_result();
    MPI_Finalize();
    return wrong;
}
