#ifndef PW_TESTS_RUNTIME_READER_H
#define PW_TESTS_RUNTIME_READER_H

#include <sys/types.h>
#include <sys/uio.h>

/* Calls process_vm_readv from a library whose name is that of one of the MPI's. */
ssize_t read_as_mpi(pid_t pid, void *to, const void *from, size_t bytes);
/* Calls it so into a list of pieces. */
ssize_t read_list_as_mpi(pid_t pid, const struct iovec *to, unsigned long pieces, const void *from, size_t bytes);

#endif
