#ifndef PW_TESTS_RUNTIME_READER_H
#define PW_TESTS_RUNTIME_READER_H

#include <sys/types.h>

/* process_vm_readv, called by a library that is named as one of the MPI's. */
ssize_t read_as_mpi(pid_t pid, void *to, const void *from, size_t bytes);

#endif
