/*
 * The backend over libibverbs: what its parts share. Each pair of processes has a reliable connection (RC), which
 * carries messages and RDMA reads. One queue pair for datagrams in each process serves to set these up.
 *
 * The callers hold the lock of net.c.
 */
#ifndef PW_RUNTIME_NET_VERBS_H
#define PW_RUNTIME_NET_VERBS_H

#include "runtime/engine/net/backend.h"

#include <infiniband/verbs.h>

/* X(result type, name without ibv_, parameters): what is looked up. Other functions of verbs.h are inline ones. */
#define VERBS_FUNCTIONS(X)                                                                                   \
    X(int, fork_init, (void))                                                                                \
    X(struct ibv_device **, get_device_list, (int *n))                                                       \
    X(void, free_device_list, (struct ibv_device * *list))                                                   \
    X(const char *, get_device_name, (struct ibv_device * device))                                           \
    X(struct ibv_context *, open_device, (struct ibv_device * device))                                       \
    X(int, close_device, (struct ibv_context * context))                                                     \
    X(int, query_device, (struct ibv_context * context, struct ibv_device_attr * out))                       \
    X(int, query_port, (struct ibv_context * context, uint8_t port, struct ibv_port_attr *out))              \
    X(int, query_gid, (struct ibv_context * context, uint8_t port, int index, union ibv_gid *out))           \
    X(struct ibv_pd *, alloc_pd, (struct ibv_context * context))                                             \
    X(int, dealloc_pd, (struct ibv_pd * pd))                                                                 \
    X(struct ibv_mr *, reg_mr, (struct ibv_pd * pd, void *begin, size_t bytes, int access))                  \
    X(int, dereg_mr, (struct ibv_mr * mr))                                                                   \
    X(struct ibv_cq *, create_cq,                                                                            \
      (struct ibv_context * context, int entries, void *user, struct ibv_comp_channel *channel, int vector)) \
    X(int, resize_cq, (struct ibv_cq * cq, int entries))                                                     \
    X(int, destroy_cq, (struct ibv_cq * cq))                                                                 \
    X(struct ibv_qp *, create_qp, (struct ibv_pd * pd, struct ibv_qp_init_attr * attr))                      \
    X(int, modify_qp, (struct ibv_qp * qp, struct ibv_qp_attr * attr, int mask))                             \
    X(int, destroy_qp, (struct ibv_qp * qp))                                                                 \
    X(struct ibv_ah *, create_ah, (struct ibv_pd * pd, struct ibv_ah_attr * attr))                           \
    X(int, destroy_ah, (struct ibv_ah * ah))                                                                 \
    X(const char *, wc_status_str, (enum ibv_wc_status status))

enum {
    PW_VERBS_MESSAGES = 8, /* that may be under way to a process: it has as many receives posted */
    PW_VERBS_WORKS = 64,   /* in the send queue to a process */
    PW_VERBS_PIECES = 16   /* of memory to which one read goes, at most */
};

/* ---- the device -------------------------------------------------------------------------------------------------- */

/* By which other processes reach this one. Plain bytes without padding. */
typedef struct pw_verbs_address {
    union ibv_gid gid;
    uint16_t lid;
    uint8_t mtu;     /* an enum ibv_mtu */
    uint8_t reads;   /* that the process serves at a time, from one other */
    uint32_t number; /* of the queue pair for datagrams */
    uint32_t key;    /* of that queue pair, which drops datagrams of others */
} pw_verbs_address;

typedef struct pw_verbs_device {
    struct ibv_context *context; /* NULL: closed */
    struct ibv_pd *pd;
    uint8_t port;
    bool is_ethernet; /* routes have a GID, else a LID */
    uint8_t gid_index;
    int pieces;    /* to which one read goes */
    uint8_t reads; /* that this process has under way to one other */
    uint32_t most; /* bytes of a read */
    pw_verbs_address own;
#define X(result, name, parameters) result(*name) parameters;
    VERBS_FUNCTIONS(X)
#undef X
} pw_verbs_device;

/* The singleton. */
extern pw_verbs_device pw_verbs;

/* Posted work has such an event as its wr_id. The completion is passed on to it. */
typedef struct pw_verbs_event {
    void (*over)(struct pw_verbs_event *event, const struct ibv_wc *wc);
} pw_verbs_event;

/* Passes on what a completion queue has. */
void pw_verbs_poll(struct ibv_cq *cq);

/* Returns zeroed memory on pages of its own, as a child of fork may lack the pages of what is registered. NULL: there
 * is none. */
void *pw_verbs_pages(size_t bytes);
void pw_verbs_pages_free(void *memory, size_t bytes); /* NULL is allowed */

/* ---- connections ------------------------------------------------------------------------------------------------- */

typedef struct pw_verbs_work pw_verbs_work;
typedef struct pw_verbs_wanted pw_verbs_wanted;
typedef struct pw_verbs_arrived pw_verbs_arrived;
typedef struct pw_verbs_message pw_verbs_message;
typedef struct pw_verbs_peer pw_verbs_peer;

typedef struct pw_verbs_inbound {
    pw_verbs_event event;
    pw_verbs_peer *peer;
} pw_verbs_inbound;

struct pw_verbs_peer {
    pw_verbs_peer *next;
    pw_verbs_address address;
    struct ibv_ah *route; /* of datagrams */
    struct ibv_qp *qp;
    uint32_t psn;     /* of the first packet that this process sends */
    bool is_answered; /* the peer's queue pair is known, and this process's is ready */
    bool is_open;     /* the peer's is ready, too */
    bool is_broken;   /* the connection is */
    bool is_told;     /* the peer knows that it is broken */
    int64_t due;      /* when to ask again */
    int asked;        /* how often */

    pw_verbs_work *first, **last;               /* not posted yet */
    pw_verbs_work *first_posted, **last_posted; /* in the send queue */
    int posted, messages;                       /* of these: all, and messages */
    unsigned next_message;                      /* counts those that were ever posted */
    int credits;                                /* messages for which the peer has receives posted */
    int owed;                                   /* receives posted here of which the peer does not know */

    pw_verbs_message *memory; /* for messages: the first half is sent, the second one received */
    struct ibv_mr *mr;
    pw_verbs_inbound inbound[PW_VERBS_MESSAGES];
    pw_verbs_wanted *wanted, **last_wanted;    /* receives that have no message yet */
    pw_verbs_arrived *arrived, **last_arrived; /* messages that have no receive yet */
};

/* Opens the queue pair for datagrams. NULL: it is open; else why not. */
const char *pw_verbs_connections_open(void);
void pw_verbs_connections_close(void);
void *pw_verbs_connect(const pw_net_peer *peer);
void pw_verbs_connections_progress(void);
/* Ends all that was begun with the peer, as failed, and lets it know. */
void pw_verbs_break(pw_verbs_peer *p, const char *why);

/* ---- the queue of a connection ----------------------------------------------------------------------------------- */

/* Posts the receives of a new queue pair. */
bool pw_verbs_queue_open(pw_verbs_peer *p);
void pw_verbs_queue_close(pw_verbs_peer *p);
/* Ends all that is not posted, as failed. */
void pw_verbs_queue_fail(pw_verbs_peer *p);
/* Posts what can be. */
void pw_verbs_queue_advance(pw_verbs_peer *p);
/* If a message of the peer is waited for, and nothing is under way to it that would fail if the connection were broken:
 * begins to find out whether it is. */
void pw_verbs_queue_probe(pw_verbs_peer *p);

void pw_verbs_send(pw_net_peer *to, uint64_t tag, const void *data, int64_t bytes, pw_net_op *op);
void pw_verbs_receive(pw_net_peer *from, uint64_t tag, void *data, int64_t most, pw_net_op *op);
/* Reads by the key `rkey` of the owner. */
void pw_verbs_read(pw_net_peer *owner, uint32_t rkey, const pw_net_piece *pieces, int64_t n, pw_net_op *op);

#endif
