/*
 * What the files of this folder share, and nothing else but their tests: a part for each.
 */
#ifndef PW_RUNTIME_MODEL_INTERNAL_H
#define PW_RUNTIME_MODEL_INTERNAL_H

#include "base/arena.h"
#include "base/status.h"
#include "runtime/engine/model/cost.h"
#include "runtime/engine/model/model.h"

/* ---- default.c --------------------------------------------------------------------------------------------------- */

/*
 * What a model without measurements answers: figures of an H100 with PCIe 5 for GPU memory, and of the host that
 * runtime/engine/model/cost.h was fitted on. docs/model.md lists them. Nanoseconds and bytes.
 */

double pw_model_default_move(pw_model_memory packed, pw_direction direction, pw_model_shape s);
double pw_model_default_send(bool device, int64_t bytes);
double pw_model_default_native_device(int64_t bytes, int64_t blocks);
double pw_model_default_copy(pw_model_copy_way way, int64_t bytes);
double pw_model_default_rows(pw_model_copy_way way, pw_model_shape s);
double pw_model_default_launch(void);

/* ---- cost_lines.c ------------------------------------------------------------------------------------------------ */

/* The constants of runtime/engine/model/cost.h: what MPIs and packing cost on the machines where it was measured. */

/* fixed + per_block * blocks + per_byte * bytes, nanoseconds. */
typedef struct pw_cost_line {
    double fixed, per_block, per_byte;
} pw_cost_line;

/* Over blocks shorter than this many bytes any MPI's walk is dearer than packing. */
enum { PW_COST_TINY = 6 };

/* Messages of up to so many bytes are packed when their blocks are shorter than `cross`, and no shorter than `least` or
 * shorter than PW_COST_TINY. */
typedef struct pw_cost_range {
    int64_t up_to;
    double cross, least;
} pw_cost_range;

/* An MPI's own way. */
typedef struct pw_cost_walk {
    pw_cost_line short_ones, long_ones;
    double spared;               /* of it, by packing, for each block of a longer message */
    const pw_cost_range *copied; /* what is packed of longer ones where the MPI copies packed messages; the last holds
                                    all, as in pw_cost_lines */
} pw_cost_walk;

/* ... and packing, on some machine. */
typedef struct pw_cost_lines {
    const pw_cost_walk *walk;
    int64_t short_to; /* bytes */
    pw_cost_line packed_short;
    const pw_cost_range *shared, *apart; /* what is packed of longer ones, ascending; the last holds all */
} pw_cost_lines;

/* The kind must be one of a message's: up to PW_CALL_NEIGHBOUR. */
const pw_cost_lines *pw_cost_lines_of(bool open_mpi, pw_cost_cores cores, pw_call_kind kind);

/* ---- touch.c ----------------------------------------------------------------------------------------------------- */

/*
 * What the blocks of a message in host memory touch: cache lines and pages, against the reach of caches and of the TLB.
 *
 * As long as both are within reach, a walk over blocks costs by block and by byte, as the lines of cost_lines.c and the
 * tables of tables.h say, which were measured on such layouts. Beyond that reach, the walk waits for every page and
 * every line. An MPI that sends such a message in pieces, each packed and unpacked on the way, lets both ranks wait at
 * the same time; packing and then unpacking wait one after the other.
 */

/* Nanoseconds that one walk over the blocks, packing or unpacking, waits for pages and lines out of reach. */
double pw_touch_wait(pw_model_shape s);

/* Bytes of the last-level cache, for tests; 0: as the system says. */
void pw_touch_set_cache(int64_t bytes);

/* ---- trial.c ----------------------------------------------------------------------------------------------------- */

/*
 * A trial: two strategies for the same messages, taken in turns, until the times of a program's own rounds say which is
 * the better one.
 *
 * What a message costs a rank cannot be seen in one call: MPI may do its work in a later one, and waiting for the peer
 * is part of it. So the time is taken from the beginning of one round of uses to the beginning of the next, with all
 * that the program does in between, which is the same either way. Messages in both directions make a round when the
 * first direction comes back after the other (send and receive, or eight receives and eight sends), where the first one
 * is that of the first message of all; messages in one direction make rounds of a fixed length. Ranks that exchange
 * messages count the same uses and rounds, so their trials fall together although they do not talk.
 *
 * The strategies change after every second round, since the first one after a change pays for what the other has left
 * in the caches. Of each strategy the best rounds count: interruptions, and a program's work after some of the rounds,
 * make times longer only.
 *
 * Plain data of one thread. Times are nanoseconds.
 */

enum {
    PW_TRIAL_EACH = 8,   /* rounds of a strategy */
    PW_TRIAL_JUDGED = 4, /* so many of the challenger's must be better than all of the incumbent's */
    PW_TRIAL_MIXED = 256 /* uses in a round at most, if there are both directions */
};

typedef enum pw_trial_side { PW_TRIAL_INCUMBENT, PW_TRIAL_CHALLENGER, PW_TRIAL_SIDES } pw_trial_side;

typedef struct pw_trial {
    int strategies[PW_TRIAL_SIDES];
    int longest, first; /* uses in a round; the direction with which rounds begin */
    int round, uses;    /* -1: until the first round begins, the incumbent is taken */
    bool turned;        /* this round has had another direction than `first` */
    int64_t begun;
    int n[PW_TRIAL_SIDES];
    double times[PW_TRIAL_SIDES][PW_TRIAL_EACH]; /* per use */
} pw_trial;

static inline pw_trial pw_trial_of(int incumbent, int challenger, int first, int longest)
{
    return (pw_trial){.strategies = {incumbent, challenger}, .first = first, .longest = longest, .round = -1};
}

/* A use in this direction begins now. False: the trial is over; else *strategy is to be taken. */
bool pw_trial_use(pw_trial *t, int direction, int64_t now, int *strategy);

/* The better strategy of a trial that is over. */
int pw_trial_verdict(const pw_trial *t);

/* What a use has taken of a round that is as good as a quiet machine lets them be. */
double pw_trial_time(const pw_trial *t, pw_trial_side side);

/* ---- json.c ------------------------------------------------------------------------------------------------------ */

/*
 * Reading JSON (RFC 8259), strictly: one value, nothing after it, no duplicate names, no comments, UTF-8 as it comes.
 *
 * Written here because the interposer is loaded into other people's programs, so that a library would have to be linked
 * into it whole: docs/model.md says which there are and why not.
 */

typedef enum pw_json_kind {
    PW_JSON_NULL,
    PW_JSON_BOOL,
    PW_JSON_NUMBER,
    PW_JSON_STRING,
    PW_JSON_ARRAY,
    PW_JSON_OBJECT
} pw_json_kind;

typedef struct pw_json_value {
    pw_json_kind kind;
    int n;                             /* elements or members */
    double number;                     /* of a number, of true (1) and false (0) */
    const char *text;                  /* of a string, ended by NUL; strings that contain one are refused */
    const char *name;                  /* as a member of an object, else NULL */
    const struct pw_json_value *first; /* of elements or members */
    const struct pw_json_value *next;  /* beside this one */
} pw_json_value;

/* Values live in the arena. On failure PW_ERR_INVALID with line and column, or PW_ERR_NOMEM. */
pw_status pw_json_parse(const char *text, size_t size, pw_arena *arena, const pw_json_value **out, pw_diag *diag);

/* The member of this name and kind, or NULL. `object` may be anything, also NULL. */
const pw_json_value *pw_json_member(const pw_json_value *object, const char *name, pw_json_kind kind);

#endif
