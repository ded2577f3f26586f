/*
 * The map from request handles to operations under way (runtime/mpi/requests/pending.h has what they are). Knows
 * nothing of MPI.
 *
 * A multimap of nodes that live inside the caller's objects: no operation allocates, none fails. Several nodes may have
 * the same key; the youngest is found first.
 *
 * Thread safe. A node may be claimed, which hides it from others: the claimer alone may release or remove it. Who looks
 * for a key must have learned it, directly or not, from the thread that inserted its node.
 */
#ifndef PW_RUNTIME_PENDING_TABLE_H
#define PW_RUNTIME_PENDING_TABLE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pw_pending_node {
    uint64_t key;
    struct pw_pending_node *next; /* of the same bucket */
    bool claimed;
} pw_pending_node;

/* Inserts a node that is in no table, unclaimed. */
void pw_pending_node_insert(pw_pending_node *node, uint64_t key);
/* An unclaimed node with that key, which is now claimed; NULL: there is none, and *elsewhere is set to true if somebody
 * has claimed one. No lock is taken when its bucket is empty. */
pw_pending_node *pw_pending_node_claim(uint64_t key, bool *elsewhere);
void pw_pending_node_release(pw_pending_node *node);
/* Takes a claimed node out. */
void pw_pending_node_remove(pw_pending_node *node);

/* Calls fn for every node, claimed or not, under the lock of its bucket. */
void pw_pending_node_each(void (*fn)(void *arg, pw_pending_node *node), void *arg);
/* Takes any node out, claimed or not; NULL: the table is empty. For the end, when nobody else is left. */
pw_pending_node *pw_pending_node_take_any(void);

#endif
