/*
 * An MPI of an ABI that Packwright does not know, and a program that is linked to it: with OTHER_ABI_LIBRARY defined
 * this is the library. Its handles are small numbers. Any other handle ends the
 * process, as a wrong pointer would.
 */
typedef struct other_comm *MPI_Comm;
typedef struct other_type *MPI_Datatype;

#define OTHER_WORLD ((MPI_Comm)0x101)

int MPI_Init(int *argc, char ***argv);
int MPI_Initialized(int *flag);
int MPI_Finalized(int *flag);
int MPI_Get_version(int *major, int *minor);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Type_commit(MPI_Datatype *type);
int MPI_Finalize(void);

#ifdef OTHER_ABI_LIBRARY

#include <stdlib.h>

#pragma weak MPI_Init = PMPI_Init
#pragma weak MPI_Initialized = PMPI_Initialized
#pragma weak MPI_Finalized = PMPI_Finalized
#pragma weak MPI_Get_version = PMPI_Get_version
#pragma weak MPI_Comm_rank = PMPI_Comm_rank
#pragma weak MPI_Type_commit = PMPI_Type_commit
#pragma weak MPI_Finalize = PMPI_Finalize

int PMPI_Init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}

int PMPI_Initialized(int *flag)
{
    *flag = 1;
    return 0;
}

int PMPI_Finalized(int *flag)
{
    *flag = 0;
    return 0;
}

int PMPI_Get_version(int *major, int *minor)
{
    *major = 5;
    *minor = 0;
    return 0;
}

int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
    if (comm != OTHER_WORLD)
        abort();
    *rank = 0;
    return 0;
}

int PMPI_Type_commit(MPI_Datatype *type)
{
    (void)type;
    return 0;
}

int PMPI_Finalize(void)
{
    return 0;
}

#else

#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_Datatype type = (MPI_Datatype)0x200;
    int rank = -1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(OTHER_WORLD, &rank);
    MPI_Type_commit(&type);
    MPI_Finalize();
    puts(rank == 0 ? "other_abi: passed" : "other_abi: failed");
    return rank != 0;
}

#endif
