#include "runtime/engine/model/internal.h"

#include "base/samples.h"

/* A challenger must take at most this part of the incumbent's time. */
static const double enough = 0.95;

/* Returns whose turn a round is. Each strategy has two rounds at a time, in the order of Thue and Morse, so that
 * neither a trend nor a period of the program favours one. */
static pw_trial_side side_of(int round)
{
    return round >= 0 && __builtin_parity((unsigned)round / 2) ? PW_TRIAL_CHALLENGER : PW_TRIAL_INCUMBENT;
}

static bool ends_round(const pw_trial *t, int direction)
{
    return t->uses >= t->longest || (t->turned && direction == t->first);
}

static void end_round(pw_trial *t, int64_t now)
{
    pw_trial_side side = side_of(t->round);

    if (t->round >= 0)
        t->times[side][t->n[side]++] = (double)(now - t->begun) / t->uses;
    t->round++;
    t->uses = 0;
    t->turned = false;
    t->begun = now;
}

bool pw_trial_use(pw_trial *t, int direction, int64_t now, int *strategy)
{
    if (t->uses > 0 && ends_round(t, direction))
        end_round(t, now);
    if (t->round == PW_TRIAL_SIDES * PW_TRIAL_EACH)
        return false;
    t->turned = t->turned || direction != t->first;
    t->uses++;
    *strategy = t->strategies[side_of(t->round)];
    return true;
}

/* Returns the n-th best time of a use; n counts from 1. */
static double best(const pw_trial *t, pw_trial_side side, int n)
{
    double times[PW_TRIAL_EACH];

    for (int i = 0; i < PW_TRIAL_EACH; i++)
        times[i] = t->times[side][i];
    pw_samples_sort(times, PW_TRIAL_EACH);
    return times[n - 1];
}

int pw_trial_verdict(const pw_trial *t)
{
    bool better = best(t, PW_TRIAL_CHALLENGER, PW_TRIAL_BETTER) < enough * best(t, PW_TRIAL_INCUMBENT, 1);

    return t->strategies[better ? PW_TRIAL_CHALLENGER : PW_TRIAL_INCUMBENT];
}

double pw_trial_time(const pw_trial *t, pw_trial_side side)
{
    return best(t, side, PW_TRIAL_BETTER);
}
