/* A tool that takes one call of MPI, and no other: it sees each send, and passes it on. */
int PMPI_Send(const void *from, int count, long type, int to, int tag, long communicator);
int MPI_Send(const void *from, int count, long type, int to, int tag, long communicator);

int MPI_Send(const void *from, int count, long type, int to, int tag, long communicator)
{
    return PMPI_Send(from, count, type, to, tag, communicator);
}
