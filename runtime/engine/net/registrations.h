/*
 * Memory that is registered with the network, in whole pages. Registrations are kept, since programs send the same
 * buffers again: as many as there are places, and as much memory as net.h says. The one that was not used for the
 * longest time goes first. One that loses some of its memory goes when nobody uses it any more; where nothing tells of
 * that (unmaps.h), each goes as soon as nobody uses it.
 *
 * The callers hold the lock of net.c.
 */
#ifndef PW_RUNTIME_NET_REGISTRATIONS_H
#define PW_RUNTIME_NET_REGISTRATIONS_H

#include "runtime/engine/net/backend.h"

/* Registers with this backend from now on. */
void pw_registrations_open(const pw_net_backend *backend);
/* Drops all, those in use, too. */
void pw_registrations_close(void);

/* Begins one use of the pages of [memory, memory + bytes), which is to read them, or also to write what this process
 * reads. NULL: they cannot be registered, or all places are in use. */
const pw_net_key *pw_registrations_take(const void *memory, int64_t bytes, bool written);
/* Ends one use, by the number of the key. */
void pw_registrations_give(uint64_t number);

/* Returns the backend's handle of a registration that is in use, may be written, and has these bytes. NULL: none. */
void *pw_registrations_find(const void *memory, int64_t bytes);

#endif
