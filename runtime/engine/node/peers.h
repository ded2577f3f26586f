/*
 * The segments (segment.h) of other processes of this node, mapped for reading: a header when a process is first asked
 * for memory, a piece when a message in it is first read. A process without a segment then is taken to have none; one
 * whose pid has come to mean another process is looked up again.
 *
 * All functions are thread safe.
 */
#ifndef PW_RUNTIME_PEERS_H
#define PW_RUNTIME_PEERS_H

#include "runtime/engine/node/directory.h"

#include <stddef.h>

/* A block of another process, as far as this one may count on it while a message lies there. */
typedef struct pw_peer_block {
    const char *base; /* as this process sees it */
    size_t bytes;
    size_t message;             /* of the message that begins with the block and is there as a whole; 0: not known */
    uint64_t removed;           /* when this is another number, the block has other pages than it had */
    const void *segment;        /* in which it is: one for each process */
    bool replicated;            /* the message is in the block's replica, too */
    pw_segment_replica replica; /* if it is */
    _Atomic uint32_t *wanted;   /* of the segment */
} pw_peer_block;

/* The `bytes` bytes at address `remote` of process `pid`, where this one sees them, and the block in which they are.
 * NULL: they are not all in one block of a segment that is open. Valid as long as the process needs what it has there,
 * so until MPI tells it that its message was read. */
const void *pw_peer_memory(pid_t pid, const void *remote, size_t bytes, pw_peer_block *block);

#endif
