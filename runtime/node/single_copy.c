/*
 * Within a node MPIs copy long messages once, from the sender's memory to the receiver's, by process_vm_readv (Linux;
 * "CMA"). For a packed message that is a copy too many: the kernel of the receiver might read the packed bytes where
 * they are. Taking the place of that function is how MPI's matching, order, progress and errors all remain, and only
 * the copying is ours: what it asks for is in the segment of a process that has Packwright (runtime/node/peers.h), and
 * is read there without a system call; where it is to go is the staging memory of a receive, and it is unpacked into
 * the user's buffer instead (runtime/node/inbound.h). Everything else is the system's business.
 *
 * FALCON-X (Hashmi et al., "FALCON-X: Zero-copy MPI Derived Datatype Processing on Modern CPU and GPU Architectures",
 * JPDC 2020) shares the user's own buffers by a kernel module, XPMEM, inside the MPI.
 */
#include "base/env.h"
#include "runtime/gate.h"
#include "runtime/node/inbound.h"
#include "runtime/node/peers.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

typedef ssize_t read_fn(pid_t pid, const struct iovec *local, unsigned long nlocal, const struct iovec *remote,
                        unsigned long nremote, unsigned long flags);

static ssize_t read_by_system(pid_t pid, const struct iovec *local, unsigned long nlocal, const struct iovec *remote,
                              unsigned long nremote, unsigned long flags)
{
    static _Atomic(read_fn *) next;
    read_fn *f = atomic_load_explicit(&next, memory_order_acquire);

    if (!f) {
        f = (read_fn *)dlsym(RTLD_NEXT, "process_vm_readv");
        if (!f) {
            errno = ENOSYS;
            return -1;
        }
        atomic_store_explicit(&next, f, memory_order_release);
    }
    return f(pid, local, nlocal, remote, nremote, flags);
}

static bool is_on(void)
{
    return atomic_load_explicit(&pw_gate_now, memory_order_acquire) == PW_GATE_OPEN && pw_env_bool(PW_ENV_SHARED);
}

/* Open MPI 4.1 and 5.0 have more copied than was posted, and say so afterwards: what is beyond a receive's staging
 * memory is not written. */
static ssize_t read_into(pw_inbound *in, pid_t pid, const struct iovec *local, const struct iovec *remote,
                         const void *from)
{
    int64_t room = pw_inbound_room(in, local->iov_base);
    struct iovec to = *local, of = *remote;
    pw_peer_block block;
    ssize_t n;

    if ((int64_t)to.iov_len > room)
        to.iov_len = of.iov_len = (size_t)room;
    if (from) {
        pw_inbound_arrive(in, to.iov_base, from, (int64_t)to.iov_len,
                          pw_peer_block_of(pid, remote->iov_base, &block) ? &block : NULL);
        return (ssize_t)local->iov_len;
    }
    n = to.iov_len > 0 ? read_by_system(pid, &to, 1, &of, 1, 0) : 0;
    return n == (ssize_t)to.iov_len ? (ssize_t)local->iov_len : n;
}

__attribute__((visibility("default"))) ssize_t process_vm_readv(pid_t pid, const struct iovec *local,
                                                                unsigned long nlocal, const struct iovec *remote,
                                                                unsigned long nremote, unsigned long flags)
{
    const void *from;
    pw_inbound *in;

    if (nlocal != 1 || nremote != 1 || flags != 0 || local->iov_len != remote->iov_len || !is_on())
        return read_by_system(pid, local, nlocal, remote, nremote, flags);
    in = pw_inbound_at(local->iov_base);
    from = pw_peer_memory(pid, remote->iov_base, remote->iov_len);
    if (in)
        return read_into(in, pid, local, remote, from);
    if (!from)
        return read_by_system(pid, local, nlocal, remote, nremote, flags);
    memcpy(local->iov_base, from, local->iov_len);
    return (ssize_t)local->iov_len;
}
