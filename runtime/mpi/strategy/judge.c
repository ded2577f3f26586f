/*
 * Purpose: rounds of this thread, and their times. Data: the round of the call that is under way, and that of the
 * operations in flight. Invariant: a site is in one of the two at most, and PW_GATE_FLIGHT says whether there is the
 * latter.
 */
#include "runtime/mpi/strategy/judge.h"

#include "base/clock.h"
#include "runtime/mpi/entry/gate.h"

static _Thread_local struct {
    pw_round call, flight;
    int64_t begun; /* when the current call began to count */
    int64_t ns;    /* what the operations in flight have taken so far */
    int posts, completions;
    bool completing; /* the current call completes operations */
} judge;

static void end_flight(void)
{
    pw_round_end(&judge.flight, (double)judge.ns);
    pw_gate_judged &= ~(unsigned)PW_GATE_FLIGHT;
    pw_parts_flight(-1);
}

static void begin_flight(void)
{
    judge.ns = judge.posts = judge.completions = 0;
    pw_gate_judged |= PW_GATE_FLIGHT;
    pw_parts_flight(1);
}

void pw_judge_begin(void)
{
    if (pw_gate_judged & PW_GATE_TIMED)
        return;
    judge.begun = pw_clock_ns();
    pw_gate_judged |= PW_GATE_TIMED;
}

int pw_judge_take(const pw_site_key *key, const pw_site_question *q, pw_site **site)
{
    bool flies = pw_gate_judged & PW_GATE_FLIGHT;
    int way;

    if (pw_gate_judged & PW_GATE_LASTING || !pw_gate_inside)
        return pw_site_take(key, q, NULL, NULL, site);
    if (flies && judge.completions > 0) {
        end_flight();
        flies = false;
    }
    way = pw_site_take(key, q, &judge.call, &judge.flight, site);
    if (judge.call.lead || flies)
        pw_judge_begin();
    return way;
}

bool pw_judge_is_timing(void)
{
    return judge.call.lead || judge.flight.lead;
}

void pw_judge_spoil(void)
{
    pw_round_spoil(&judge.call);
    pw_round_spoil(&judge.flight);
}

void pw_judge_passes(void)
{
    if (pw_gate_judged & PW_GATE_TIMED)
        judge.begun = pw_clock_ns();
}

void pw_judge_completes(void)
{
    pw_judge_begin();
    judge.completing = true;
}

/* A program may complete operations one by one, so a round is not over before twice as many calls have completed some
 * as have started some; without such an end a program that starts no more would be timed for ever. */
static void completed(int64_t ns)
{
    enum { FEW = 16 };

    judge.ns += ns;
    if (++judge.completions > 2 * judge.posts + FEW)
        end_flight();
}

static void posted(int64_t ns)
{
    if (judge.call.lead && !(pw_gate_judged & PW_GATE_FLIGHT))
        begin_flight();
    pw_round_join(&judge.flight, &judge.call);
    judge.ns += ns;
    judge.posts++;
}

void pw_judge_leaves(bool has_posted)
{
    int64_t ns = pw_gate_judged & PW_GATE_TIMED ? pw_clock_ns() - judge.begun : 0;
    bool tries = judge.call.lead || pw_gate_judged & PW_GATE_FLIGHT;

    if (has_posted)
        posted(ns);
    else if (judge.completing && pw_gate_judged & PW_GATE_FLIGHT)
        completed(ns);
    else if (judge.call.lead)
        pw_round_end(&judge.call, (double)ns);
    judge.completing = false;
    pw_gate_judged = (pw_gate_judged & PW_GATE_FLIGHT) | (tries ? PW_GATE_WATCHED : 0);
}
