/*
 * A network of processes that read each other's memory, over UCX. It is a library of its own, libpackwright-net.so,
 * which is loaded if PACKWRIGHT_NET says so. What other processes read is registered first, and found by a key. Reading
 * needs nothing of the process that is read, where the network has hardware for it. Short messages let processes tell
 * each other of their keys.
 *
 * An operation takes a pw_net_op, which may serve several at a time and must stay where it is until all are over.
 * Operations go on in pw_net_progress only. What fails marks its pw_net_op, and is not repeated.
 *
 * All functions are thread safe.
 */
#ifndef PW_RUNTIME_NET_H
#define PW_RUNTIME_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PW_NET_ADDRESS_BYTES = 2048, PW_NET_KEY_BYTES = 512, PW_NET_TRANSPORTS_BYTES = 64 };

/* Loads the library and opens the network at the first call. False: there is none; the log says why. */
bool pw_net_start(void);
/* Closes everything. To be called when no other process reads here any more, and no operation is open. */
void pw_net_stop(void);

typedef struct pw_net_functions pw_net_functions;

/* The functions of the library. NULL unless pw_net_start has returned true. */
extern const pw_net_functions *pw_net;

/* The library's only symbol, a pw_net_functions. The number changes with what lies there. */
#define PW_NET_ENTRY "packwright_net_1"

typedef struct pw_net_peer pw_net_peer;

/* Begins as zeros. */
typedef struct pw_net_op {
    int64_t open;     /* operations that are not over */
    int64_t received; /* the bytes of the last message that was received */
    bool failed;
} pw_net_op;

/* What others need to read registered memory. */
typedef struct pw_net_key {
    uint64_t number; /* a hash of what follows: keys of one number are equal */
    uint32_t bytes;
    uint8_t data[PW_NET_KEY_BYTES];
} pw_net_key;

typedef struct pw_net_source pw_net_source;

/* Bytes at an address of the owner, which go to memory of this process. */
typedef struct pw_net_piece {
    uint64_t from;
    char *to;
    int64_t bytes;
} pw_net_piece;

/* ---- what it does -------------------------------------------------------------------------------- */

struct pw_net_functions {
    /* Opens the network. Returns why there is none, or NULL. */
    const char *(*open)(void);
    void (*close)(void);

    /* ---- other processes */

    /* Writes the address by which other processes reach this one. Returns its bytes; 0: there is none so short. */
    size_t (*address)(void *out, size_t max);
    /* Returns the process at an address, the same each time, which lives until pw_net_stop. NULL: it failed. */
    pw_net_peer *(*connect)(const void *address, size_t bytes);
    /* Returns the names of the transports by which this process reaches the other one, sorted, such as "cma,posix" or
     * "tcp". "": UCX does not tell them. */
    const char *(*transports)(const pw_net_peer *peer);

    /* ---- operations */

    bool (*is_over)(const pw_net_op *op);
    void (*progress)(void);
    /* Messages of one tag from one process arrive in the order in which they were sent. `data` stays as it is, or
     * unread, until the operation is over. A message is received by its tag, which must name the sender. */
    void (*send)(pw_net_peer *to, uint64_t tag, const void *data, int64_t bytes, pw_net_op *op);
    void (*receive)(uint64_t tag, void *data, int64_t most, pw_net_op *op);

    /* ---- memory */

    /* Registers memory for others to read, and fills in the key. Returns what ends the offer. NULL: it has failed. */
    void *(*offer)(void *memory, int64_t bytes, pw_net_key *out);
    /* Nobody reads that memory any more. */
    void (*withdraw)(void *offered);
    /* Memory that another process has offered. NULL: the key is none. */
    pw_net_source *(*source_open)(pw_net_peer *owner, const void *key, size_t bytes);
    void (*source_close)(pw_net_source *source); /* NULL is allowed */
    /* Reads n pieces, which must lie within what was offered. */
    void (*read)(pw_net_source *source, const pw_net_piece *pieces, int64_t n, pw_net_op *op);
};

#endif
