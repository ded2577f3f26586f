/*
 * Takes the place of recv, readv and recvmsg, by which MPIs receive from other nodes over TCP: UCX, Open MPI's TCP BTL
 * and libfabric. They receive a long contiguous message piece by piece, straight into the buffer of the receive. If
 * that is the staging memory of an expected message (inbound.h), each piece is unpacked here, while the next one
 * travels. So unpacking takes no time after the last piece. Matching, order, progress and errors are the MPI's.
 *
 * All calls go to the next definition, with the arguments and the result of the caller. The address alone tells whether
 * a message is expected there, so calls of programs and of signal handlers are only looked at.
 */
#include "runtime/engine/node/inbound.h"

#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

typedef ssize_t recv_fn(int, void *, size_t, int);
typedef ssize_t recvmsg_fn(int, struct msghdr *, int);
typedef ssize_t readv_fn(int, const struct iovec *, int);

/* The singleton: the next definitions, set when the library is loaded. A constructor of another library may receive
 * before that. */
static struct {
    recv_fn *recv;
    recvmsg_fn *recvmsg;
    readv_fn *readv;
} next;

__attribute__((constructor)) static void find_next(void)
{
    next.recv = (recv_fn *)(uintptr_t)dlsym(RTLD_NEXT, "recv");
    next.recvmsg = (recvmsg_fn *)(uintptr_t)dlsym(RTLD_NEXT, "recvmsg");
    next.readv = (readv_fn *)(uintptr_t)dlsym(RTLD_NEXT, "readv");
}

/* ---- what has come ----------------------------------------------------------------------------------------------- */

/* With one of these flags the bytes come once more, or are none of a stream. */
enum { OTHER_BYTES = MSG_PEEK | MSG_TRUNC | MSG_OOB | MSG_ERRQUEUE };

static void note(const void *to, int64_t bytes)
{
    pw_inbound *in = pw_inbound_at(to);
    int64_t room = in ? pw_inbound_room(in, to) : 0;

    if (in)
        pw_inbound_received(in, to, bytes < room ? bytes : room);
}

/* `bytes` may be an error. */
static void note_all(const struct iovec *to, size_t n, ssize_t bytes)
{
    for (size_t i = 0; i < n && bytes > 0; i++) {
        ssize_t here = (ssize_t)to[i].iov_len < bytes ? (ssize_t)to[i].iov_len : bytes;

        note(to[i].iov_base, here);
        bytes -= here;
    }
}

/* ---- the functions ----------------------------------------------------------------------------------------------- */

__attribute__((visibility("default"))) ssize_t recv(int fd, void *to, size_t bytes, int flags)
{
    ssize_t n = next.recv ? next.recv(fd, to, bytes, flags) : syscall(SYS_recvfrom, fd, to, bytes, flags, NULL, NULL);

    if (n > 0 && !(flags & OTHER_BYTES))
        note(to, n);
    return n;
}

__attribute__((visibility("default"))) ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    ssize_t n = next.recvmsg ? next.recvmsg(fd, message, flags) : syscall(SYS_recvmsg, fd, message, flags);

    if (n > 0 && !(flags & OTHER_BYTES))
        note_all(message->msg_iov, message->msg_iovlen, n);
    return n;
}

__attribute__((visibility("default"))) ssize_t readv(int fd, const struct iovec *to, int n)
{
    ssize_t bytes = next.readv ? next.readv(fd, to, n) : syscall(SYS_readv, fd, to, n);

    if (bytes > 0)
        note_all(to, (size_t)n, bytes);
    return bytes;
}
