/*
 * The times of the program's own calls, by which trials of choices are judged (runtime/choice/trial.h).
 *
 * The time of a round is what the program spends in calls of MPI for it: in the one call that blocks, or, of operations
 * with requests, in the calls that start them and in those that complete them, together. A call that is left to MPI
 * counts from MPI's beginning, since such calls go past the gate outside of windows (is_native.h). Operations that are
 * under way at the same time are one round, which is over when the next one is started after a completing call. What
 * the program computes in between does not count.
 *
 * Each thread judges its own calls. The clock is only read while a site is in a window.
 */
#ifndef PW_RUNTIME_JUDGE_H
#define PW_RUNTIME_JUDGE_H

#include "runtime/choice/site.h"

/* Does what pw_site_take does, in the round of this thread's call. */
int pw_judge_take(const pw_site_key *key, const pw_site_question *q, pw_site **site);
/* The current use of a site took another way than that of its turn. */
void pw_judge_spoil(void);
/* Whether the rounds of this thread are being timed. */
bool pw_judge_is_timing(void);

#endif
