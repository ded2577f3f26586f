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
#ifndef PW_RUNTIME_MODEL_TRIAL_H
#define PW_RUNTIME_MODEL_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
