/* A PMPI tool below Packwright, as profilers are: counts what reaches it and passes it on. */
#include "tests/mpi/support/count_calls.h"

#include <time.h>

_Atomic long count_pack, count_unpack, count_send, count_isend, count_recv, count_commit;
_Atomic(MPI_Datatype) count_sent_type;
_Atomic(const void *) count_sent_from;
_Atomic int count_put_objects, count_slow_put = -1;
void (*count_after_recv)(void);
void (*count_before_write)(MPI_Datatype type);

int MPI_Pack(const void *inbuf, int incount, MPI_Datatype datatype, void *outbuf, int outsize, int *position,
             MPI_Comm comm)
{
    count_pack++;
    return PMPI_Pack(inbuf, incount, datatype, outbuf, outsize, position, comm);
}

int MPI_Unpack(const void *inbuf, int insize, int *position, void *outbuf, int outcount, MPI_Datatype datatype,
               MPI_Comm comm)
{
    count_unpack++;
    return PMPI_Unpack(inbuf, insize, position, outbuf, outcount, datatype, comm);
}

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    count_send++;
    count_sent_type = datatype;
    count_sent_from = buf;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Isend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request)
{
    count_isend++;
    return PMPI_Isend(buf, count, datatype, dest, tag, comm, request);
}

int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    int rc;

    count_recv++;
    rc = PMPI_Recv(buf, count, datatype, source, tag, comm, status);
    if (count_after_recv)
        count_after_recv();
    return rc;
}

int MPI_Put(const void *buf, int count, MPI_Datatype datatype, int target, MPI_Aint disp, int target_count,
            MPI_Datatype target_datatype, MPI_Win win)
{
    struct timespec slow = {.tv_nsec = 20000};

    count_put_objects = target_count;
    if (target_count == count_slow_put)
        nanosleep(&slow, NULL);
    return PMPI_Put(buf, count, datatype, target, disp, target_count, target_datatype, win);
}

int MPI_File_write(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status)
{
    if (count_before_write)
        count_before_write(datatype);
    return PMPI_File_write(fh, buf, count, datatype, status);
}

int MPI_File_write_at(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype,
                      MPI_Status *status)
{
    if (count_before_write)
        count_before_write(datatype);
    return PMPI_File_write_at(fh, offset, buf, count, datatype, status);
}

int MPI_Type_commit(MPI_Datatype *datatype)
{
    count_commit++;
    return PMPI_Type_commit(datatype);
}
