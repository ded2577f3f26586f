/*
 * Purpose: turns and verdicts of trials. Data: pw_trial, one for each site, and the record of its window, which other
 * processes change meanwhile. Invariant: what a step takes and which slot wins is decided once for all who share the
 * record, by compare and swap.
 */
#include "runtime/choice/trial.h"

#include <math.h>
#include <stddef.h>

/* What a step holds besides 1 + a slot: BRIEF, if it has only few rounds of the slot and else does as usual; LAST and
 * the best slot so far, while the last times come in; the end. */
enum { BRIEF = 0x40, LAST = 0x80, OVER = 0xff, FEW = 2 };

/* A slot wins only with less than this part of the usual slot's time, and of the safe slot's: closer ones are not told
 * apart, and of two that are alike the safe one is what all ranks of all nodes share. */
static const float better = 0.95F;
/* A slot gets no further turn in a window once it takes more than this many times the least time, and no further round
 * in its turn, on this rank, after two of which each was so far behind. */
static const float behind = 1.25F, far_behind = 3;
/* What a window may lose: the first one what the first 64 rounds may, the second one little, since programs that are
 * measured begin about there, and a later one this part of all rounds until the next window. */
static const float first_budget = 3.5F, second_budget = 2, part = 0.01F;
/* What a first use costs more is paid in one window, and what a way is dearer in each: this part of it counts. */
static const float once = 0.25F;
/* Rounds are short if they take less: what a way takes when it is first used, a tenth of a millisecond for memory and
 * kernels, would be more than 64 of them may lose. */
static const float short_ns = 16000;

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* A sum holds how many times it has in its upper bits, so that one addition keeps both. */
enum { COUNT_SHIFT = 48 };

static void add(_Atomic uint64_t *sum, double ns)
{
    atomic_fetch_add_explicit(sum, (uint64_t)1 << COUNT_SHIFT | (uint64_t)fmin(ns + 0.5, 1e12), memory_order_relaxed);
}

static uint64_t count_of(uint64_t sum)
{
    return sum >> COUNT_SHIFT;
}

/* 0: it has no times. */
static float mean_of(uint64_t sum)
{
    uint64_t n = count_of(sum), ns = sum & (((uint64_t)1 << COUNT_SHIFT) - 1);

    return n ? (float)(ns ? ns : 1) / (float)n : 0;
}

/* Returns a slot's time: that of its shortest round, or after two turns of the second shortest one, since some ways
 * take less now and then. A round some of whose times are still coming does not count beside one that has all, and the
 * first one of a turn only where there is no other one: the ranks end a round at different times, so one may have done
 * part of it while its peer was still at the round before, of another slot. 0: the slot has no time. */
static float time_of(const pw_trial_record *r, int slot)
{
    enum { SUMS = PW_TRIAL_TURNS * PW_TRIAL_ROUNDS };
    uint64_t sums[SUMS], most = 0;
    float first = 0, least = INFINITY, second = INFINITY;
    int n = 0;

    for (int i = 0; i < SUMS; i++) {
        sums[i] = atomic_load_explicit(&r->sums[slot][i], memory_order_relaxed);
        most = count_of(sums[i]) > most ? count_of(sums[i]) : most;
    }
    for (int i = 0; i < SUMS; i++) {
        float mean = count_of(sums[i]) == most ? mean_of(sums[i]) : 0;

        if (mean > 0 && i % PW_TRIAL_ROUNDS == 0) {
            first = first > 0 ? fminf(first, mean) : mean;
        } else if (mean > 0) {
            second = fminf(second, fmaxf(least, mean));
            least = fminf(least, mean);
            n++;
        }
    }
    return n >= PW_TRIAL_ROUNDS ? second : n > 0 ? least : first;
}

/* What is known of all slots at one moment. */
typedef struct view {
    float time[PW_TRIAL_SLOTS]; /* 0: not known */
    int turns[PW_TRIAL_SLOTS];  /* steps so far */
    int best;                   /* the slot with the least time; slot 0 where none has one */
    int last;                   /* the slot of the last step; -1: there was none */
    bool brief;                 /* the safe slot has had few rounds and no more */
} view;

static view look(const pw_trial *t, int steps)
{
    view v = {.best = PW_TRIAL_USUAL, .last = -1};

    for (int i = 0; i < steps; i++) {
        int found = atomic_load_explicit(&t->record->steps[i], memory_order_relaxed), step = found & ~BRIEF;

        if (step > 0 && step <= t->n)
            v.turns[v.last = step - 1]++;
        v.brief = step == 1 + t->safe ? found != step : v.brief;
    }
    for (int i = 0; i < t->n; i++) {
        v.time[i] = time_of(t->record, i);
        if (v.time[i] > 0 && (v.time[v.best] == 0 || v.time[i] < v.time[v.best]))
            v.best = i;
    }
    return v;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

void pw_trial_init(pw_trial *t, int n, int own, int safe, const float *ratios)
{
    *t = (pw_trial){.n = n, .own = own, .safe = safe, .begin = PW_TRIAL_FIRST, .last.step = -1};
    for (int i = 0; i < n; i++)
        t->slots[i] = (pw_trial_slot){.possible = ratios[i] >= 0, .ratio = fmaxf(ratios[i], 1)};
}

void pw_trial_follow(pw_trial *t, const pw_trial *other, int own)
{
    int windows = t->windows + (t->record ? 1 : 0);

    t->own = own;
    t->record = NULL;
    t->begin = other->begin > t->begin ? other->begin : t->begin;
    t->windows = other->windows > windows ? other->windows : windows;
    for (int i = 0; i < t->n; i++) {
        t->slots[i].result = other->slots[i].result;
        t->slots[i].ratio = other->slots[i].ratio;
    }
}

/* Returns what is left of the window's budget. */
static float left_of_budget(const pw_trial *t, const view *v)
{
    float best = v->time[v->best];
    float budget = t->begin == PW_TRIAL_FIRST    ? first_budget
                   : t->begin <= PW_TRIAL_SECOND ? second_budget
                                                 : part * (PW_TRIAL_LATER - 1) * (float)t->begin;

    for (int i = 1; i < t->n && best > 0; i++)
        if (i != t->own && v->time[i] > 0)
            budget -= PW_TRIAL_ROUNDS * (float)v->turns[i] * (v->time[i] / best - 1);
    return budget;
}

/* Whether a slot may win. The usual way has two slots, which fall behind together. */
static bool keeps_up(const view *v, int slot)
{
    return v->time[slot] > 0 && v->time[slot] <= behind * v->time[v->best];
}

/* Returns what a turn of a slot is expected to lose, in times of the best slot. A guess that is dearer by so many
 * nanoseconds than another one loses no more of them where rounds turn out to be long. */
static float loss_of(const pw_trial *t, const view *v, int slot)
{
    const pw_trial_slot *s = &t->slots[slot];
    float usual = v->time[PW_TRIAL_USUAL], loss = PW_TRIAL_ROUNDS * (s->ratio - 1);

    if (v->turns[slot] > 0)
        return PW_TRIAL_ROUNDS * (v->time[slot] / v->time[v->best] - 1);
    if (s->result > 0 || usual == 0)
        return loss;
    return (t->guessed > 0 && usual > t->guessed ? loss * t->guessed / usual : loss) + once * s->first / usual;
}

/* Whether a slot gets its next turn. */
static bool is_tried(const pw_trial *t, const view *v, int slot)
{
    if (!t->slots[slot].possible || v->turns[slot] == PW_TRIAL_TURNS)
        return false;
    if (slot == t->own)
        return t->differs && keeps_up(v, v->turns[slot] > 0 ? slot : PW_TRIAL_USUAL);
    return (v->turns[slot] == 0 || keeps_up(v, slot)) && loss_of(t, v, slot) <= left_of_budget(t, v);
}

/* Whether the safe slot, which needs no memory and no kernel, gets few rounds since it was never seen and is guessed to
 * be too dear for a turn: a wrong guess would hold for hundreds of rounds. Short rounds take longer in a window than
 * outside, and those of the safe slot take the least of it, so a few of them judge nothing. */
static bool is_tried_briefly(const pw_trial *t, const view *v)
{
    const pw_trial_slot *s = &t->slots[t->safe];

    return s->possible && s->result == 0 && t->safe != t->own && v->turns[t->safe] == 0 &&
           v->time[PW_TRIAL_USUAL] >= short_ns &&
           FEW * loss_of(t, v, t->safe) <= PW_TRIAL_ROUNDS * left_of_budget(t, v);
}

/* Returns what a step takes that nobody has come to. */
static int next(const pw_trial *t, int step)
{
    view v = look(t, step);
    int before = step > 0 ? atomic_load_explicit(&t->record->steps[step - 1], memory_order_relaxed) : 0;

    if (step == 0)
        return 1 + PW_TRIAL_USUAL;
    if (before >= LAST)
        return OVER;
    /* In the first window's second step no other slot has a time that might still come in. */
    if (step == 1 && t->windows == 0 && v.time[PW_TRIAL_USUAL] > 0 && v.time[PW_TRIAL_USUAL] < short_ns)
        return OVER;
    /* The safe slot comes first, since the first one may use the budget up. */
    for (int i = 1; i <= t->n; i++) {
        int slot = (v.last + i) % t->n;

        if (is_tried(t, &v, slot))
            return 1 + slot;
    }
    return is_tried_briefly(t, &v) ? BRIEF + 1 + t->safe : LAST + v.best;
}

/* Returns what a step takes. */
static int step_of(const pw_trial *t, int step)
{
    uint8_t decided;

    if (step >= PW_TRIAL_STEPS)
        return OVER;
    decided = atomic_load_explicit(&t->record->steps[step], memory_order_relaxed);
    if (decided == 0) {
        int mine = next(t, step);

        if (atomic_compare_exchange_strong(&t->record->steps[step], &decided, (uint8_t)mine))
            return mine;
    }
    return decided;
}

/* Threads that share a site may count a round twice, so that one comes to the window with a round before it. */
static int step_at(const pw_trial *t, int64_t round)
{
    int64_t step = round > t->begin ? (round - t->begin) / PW_TRIAL_ROUNDS : 0;

    return step < PW_TRIAL_STEPS ? (int)step : PW_TRIAL_STEPS;
}

bool pw_trial_open(pw_trial *t, pw_trial_record *record)
{
    t->record = record;
    t->last.step = -1;
    t->differs = false;
    return record && !atomic_load_explicit(&record->verdict, memory_order_relaxed);
}

bool pw_trial_is_over(pw_trial *t, int64_t round)
{
    return step_of(t, step_at(t, round)) == OVER;
}

pw_trial_turn pw_trial_take(pw_trial *t, int64_t round)
{
    int step = step_at(t, round), taken = step_of(t, step), slot = (taken & ~BRIEF) - 1;

    if (taken >= LAST && taken < LAST + t->n)
        return (pw_trial_turn){taken - LAST, -1};
    if (slot < 0 || slot >= t->n || (t->last.step == step && t->timed == PW_TRIAL_ROUNDS))
        return (pw_trial_turn){PW_TRIAL_USUAL, -1};
    return (pw_trial_turn){slot, step};
}

/* Whether a step has had the rounds of its slot that it gets. */
static bool is_enough(const pw_trial *t)
{
    view v;

    if (t->timed != FEW)
        return false;
    if (atomic_load_explicit(&t->record->steps[t->last.step], memory_order_relaxed) & BRIEF)
        return true;
    v = look(t, t->last.step);
    return v.time[v.best] > 0 && t->shortest > far_behind * v.time[v.best];
}

void pw_trial_add(pw_trial *t, pw_trial_turn turn, double ns)
{
    if (!t->record || turn.step < 0)
        return;
    if (t->last.step != turn.step) {
        int number = look(t, turn.step).turns[turn.slot];

        t->last = turn;
        t->at = PW_TRIAL_ROUNDS * number;
        t->timed = number < PW_TRIAL_TURNS ? 0 : PW_TRIAL_ROUNDS;
    }
    if (t->timed == PW_TRIAL_ROUNDS)
        return;
    add(&t->record->sums[turn.slot][t->at + t->timed], ns);
    t->shortest = t->timed == 0 || (float)ns < t->shortest ? (float)ns : t->shortest;
    t->timed++;
    if (is_enough(t))
        t->timed = PW_TRIAL_ROUNDS;
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

static int judge(const pw_trial *t, const view *v)
{
    int found = v->time[v->best] < better * v->time[PW_TRIAL_USUAL] ? v->best : PW_TRIAL_USUAL;

    if (v->time[t->safe] > 0 && v->time[found] > better * v->time[t->safe])
        found = t->safe;
    return found;
}

/* Returns the slot that has won: whoever has found it out. */
static int verdict_of(const pw_trial *t, const view *v)
{
    uint8_t known = 0, mine = (uint8_t)(1 + judge(t, v));

    if (atomic_compare_exchange_strong(&t->record->verdict, &known, mine))
        known = mine;
    return known >= 1 && known <= t->n ? known - 1 : PW_TRIAL_USUAL; /* a peer may have written anything */
}

/* How many times as long as later on a slot may take when it is tried first, with memory that no process has touched
 * and no kernel. The safe slot needs neither. */
static const float cold = 8;

/* Returns the ratio to keep of a slot of which a window found `ratio`. A disturbed window is not to decide: what takes
 * far longer than in the window before keeps its ratio, and what is tried first is allowed to be cold. What was guessed
 * to be best, or had few rounds, is tried again in any case. */
static float kept_ratio(const pw_trial *t, const view *v, int slot, float time, float ratio)
{
    const pw_trial_slot *s = &t->slots[slot];
    bool as_before = s->result > 0 || slot == t->own || (slot == t->safe && v->brief);

    if (ratio <= s->ratio || time <= far_behind * s->result || (!as_before && slot == t->safe))
        return ratio;
    return as_before ? s->ratio : fmaxf(s->ratio, ratio / cold);
}

/* Keeps what the window has found out of each slot. */
static void conclude(pw_trial *t, const view *v, int found)
{
    float best = v->time[found] > 0 ? v->time[found] : v->time[v->best];

    for (int i = 0; i < t->n && best > 0; i++) {
        float time = v->time[i] == 0 && i == t->own ? v->time[PW_TRIAL_USUAL] : v->time[i];

        if (time > 0) {
            t->slots[i].ratio = kept_ratio(t, v, i, time, time / best);
            t->slots[i].result = time;
        }
    }
    t->slots[PW_TRIAL_USUAL].ratio = 1;
}

/* A window that has ended after one step was not worth its time so early. */
static int64_t next_begin(const pw_trial *t)
{
    bool was_short = t->record && atomic_load_explicit(&t->record->steps[1], memory_order_relaxed) >= LAST;

    if (t->begin >= PW_TRIAL_SECOND)
        return PW_TRIAL_LATER * t->begin;
    return was_short && t->begin == PW_TRIAL_FIRST ? PW_TRIAL_LATER * PW_TRIAL_SECOND : PW_TRIAL_SECOND;
}

int pw_trial_close(pw_trial *t, int64_t round)
{
    int found = PW_TRIAL_USUAL;

    if (t->record) {
        view v = look(t, PW_TRIAL_STEPS);

        /* A window without times says nothing, and other ranks may know more. */
        found = v.time[v.best] > 0 ? verdict_of(t, &v) : t->slots[t->safe].possible ? t->safe : found;
        conclude(t, &v, found);
    }
    if (found != PW_TRIAL_USUAL)
        t->own = found;
    t->begin = next_begin(t);
    if (t->begin <= round)
        t->begin = round + 1;
    t->windows++;
    t->record = NULL;
    return found;
}
