/* What all processes on the network share: a mapped file, whose tables are changed under its lock. */
#ifndef PW_TESTS_VERBS_FABRIC_H
#define PW_TESTS_VERBS_FABRIC_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <sys/types.h>

enum { QPS = 256, CQS = 64, MRS = 8192, RECEIVES = 128, ENTRIES = 4096 };

typedef struct shared_receive {
    uint64_t id, address;
    uint32_t bytes, lkey;
} shared_receive;

typedef struct shared_qp {
    pid_t owner; /* 0: the place is free */
    uint32_t number, generation;
    enum ibv_qp_type type;
    enum ibv_qp_state state;
    uint32_t pd, send_cq, receive_cq;
    uint32_t other, key; /* the other end's number; the key of datagrams */
    uint16_t lid;
    union ibv_gid gid;
    int access;
    uint8_t reads, serves, retries; /* at a time; when a receive is not ready */
    uint32_t most_receives;
    unsigned first, end; /* of its receives */
    shared_receive receives[RECEIVES];
} shared_qp;

typedef struct shared_cq {
    pid_t owner;
    unsigned capacity, first, end;
    struct ibv_wc entries[ENTRIES];
} shared_cq;

typedef struct shared_mr {
    pid_t owner;
    uint32_t generation, pd;
    uint64_t begin, bytes;
    int access;
} shared_mr;

typedef struct fabric {
    shared_qp qps[QPS];
    shared_cq cqs[CQS];
    shared_mr mrs[MRS];
} fabric;

/* Returns the fabric, which stays locked until fabric_unlock. NULL: there is none. */
fabric *fabric_lock(void);
void fabric_unlock(void);

/* Return the index of a free place, which then belongs to this process. -1: none. */
int fabric_new_qp(fabric *f);
int fabric_new_cq(fabric *f);
int fabric_new_mr(fabric *f);

shared_qp *fabric_qp(fabric *f, uint32_t number); /* NULL: none has the number */
uint32_t fabric_key(const fabric *f, int mr);
/* Returns the memory of a key if it has these bytes, this access and this protection domain. */
const shared_mr *fabric_memory(const fabric *f, pid_t owner, uint32_t pd, uint32_t key, uint64_t address,
                               uint64_t bytes, int access);
/* An overrun ends the process. */
void fabric_complete(fabric *f, uint32_t cq, struct ibv_wc wc);

/* Ends the process with a message. */
_Noreturn void stand_in_misused(const char *what);

#endif
