/*
 * Purpose: turns and verdicts of trials. Data: pw_trial, one for each site. Invariant: the slot of a round depends on
 * its number and on what this site has found out, never on a clock.
 */
#include "runtime/choice/trial.h"

enum { LATER = 8 }; /* how many times as far as one window the next one begins */

/*
 * The usual way stays unless another one takes less than this part of its time. The first usual way is a guess that all
 * ranks of an exchange share, and ways gain most where both ends take the same one. So it takes a difference that every
 * rank sees, not one within the noise of some.
 */
static const float better = 0.9F;
/* A slot gets no further turn in a window once it takes more than this many times the least time: after one time that
 * is as far behind as was expected, and after a turn. */
static const float far_behind = 1.7F, behind = 1.25F;
/* What a window may lose: this part of all rounds before it, and at least what the first 64 rounds may. */
static const float part = 0.01F, least_budget = 4.0F;

void pw_trial_init(pw_trial *t, int n, int own, const float *ratios, bool is_short)
{
    *t = (pw_trial){.n = n, .own = own, .begin = is_short ? PW_TRIAL_SHORT : PW_TRIAL_FIRST};
    for (int i = 0; i < n; i++)
        t->slots[i] = (pw_trial_slot){.possible = ratios[i] >= 0, .ratio = ratios[i]};
}

/* Returns the time of a slot in this window. 0: it has none. */
static float time_of(const pw_trial_slot *s)
{
    return s->n == 0 ? 0 : s->n < 3 ? s->times[0] : s->times[1];
}

/* Returns the slot with the least time in this window; slot 0 where none has a time. */
static int least(const pw_trial *t)
{
    int found = -1;

    for (int i = 0; i < t->n; i++)
        if (t->slots[i].n > 0 && (found < 0 || time_of(&t->slots[i]) < time_of(&t->slots[found])))
            found = i;
    return found < 0 ? PW_TRIAL_USUAL : found;
}

/* Returns what the window has lost so far by trying other ways than the usual one, in units of the best slot's time. */
static float spent(const pw_trial *t, float best)
{
    float sum = 0;

    for (int i = 1; i < t->n && best > 0; i++)
        if (i != t->own)
            sum += (float)t->slots[i].n * (time_of(&t->slots[i]) / best - 1);
    return sum;
}

/* Whether what a slot is expected to lose is left in the window's budget. */
static bool is_affordable(const pw_trial *t, const pw_trial_slot *s, float best)
{
    float budget = part * (float)t->begin;

    return s->ratio - 1 <= (budget > least_budget ? budget : least_budget) - spent(t, best);
}

/* Whether a slot gets a turn in this window, as far as its times so far say. One time that is much longer than expected
 * may be an interruption. */
static bool keeps_up(const pw_trial_slot *s, float best)
{
    if (s->n < PW_TRIAL_PAIR)
        return s->n == 0 || s->ratio <= far_behind || time_of(s) <= far_behind * best;
    return time_of(s) <= behind * best;
}

/* Whether a slot gets its next turn in this window. The usual way has two slots, which fall behind together. */
static bool is_tried(const pw_trial *t, int slot)
{
    const pw_trial_slot *s = &t->slots[slot];
    float best = time_of(&t->slots[least(t)]);

    if (!s->possible || !keeps_up(s, best) || (slot == t->own && !keeps_up(&t->slots[PW_TRIAL_USUAL], best)))
        return false;
    return slot == PW_TRIAL_USUAL || s->n > 0 || is_affordable(t, s, best);
}

int pw_trial_turn(const pw_trial *t, int64_t round, bool *timed)
{
    int64_t at = round - t->begin;
    int slot = (int)(at / PW_TRIAL_PAIR % t->n);

    *timed = at >= 0 && at < pw_trial_length(t) && is_tried(t, slot);
    if (*timed)
        return slot;
    return at < 0 ? PW_TRIAL_USUAL : least(t);
}

void pw_trial_add(pw_trial *t, int slot, double time)
{
    pw_trial_slot *s = &t->slots[slot];
    int i = s->n < PW_TRIAL_KEPT ? s->n : PW_TRIAL_KEPT - 1;

    s->n++;
    if (s->n > PW_TRIAL_KEPT && (float)time >= s->times[i])
        return;
    for (; i > 0 && s->times[i - 1] > (float)time; i--)
        s->times[i] = s->times[i - 1];
    s->times[i] = (float)time;
}

/* Keeps what the window has found out of one slot, and forgets its times. */
static void conclude(pw_trial_slot *s, float best)
{
    if (s->n > 0) {
        s->result = time_of(s);
        s->ratio = best > 0 ? s->result / best : 1;
    }
    s->n = 0;
}

int pw_trial_close(pw_trial *t)
{
    int found = least(t);
    float best = time_of(&t->slots[found]), usual = time_of(&t->slots[PW_TRIAL_USUAL]);

    if (usual > 0 && best >= better * usual)
        found = PW_TRIAL_USUAL;
    for (int i = 0; i < t->n; i++)
        conclude(&t->slots[i], best);
    if (found != PW_TRIAL_USUAL)
        t->own = found;
    t->slots[PW_TRIAL_USUAL].ratio = 1;
    t->begin = t->begin == PW_TRIAL_FIRST ? PW_TRIAL_SECOND : LATER * t->begin;
    return found;
}
