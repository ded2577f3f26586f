/*
 * What a network of net.h is made of: a table of functions for each library that can be loaded. net.c calls them, one
 * at a time: its lock is held during all of them.
 */
#ifndef PW_RUNTIME_NET_BACKEND_H
#define PW_RUNTIME_NET_BACKEND_H

#include "runtime/engine/net/net.h"

struct pw_net_peer {
    pw_net_peer *next;
    void *state; /* the backend's, from connect */
    char transports[PW_NET_TRANSPORTS_BYTES];
    size_t bytes;
    unsigned char address[];
};

struct pw_net_source {
    pw_net_peer *owner;
    void *key; /* the backend's, from open_key */
};

typedef struct pw_net_backend {
    /* Loads the library. NULL: it is open; else why there is no network. */
    const char *(*open)(void);
    void (*close)(void);

    size_t (*address)(void *out, size_t max);
    /* Returns the state of a peer, which lives until close. NULL: it failed. */
    void *(*connect)(const pw_net_peer *peer);
    /* Writes the names of the transports to a connected peer, or nothing. */
    void (*transports)(const pw_net_peer *peer, char out[PW_NET_TRANSPORTS_BYTES]);

    void (*progress)(void);
    void (*send)(pw_net_peer *to, uint64_t tag, const void *data, int64_t bytes, pw_net_op *op);
    void (*receive)(pw_net_peer *from, uint64_t tag, void *data, int64_t most, pw_net_op *op);
    void (*read)(pw_net_source *source, const pw_net_piece *pieces, int64_t n, pw_net_op *op);

    /* Whether what is read goes to registered memory only. */
    bool reads_to_registered;
    /* Registers pages for others to read, and if it is said so for reads of this process, too. Writes what others need.
     * NULL: it failed, and errno is ENOMEM if it might not with less memory registered. */
    void *(*add_memory)(void *begin, size_t bytes, bool written, pw_net_key *out);
    void (*drop_memory)(void *memory);
    void *(*open_key)(pw_net_peer *owner, const void *key, size_t bytes); /* NULL: the key is none */
    void (*close_key)(void *key);
} pw_net_backend;

extern const pw_net_backend pw_net_ucx, pw_net_verbs;

/* Returns the process at an address, which is connected if it is new: for backends, which learn of processes that
 * connect to this one. NULL: it failed. */
pw_net_peer *pw_net_peer_at(const void *address, size_t bytes);

/* An operation begins and ends by these. */
static inline void pw_net_op_begin(pw_net_op *op)
{
    op->open++;
}

static inline void pw_net_op_end(pw_net_op *op, bool failed)
{
    op->open--;
    op->failed |= failed;
}

#endif
