/*
 * Takes the place of process_vm_readv. Within a node, MPIs use this Linux function ("CMA") to copy long messages once,
 * from the sender's memory to the receiver's. A packed message needs no such copy: the receiver's kernel can read the
 * packed bytes where they lie. With only the copying replaced, MPI's matching, order, progress and errors all remain.
 *
 * A read is the MPI's own in two cases: one of the MPI's libraries makes it while this process has a segment, or its
 * destination is memory in which a message is expected (inbound.h), whatever the library's name. All other reads go to
 * the system at once, before any lock, allocation or look-up of a process. They may therefore come from signal
 * handlers, as those of unwinders do, and their errors are the system's.
 *
 * If an own read asks for bytes in the segment of a process that has Packwright (peers.h), no system call copies them.
 * An expected message is unpacked from there into the user's buffer. Anything else, such as a message into a contiguous
 * buffer, is copied to where the MPI wants it. The system copies bytes that lie elsewhere, and what comes into several
 * pieces of memory, unless it cannot read the bytes.
 *
 * FALCON-X (Hashmi et al., "FALCON-X: Zero-copy MPI Derived Datatype Processing on Modern CPU and GPU Architectures",
 * JPDC 2020) shares the user's own buffers by a kernel module, XPMEM, inside the MPI.
 */
#include "base/env.h"
#include "base/linkage.h"
#include "base/pages.h"
#include "runtime/exchange/inbound.h"
#include "runtime/exchange/peers.h"
#include "runtime/exchange/segment.h"
#include "runtime/exchange/sharing.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Does what the C library's function does, whose next definition cannot be looked up in a signal handler. */
static ssize_t read_by_system(pid_t pid, const struct iovec *local, unsigned long nlocal, const struct iovec *remote,
                              unsigned long nremote, unsigned long flags)
{
    return syscall(SYS_process_vm_readv, pid, local, nlocal, remote, nremote, flags);
}

/* ---- whose read it is -------------------------------------------------------------------------------------------- */

/* The libraries that read for MPIs: the family of MPICH, UCX, libfabric, ParaStation, Open MPI. */
static const char *const readers[] = {"libmpi",    "libmpich",      "libuct_cma", "libfabric",    "libshm-fi",
                                      "libpscom4", "mca_btl_vader", "mca_btl_sm", "mca_smsc_cma", "libopen-pal",
                                      NULL};

/* Returns whether one of these libraries contains this code. glibc finds the library without a lock, even in signal
 * handlers. The last code that one contains is remembered, since an MPI reads from one place. */
static bool is_of_mpi(void *code)
{
#ifdef DLFO_EH_SEGMENT_TYPE
    static _Atomic(void *) known;
    struct dl_find_object found;
    bool is = code == atomic_load_explicit(&known, memory_order_relaxed);

    if (!is && _dl_find_object(code, &found) == 0 && pw_linkage_is_named(found.dlfo_link_map->l_name, readers)) {
        atomic_store_explicit(&known, code, memory_order_relaxed);
        is = true;
    }
    return is;
#else /* before glibc 2.35 */
    (void)code;
    return false;
#endif
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Returns whether the destination can be written. If it cannot, the system's read returns an error, while a copy would
 * end the process. Linux before 5.14 cannot tell; the system then reads. */
static bool is_writable(const struct iovec *to)
{
    return pw_pages_make(to->iov_base, to->iov_len);
}

typedef enum outcome { NOT_HERE, READ, FAILED /* with the reason in errno */ } outcome;

/* Moves bytes of objects that a block stands for. The sender makes them if reading or writing fails. */
static outcome read_objects(pw_inbound *in, const pw_peer_block *block, const void *from, const struct iovec *to)
{
    int64_t bytes = (int64_t)to->iov_len;
    pw_stand_in objects;
    bool done;

    if (!pw_stand_in_open(block, from, to->iov_len, &objects))
        return NOT_HERE;
    done = in ? pw_inbound_arrive(in, to->iov_base, from, bytes, block, &objects)
              : is_writable(to) && pw_stand_in_pack(&objects, to->iov_base, bytes);
    pw_stand_in_close(&objects, done ? bytes : 0);
    return done || pw_peer_copy(block, to->iov_base, from, to->iov_len) ? READ : FAILED;
}

/* Copies, unpacks or moves bytes of a block of a segment, unless they are in none or cannot be written. */
static outcome read_in_segment(pw_inbound *in, pid_t pid, const struct iovec *to, const struct iovec *of)
{
    pw_peer_block block;
    const void *from = pw_env_bool(PW_ENV_SHARED) ? pw_peer_memory(pid, of->iov_base, of->iov_len, &block) : NULL;
    bool done;

    if (from && block.form == PW_OFFER_OBJECTS)
        return read_objects(in, &block, from, to);
    if (!from || (!in && !is_writable(to)))
        return NOT_HERE;
    done = in ? pw_inbound_arrive(in, to->iov_base, from, (int64_t)to->iov_len, &block, NULL)
              : pw_peer_copy(&block, to->iov_base, from, to->iov_len);
    return done ? READ : FAILED;
}

/* Carries out an own read. `in`: the receive that expects the message; NULL: none does. Open MPI 4.1 and 5.0 ask for
 * more bytes than were posted, and report the error afterwards; bytes beyond the staging memory of a receive are not
 * written. */
static ssize_t read_for_mpi(pw_inbound *in, pid_t pid, const struct iovec *local, const struct iovec *remote)
{
    struct iovec to = *local, of = *remote;
    int64_t room = in ? pw_inbound_room(in, to.iov_base) : INT64_MAX;
    outcome read;
    ssize_t n;

    if (to.iov_len > (uint64_t)room)
        to.iov_len = of.iov_len = (size_t)room;
    read = read_in_segment(in, pid, &to, &of);
    n = read == READ ? (ssize_t)to.iov_len : -1;
    if (read == NOT_HERE)
        n = to.iov_len > 0 ? read_by_system(pid, &to, 1, &of, 1, 0) : 0;
    if (n < 0 && errno == EPERM)
        pw_sharing_note_refusal();
    return n == (ssize_t)to.iov_len ? (ssize_t)local->iov_len : n;
}

/* Carries out an own read into a list of pieces that the system has refused, because the bytes are of a stand-in
 * without pages. They come to memory of this process at once, and the system spreads them from there. */
static ssize_t read_into_list(pid_t pid, const struct iovec *local, unsigned long nlocal, const struct iovec *remote)
{
    struct iovec all = {malloc(remote->iov_len), remote->iov_len};
    ssize_t n = all.iov_base ? read_for_mpi(NULL, pid, &all, remote) : -1;
    int error;

    if (n > 0) {
        all.iov_len = (size_t)n;
        n = read_by_system(getpid(), local, nlocal, &all, 1, 0);
    }
    error = errno;
    free(all.iov_base);
    errno = error;
    return n;
}

__attribute__((visibility("default"))) ssize_t process_vm_readv(pid_t pid, const struct iovec *local,
                                                                unsigned long nlocal, const struct iovec *remote,
                                                                unsigned long nremote, unsigned long flags)
{
    bool may_be = nremote == 1 && flags == 0, is_single = may_be && nlocal == 1;
    bool is_own = may_be && pw_segment_is_open() && is_of_mpi(__builtin_return_address(0));
    pw_inbound *in = is_single ? pw_inbound_at(local->iov_base) : NULL;
    ssize_t n;

    if (is_single && (is_own || in) && local->iov_len == remote->iov_len)
        return read_for_mpi(in, pid, local, remote);
    n = read_by_system(pid, local, nlocal, remote, nremote, flags);
    return n < 0 && errno == EFAULT && is_own && nlocal > 1 ? read_into_list(pid, local, nlocal, remote) : n;
}
