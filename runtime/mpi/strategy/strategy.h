/*
 * Transfer strategies bring the bytes of a message into memory from which MPI moves them at full speed.
 *
 * Every covered call - point to point, collective, one-sided, I/O - describes each of its buffers as a pw_message. The
 * cheapest strategy that can carry the message stages it: the strategy provides a pw_staging, whose contiguous memory
 * goes to the MPI below in place of the user's buffer. The bytes on the wire are the same, in typemap order without a
 * header (MPI 4.0 section 5.2), so each rank decides alone. A message that is not staged is native: MPI gets the
 * caller's own arguments.
 *
 * A way is a row in PW_STRATEGIES (base/strategy_table.h), a record that says what it needs and costs
 * (runtime/choice/way.c), a record here that says how it is carried out (host.c, direct.c, gpu.c, pipeline.c), and
 * nothing else. The choice is remembered by shape, size class, kind of call and memory (runtime/choice/site.h).
 * PACKWRIGHT_STRATEGY names a way that is chosen whenever it is possible.
 */
#ifndef PW_RUNTIME_STRATEGY_H
#define PW_RUNTIME_STRATEGY_H

#include "base/status.h"
#include "runtime/choice/site.h"
#include "runtime/choice/way.h"
#include "runtime/engine/memory/buffer.h"
#include "runtime/engine/model/model.h"
#include "runtime/exchange/direct.h"
#include "runtime/mpi/mpi_compat.h"
#include "runtime/mpi/types/noted.h"

/* One buffer argument of a call. */
typedef struct pw_message {
    pw_buffer buffer;             /* the caller fills base and count, pw_message_describe the rest */
    const struct pw_entry *entry; /* valid until MPI is called: from then on another thread may free the type */
    int64_t cost_bytes; /* the bytes by which to choose (pw_cost_bytes); pw_message_describe sets those of one block */
    pw_call_kind kind;
    pw_role role;
    uint64_t channel; /* of a message between two processes: others with the same number go between the same two, in the
                         same direction; of blocks that are exchanged, those of one communicator. 0: not known */
    uint16_t variant; /* below 1 << 13: tells messages of one kind apart that MPIs treat differently */
    bool once;        /* its staging may be for one message, and MPI does not copy it in the call */
    bool is_started;  /* a persistent request sends or receives it */
    bool is_ignored;  /* MPI gets it as it is, whatever way is chosen */
    bool is_followed; /* from this process to itself, which follows it (runtime/mpi/requests/loopback.h) */
    const char *transports;      /* of a block that its receiver may read over a network: those to the other rank
                                    (pw_net_transports); NULL: any other message */
    const struct pw_message *to; /* a message to oneself: the buffer that receives it; NULL: any other message */
} pw_message;

/* Whether a call is a collective: any number of processes may read its blocks, and MPI may read again what has come. */
static inline bool pw_call_is_collective(pw_call_kind kind)
{
    return kind == PW_CALL_COLLECTIVE || kind == PW_CALL_NEIGHBOUR;
}

/* The channel between this process and rank `peer` (pw_message.channel): odd for what leaves, even for what arrives. */
static inline uint64_t pw_message_channel(MPI_Comm comm, int peer, pw_role role)
{
    uint64_t handle = (uint64_t)(uintptr_t)comm;
    uint64_t number = (handle ^ ((uint64_t)peer + 1) << 40 ^ (uint64_t)peer >> 24) * 0x9e3779b97f4a7c15u | 3;

    return pw_direct_channel(role == PW_SEND ? number : number ^ 1);
}

/* A message that is staged: contiguous memory that stands for the user's buffer. Plain data, which may be moved; one
 * thread at a time uses it. */
typedef struct pw_staging {
    const struct pw_strategy *strategy; /* NULL: the staging is empty, and the message native */
    pw_buffer buffer; /* the user's; with a reference to its layout, since the type may die while MPI uses `data` */
    pw_role role : 8;
    bool once : 1;       /* pw_message.once */
    bool single : 1;     /* it is for one message: the next one like it is staged anew */
    bool awaited : 1;    /* it may be sent again, and calls that complete it wait for late reads (`await`) */
    bool announced : 1;  /* other processes know of it (pw_staging_announce) */
    bool replicated : 1; /* it was announced with a replica, to which it is packed, too */
    pw_call_kind kind;
    void *data;                 /* what MPI gets: buffer.bytes bytes, > 0, in packed order */
    void *own;                  /* what the strategy keeps */
    struct pw_inbound *inbound; /* expects the message (runtime/exchange/inbound.h); NULL: nothing does */
    uint64_t channel;           /* pw_message.channel */
    void *under_way;            /* packing or unpacking that has begun (pw_staging_begin_pack); NULL: none */
    struct pw_site *site;       /* where it was chosen; NULL: nowhere */
} pw_staging;

typedef struct pw_strategy {
    /* Takes the memory: sets data and own, after the caller has set the other fields. On failure (no memory) the caller
     * tries the next cheapest strategy. NULL: MPI gets the caller's own arguments. */
    pw_status (*take)(pw_staging *s);
    /* Prepares a staging whose message is over for one more from its buffer, which may lie elsewhere now. False: that
     * message must be staged anew. NULL: there is nothing to do. */
    bool (*again)(pw_staging *s);
    /* Without `take`: called before MPI gets the message. NULL: there is nothing to do. */
    void (*leave)(const pw_message *m);
    /* Whether this MPI has a place for the strategy. NULL: yes. */
    bool (*is_there)(void);
    /* As pw_staging_announce. NULL: the strategy has nothing to tell. */
    void (*announce)(pw_staging *s);
    /* Packs the user's buffer to data, and returns when that is done. May be called again (persistent requests). NULL,
     * as of the next two: there is nothing to do. */
    pw_status (*pack)(pw_staging *s);
    /* Unpacks the first `received` bytes of data, 0 < received <= bytes, to the user's buffer, and waits for that. */
    pw_status (*unpack)(pw_staging *s, int64_t received);
    /* Waits until no process reads a message late that MPI has sent (runtime/exchange/late.h). May be called
     * again. NULL: none does. */
    void (*await)(const pw_staging *s);
    /* Gives the memory back. */
    void (*give)(pw_staging *s);
    /* As pw_staging_expect. NULL: the strategy does nothing then. */
    void (*expect)(pw_staging *s);
    /*
     * For strategies whose work runs beside the caller: `begin` starts what pack, or unpack of the first `received`
     * bytes, does, and sets under_way; `finish` waits for it and clears under_way. False: it did not start. NULL: the
     * strategy cannot.
     */
    bool (*begin)(pw_staging *s, pw_direction direction, int64_t received);
    pw_status (*finish)(pw_staging *s);
    /* Whether short packing like this takes less time together with others: it shares a launch, or a wait. And, while
     * under_way, whether that is over, so that `finish` does not wait. NULL: the strategy cannot. */
    bool (*is_fusable)(const pw_staging *s);
    bool (*is_over)(const pw_staging *s);
    int memory, path; /* a pw_gpu_memory and a pw_gpu_path, of strategies for GPU memory */
} pw_strategy;

#define X(symbol, name, packed, help) extern const pw_strategy pw_strategy_##name;
PW_STRATEGIES(X)
#undef X

/* Reads PACKWRIGHT_STRATEGY and the model. */
void pw_strategy_start(void);
/* Finds the memory in which the ranks of this node judge together: once all of them are in MPI_Init, and off the calls
 * that need it, since that takes as long as a hundred short messages. */
void pw_strategy_share_trials(void);
/* Whether PACKWRIGHT_STRATEGY names a strategy, so that costs do not matter. */
bool pw_strategy_is_forced(void);

/*
 * For `packwright measure`, which is linked to the interposer and measures several strategies in one process: from now
 * on this strategy is chosen whenever it is possible, as if PACKWRIGHT_STRATEGY named it. Returns false, and changes
 * nothing, if the MPI has no place for it; of PIPELINE that is known once a type has been committed. No other thread
 * may be in a call of MPI.
 */
__attribute__((visibility("default"))) bool packwright_force_strategy(pw_strategy_id id);
/* Whether PACKWRIGHT_STRATEGY names this one. */
bool pw_strategy_is_named(pw_strategy_id id);
/* Whether PACKWRIGHT_STRATEGY names the move of a message to oneself, or another strategy. */
bool pw_joining_is_forced(void);
bool pw_joining_is_barred(void);
/* Whether all of a described message is one block, in typemap order. */
bool pw_message_is_one_block(const pw_message *m);
/* MPIs never read shorter messages in the sender's memory: MPICH begins at 16 KiB, Open MPI at 4 KiB less headers. */
enum { PW_LEAST_READ = 2048, PW_LEAST_READ_BY_MPICH = 16 << 10 };
/* Are added to the role of a site whose kind is PW_CALL_NONBLOCKING, in whose key stands the kind before, and if its
 * messages are started. */
enum { PW_SITE_LATER = 4, PW_SITE_STARTED = 8 };
const pw_strategy *pw_strategy_of(pw_strategy_id id);
pw_strategy_id pw_strategy_id_of(const pw_strategy *strategy);
/* For a message that is sent or received again. Returns whether its site certainly chooses as it did when *s was opened
 * or left empty; counts a use of it, and prepares *s. No: the message must be staged anew. */
bool pw_staging_again(pw_staging *s);
/* Returns whether a described message is left to MPI. Counts as a use of its site. */
bool pw_message_is_left(const pw_message *m);
/* A message is left to MPI whatever its site says. If that says so, too, the next one takes the short path
 * (is_native.h). Fills in the message as pw_message_describe does. */
void pw_message_leave(pw_message *m);

/*
 * Returns whether one kernel is to copy a message to oneself from the user's memory to the user's. `from` and `to` are
 * described or dense, in host memory, of equal length, and at least one has a layout. *site: the site that says so, by
 * which a caller may remember it; NULL: the next one like it must be asked about, too.
 */
bool pw_message_is_joined(const pw_message *from, const pw_message *to, pw_site **site);
/* Asks that site about the next message like it, and counts a use of it unless the answer is PW_AGAIN_UNKNOWN: then the
 * whole question must be asked. Trials time the short way, too, since that is what they decide about. */
typedef enum pw_again { PW_AGAIN_UNKNOWN, PW_AGAIN_JOINED, PW_AGAIN_LEFT } pw_again;
pw_again pw_message_joins_again(pw_site *site);
/* Returns the first guess for a described message, which is not remembered. */
pw_strategy_id pw_message_guess(const pw_message *m);
/* Returns whether a strategy can carry a described message. */
bool pw_message_can(const pw_message *m, pw_strategy_id id);
/* Counts a described message that no staging carries in statistics. */
void pw_message_count(const pw_message *m, pw_strategy_id id);
/* Counts a joined one, on both sides. */
void pw_message_count_joined(const pw_message *from, const pw_message *to);
/* Counts a joined one whose receive was counted as one by `expected`. */
void pw_message_count_moved(const pw_message *from, const struct pw_entry *to, const pw_strategy *expected);

/*
 * Fills the other fields of the buffer and `cost_bytes`. False: leave the message to MPI, since nothing can be gained
 * (no bytes, or host memory with a type that is left to MPI) or MPI must check it (a negative count, a null buffer, an
 * overflow). The caller handles MPI_IN_PLACE before this.
 */
bool pw_message_describe(pw_message *m);
/* Does the same also for contiguous host memory, by which nothing is gained, and for memory of an unknown kind. */
bool pw_message_find(pw_message *m);

#endif
