/*
 * packwright compare: is a program faster with Packwright? Native runs and runs with Packwright take turns, and their
 * times are judged with their spread. Runs are timed as users would start them; one more run writes a report, which
 * says what was done in MPI.
 */
#include "tools/compare/compare.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/json.h"
#include "base/log.h"
#include "tools/run/child.h"
#include "tools/run/options.h"
#include "tools/run/told.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Exit statuses besides PW_EXIT_OK: scripts ask whether Packwright pays. */
enum { EXIT_UNCLEAR = 3, EXIT_SLOWER = 4 };

enum { MOST_PAIRS = 1000, PATIENCE_SECONDS = 5, SIGNALLED = 128 /* and the number of the signal, as of shells */ };

typedef struct compare_options {
    int pairs, warm_up;
    bool json, shown;
    pw_run_settings run;
} compare_options;

typedef struct comparison {
    const compare_options *o;
    const char *const *native;
    pw_words packwright, reporting; /* the same command with Packwright, and with a report besides */
    char folder[512], report[600];  /* where the report lies, which is removed at the end */
    char events[4096];              /* what ranks have told, likewise */
    double *native_seconds, *packwright_seconds;
    int pairs;   /* that have been run */
    double said; /* when progress was last said */
} comparison;

/* ---- options ----------------------------------------------------------------------------------------------------- */

static int take_count(const char *option, const char *word, int64_t least, int *out)
{
    int64_t n = *out;
    int status = pw_take_number(&pw_command_compare, option, word, least, MOST_PAIRS, &n);

    *out = (int)n;
    return status;
}

static int take_option(void *options, const char *arg)
{
    compare_options *o = options;

    if (!strncmp(arg, "--pairs=", 8))
        return take_count("pairs", arg + 8, 2, &o->pairs);
    if (!strncmp(arg, "--warm-up=", 10))
        return take_count("warm-up", arg + 10, 0, &o->warm_up);
    if (!strcmp(arg, "--json"))
        o->json = true;
    else if (!strcmp(arg, "--output"))
        o->shown = true;
    else
        return PW_RUN_OTHER;
    return PW_EXIT_OK;
}

/* Sets *first to the place of the command to run. */
static int parse_options(compare_options *o, int argc, char **argv, int *first)
{
    const pw_run_options options = {
        .command = &pw_command_compare, .timed = true, .take = take_option, .own = o, .settings = &o->run};
    int status;

    *o = (compare_options){.pairs = 5, .warm_up = 1};
    status = pw_run_parse(&options, argc, argv, first);
    if (status == PW_EXIT_OK && *first == argc)
        return pw_usage_error(&pw_command_compare, "nothing to run");
    return status;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static bool run_native(const comparison *c, double *seconds)
{
    return pw_compare_run(c->native, "native", c->o->shown, seconds);
}

static bool run_packwright(const comparison *c, double *seconds)
{
    return pw_compare_run(c->packwright.word, "Packwright", c->o->shown, seconds);
}

/* Says where it is: at once on a terminal, else every few seconds. */
static void progress(comparison *c, const char *what, int i, int n)
{
    enum { EVERY_SECONDS = 5 };
    double now = pw_clock_seconds();

    if (c->o->json)
        return;
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r%s %d of %d ", what, i, n);
    } else if (now - c->said >= EVERY_SECONDS) {
        fprintf(stderr, "%s %d of %d\n", what, i, n);
        c->said = now;
    }
}

static void end_progress(const comparison *c)
{
    if (isatty(STDERR_FILENO) && !c->o->json)
        fputs("\r                    \r", stderr);
}

/* Runs a pair. False: a run has failed, or a signal has come. */
static bool run_pair(comparison *c, const char *what, int i, int n, double *native, double *packwright)
{
    progress(c, what, i, n);
    if (!run_native(c, native))
        return false;
    progress(c, what, i, n);
    return run_packwright(c, packwright);
}

/* Returns whether a run with Packwright, which is over, may have been one: not if no program of this machine that had
 * it has used MPI. Says why. */
static bool may_be_measured(const comparison *c)
{
    pw_told told;
    char why[512];

    pw_told_read(c->events, &told);
    if (!pw_told_is_without_mpi(&told))
        return true;
    pw_told_why(&told, (char *const *)c->native, why, sizeof why);
    end_progress(c);
    pw_log(PW_LOG_ERROR, "nothing can be compared, since no rank has used MPI with Packwright: %s", why);
    return false;
}

/* Alternates, so that what changes on the machine meets both kinds of run. */
static bool run_all(comparison *c)
{
    double native, packwright;
    bool ok = true;

    c->said = pw_clock_seconds();
    for (int i = 0; ok && i < c->o->warm_up; i++)
        ok = run_pair(c, "warm-up", i + 1, c->o->warm_up, &native, &packwright) && may_be_measured(c);
    while (ok && c->pairs < c->o->pairs) {
        ok = run_pair(c, "pair", c->pairs + 1, c->o->pairs, &c->native_seconds[c->pairs],
                      &c->packwright_seconds[c->pairs]) &&
             may_be_measured(c);
        c->pairs += ok;
    }
    end_progress(c);
    return ok;
}

/* Runs once more with a report. False: the run has failed. *found: it has written one. */
static bool run_report(const comparison *c, pw_compare_gained *gained, bool *found)
{
    double ignored;
    bool ok = pw_compare_run(c->reporting.word, "Packwright", c->o->shown, &ignored);

    *found = ok && pw_compare_read_gained(c->report, gained);
    unlink(c->report);
    return ok;
}

/* ---- the verdict ------------------------------------------------------------------------------------------------- */

static void print_times(const char *title, const pw_compare_times *t)
{
    printf("%-12s %10.4g s %10.4g s %10.4g s\n", title, t->median, t->least, t->longest);
}

static void print_time(double seconds)
{
    if (seconds >= 1)
        printf("%.3g s", seconds);
    else if (seconds >= 1e-3)
        printf("%.3g ms", seconds * 1e3);
    else
        printf("%.3g us", seconds * 1e6);
}

/* Prints by how much a run took less or more, unless the medians say the opposite of the pairs' ratios. */
static void print_difference(const pw_compare_verdict *v)
{
    double less = v->native.median - v->packwright.median;

    if ((v->outcome == PW_COMPARE_FASTER) != (less > 0))
        return;
    fputs("Of whole runs, the median with Packwright took ", stdout);
    print_time(fabs(less));
    puts(less > 0 ? " less." : " more.");
}

static void print_verdict(const comparison *c, const pw_compare_verdict *v)
{
    printf("%d pairs of runs%s, after %d that warmed up\n\n", c->pairs,
           c->pairs < c->o->pairs ? " before a signal ended it" : "", c->o->warm_up);
    printf("%-12s %12s %12s %12s\n", "", "median", "shortest", "longest");
    print_times("native", &v->native);
    print_times("Packwright", &v->packwright);
    if (v->outcome == PW_COMPARE_UNCLEAR) {
        printf("\nNo difference can be told: the spread is larger (%.3g times as fast, %.3g to %.3g).\n"
               "More pairs (--pairs=N), longer runs or a quiet machine may tell.\n",
               v->ratio, v->low, v->high);
        return;
    }
    printf("\n%s with Packwright: %.3g times as fast (%.3g to %.3g)\n",
           v->outcome == PW_COMPARE_FASTER ? "Faster" : "Slower", v->ratio, v->low, v->high);
    print_difference(v);
}

/* What trials have seen is of single messages, of which a few judge all. The whole run is what counts. */
static void print_gained(const pw_compare_gained *g, const pw_compare_verdict *v)
{
    static const char *const rests[] = {[PW_COMPARE_AGREES] = "within the spread of the runs",
                                        [PW_COMPARE_REST_LOST] = "the runs gained less: few trials judge many uses,\n"
                                                                 "or the rest of the run took longer than natively",
                                        [PW_COMPARE_REST_SAVED] = "the runs gained more: few trials judge many uses,\n"
                                                                  "or the rest of the run took less than natively"};

    if (!g && pw_child_signal()) {
        puts("What was done in MPI is not known: a signal came before the run that reports.");
        return;
    }
    if (!g) {
        puts("What was done in MPI is not known: no report came to this machine at MPI_Finalize.");
        return;
    }
    fputs("Packing and unpacking took ", stdout);
    print_time(g->packing);
    fputs(" a rank. ", stdout);
    if (isnan(g->saved)) {
        puts("What single messages saved is not known (no trial).");
        return;
    }
    if (g->is_left) {
        puts("All else was left to the MPI; what its way there took, only the runs tell.");
        return;
    }
    fputs("Trials saw messages ", stdout);
    fputs(g->saved < 0 ? "lose about " : "save about ", stdout);
    print_time(fabs(g->saved));
    printf(" a rank; %s.\n", rests[pw_compare_rest_of(v, g->saved)]);
}

static void put_series(pw_json *json, const char *name, const double *seconds, int n)
{
    pw_json_open(json, name, '[');
    for (int i = 0; i < n; i++)
        pw_json_double(json, NULL, seconds[i]);
    pw_json_close(json, ']');
}

static void print_json(const comparison *c, const pw_compare_verdict *v, const pw_compare_gained *g)
{
    static const char *const words[] = {"faster", "unclear", "slower"};
    pw_json json;

    pw_json_begin(&json, stdout);
    pw_json_open(&json, NULL, '{');
    pw_json_string(&json, "verdict", words[v->outcome]);
    pw_json_double(&json, "times_as_fast", v->ratio);
    pw_json_double(&json, "at_least", v->low);
    pw_json_double(&json, "at_most", v->high);
    put_series(&json, "native_seconds", c->native_seconds, c->pairs);
    put_series(&json, "packwright_seconds", c->packwright_seconds, c->pairs);
    pw_json_open(&json, "in_mpi_a_rank", '{');
    if (g) {
        pw_json_double(&json, "packing_seconds", g->packing);
        pw_json_double(&json, "saved_seconds", g->saved); /* null: not known */
    }
    pw_json_close(&json, '}');
    pw_json_close(&json, '}');
}

static int status_of(pw_compare_outcome outcome)
{
    return outcome == PW_COMPARE_FASTER ? PW_EXIT_OK : outcome == PW_COMPARE_SLOWER ? EXIT_SLOWER : EXIT_UNCLEAR;
}

/* Prints what the pairs say, of which there are two at least. */
static int judge(const comparison *c, const pw_compare_gained *gained)
{
    pw_compare_verdict verdict = pw_compare_judge(c->native_seconds, c->packwright_seconds, c->pairs);

    if (c->o->json) {
        print_json(c, &verdict, gained);
    } else {
        print_verdict(c, &verdict);
        print_gained(gained, &verdict);
    }
    return status_of(verdict.outcome);
}

/* Prints what there is after a signal. */
static int end_by_signal(const comparison *c)
{
    if (c->pairs >= 2)
        judge(c, NULL);
    else
        pw_log(PW_LOG_ERROR, "signal %d came after %d of %d pairs: too few to compare", pw_child_signal(), c->pairs,
               c->o->pairs);
    return SIGNALLED + pw_child_signal();
}

static int compare(comparison *c)
{
    pw_compare_gained gained;
    bool found = false, ok = run_all(c) && run_report(c, &gained, &found);

    if (pw_child_signal())
        return end_by_signal(c);
    return ok ? judge(c, found ? &gained : NULL) : PW_EXIT_FAILURE;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* Copies words except for one, which is found by its address. False: out of memory. */
static bool copy_words_without(const pw_words *words, const char *left_out, pw_words *out)
{
    out->word = calloc((size_t)words->n + 1, sizeof *out->word);
    for (int i = 0; out->word && i < words->n; i++)
        if (words->word[i] != left_out)
            out->word[out->n++] = words->word[i];
    return out->word != NULL;
}

/* Makes the three command lines. That with Packwright comes from that with a report, so that warnings are said once. */
static int prepare(comparison *c, compare_options *o, int argc, char *const *argv)
{
    const char *tmp = pw_env_foreign("TMPDIR"), *setting;
    int status;

    snprintf(c->folder, sizeof c->folder, "%s/packwright-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(c->folder)) {
        pw_log(PW_LOG_ERROR, "%s: %s", c->folder, strerror(errno));
        return PW_EXIT_FAILURE;
    }
    snprintf(c->report, sizeof c->report, "%s/run.json", c->folder);
    if (!pw_told_begin(&o->run, c->events, sizeof c->events))
        return PW_EXIT_FAILURE;
    pw_run_set(&o->run, PW_ENV_REPORT, c->report);
    c->native = (const char *const *)argv;
    c->native_seconds = calloc((size_t)o->pairs, sizeof(double));
    c->packwright_seconds = calloc((size_t)o->pairs, sizeof(double));
    setting = o->run.setting[o->run.n - 1];
    if (!setting || !c->native_seconds || !c->packwright_seconds)
        return PW_EXIT_FAILURE;
    status = pw_run_words(&o->run, argc, argv, &c->reporting);
    if (status != PW_EXIT_OK)
        return status;
    if (!pw_words_preload(&c->reporting)) {
        pw_log(PW_LOG_ERROR, "nothing can be compared: no program would run with Packwright");
        return PW_RUN_CANNOT;
    }
    return copy_words_without(&c->reporting, setting, &c->packwright) ? PW_EXIT_OK : PW_EXIT_FAILURE;
}

static int run(int argc, char **argv)
{
    compare_options o;
    comparison c = {.o = &o};
    int first = 0, status = parse_options(&o, argc, argv, &first);

    pw_env_check();
    pw_child_take_signals(PATIENCE_SECONDS);
    if (status == PW_EXIT_OK)
        status = prepare(&c, &o, argc - first, argv + first);
    if (status == PW_EXIT_OK)
        status = compare(&c);
    if (*c.events)
        unlink(c.events);
    if (*c.folder)
        rmdir(c.folder);
    free(c.packwright.word);
    free(c.reporting.word);
    free(c.native_seconds);
    free(c.packwright_seconds);
    pw_run_settings_free(&o.run);
    return status;
}

const pw_command pw_command_compare = {
    "compare", "run a program natively and with Packwright, in turn, and judge",
    "usage: packwright compare [options] [--] mpiexec [its options] PROGRAM [arguments]\n\n"
    "Is the program faster with Packwright? Native runs and runs with Packwright take turns. The verdict is of the\n"
    "whole time of runs, with the spread; one more run reports what was done in MPI.\n\n"
    "  --pairs=N           pairs of runs that are timed: 2 to 1000 (default 5)\n"
    "  --warm-up=N         pairs before them, in which kernels are compiled (default 1)\n"
    "  --json              print the verdict and all times as JSON\n"
    "  --output            show what the runs say; by default only the end of what a failed run said is "
    "shown\n" PW_RUN_OPTIONS_HELP "\n"
    "Exit status: 0 faster with Packwright; 3 no difference can be told; 4 slower; 1 a run has failed, or no rank has\n"
    "used MPI with Packwright; 2, 126 and 127 as of packwright run; after a signal, which ends the comparison with\n"
    "the pairs that it has, 128 and its number.\n",
    run};
