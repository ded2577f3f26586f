/* Preloaded into packwright-measure-mpich: says once by which vectors and subarrays it builds its types, and in how
 * large a communicator it sends a message to itself, into which array. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>

static void *received; /* of the last message that is received */

__attribute__((visibility("default"))) int MPI_Type_create_subarray(int n, const int sizes[], const int lengths[],
                                                                    const int starts[], int order, MPI_Datatype of,
                                                                    MPI_Datatype *out)
{
    fprintf(stderr, "subarray of %d x %d elements\n", lengths[0], lengths[1]);
    return PMPI_Type_create_subarray(n, sizes, lengths, starts, order, of, out);
}

__attribute__((visibility("default"))) int MPI_Type_vector(int count, int length, int stride, MPI_Datatype of,
                                                           MPI_Datatype *out)
{
    fprintf(stderr, "vector of %d blocks of %d, %d apart\n", count, length, stride);
    return PMPI_Type_vector(count, length, stride, of, out);
}

__attribute__((visibility("default"))) int MPI_Type_create_hvector(int count, int length, MPI_Aint stride,
                                                                   MPI_Datatype of, MPI_Datatype *out)
{
    fprintf(stderr, "hvector of %d blocks of %d, %ld bytes apart\n", count, length, (long)stride);
    return PMPI_Type_create_hvector(count, length, stride, of, out);
}

__attribute__((visibility("default"))) int PMPI_Irecv(void *to, int count, MPI_Datatype type, int from, int tag,
                                                      MPI_Comm comm, MPI_Request *request)
{
    static int (*next)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Irecv");
    received = to;
    return next(to, count, type, from, tag, comm, request);
}

__attribute__((visibility("default"))) int PMPI_Isend(const void *from, int count, MPI_Datatype type, int to, int tag,
                                                      MPI_Comm comm, MPI_Request *request)
{
    static int (*next)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    static bool told;
    int rank, size;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Isend");
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    if (to == rank && !told)
        fprintf(stderr, "to itself among %d, %s\n", size, from == received ? "in place" : "into another array");
    told = told || to == rank;
    return next(from, count, type, to, tag, comm, request);
}
