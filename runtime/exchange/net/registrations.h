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

#include "runtime/exchange/net/net.h"

/* Registers pages and writes what others need. NULL: it failed, and errno is ENOMEM if it might not with less memory
 * registered. */
typedef void *pw_memory_add_fn(void *begin, size_t bytes, pw_net_key *out);
typedef void pw_memory_drop_fn(void *memory);

/* Registers by these from now on. */
void pw_registrations_open(pw_memory_add_fn *add, pw_memory_drop_fn *drop);
/* Drops all, those in use, too. */
void pw_registrations_close(void);

/* Begins one use of the pages of [memory, memory + bytes). NULL: they cannot be registered, or all places are in use.
 */
const pw_net_key *pw_registrations_take(const void *memory, int64_t bytes);
/* Ends one use, by the number of the key. */
void pw_registrations_give(uint64_t number);

#endif
