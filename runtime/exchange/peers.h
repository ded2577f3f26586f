/*
 * The segments (segment.h) of other processes of the node, mapped for reading. This process maps the header of a
 * segment when it first looks for memory of its owner, and a piece when it first reads a message in it. A process that
 * has no segment at the first look is taken to have none for good. A pid that has come to mean another process is
 * looked up again.
 *
 * All functions are thread safe.
 */
#ifndef PW_RUNTIME_PEERS_H
#define PW_RUNTIME_PEERS_H

#include "runtime/exchange/directory.h"

#include <stddef.h>

/* GPU memory of another process that this process may open. */
typedef struct pw_peer_exported {
    const pw_segment_header *segment; /* identifies the process's segment */
    _Atomic uint32_t *wanted;         /* the segment's pw_segment_header.wanted */
    pw_segment_exported memory;
} pw_peer_exported;

/* A block of another process. The fields hold while a message lies in the block. */
typedef struct pw_peer_block {
    const char *base; /* its address in this process; of a lazy block that in its owner: only pw_peer_copy and the
                         memory that the message is in give its bytes */
    size_t bytes;
    size_t message;           /* bytes of the whole message that begins with the block; 0: not known */
    pw_offer_form form;       /* where the message lies */
    uint64_t removed;         /* a changed number says that the block has other pages than before */
    bool lazy;                /* the bytes are elsewhere, and only the owner can make others (lazy.h) */
    pid_t pid;                /* the owner */
    uint64_t address;         /* the block's address there */
    pw_peer_exported replica; /* its memory is valid if the form is one of GPU memory */
    pw_segment_offer *offer;  /* may hold anything, and change at any time */
    pw_segment_late *late;    /* of the message in the block, or of its part */
} pw_peer_block;

/* Returns the address in this process of the `bytes` bytes at address `remote` of process `pid`, and fills *block.
 * NULL: they are not all in one block of an open segment. The address is valid until MPI reports to that process that
 * its message was read. */
const void *pw_peer_memory(pid_t pid, const void *remote, size_t bytes, pw_peer_block *block);

/* Copies `bytes` bytes of the block, which are at `from` in this process, to `to`. False: they cannot be read, with the
 * reason in errno; some of them may be there. */
bool pw_peer_copy(const pw_peer_block *block, void *to, const void *from, size_t bytes);

/* Returns the header of the open segment of a process, which is to be read through directory.h. NULL: there is none.
 * The address identifies the segment, and is valid as long as this process. */
pw_segment_header *pw_peer_header(pid_t pid);

/* Maps the memory for all ranks of a node (commons.h) that a process of this user brings. NULL: it brings none. */
void *pw_peer_commons(pid_t pid, size_t bytes);

#endif
