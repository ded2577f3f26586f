#ifndef PW_TESTS_INTERPOSER_COUNT_CALLS_H
#define PW_TESTS_INTERPOSER_COUNT_CALLS_H

#include <mpi.h>

extern _Atomic long count_pack, count_unpack, count_send, count_isend, count_recv, count_commit;
/* The arguments of the last send. */
extern _Atomic(MPI_Datatype) count_sent_type;
extern _Atomic(const void *) count_sent_from;
/* The target's objects in the last MPI_Put; 0: the data was moved without MPI. */
extern _Atomic int count_put_objects;
/* An MPI_Put of so many of the target's objects takes long; -1: none does. */
extern _Atomic int count_slow_put;
/* Called when a message has arrived, before MPI_Recv returns. Does what another thread could do in between. */
extern void (*count_after_recv)(void);
/* Called with the type in memory before the MPI writes. */
extern void (*count_before_write)(MPI_Datatype type);

#endif
