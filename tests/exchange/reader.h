#ifndef PW_TESTS_RUNTIME_READER_H
#define PW_TESTS_RUNTIME_READER_H

#include <sys/types.h>

/* Calls process_vm_readv from a library whose name is that of one of the MPI's. */
ssize_t read_as_mpi(pid_t pid, void *to, const void *from, size_t bytes);

#endif
