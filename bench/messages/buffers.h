/*
 * Memory for the exchanges of one row in one mode. Typed buffers come from malloc, or from where the strategy `direct`
 * reaches them: MPI_Alloc_mem, windows, or files that stay open.
 */
#ifndef PW_BENCH_MESSAGES_BUFFERS_H
#define PW_BENCH_MESSAGES_BUFFERS_H

#include "bench/messages/parcel.h"

/* `fresh` is a ping-pong of messages that have a type each, made before it and freed behind it; `stream` is eight
 * blocking messages one way and an empty one back; in `overlap` the sender computes between MPI_Isend and MPI_Wait. */
typedef enum msg_mode {
    MSG_PING_PONG,
    MSG_FRESH,
    MSG_STREAM,
    MSG_OVERLAP,
    MSG_IN_FLIGHT_8,
    MSG_ALLTOALL,
    MSG_NEIGHBOURS,
    MSG_SELF,
    MSG_MODES
} msg_mode;
/* Where typed buffers lie. */
typedef enum msg_memory { MSG_MALLOC, MSG_ALLOC_MEM, MSG_WINDOW, MSG_FILE, MSG_MEMORIES } msg_memory;

/* The ranks: all of them, each one's partner (itself + 1 or - 1; MPI_PROC_NULL: it has none), a ring, and the ring
 * of this rank alone. */
typedef struct msg_world {
    MPI_Comm all, ring, alone;
    int rank, ranks, partner;
    msg_memory memory; /* of typed buffers */
    bool by_strategy;  /* peers with named strategies take part, where the MPI has a place for them */
} msg_world;

/* One typed buffer. */
typedef struct msg_typed {
    char *memory;
    size_t bytes;
    MPI_Win window; /* that it is the memory of; MPI_WIN_NULL: it is none's */
    int fd;         /* of its file; -1: it has none */
} msg_typed;

/* Memory for one mode of one row, typed and contiguous. */
typedef struct msg_buffers {
    const msg_parcel *parcel;
    char *send, *recv, *plain_send, *plain_recv;
    msg_memory memory; /* of `send` and `recv` */
    msg_typed typed[2];
    double compute_ns; /* what the sender computes in `overlap` */
    int64_t send_bytes, recv_bytes, plain_bytes;
} msg_buffers;

/* What is sent and received at once: for messages per exchange and the memory they need. */
int msg_sent(msg_mode mode, const msg_world *w);
int msg_received(msg_mode mode, const msg_world *w);
int64_t msg_memory_of(const msg_parcel *p, msg_mode mode, const msg_world *w);

/* Collective. False: no memory. Pages are touched. */
bool msg_buffers_take(msg_buffers *b, const msg_parcel *p, msg_mode mode, const msg_world *w);
void msg_buffers_give(msg_buffers *b);

#endif
