/*
 * Memory that is registered with the network, in whole pages. Registrations are kept, since programs send the same
 * buffers again: the latest 64, of which the oldest goes when there is no place. One that loses some of its memory goes
 * when nobody uses it any more; where nothing tells of that (unmaps.h), each goes as soon as nobody uses it.
 *
 * The callers hold the lock of net.c.
 */
#ifndef PW_RUNTIME_NET_REGISTRATIONS_H
#define PW_RUNTIME_NET_REGISTRATIONS_H

#include "runtime/engine/net/backend.h"

/* Registers with this backend from now on. */
void pw_registrations_open(const pw_net_backend *backend);
/* Drops all, offered ones, too. */
void pw_registrations_close(void);

/* Offers the pages of [memory, memory + bytes). NULL: they cannot be registered, or all places are in use. */
const pw_net_key *pw_registrations_offer(const void *memory, int64_t bytes);
/* Ends one offer. */
void pw_registrations_withdraw(uint64_t number);

#endif
