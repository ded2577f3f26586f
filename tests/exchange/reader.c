/* Reads as an MPI's library does: this is linked as a library of such a name (runtime/mpi/entry/single_copy.c). */
#include "tests/exchange/reader.h"

__attribute__((visibility("default"))) ssize_t read_list_as_mpi(pid_t pid, const struct iovec *to, unsigned long pieces,
                                                                const void *from, size_t bytes)
{
    struct iovec remote = {(void *)from, bytes};
    ssize_t n = process_vm_readv(pid, to, pieces, &remote, 1, 0);

    __asm__ volatile("" ::"r"(n)); /* the call returns here, not to the caller of this function */
    return n;
}

__attribute__((visibility("default"))) ssize_t read_as_mpi(pid_t pid, void *to, const void *from, size_t bytes)
{
    return read_list_as_mpi(pid, &(struct iovec){to, bytes}, 1, from, bytes);
}
