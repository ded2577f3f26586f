/*
 * What tests of two processes over a socket share. A condition that does not hold ends the process, and so the test;
 * what one process gives, the other one takes.
 */
#ifndef PW_TESTS_ENGINE_NET_PROCESSES_H
#define PW_TESTS_ENGINE_NET_PROCESSES_H

#include "runtime/exchange/net/net.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUIRE(condition) require(condition, __FILE__, __LINE__)

static inline void require(bool holds, const char *file, int line)
{
    if (holds)
        return;
    fprintf(stderr, "%s:%d does not hold in process %d\n", file, line, (int)getpid());
    _exit(1);
}

static inline void give(int socket, const void *data, size_t bytes)
{
    REQUIRE(write(socket, data, bytes) == (ssize_t)bytes);
}

static inline void take(int socket, void *data, size_t bytes)
{
    REQUIRE(recv(socket, data, bytes, MSG_WAITALL) == (ssize_t)bytes);
}

/* Finds the other process over the network, which has been started in both. */
static inline pw_net_peer *meet(int socket)
{
    unsigned char own[PW_NET_ADDRESS_BYTES] = {0}, other[PW_NET_ADDRESS_BYTES];
    size_t bytes = pw_net_address(own, sizeof own);
    pw_net_peer *peer;

    REQUIRE(bytes > 0);
    give(socket, &bytes, sizeof bytes);
    give(socket, own, sizeof own);
    take(socket, &bytes, sizeof bytes);
    take(socket, other, sizeof other);
    peer = pw_net_connect(other, bytes);
    REQUIRE(peer && pw_net_connect(other, bytes) == peer);
    return peer;
}

static inline void finish(const pw_net_op *op)
{
    while (!pw_net_is_over(op))
        pw_net_progress();
}

#endif
