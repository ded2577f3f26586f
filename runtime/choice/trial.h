/*
 * A trial finds out, in the program, which way carries the messages of one site in the least time.
 *
 * The uses of a site are counted in *rounds*: what the program begins and completes together counts as one. In a
 * *window* of rounds the site takes its ways in turns, two rounds each, and the least time wins. The turn is a function
 * of the round's number alone, so two ranks that count the same rounds take the same turns without a word. Outside of
 * windows the best way is taken, and nothing is timed.
 *
 * A trial has *slots*. Slot 0 is what each site takes outside of windows: first a guess, later what the last window has
 * found. The other slots are ways, in an order that all sites of one kind share. Where the messages of several sites
 * complete together, their times cannot be told apart, so slots are compared and not ways: slot 0 stands for "every
 * site as outside of windows". A site that cannot carry out a slot takes its best way then, and learns nothing.
 *
 * What a trial may cost is bounded. A window has a budget of lost time, in units of the best slot's; a slot that is
 * expected to take more than is left of it waits for a later window, whose budget grows with the rounds behind it. A
 * slot that turns out to be far behind gets no further turn.
 *
 * Plain data. Times are in any unit, as long as it is one. Times only ever grow by what else the machine does, so of
 * each slot the second least counts. Functions are pure but for the trial they are given.
 */
#ifndef PW_RUNTIME_CHOICE_TRIAL_H
#define PW_RUNTIME_CHOICE_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PW_TRIAL_SLOTS = 8, /* the guess and up to seven ways */
    PW_TRIAL_PAIR = 2,  /* rounds of one turn: the first one pays for what the turn before has left in the caches */
    PW_TRIAL_TURNS =
        3, /* turns of each slot in the first window; later ones have twice as many, and so surer verdicts */
    PW_TRIAL_FIRST = 1,   /* the round with which the first window begins: the round before it meets everything cold */
    PW_TRIAL_SECOND = 64, /* the next one; further ones begin at 512, 4096 ... */
    PW_TRIAL_SHORT = 512, /* the first window of short messages, for which a look at the clock counts */
    PW_TRIAL_KEPT = PW_TRIAL_PAIR * PW_TRIAL_TURNS, /* the least times of a slot that are kept */
    PW_TRIAL_USUAL = 0                              /* the slot of what is taken outside of windows */
};

typedef struct pw_trial_slot {
    bool possible;              /* the site can carry out this slot */
    uint8_t n;                  /* times in this window */
    float times[PW_TRIAL_KEPT]; /* the least of them, ascending */
    float ratio;  /* how many times the best slot's time is expected or was found; 1 for slot 0 at first */
    float result; /* the time in the last window that tried this slot; 0: not known */
} pw_trial_slot;

typedef struct pw_trial {
    pw_trial_slot slots[PW_TRIAL_SLOTS];
    int n;         /* slots */
    int own;       /* the slot whose way slot 0 stands for */
    int64_t begin; /* the first round of the window that is under way or comes next */
} pw_trial;

/* Makes a trial of `n` slots. `ratios[i]`: how many times the guess's time slot i is expected to take; below 0: the
 * site cannot carry it out. `own` as in pw_trial. */
void pw_trial_init(pw_trial *t, int n, int own, const float *ratios, bool is_short);

/* Returns the slot that a round takes. *timed: whether its time is to be told to pw_trial_add. */
int pw_trial_turn(const pw_trial *t, int64_t round, bool *timed);

/* Records the time of a round that has taken its own slot. */
void pw_trial_add(pw_trial *t, int slot, double time);

/* The number of rounds in a window. */
static inline int64_t pw_trial_length(const pw_trial *t)
{
    return (int64_t)t->n * PW_TRIAL_PAIR * PW_TRIAL_TURNS * (t->begin == PW_TRIAL_FIRST ? 1 : 2);
}

/* Whether a round lies behind the window, so that pw_trial_close is due. */
static inline bool pw_trial_is_over(const pw_trial *t, int64_t round)
{
    return round >= t->begin + pw_trial_length(t);
}

/* Ends the window, and returns the slot that has won it: the caller lets slot 0 stand for that way from now on, and is
 * to carry it out until the next window, which is a later one. */
int pw_trial_close(pw_trial *t);

#endif
