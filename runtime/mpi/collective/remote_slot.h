/*
 * What the files of remote blocks (remote.h) share, by the file that defines it.
 */
#ifndef PW_RUNTIME_COLLECTIVE_REMOTE_SLOT_H
#define PW_RUNTIME_COLLECTIVE_REMOTE_SLOT_H

#include "runtime/engine/layout/layout.h"
#include "runtime/exchange/directory.h"
#include "runtime/exchange/evidence.h"
#include "runtime/exchange/gpu/foreign.h"
#include "runtime/exchange/net/net.h"
#include "runtime/mpi/collective/remote.h"

/* ---- remote_block.c ---------------------------------------------------------------------------------------------- */

enum { PW_REMOTE_TEXT_BYTES = 1024 };

/* Ranks of one job have one representation. The key and the text follow the offer unless the receiver has them. */
typedef struct pw_remote_offer {
    int64_t bytes; /* 0: the sender is not ready */
    uint64_t address;
    uint32_t id; /* of the persistent request that the sender makes; 0: it makes none */
    uint32_t key_bytes, text_bytes;
    bool again; /* nothing follows */
    char more[PW_NET_KEY_BYTES + PW_REMOTE_TEXT_BYTES];
} pw_remote_offer;

typedef struct pw_remote_reply {
    bool reads;  /* the receiver reads the block */
    uint32_t id; /* as in an offer */
} pw_remote_reply;

/* What a rank's block looks like: objects of a layout, or one object of contiguous bytes. */
typedef struct pw_remote_shape {
    pw_hash hash; /* of the layout; of contiguous bytes: their number */
    int64_t count;
} pw_remote_shape;

/* What a slot waits for. A talk ends with the answer; what it has agreed on is then moved, in each start. */
typedef enum pw_remote_stage {
    PW_REMOTE_OVER,
    PW_REMOTE_ASKING,    /* a sender has made its offer, and waits for the answer */
    PW_REMOTE_OFFERED,   /* a sender waits for the word that its memory is read */
    PW_REMOTE_AWAITED,   /* a receiver waits for the offer */
    PW_REMOTE_ANSWERING, /* a receiver answers it */
    PW_REMOTE_READING,
    PW_REMOTE_REPORTING /* a receiver says that it has read */
} pw_remote_stage;

/* What a call says of a block. */
typedef struct pw_remote_arguments {
    const void *buf;
    MPI_Aint displ;
    MPI_Count count;
    MPI_Datatype type;
    unsigned epoch; /* until it ends, the type is the same */
} pw_remote_arguments;

/* A block between this rank and another one. */
typedef struct pw_remote_slot {
    bool receives;       /* the block comes from the other rank */
    int block, rank;     /* of the communicator */
    int self;            /* this process's rank */
    uint32_t own_id, id; /* what this process and the other one call the communicator, or the persistent request */
    uint32_t made;       /* this process's id of the persistent request that has the slot; 0: a communicator has it */
    pw_net_peer *peer;
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
    pw_evidence talks;             /* whether talking of blocks of so many bytes, its key, came to something */
    pw_remote_arguments arguments; /* of the latest call */
    /* The call at hand. */
    bool again; /* the arguments are those of the call before, in which this rank was ready */
    pw_remote_stage stage;
    bool active, ready, agreed;
    bool lost; /* a receiver's: nobody knows whether its answer has reached the sender */
    pw_message m;
    char *memory;  /* from which copies count */
    int64_t bytes; /* that this rank expects */
    pw_remote_reply answer;
    bool done; /* the receiver has read the block */
    pw_net_op op;
    /* Between GPUs (remote_near.c). */
    pw_segment_offer *record; /* NULL: it goes over the network */
    void *stand_in;           /* of the record, in the sender */
    pid_t pid;                /* of the sender, in the receiver */
    uint64_t call;            /* the number of the latest call; both ranks count alike */
    void *reading;            /* a late read (late.h); NULL: there is none */
    pw_gpu_repeat repeat;     /* the last read, of an offer written in call `since` */
    uint64_t since;
} pw_remote_slot;

/* ---- remote_block.c, remote_near.c ------------------------------------------------------------------------------- */

/* The phases of a call's talk: before blocks are offered, when all are, while answers are awaited, and after it. */
typedef enum pw_remote_phase { PW_REMOTE_BEGINS, PW_REMOTE_BEGUN, PW_REMOTE_WAITS, PW_REMOTE_ENDS } pw_remote_phase;

struct pw_transport {
    const pw_strategy_id *strategy;     /* for which its blocks are counted */
    bool persistent;                    /* serves persistent calls */
    bool several;                       /* serves several blocks between two ranks, which MPIs match in several ways */
    bool in_world;                      /* serves ranks of one world only */
    int most_blocks;                    /* the most that may leave a rank in a call */
    size_t bytes_a_rank, bytes_a_block; /* of the memory in which ranks get to know each other, zeroed */
    bool (*can)(void);                  /* whether this rank has what the transport needs */
    /* Connects the slots of all ranks, which call it. May raise `least`. */
    void (*connect)(pw_remote_request *q, const pw_collective *c, void *memory);
    void (*gather)(pw_remote_phase talk); /* is told of each phase; NULL: there is nothing to do */
    /* Begins to talk of the slot's block, if it is active. `ready`: it may leave MPI's call. */
    void (*begin)(pw_remote_slot *s, const pw_side *side, bool ready);
    void (*step)(pw_remote_slot *s);       /* goes on, if what the slot waits for is over */
    bool (*is_over)(pw_remote_request *q); /* lets all slots go on, and returns whether they are over */
    void (*move)(pw_remote_slot *s);       /* begins to move an agreed block; NULL: the talk has begun it */
    /* Ends what a call has begun. Returns whether an agreed block is moved. May be called again. */
    bool (*end)(pw_remote_slot *s);
    void (*close)(pw_remote_slot *s); /* does that, and frees what the slot holds */
};

extern PW_HIDDEN const pw_transport pw_remote_net, pw_remote_near;

/* ---- remote.c ---------------------------------------------------------------------------------------------------- */

struct pw_remote_request {
    uint32_t id; /* this process's name for the communicator, or for the persistent request */
    int rank;
    bool persistent;
    int64_t least;         /* bytes of the shortest block of which two ranks talk; PW_REMOTE_NEVER: of none */
    int n;                 /* 0 where they have agreed on no. A persistent request has agreed blocks only. */
    pw_remote_slot *slots; /* of the blocks that leave, then of those that come */
    void *counts; /* those that MPI gets, which it may read as long as the call or the persistent request lasts */
    int64_t bytes;
    int open;                        /* slots that are not over; 0: it is not under way */
    pw_remote_request *next, **link; /* of the persistent ones */
};

/* Frees the slots and what they hold. */
void pw_remote_slots_close(pw_remote_request *q);
/* Closes the slots on which the two ranks have not agreed. */
void pw_remote_keep_agreed(pw_remote_request *q);
/* Lets each slot go on that is not over. Returns whether all are over. */
bool pw_remote_take_steps(pw_remote_request *q);

/* ---- remote_agree.c ---------------------------------------------------------------------------------------------- */

/* The bytes of a block that no program has. */
static const int64_t PW_REMOTE_NEVER = INT64_MAX;

/* Returns the largest number of all ranks: all of them have it then. */
int64_t pw_remote_largest(MPI_Comm comm, int64_t mine);
/* Returns the blocks of a communicator for calls such as this one. To be called by all ranks, which leave it with the
 * same answer. `id`: a new name. */
pw_remote_request *pw_remote_make(const pw_collective *c, uint32_t id);

/* ---- remote_thread.c --------------------------------------------------------------------------------------------- */

/* Starts the thread, unless it runs. False: it cannot be started. */
bool pw_remote_thread_start(void);
/* Gives the thread a persistent request to look after. */
void pw_remote_watch(pw_remote_request *q);
/* Takes it back. False: it is under way, and the thread keeps it. */
bool pw_remote_unwatch(pw_remote_request *q);
/* Does what pw_remote_take_steps does, where the thread may look after the request, too. */
bool pw_remote_attend(pw_remote_request *q);
/* Ends the thread. Returns the requests that it has looked after. */
pw_remote_request *pw_remote_thread_stop(void);

#endif
