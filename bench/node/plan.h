/* One row's exchange as this rank takes part in it: its messages, their types, the buffers. */
#ifndef PW_BENCH_NODE_PLAN_H
#define PW_BENCH_NODE_PLAN_H

#include "bench/hand.h"
#include "bench/node/rows.h"

#include <mpi.h>

enum { NODE_SIDES = 6 };

/* Where a message's bytes lie in a buffer, in the order of the message: `count[0]` times `count[1]` blocks. It is
 * written down apart from the datatype, which is verified by it. */
typedef struct node_box {
    int64_t at, count[2], stride[2], block;
} node_box;

typedef struct node_message {
    int to, from; /* ranks */
    int arrives;  /* the number of the message that `from` sends here */
    node_box send, recv;
    hand_boxes hand_send, hand_recv; /* of a cube */
} node_message;

/* The arrays are as MPI takes them. All types have the count 1. */
typedef struct node_plan {
    const node_row *row;
    MPI_Comm comm;
    int rank, n; /* messages */
    node_message *messages;
    MPI_Datatype *send_types, *recv_types;
    int *counts, *send_at, *recv_at;
    MPI_Aint *send_far, *recv_far; /* the same places, as MPI_Neighbor_alltoallw takes them */
    char *send, *recv, *packed_send, *packed_recv;
    int64_t send_bytes, recv_bytes;
    MPI_Request requests[2][2 * NODE_SIDES]; /* persistent ones of each peer with tags, receives first (exchange.c) */
    bool by_order;                           /* how the MPI matches two messages of one neighbour (exchange.c) */
} node_plan;

/* `grid`: the ranks on a periodic grid in three dimensions. Types are committed by MPI_Type_commit. Returns false if
 * there is no memory. */
bool node_plan_make(node_plan *p, const node_row *row, MPI_Comm all, MPI_Comm grid);
void node_plan_free(node_plan *p);

/* Whether messages are told apart by their tags, and not by their order alone. */
bool node_plan_has_tags(const node_plan *p);
int64_t node_box_bytes(const node_box *b);

#endif
