/*
 * Transfer strategies: the ways in which the bytes of a message come to lie where MPI moves them at full speed.
 *
 * Every covered call - point to point, collective, one-sided, I/O - describes each of its buffers as a pw_message. The
 * cheapest strategy that can gives a contiguous stand-in for it, a pw_stage: the call then goes to the MPI below with
 * the stage's memory in place of the user's, and the bytes on the wire are the same, typemap order without a header
 * (MPI 4.0 section 5.2), so each rank decides alone. "Native" means: no stage, the caller's own arguments.
 *
 * A new strategy is a row in PW_STRATEGIES (base/strategy_table.h), a record in this folder, and nothing else. The
 * choice is the cheapest of those that can, by the model of runtime/engine/model/model.h. It is remembered for layout,
 * size class, sort of call and place (runtime/engine/model/decide.h). PACKWRIGHT_STRATEGY names one that is taken
 * whenever it can.
 */
#ifndef PW_RUNTIME_STRATEGY_H
#define PW_RUNTIME_STRATEGY_H

#include "base/status.h"
#include "base/strategy_table.h"
#include "runtime/engine/memory/buffer.h"
#include "runtime/engine/model/call_sort.h"
#include "runtime/engine/model/model.h"
#include "runtime/mpi/mpi_compat.h"

/* What MPI does with the buffer: reads it, writes it, or both (in-place and replacing calls). */
typedef enum pw_role { PW_SEND, PW_RECV, PW_BOTH } pw_role;

struct pw_entry;
struct pw_layout;
struct pw_strategy;
struct pw_decision;

/* One buffer argument of a call. */
typedef struct pw_message {
    pw_buffer buffer;             /* the caller fills base and count, pw_message_describe the rest */
    const struct pw_entry *entry; /* valid until MPI is called: from then on another thread may free the type */
    int64_t judged; /* the bytes by which the strategy is chosen, pw_cost_judged; described as those of one block */
    pw_call_sort sort;
    pw_role role;
} pw_message;

/* A contiguous stand-in for the buffer of a message. Plain data: may be moved, is not shared between threads. */
typedef struct pw_stage {
    const struct pw_strategy *strategy; /* NULL: there is none, the message is native */
    pw_buffer buffer; /* the user's; with a reference to its layout: the type may die while MPI works with the stage */
    pw_role role;
    pw_call_sort sort;
    void *data;                   /* what MPI gets: buffer.bytes bytes, > 0, in packed order */
    void *own;                    /* of the strategy */
    struct pw_inbound *inbound;   /* expects the message (runtime/engine/node/inbound.h); NULL: nothing does */
    int64_t ahead_ns;             /* spent on unpacking before that was asked for (pw_stage_expect) */
    void *under_way;              /* a packing or unpacking that was begun (pw_stage_begin_pack); NULL: none */
    struct pw_decision *decision; /* what is observed of the stage goes there; NULL: nowhere */
} pw_stage;

typedef struct pw_strategy {
    const char *name;
    /* Could this strategy carry the message? */
    bool (*can)(const pw_message *m);
    /* Nanoseconds from the sender's buffer to the receiver's. Asked for one message of a class of similar ones
     * (runtime/engine/model/decide.h). */
    double (*cost)(const pw_message *m);
    /* The part of it that `pack` or `unpack` takes: timed, it corrects the estimate. NULL: nothing is timed. */
    double (*own_cost)(const pw_message *m, pw_direction direction);
    /* Takes the stage's memory: sets data and own; everything else is set. On failure (no memory) the next cheapest
     * strategy is asked. NULL: native. */
    pw_status (*take)(pw_stage *s);
    /* User's buffer -> data, complete on return. May be called again (persistent requests). */
    pw_status (*pack)(pw_stage *s);
    /* The first `received` bytes of data, 0 < received <= bytes -> user's buffer, complete on return. */
    pw_status (*unpack)(pw_stage *s, int64_t received);
    void (*give)(pw_stage *s);
    /* NULL: the strategy makes nothing of it. */
    void (*expect)(pw_stage *s);
    /*
     * For strategies whose work goes on by itself: begins what pack, or else unpack of the first `received` bytes,
     * does, and sets under_way; finish waits for it, and clears that. False: not now. NULL: the strategy has no such
     * stages.
     */
    bool (*begin)(pw_stage *s, pw_direction direction, int64_t received);
    pw_status (*finish)(pw_stage *s);
    int memory, path; /* of those for GPU memory (strategy/gpu.h) */
} pw_strategy;

#define X(symbol, name, packed, help) extern const pw_strategy pw_strategy_##name;
PW_STRATEGIES(X)
#undef X

/* Reads PACKWRIGHT_STRATEGY and the model. */
void pw_strategy_start(void);
/* Whether the user has named a strategy, so that costs are not asked. */
bool pw_strategy_is_forced(void);
/* What the model is asked for a described message. */
pw_model_query pw_message_query(const pw_message *m);
/* Is all of a described message one block, in typemap order? */
bool pw_message_is_one_block(const pw_message *m);
/* Shorter messages are never read in the sender's memory: MPICH begins at 16 KiB, Open MPI at 4 KiB less headers. */
enum { PW_LEAST_READ = 2048 };
/* May the message be contiguous to the MPI, which then may read it in the sender's memory? Not if it is long, and the
 * system does not let processes of this node read each other's (runtime/engine/node/sharing.h). */
bool pw_message_may_be_contiguous(const pw_message *m);
/* The strategy to take, of those that are not in the set `refused` (bit 1 << id). */
pw_strategy_id pw_strategy_choose(const pw_message *m, unsigned refused);

/*
 * Fills the buffer. False: leave the buffer to MPI, since there is nothing to gain (no bytes, a type left to MPI
 * in host memory), or it is for MPI to judge (a negative count, a null buffer, an overflow). MPI_IN_PLACE is for the
 * caller to look at first.
 */
bool pw_message_describe(pw_message *m);

/* Chooses and takes. False: native; the stage is then empty, and closing it does nothing. */
bool pw_stage_open(pw_stage *s, const pw_message *m);
/* By this strategy, whether or not it says that it can, and remembers nothing. On failure the stage is empty. */
pw_status pw_stage_open_by(pw_stage *s, const pw_message *m, const pw_strategy *strategy);
/* pw_message_describe and pw_stage_open. */
bool pw_stage_try(pw_stage *s, pw_call_sort sort, pw_role role, const struct pw_entry *entry, const void *buf,
                  MPI_Count count);
pw_status pw_stage_pack(pw_stage *s);
/* Before each message that is received point to point: MPI will write the stage's memory and not read it, so what
 * arrives may be unpacked as it comes. */
void pw_stage_expect(pw_stage *s);
/* `received` of at most 0 does nothing; more than the stage's bytes (after an error of MPI) neither. */
pw_status pw_stage_unpack(pw_stage *s, int64_t received);
/*
 * Starts packing (or unpacking) without waiting, for callers with several stages. False: it cannot start now. In both
 * cases the caller must still call pw_stage_pack (pw_stage_unpack), which waits for what was started and does the rest.
 */
bool pw_stage_begin_pack(pw_stage *s);
bool pw_stage_begin_unpack(pw_stage *s, int64_t received);
/* Releases all that the stage holds. Calling it again, or on an empty stage, does nothing. */
void pw_stage_close(pw_stage *s);

/* An operation that outlives the call under way has taken over the stages that this call holds. */
void pw_stages_handed_over(void);
/* An error handler has left the call under way by longjmp: closes the stages that it holds. */
void pw_stages_left(void);

static inline bool pw_stage_is_open(const pw_stage *s)
{
    return s->strategy;
}

#endif
