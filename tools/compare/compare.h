/* The parts of `packwright compare`, by the file that defines them. */
#ifndef PW_TOOLS_COMPARE_H
#define PW_TOOLS_COMPARE_H

#include "base/status.h"

#include <stdbool.h>

/* ---- verdict.c --------------------------------------------------------------------------------------------------- */

/* What runs of one kind took, in seconds. */
typedef struct pw_compare_times {
    double median, least, longest;
} pw_compare_times;

typedef enum pw_compare_outcome { PW_COMPARE_FASTER, PW_COMPARE_UNCLEAR, PW_COMPARE_SLOWER } pw_compare_outcome;

typedef struct pw_compare_verdict {
    pw_compare_outcome outcome;
    double ratio, low, high; /* how many times as fast with Packwright; the interval has it in 95 of 100 cases */
    pw_compare_times native, packwright;
} pw_compare_verdict;

/*
 * Judges pairs of runs, at least two, of which each native one came right before its partner. The ratios of pairs are
 * taken, since what drifts on a machine changes both: the interval is Student's, of their logarithms. An outcome is
 * clear if 1 lies outside of the interval.
 */
pw_compare_verdict pw_compare_judge(const double *native, const double *packwright, int pairs);

/* What trials have seen of messages, beside the difference of whole runs: within its spread, or the runs have gained
 * less, or more. Then few trials have misjudged many uses, or the rest of the run took longer than natively, or less.
 */
typedef enum pw_compare_rest { PW_COMPARE_AGREES, PW_COMPARE_REST_LOST, PW_COMPARE_REST_SAVED } pw_compare_rest;

/* `saved` seconds a rank; negative: lost. */
pw_compare_rest pw_compare_rest_of(const pw_compare_verdict *v, double saved);

/* ---- process.c --------------------------------------------------------------------------------------------------- */

/* Runs a command, which ends with NULL, and waits for it. What it says is shown if `shown`, else only its last lines if
 * it fails. Returns false after a message if it could not be started or has failed; `what` names it there. It
 * also returns false, without one, after a signal to this process (tools/run/child.h). */
bool pw_compare_run(const char *const *command, const char *what, bool shown, double *seconds);

/* ---- gained.c ---------------------------------------------------------------------------------------------------- */

/* What a report (PACKWRIGHT_REPORT=FILE.json) says of a rank, in seconds. `saved` NAN: not known. `is_left`: all
 * messages were left to the MPI. */
typedef struct pw_compare_gained {
    double packing, saved;
    bool is_left;
} pw_compare_gained;

/* False: there is no such file, or nothing in it. */
bool pw_compare_read_gained(const char *path, pw_compare_gained *out);

#endif
