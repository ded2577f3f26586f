/*
 * What the files of remote blocks (remote.h) share, by the file that defines it.
 */
#ifndef PW_RUNTIME_COLLECTIVE_REMOTE_SLOT_H
#define PW_RUNTIME_COLLECTIVE_REMOTE_SLOT_H

#include "runtime/engine/layout/layout.h"
#include "runtime/exchange/evidence.h"
#include "runtime/exchange/net/net.h"
#include "runtime/mpi/collective/remote.h"

/* ---- messages ---------------------------------------------------------------------------------------------------- */

enum { PW_REMOTE_TEXT_BYTES = 1024 };

/* Ranks of one job have one representation. The key and the text follow the offer unless they are those of before. */
typedef struct pw_remote_offer {
    int64_t bytes; /* 0: the sender is not ready */
    uint64_t address;
    uint32_t id; /* of the persistent request that the sender makes; 0: it makes none */
    uint32_t key_bytes, text_bytes;
    bool again;
    char more[PW_NET_KEY_BYTES + PW_REMOTE_TEXT_BYTES];
} pw_remote_offer;

typedef struct pw_remote_reply {
    bool reads;  /* the receiver reads the block */
    uint32_t id; /* as in an offer */
} pw_remote_reply;

typedef enum pw_remote_message { PW_REMOTE_OFFER, PW_REMOTE_ANSWER, PW_REMOTE_DONE } pw_remote_message;

/* What a rank is known by to another one. `id`: what the other one calls the communicator, or the persistent request.
 */
static inline uint64_t pw_remote_tag(uint32_t id, pw_remote_message kind, int rank)
{
    return (uint64_t)id << 32 | (uint64_t)kind << 30 | (uint64_t)rank;
}

/* ---- what is kept ------------------------------------------------------------------------------------------------ */

/* What a rank's block looks like: objects of a layout, or one object of contiguous bytes. */
typedef struct pw_remote_shape {
    pw_hash hash; /* of the layout; of contiguous bytes: their number */
    int64_t count;
} pw_remote_shape;

/* How far the moving of a block is. */
typedef enum pw_remote_stage {
    PW_REMOTE_OVER,
    PW_REMOTE_OFFERED, /* a sender waits for the receiver's word */
    PW_REMOTE_AWAITED, /* a receiver of a persistent request waits for the offer */
    PW_REMOTE_READING,
    PW_REMOTE_REPORTING
} pw_remote_stage;

/* A block between this rank and another one. */
typedef struct pw_remote_slot {
    int block, rank; /* of the communicator */
    pw_net_peer *peer;
    uint32_t id;           /* what the other rank calls the communicator, or the persistent request */
    pw_remote_offer offer; /* the latest, sent or received */
    pw_remote_shape own;
    bool gains;       /* reading blocks of that shape does */
    char *text;       /* of the shape of the sender; NULL: none was sent, or received, in full */
    uint64_t key;     /* a sender's: the number of the key that was sent with it */
    void *registered; /* a sender's: what ends the offer of this call; NULL: there is none */
    char *first;      /* a sender's: of the memory that the block touches */
    int64_t span;
    pw_joined joined; /* a receiver's: to its own shape; layout NULL: not known yet */
    pw_net_source *source;
    pw_remote_stage stage;
    pw_evidence talks; /* whether talking of blocks of so many bytes, its key, came to something */
    /* The call at hand. */
    bool active, ready, agreed;
    bool lost; /* a receiver's: nobody knows whether its answer has reached the sender */
    pw_message m;
    char *memory;  /* from which copies count */
    int64_t bytes; /* that this rank expects */
    pw_remote_reply answer;
    bool done; /* the receiver has read the block */
    pw_net_op op;
} pw_remote_slot;

struct pw_remote_request {
    uint32_t id; /* this process's name for the communicator, or for the persistent request */
    int rank;
    bool persistent;
    bool agreed;   /* whether the ranks have agreed, on yes or no; of a communicator */
    int64_t least; /* bytes of the shortest block of which two ranks talk */
    int nout, nin; /* 0 where they have agreed on no. A persistent request has agreed blocks only. */
    pw_remote_slot *out, *in;
    void *counts; /* those that MPI gets, which it may read as long as the call or the persistent request lasts */
    int64_t bytes;
    int open;                        /* slots that are not over; 0: it is not under way */
    pw_remote_request *next, **link; /* of the persistent ones */
};

struct pw_remote {
    pw_remote_request of[2]; /* by whether the call is one of neighbours; with one id */
};

/* The talk of the ranks in one call. */
typedef struct pw_remote_talk {
    pw_collective *call;
    const pw_remote_request *comm; /* whose id the ranks are known by meanwhile */
    pw_remote_request *request;    /* of which they talk: `comm`, or the persistent one that is made */
    bool ready;                    /* this rank may be ready for blocks; false: all go by MPI */
    bool rests;                    /* blocks that MPI keeps are not talked of in each call */
} pw_remote_talk;

/* The id of the persistent request that is made; 0: none is. */
static inline uint32_t pw_remote_made_id(const pw_remote_talk *t)
{
    return t->request->persistent ? t->request->id : 0;
}

/* ---- remote_kept.c ----------------------------------------------------------------------------------------------- */

/* Returns what is kept of the communicator of a call, which is made at the first look. NULL: it cannot be kept. */
pw_remote *pw_remote_of(const pw_collective *c);
/* Returns a new name of this process for a communicator or a persistent request. */
uint32_t pw_remote_new_id(void);
/* Frees what a slot holds. */
void pw_remote_slot_close(pw_remote_slot *s);
/* Frees the slots and what they hold. */
void pw_remote_slots_close(pw_remote_request *q);

/* ---- remote_agree.c ---------------------------------------------------------------------------------------------- */

/* Fills in the blocks of a communicator that has not agreed. All ranks call this for the same call, and leave it with
 * the same answer. */
void pw_remote_make_slots(pw_remote_request *q, const pw_collective *c);

/* ---- remote_block.c ---------------------------------------------------------------------------------------------- */

/* Notes what has come of it in a blocking call. */
void pw_remote_note(pw_remote_slot *s);
/* The memory of the block is no longer offered. */
void pw_remote_withdraw(pw_remote_slot *s);

/* The sender: */

/* Begins to offer a block, and to receive the answer. */
void pw_remote_begin_out(const pw_remote_talk *t, pw_remote_slot *s);
/* Begins to offer an agreed block again, and to receive the word that it is read. `id` and `rank`: of this process. */
void pw_remote_offer_again(pw_remote_slot *s, uint32_t id, int rank);

/* The receiver: */

/* Begins to receive the offer of a block. */
void pw_remote_begin_in(const pw_remote_talk *t, pw_remote_slot *s);
/* Looks at the offer, and tells the sender whether this rank reads the block. */
void pw_remote_answer(const pw_remote_talk *t, pw_remote_slot *s);
/* Looks at whether the answer is sent. If it may be lost, nobody knows whether the sender gives the block to MPI: MPI
 * receives it, and the call fails. A persistent request keeps such a block, and its starts fail. */
void pw_remote_answered(const pw_remote_talk *t, pw_remote_slot *s);
/* Looks at the offer of a block that was agreed before. Returns whether it may be read. */
bool pw_remote_accept(pw_remote_slot *s);
/* Begins to read the block. */
void pw_remote_read(pw_remote_slot *s);
/* Begins to tell the sender that its memory is read, or that it could not be. `rank`: of this process. */
void pw_remote_report(pw_remote_slot *s, int rank, bool read);

/* ---- remote_request.c -------------------------------------------------------------------------------------------- */

/* Returns a persistent request for the same blocks, of which nothing is known yet. NULL: there is no memory, or no
 * thread. */
pw_remote_request *pw_remote_request_make(const pw_remote_request *comm);
/* The two ranks of each block have agreed or not: keeps the agreed ones. */
void pw_remote_request_keep(pw_remote_request *q);
/* Ends the thread, and clears all requests. */
void pw_remote_thread_stop(void);

#endif
