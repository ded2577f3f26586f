/*
 * Within a node MPIs copy long messages once, from the sender's memory to the receiver's, by process_vm_readv (Linux;
 * "CMA"). For a packed message that is a copy too many: the kernel of the receiver might read the packed bytes where
 * they are. Taking the place of that function is how MPI's matching, order, progress and errors all remain, and only
 * the copying is ours.
 *
 * Reads into memory in which no message is expected (inbound.h) are not the MPI's, or not of our messages. They go to
 * the system at once, before any lock, allocation or look-up, so they may come from signal handlers, too, as those of
 * unwinders do. Of the others, what is in the segment of a process that has Packwright (peers.h) is unpacked from there
 * into the user's buffer without a system call; what is elsewhere the system copies.
 *
 * FALCON-X (Hashmi et al., "FALCON-X: Zero-copy MPI Derived Datatype Processing on Modern CPU and GPU Architectures",
 * JPDC 2020) shares the user's own buffers by a kernel module, XPMEM, inside the MPI.
 */
#include "base/env.h"
#include "runtime/node/inbound.h"
#include "runtime/node/peers.h"
#include "runtime/node/sharing.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The C library's function is no more than this, and the next definition of it cannot be looked up in a signal handler.
 */
static ssize_t read_by_system(pid_t pid, const struct iovec *local, unsigned long nlocal, const struct iovec *remote,
                              unsigned long nremote, unsigned long flags)
{
    return syscall(SYS_process_vm_readv, pid, local, nlocal, remote, nremote, flags);
}

/* Open MPI 4.1 and 5.0 have more copied than was posted, and say so afterwards: what is beyond a receive's staging
 * memory is not written. */
static ssize_t read_into(pw_inbound *in, pid_t pid, const struct iovec *local, const struct iovec *remote)
{
    int64_t room = pw_inbound_room(in, local->iov_base);
    struct iovec to = *local, of = *remote;
    pw_peer_block block;
    const void *from;
    ssize_t n;

    if ((int64_t)to.iov_len > room)
        to.iov_len = of.iov_len = (size_t)room;
    from = pw_env_bool(PW_ENV_SHARED) ? pw_peer_memory(pid, of.iov_base, of.iov_len, &block) : NULL;
    if (from) {
        pw_inbound_arrive(in, to.iov_base, from, (int64_t)to.iov_len, &block);
        return (ssize_t)local->iov_len;
    }
    n = to.iov_len > 0 ? read_by_system(pid, &to, 1, &of, 1, 0) : 0;
    if (n < 0 && errno == EPERM)
        pw_sharing_note_refusal();
    return n == (ssize_t)to.iov_len ? (ssize_t)local->iov_len : n;
}

__attribute__((visibility("default"))) ssize_t process_vm_readv(pid_t pid, const struct iovec *local,
                                                                unsigned long nlocal, const struct iovec *remote,
                                                                unsigned long nremote, unsigned long flags)
{
    bool may_be = nlocal == 1 && nremote == 1 && flags == 0 && pw_inbound_is_expected();
    pw_inbound *in = may_be ? pw_inbound_at(local->iov_base) : NULL;

    return in && local->iov_len == remote->iov_len ? read_into(in, pid, local, remote)
                                                   : read_by_system(pid, local, nlocal, remote, nremote, flags);
}
