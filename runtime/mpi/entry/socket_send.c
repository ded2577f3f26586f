/*
 * Takes the place of send, sendmsg and writev, by which MPIs send to other nodes over TCP: UCX, Open MPI's TCP BTL and
 * libfabric. What is to be sent from a stand-in (leaving.h) is packed here, piece by piece, and sent from the memory
 * where it is packed. The system takes the pieces one after the other and sends them meanwhile. The caller gets the
 * number of bytes that the system has taken, as ever, or the error of the first piece.
 *
 * All calls go to the next definition. The address alone tells whether a message lies there, so calls of programs and
 * of signal handlers are only looked at. A call that cannot be divided, because its socket keeps the borders of what is
 * sent, or because the system is to read the memory later, finds the stand-in with its bytes.
 */
#include "runtime/engine/memory/pool.h"
#include "runtime/engine/node/leaving.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

typedef ssize_t send_fn(int, const void *, size_t, int);
typedef ssize_t sendmsg_fn(int, const struct msghdr *, int);
typedef ssize_t writev_fn(int, const struct iovec *, int);

/* The singleton: the next definitions, set when the library is loaded. A constructor of another library may send before
 * that. */
static struct {
    send_fn *send;
    sendmsg_fn *sendmsg;
    writev_fn *writev;
} next;

__attribute__((constructor)) static void find_next(void)
{
    next.send = (send_fn *)(uintptr_t)dlsym(RTLD_NEXT, "send");
    next.sendmsg = (sendmsg_fn *)(uintptr_t)dlsym(RTLD_NEXT, "sendmsg");
    next.writev = (writev_fn *)(uintptr_t)dlsym(RTLD_NEXT, "writev");
}

static ssize_t send_next(int fd, const void *from, size_t bytes, int flags)
{
    return next.send ? next.send(fd, from, bytes, flags) : syscall(SYS_sendto, fd, from, bytes, flags, NULL, 0);
}

static ssize_t sendmsg_next(int fd, const struct msghdr *message, int flags)
{
    return next.sendmsg ? next.sendmsg(fd, message, flags) : syscall(SYS_sendmsg, fd, message, flags);
}

static ssize_t writev_next(int fd, const struct iovec *from, int n)
{
    return next.writev ? next.writev(fd, from, n) : syscall(SYS_writev, fd, from, n);
}

/* ---- what lies where --------------------------------------------------------------------------------------------- */

/* One of these makes a difference between one call and several. */
enum { UNDIVIDED = MSG_OOB | MSG_EOR | MSG_ZEROCOPY };

static bool is_stream(int fd)
{
    int type = 0;
    socklen_t length = sizeof type;

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

typedef enum kind { OTHER, WATCHED, LAZY } kind;

/* What the vector has of messages that leave. The system has not looked at it yet, so it may be none. */
static kind kind_of(const struct iovec *from, size_t n)
{
    kind most = OTHER;

    if (!pw_leaving_is_any())
        return OTHER;
    for (size_t i = 0; i < n; i++) {
        const pw_leaving *l = pw_leaving_at(from[i].iov_base);
        kind k = !l ? OTHER : pw_leaving_is_watched(l) ? WATCHED : LAZY;

        most = k > most ? k : most;
    }
    return most;
}

/* The system has taken the first `bytes` bytes of the vector; `bytes` may be an error. */
static void note_all(const struct iovec *from, size_t n, ssize_t bytes)
{
    for (size_t i = 0; i < n && bytes > 0; i++) {
        ssize_t here = (ssize_t)from[i].iov_len < bytes ? (ssize_t)from[i].iov_len : bytes;
        pw_leaving *l = pw_leaving_at(from[i].iov_base);

        if (l)
            pw_leaving_sent(l, here);
        bytes -= here;
    }
}

static void make_all(const struct iovec *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        pw_leaving *l = pw_leaving_at(from[i].iov_base);

        if (l && !pw_leaving_is_watched(l))
            pw_leaving_make(l);
    }
}

/* ---- piece by piece ---------------------------------------------------------------------------------------------- */

enum { MOST_PARTS = 8 };

/* What is left to send of a vector, which does not change: from byte `at` of its first part on. */
typedef struct rest {
    const struct iovec *from;
    size_t n, at;
} rest;

/* The parts that one call sends: those of other memory as they are, and as the last one a packed piece. */
typedef struct parts {
    struct iovec now[MOST_PARTS], origin[MOST_PARTS]; /* what the system gets; where the caller has it */
    size_t n, bytes;
} parts;

static void step(rest *r, size_t bytes)
{
    r->at += bytes;
    if (r->at == r->from->iov_len) {
        r->from++;
        r->n--;
        r->at = 0;
    }
}

static void take_parts(parts *p, rest *r, void *piece)
{
    bool packed = false;

    *p = (parts){.n = 0};
    while (r->n > 0 && p->n < MOST_PARTS && !packed) {
        char *from = (char *)r->from->iov_base + r->at;
        size_t bytes = r->from->iov_len - r->at;
        const pw_leaving *l = pw_leaving_at(from);

        packed = l && !pw_leaving_is_watched(l);
        if (packed)
            bytes = (size_t)pw_leaving_pack(l, from, (int64_t)bytes, piece);
        p->now[p->n] = (struct iovec){packed ? piece : from, bytes};
        p->origin[p->n++] = (struct iovec){from, bytes};
        p->bytes += bytes;
        step(r, bytes);
    }
}

/* Sends a vector in pieces by sendmsg, or by writev if there is no message. */
static ssize_t send_pieces(int fd, const struct msghdr *message, int flags, rest r, void *piece)
{
    struct msghdr one = message ? *message : (struct msghdr){.msg_iov = NULL};
    ssize_t total = 0, sent;
    parts p;

    do {
        take_parts(&p, &r, piece);
        one.msg_iov = p.now;
        one.msg_iovlen = p.n;
        sent = message ? sendmsg_next(fd, &one, flags) : writev_next(fd, p.now, (int)p.n);
        note_all(p.origin, p.n, sent);
        total += sent > 0 ? sent : 0;
        one.msg_control = NULL;
        one.msg_controllen = 0;
    } while (sent == (ssize_t)p.bytes && r.n > 0);
    return total > 0 ? total : sent;
}

/* Returns whether it has sent the vector, or tried to, with the result in *sent. Otherwise the caller sends it whole.
 */
static bool has_sent(int fd, const struct msghdr *message, int flags, const struct iovec *from, size_t n, ssize_t *sent)
{
    kind k = kind_of(from, n);
    bool whole = k == LAZY && ((flags & UNDIVIDED) || !is_stream(fd));
    void *piece = k == LAZY && !whole ? pw_pool_take(PW_LEAVING_PIECE) : NULL;
    int error;

    if (k == LAZY && !piece)
        make_all(from, n);
    if (!piece)
        return false;
    *sent = send_pieces(fd, message, flags, (rest){.from = from, .n = n}, piece);
    error = errno;
    pw_pool_give(piece, PW_LEAVING_PIECE);
    errno = error;
    return true;
}

/* Counts what the system has taken of messages that are watched. */
static ssize_t watched(int fd, int flags, const struct iovec *from, size_t n, ssize_t sent)
{
    int error = errno;

    if (sent > 0 && !(flags & UNDIVIDED) && kind_of(from, n) == WATCHED && is_stream(fd))
        note_all(from, n, sent);
    errno = error;
    return sent;
}

/* ---- the functions ----------------------------------------------------------------------------------------------- */

__attribute__((visibility("default"))) ssize_t send(int fd, const void *from, size_t bytes, int flags)
{
    const struct iovec one = {(void *)(uintptr_t)from, bytes};
    const struct msghdr message = {.msg_iov = NULL};
    ssize_t sent;

    if (has_sent(fd, &message, flags, &one, 1, &sent))
        return sent;
    return watched(fd, flags, &one, 1, send_next(fd, from, bytes, flags));
}

__attribute__((visibility("default"))) ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    ssize_t sent;

    if (!message)
        return sendmsg_next(fd, message, flags);
    if (has_sent(fd, message, flags, message->msg_iov, message->msg_iovlen, &sent))
        return sent;
    return watched(fd, flags, message->msg_iov, message->msg_iovlen, sendmsg_next(fd, message, flags));
}

__attribute__((visibility("default"))) ssize_t writev(int fd, const struct iovec *from, int n)
{
    ssize_t sent;

    if (n <= 0 || n > IOV_MAX)
        return writev_next(fd, from, n);
    if (has_sent(fd, NULL, 0, from, (size_t)n, &sent))
        return sent;
    return watched(fd, 0, from, (size_t)n, writev_next(fd, from, n));
}
