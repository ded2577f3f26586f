/* The end of MPICH's connections over UCX. */
#ifndef PW_RUNTIME_DISCONNECT_H
#define PW_RUNTIME_DISCONNECT_H

/*
 * Makes an MPICH that would wait in MPI_Finalize for other ranks end its connections at once. To be called by every
 * rank of the world, when all ranks have received all messages. Other MPIs end as ever.
 */
void pw_disconnect_at_once(void);

#endif
