/*
 * Lazy memory: addresses without pages. A block of it stands for bytes that lie elsewhere, such as a message in the
 * memory of a GPU, or one that is not packed yet. Whoever reads the block gets these bytes: userfaultfd (Linux) stops
 * the reader, a thread of this file has the bytes made, and the reader goes on. A block that nobody reads never has
 * pages.
 *
 * Readers are served as far as the system lets this process. If it has CAP_SYS_PTRACE, may open /dev/userfaultfd, or
 * vm.unprivileged_userfaultfd is 1, everybody is: this process, the kernel on its behalf, and another process by
 * process_vm_readv. Otherwise only the threads of this process are, and system calls that read the memory fail with
 * EFAULT. Nobody ever reads other bytes.
 *
 * All functions are thread safe; one block is used by one thread at a time. A child process of fork does not have the
 * memory.
 */
#ifndef PW_RUNTIME_LAZY_H
#define PW_RUNTIME_LAZY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes the `bytes` bytes that the block stands for to `to`. Runs in the thread of this file, while the reader may
 * hold any lock of MPI, or in pw_lazy_set. False: the bytes are lost; the reader then gets the error for memory that is
 * not there (EFAULT, SIGSEGV). */
typedef bool pw_lazy_maker(void *arg, void *to, int64_t bytes);

/* The readers whom lazy memory answers. */
typedef enum pw_lazy_readers {
    PW_LAZY_NOBODY, /* there is none */
    PW_LAZY_THREADS,
    PW_LAZY_EVERYBODY
} pw_lazy_readers;

/* Whom lazy memory serves. The first call starts the thread. Whether the program has closed the descriptor meanwhile is
 * seen by the next pw_lazy_set, which then writes the bytes to the block, and lazy memory serves nobody any longer. */
pw_lazy_readers pw_lazy_serves(void);

/* Maps `count` blocks of 1 << shift bytes each, one behind the other, aligned to a block or 2 MiB. They stay mapped as
 * long as the process. NULL: that is not possible, or takes what the program may need. */
char *pw_lazy_map(uint32_t shift, uint32_t count);

/* From now on the block, which begins there, stands for `bytes` bytes that `make` makes. What is behind them is 0.
 * `now`: it makes them in this call, so that they have pages. This is not a read. */
void pw_lazy_set(void *block, int64_t bytes, pw_lazy_maker *make, void *arg, bool now);
/* Begins and ends a series of pw_lazy_set of this thread, in which the program does nothing: the first one alone looks
 * whether the descriptor is there, by a system call. */
void pw_lazy_together(bool on);
/* The block stands for nothing any more: `make` is not called again. True: a reader met missing pages. */
bool pw_lazy_clear(void *block);

/* ---- addresses --------------------------------------------------------------------------------------------------- */

/* Maps `bytes` bytes of private memory that nobody may access yet, at a multiple of `alignment`. Both are multiples of
 * a page. The caller unmaps them. NULL: there is no room. */
char *pw_reserve(size_t bytes, size_t alignment);

#endif
