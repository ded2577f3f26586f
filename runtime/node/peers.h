/*
 * The segments (runtime/node/segment.h) of other processes of this node, mapped for reading. A process is looked up
 * when its memory is first asked for, and never again: one without a segment then is taken to have none.
 *
 * All functions are thread safe.
 */
#ifndef PW_RUNTIME_PEERS_H
#define PW_RUNTIME_PEERS_H

#include <stddef.h>
#include <sys/types.h>

/* The `bytes` bytes at address `remote` of process `pid`, where this one sees them. NULL: they are not all in a segment
 * that is open. Valid as long as the process needs what it has there, so until MPI tells it that its message was read.
 */
const void *pw_peer_memory(pid_t pid, const void *remote, size_t bytes);

#endif
