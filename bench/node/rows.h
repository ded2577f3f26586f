/* The rows: which exchange, how many bytes go to a peer, and in which blocks. */
#ifndef PW_BENCH_NODE_ROWS_H
#define PW_BENCH_NODE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum node_exchange {
    NODE_ALLTOALLW,
    NODE_NEIGHBOURS, /* MPI_Neighbor_alltoallw with six neighbours */
    NODE_HALO,       /* MPI_Isend and MPI_Irecv with the same */
    NODE_PERSISTENT, /* MPI_Startall with the same */
    NODE_CUBE,       /* the calls of NODE_HALO: ghost cells of a cube, by subarrays */
    NODE_TRANSPOSE,  /* MPI_Alltoallw; the receiver's types transpose */
    NODE_EXCHANGES
} node_exchange;

enum { NODE_NAME = 48, NODE_MOST_ROWS = 64 };

typedef struct node_row {
    node_exchange exchange;
    int64_t bytes, block; /* of a message, the longest one of a cube; the shortest block in it */
    int side;             /* of a cube and of a transposed block, in doubles */
    char name[NODE_NAME]; /* also the name of its types, by which reports tell rows apart */
} node_row;

const char *node_exchange_name(int exchange);
/* Returns how many there are. `quick`: a few short ones of each exchange. */
int node_rows_fill(node_row rows[NODE_MOST_ROWS], bool quick);

#endif
