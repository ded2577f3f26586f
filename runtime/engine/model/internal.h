/* What the files of this folder share, by the file that defines it. Only they and their tests include this. */
#ifndef PW_RUNTIME_MODEL_INTERNAL_H
#define PW_RUNTIME_MODEL_INTERNAL_H

#include "base/arena.h"
#include "base/status.h"
#include "runtime/engine/model/cost.h"
#include "runtime/engine/model/decide.h"
#include "runtime/engine/model/model.h"

/* ---- default.c --------------------------------------------------------------------------------------------------- */

/*
 * The answers of a model without measurements: figures of an H100 with PCIe 5 for GPU memory, of two H200s with NVLink
 * for memory of another GPU, and of the hosts that cost_lines.c was fitted on. docs/model.md lists them. Nanoseconds
 * and bytes.
 */

double pw_model_default_move(pw_model_memory packed, pw_direction direction, pw_model_shape s);
double pw_model_default_send(bool device, int64_t bytes);
double pw_model_default_native_device(int64_t bytes, int64_t blocks);
double pw_model_default_copy(pw_model_copy_way way, int64_t bytes);
double pw_model_default_launch(void);
double pw_model_default_across(pw_model_shape s);

/* ---- cost_lines.c ------------------------------------------------------------------------------------------------ */

/* The constants of cost.h: what MPIs and packing cost on the machines where that was measured. */

/* A cost in nanoseconds: fixed + per_block * blocks + per_byte * bytes. */
typedef struct pw_cost_line {
    double fixed, per_block, per_byte;
} pw_cost_line;

/* With blocks of less than so many bytes, the walk of any MPI over them costs more than packing. */
enum { PW_COST_TINY = 6 };

/* A range of message sizes, up to `up_to` bytes. In it, messages are packed if their blocks are shorter than `cross`
 * and not shorter than `least`; blocks shorter than PW_COST_TINY are always packed. */
typedef struct pw_cost_range {
    int64_t up_to;
    double cross, least;
} pw_cost_range;

/* What a message costs that is left to one MPI. */
typedef struct pw_cost_walk {
    pw_cost_line short_ones, long_ones;
    double spared;               /* packing saves so much of that for each block of a longer message */
    const pw_cost_range *copied; /* the ranges in which longer messages are packed where the MPI copies packed messages,
                                    ascending; the last has no end */
} pw_cost_walk;

/* What native and packed messages cost with one MPI on one machine. */
typedef struct pw_cost_lines {
    const pw_cost_walk *walk;
    int64_t short_to; /* bytes */
    pw_cost_line packed_short;
    /* The ranges in which longer messages are packed where receivers unpack from the sender's memory, with a cache in
     * common and without; ascending, the last has no end. */
    const pw_cost_range *shared, *apart;
} pw_cost_lines;

/* What kernels in the MPI's pipeline take, as pw_cost_pipeline_part says, for messages up to `up_to` bytes with blocks
 * up to `longest`. */
typedef struct pw_cost_part {
    int64_t up_to, longest;
    double part;
} pw_cost_part;

/* Returns rows of which the first one that fits holds; the last fits all messages. `near`: those of a Zen whose ranks
 * share a cache. */
const pw_cost_part *pw_cost_parts_of(bool open_mpi, pw_call_kind kind, pw_cost_way way, bool near);

/* Returns the lines for a kind of call. The kind must be one of a message's: up to PW_CALL_NEIGHBOUR. */
const pw_cost_lines *pw_cost_lines_of(bool open_mpi, pw_cost_cores cores, pw_call_kind kind);

/* ---- touch.c ----------------------------------------------------------------------------------------------------- */

/*
 * How long a walk over blocks in host memory waits for cache lines and pages that are out of reach of the caches and of
 * the TLB.
 * As long as both are within reach, a walk costs time by block and by byte, as the lines of cost_lines.c and the tables
 * of tables.h say, which were measured on such layouts. Beyond that reach, the walk waits for every page and every
 * line. An MPI that sends such a message in pieces, each packed and unpacked on the way, lets both ranks wait at the
 * same time; packing and then unpacking wait one after the other.
 */

/* Returns the nanoseconds that one walk over the blocks, packing or unpacking, waits for pages and lines out of reach.
 */
double pw_touch_wait(pw_model_shape s);
/* Returns how long a kernel that reads another process's GPU memory waits for pages out of its TLB's reach. */
double pw_touch_wait_across(pw_model_shape s);

/* Sets the size of the last-level cache, for tests. 0: as the system says. */
void pw_touch_set_cache(int64_t bytes);

/* ---- correct.c --------------------------------------------------------------------------------------------------- */

/* The corrections for GPU memory, as decide.h describes them. */

/* Returns an estimate's total with the rank's own work corrected. */
double pw_corrected_total(const pw_estimate *e, int strategy, uint16_t size);
/* Lets a strategy that was not taken lose half of its correction. */
void pw_correction_halve(int strategy, uint16_t size);
void pw_correction_reset(void);

/* ---- doubt.c ----------------------------------------------------------------------------------------------------- */

/* Decisions in doubt, for host memory, and the one trial that carries such a decision out both ways. Thread safe. */

/* Called when the chosen strategy of a decision that is not forced has been used a power of two times. Returns true if
 * a trial has begun; pw_doubt_turn then says which strategy is next, and d->chosen is PW_DECIDE_ON_TRIAL. */
bool pw_doubt_begin(pw_decision *d, int chosen);
/* Returns the strategy whose turn it is in the trial. Messages of other threads take no part in it. */
int pw_doubt_turn(pw_decision *d, int direction);
void pw_doubt_reset(void);

/* ---- trial.c ----------------------------------------------------------------------------------------------------- */

/*
 * A trial: two strategies carry the same messages in turns, until the times of the program's own rounds show which one
 * is better.
 *
 * The cost of a message does not show in one call: MPI may do its work in a later call, and the call may wait for the
 * peer. So a trial takes the time from the beginning of one round of uses to the beginning of the next. That includes
 * all that the program does in between, which is the same with either strategy. Messages in both directions make a
 * round when the first direction comes back after the other (send and receive, or eight receives and eight sends),
 * where the first one is that of the first message of all; messages in one direction make rounds of a fixed length.
 * Ranks that exchange messages count the same uses and rounds, so their trials fall together although they do not talk.
 *
 * The strategies change after every second round, since the first one after a change pays for what the other has left
 * in the caches. Of each strategy the best rounds count: interruptions, and a program's work after some of the rounds,
 * make times longer only.
 *
 * Plain data of one thread. Times are nanoseconds.
 */

enum {
    PW_TRIAL_EACH = 8,   /* rounds of each strategy */
    PW_TRIAL_BETTER = 4, /* the challenger wins if so many of its rounds are better than all of the incumbent's */
    PW_TRIAL_MIXED = 256 /* the most uses in a round that has both directions */
};

typedef enum pw_trial_side { PW_TRIAL_INCUMBENT, PW_TRIAL_CHALLENGER, PW_TRIAL_SIDES } pw_trial_side;

typedef struct pw_trial {
    int strategies[PW_TRIAL_SIDES];
    int longest, first; /* the most uses in a round; the direction with which rounds begin */
    int round, uses;    /* -1: the first round has not begun, and the incumbent is taken */
    bool turned;        /* this round has also had the other direction */
    int64_t begun;
    int n[PW_TRIAL_SIDES];
    double times[PW_TRIAL_SIDES][PW_TRIAL_EACH]; /* time per use */
} pw_trial;

static inline pw_trial pw_trial_of(int incumbent, int challenger, int first, int longest)
{
    return (pw_trial){.strategies = {incumbent, challenger}, .first = first, .longest = longest, .round = -1};
}

/* Called when a use in this direction begins. Returns false if the trial is over; otherwise *strategy is to be taken.
 */
bool pw_trial_use(pw_trial *t, int direction, int64_t now, int *strategy);

/* Returns the better strategy of a trial that is over. */
int pw_trial_verdict(const pw_trial *t);

/* Returns the time of a use in the best rounds, as a quiet machine lets them be. */
double pw_trial_time(const pw_trial *t, pw_trial_side side);

#endif
