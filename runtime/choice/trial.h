/*
 * A trial finds out, in the program, which way carries the messages of one site in the least time.
 *
 * The uses of a site are counted in *rounds*: what the program begins and completes together counts as one. In a
 * *window* of rounds the site takes its ways in turns, some rounds each, and the least time wins. Outside of windows
 * the best way is taken, and nothing is timed.
 *
 * A trial has *slots*. Slot 0 is what each site takes outside of windows: first a guess, later what the last window has
 * found. The other slots are ways, in an order that all sites share that may meet in a round. Where the messages of
 * several sites complete together, their times cannot be told apart, so one of them leads: all take the slot of its
 * trial, as far as they can, and its verdict is theirs (site.h). So slots are compared and not ways, and slot 0 stands
 * for "every site as outside of windows". The slot of the way that it stands for is tried only where that differs.
 *
 * All ranks of a node judge a window together. Its *record* lies in memory that they share. Each rank adds its times to
 * the record's sums, and whoever comes first to a step of the window decides from the sums what all ranks take in it,
 * and at the end which slot has won. So ranks that count the same rounds take the same turns and the same ways, without
 * a message, and one rank's interruption does not make it part from the others. A rank alone has records of its own.
 *
 * What a trial may cost is bounded. A window has a budget of lost time, in units of the best slot's; a slot that is
 * expected to take more than is left of it waits for a later window, whose budget grows with the rounds behind it; the
 * safe slot, while it was never seen, gets two rounds at once if these take no more. Where the usual slot takes longer
 * than was guessed, as where the program waits for a disk or a peer, so much less of the time is lost by a way that was
 * guessed to be dearer. A slot that turns out to be behind gets no further turn, and a window ends when one slot is
 * left. Where rounds are so short that a first use of a way would count, the window ends after its first step, and the
 * next one comes late.
 *
 * A slot's first window meets memory that no process has touched, and kernels that are still being compiled; others may
 * be disturbed. So the next window tries again what may have lost for that, and then believes what it sees.
 *
 * Times are nanoseconds; a clock is never read. What one rank waits for another one in a round the other one does not,
 * so a round takes what its ranks took on average. Times mostly grow by what else the machine does, so of the rounds of
 * a slot one of the shortest counts.
 */
#ifndef PW_RUNTIME_CHOICE_TRIAL_H
#define PW_RUNTIME_CHOICE_TRIAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    PW_TRIAL_SLOTS = 8,  /* the guess and up to seven ways */
    PW_TRIAL_ROUNDS = 4, /* of one step: the first ones pay for what the step before has left in the caches */
    PW_TRIAL_TURNS = 2,  /* the most steps of one slot in a window */
    PW_TRIAL_STEPS = PW_TRIAL_SLOTS * PW_TRIAL_TURNS + 2,
    PW_TRIAL_FIRST = 1,   /* the round with which the first window begins: the round before it meets all cold */
    PW_TRIAL_SECOND = 64, /* the next one; further ones begin at 256, 1024 ... */
    PW_TRIAL_LATER = 4,   /* how many times as far as one window the next one begins */
    PW_TRIAL_USUAL = 0    /* the slot of what is taken outside of windows */
};

/* A window, in memory that processes may share; zeroes at first. What another process writes there can only make
 * choices worse. */
typedef struct pw_trial_record {
    _Alignas(64) _Atomic uint64_t tag; /* tells records apart (site.h); 0: it is free */
    _Atomic uint64_t sums[PW_TRIAL_SLOTS][PW_TRIAL_TURNS * PW_TRIAL_ROUNDS]; /* of what ranks took for each round */
    _Atomic uint8_t steps[PW_TRIAL_STEPS]; /* what each step takes; 0: nobody has come to it */
    _Atomic uint8_t verdict;               /* 1 + the slot that has won; 0: not yet known */
} pw_trial_record;

typedef struct pw_trial_slot {
    bool possible; /* some site can carry out this slot */
    float ratio;   /* how many times the best slot's time is expected or was found; 1 for slot 0 at first */
    float first;   /* what its first round is guessed to take longer than later ones, in nanoseconds */
    float result;  /* the time in the last window that tried this slot; 0: not known */
} pw_trial_slot;

/* What a round takes. */
typedef struct pw_trial_turn {
    int slot;
    int step; /* for pw_trial_add; below 0: the round is not timed */
} pw_trial_turn;

/* One rank's part. */
typedef struct pw_trial {
    pw_trial_slot slots[PW_TRIAL_SLOTS];
    int n;                   /* slots */
    int own;                 /* the slot whose way slot 0 stands for */
    int safe;                /* the slot that wins unless another one is clearly better */
    bool differs;            /* in the window's rounds some site takes another way in slot `own` than in slot 0 */
    float guessed;           /* what a round of slot 0 was guessed to take; 0: not known */
    int windows;             /* that are over */
    int64_t begin;           /* the first round of the window that is under way or comes next */
    pw_trial_record *record; /* of the window that is under way; NULL: none is */
    pw_trial_turn last;      /* of which some rounds have been timed; step below 0: none */
    int timed;               /* how many; PW_TRIAL_ROUNDS: the rest of the step is not timed */
    int at;                  /* of the slot's sums, the first one of this turn */
    float shortest;          /* of this rank's times in it */
} pw_trial;

/* Makes a trial of `n` slots. `ratios[i]`: how many times the guess's time slot i is expected to take; below 1 counts
 * as 1, and below 0 the site cannot carry it out. `own` and `safe` as in pw_trial. */
void pw_trial_init(pw_trial *t, int n, int own, int safe, const float *ratios);

/* Lets a trial go on as another one that has just been closed, with slot `own` for slot 0. Its window is over, and no
 * later one finds the record of one that it has had. */
void pw_trial_follow(pw_trial *t, const pw_trial *other, int own);
/* Begins the window that is due, with a record that every rank finds for it. False: there is no record, or another rank
 * has ended the window already, so that there is only its verdict to take over. */
bool pw_trial_open(pw_trial *t, pw_trial_record *record);
/* Whether the window ends before this round, so that pw_trial_close is due. */
bool pw_trial_is_over(pw_trial *t, int64_t round);
/* Returns what a round of the window takes. */
pw_trial_turn pw_trial_take(pw_trial *t, int64_t round);
/* Records the time of a round that has taken its turn. */
void pw_trial_add(pw_trial *t, pw_trial_turn turn, double ns);
/* Ends the window before a round, and returns the slot that has won it: the caller lets slot 0 stand for that way from
 * now on, and is to carry it out until the next window, which is a later one. */
int pw_trial_close(pw_trial *t, int64_t round);

#endif
