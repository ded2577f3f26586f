/*
 * A multimap from 64-bit keys to nodes that live inside the caller's objects: no call allocates, and none fails. The
 * interposer uses it to find an operation under way by its request (runtime/mpi/requests/pending.h). Several nodes may
 * have the same key; a search finds the youngest first.
 *
 * Thread safe. A thread may claim a node, which hides it from other threads: only the claiming thread may release or
 * remove it. A thread that looks for a key must have got that key, directly or not, from the thread that inserted its
 * node.
 */
#ifndef PW_BASE_PENDING_TABLE_H
#define PW_BASE_PENDING_TABLE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pw_pending_node {
    uint64_t key;
    struct pw_pending_node *next; /* in the same bucket */
    bool claimed;
} pw_pending_node;

/* Inserts a node that is not in the table; it is unclaimed then. */
void pw_pending_node_insert(pw_pending_node *node, uint64_t key);
/* Claims a node with that key and returns it. NULL: no unclaimed node has the key; *elsewhere is set to true if another
 * thread has claimed one. Takes no lock when the key's bucket is empty. */
pw_pending_node *pw_pending_node_claim(uint64_t key, bool *elsewhere);
/* Ends the claim on a node, which other threads can then find. */
void pw_pending_node_release(pw_pending_node *node);
/* Removes a claimed node. */
void pw_pending_node_remove(pw_pending_node *node);

/* Calls fn for every node, claimed or not, with the lock of its bucket held. */
void pw_pending_node_each(void (*fn)(void *arg, pw_pending_node *node), void *arg);
/* Removes any node, claimed or not, and returns it. NULL: the table is empty. Only when no other thread uses the table.
 */
pw_pending_node *pw_pending_node_take_any(void);

#endif
