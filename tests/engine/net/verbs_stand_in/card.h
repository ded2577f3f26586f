/* What one process posts, and who carries it out. */
#ifndef PW_TESTS_VERBS_CARD_H
#define PW_TESTS_VERBS_CARD_H

#include "tests/engine/net/verbs_stand_in/fabric.h"

/* The device's limits, of which some are smaller than any hardware's. */
enum { PIECES = 4, READ_PIECES = 3, WORKS = 128, MESSAGE = 64 << 10, READS = 2, SERVED = 4 };

typedef struct route {
    struct ibv_ah ah;
    struct ibv_ah_attr attr;
} route;

typedef struct work {
    uint64_t id;
    enum ibv_wr_opcode opcode;
    int n;
    struct ibv_sge pieces[PIECES];
    uint64_t address; /* of a read */
    uint32_t rkey;
    struct ibv_ah_attr route; /* of a datagram */
    uint32_t number, key;
} work;

typedef struct card_qp {
    struct ibv_qp qp;
    struct card_qp *next;
    struct ibv_qp_cap cap;
    unsigned first, end;
    work works[WORKS];
} card_qp;

/* How often things happened in this process, for tests, which look it up by name. */
typedef struct stand_in_counts {
    int reads, pieces; /* pieces of all reads */
    int not_ready;     /* times that a message found no receive */
    int lost;          /* datagrams */
    int fork_inits;
} stand_in_counts;

extern __attribute__((visibility("default"))) stand_in_counts verbs_stand_in_counts;

/* What connections of this process are to fail at, for tests: the n-th read or message from now; 0: none. The other end
 * gets an unacknowledged message, and this one an error all the same. */
typedef struct stand_in_failures {
    int read, message, unacknowledged;
} stand_in_failures;

extern __attribute__((visibility("default"))) stand_in_failures verbs_stand_in_failures;

void card_add(card_qp *q);
void card_remove(card_qp *q);
/* Carries out one work of each queue pair that this process has, or none for now. */
void card_step(fabric *f);

#endif
