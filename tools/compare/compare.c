/*
 * packwright compare: is a program faster with Packwright? Native runs and runs with Packwright take turns, and their
 * times are judged with their spread. Runs are timed as users would start them; one more run writes a report, which
 * says what was done in MPI.
 */
#include "tools/compare/compare.h"

#include "base/env.h"
#include "base/json.h"
#include "base/log.h"
#include "tools/run/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Exit statuses besides PW_EXIT_OK: scripts ask whether Packwright pays. */
enum { EXIT_UNCLEAR = 3, EXIT_SLOWER = 4 };

enum { MOST_PAIRS = 1000 };

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
    double *native_seconds, *packwright_seconds;
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

static void progress(const comparison *c, const char *format, int i, int n)
{
    if (isatty(STDERR_FILENO) && !c->o->json)
        fprintf(stderr, format, i, n);
}

/* Alternates, so that what changes on the machine meets both kinds of run. */
static bool run_all(comparison *c)
{
    double ignored;

    for (int i = 0; i < c->o->warm_up; i++)
        if (!run_native(c, &ignored) || !run_packwright(c, &ignored))
            return false;
    for (int i = 0; i < c->o->pairs; i++) {
        progress(c, "\rpair %d of %d ", i + 1, c->o->pairs);
        if (!run_native(c, &c->native_seconds[i]) || !run_packwright(c, &c->packwright_seconds[i]))
            return false;
    }
    progress(c, "\r                 \r", 0, 0);
    return true;
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

static void print_verdict(const compare_options *o, const pw_compare_verdict *v)
{
    printf("%d pairs of runs, after %d that warmed up\n\n", o->pairs, o->warm_up);
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

/* What trials have seen is of single messages. The whole run is what counts, and may have lost elsewhere what these
 * saved. */
static void print_gained(const pw_compare_gained *g, pw_compare_outcome outcome)
{
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
    fputs("Trials saw messages ", stdout);
    fputs(g->saved < 0 ? "lose " : "save ", stdout);
    print_time(fabs(g->saved));
    puts(outcome == PW_COMPARE_SLOWER && g->saved > 0 ? " a rank; the run lost more elsewhere." : " a rank.");
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
    put_series(&json, "native_seconds", c->native_seconds, c->o->pairs);
    put_series(&json, "packwright_seconds", c->packwright_seconds, c->o->pairs);
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

static int compare(comparison *c)
{
    pw_compare_gained gained;
    pw_compare_verdict verdict;
    bool found = false;

    if (!run_all(c) || !run_report(c, &gained, &found))
        return PW_EXIT_FAILURE;
    verdict = pw_compare_judge(c->native_seconds, c->packwright_seconds, c->o->pairs);
    if (c->o->json) {
        print_json(c, &verdict, found ? &gained : NULL);
    } else {
        print_verdict(c->o, &verdict);
        print_gained(found ? &gained : NULL, verdict.outcome);
    }
    return status_of(verdict.outcome);
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
    return copy_words_without(&c->reporting, setting, &c->packwright) ? PW_EXIT_OK : PW_EXIT_FAILURE;
}

static int run(int argc, char **argv)
{
    compare_options o;
    comparison c = {.o = &o};
    int first = 0, status = parse_options(&o, argc, argv, &first);

    pw_env_check();
    if (status == PW_EXIT_OK)
        status = prepare(&c, &o, argc - first, argv + first);
    if (status == PW_EXIT_OK)
        status = compare(&c);
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
    "Exit status: 0 faster with Packwright; 3 no difference can be told; 4 slower; 1 a run has failed; 2, 126 and 127\n"
    "as of packwright run.\n",
    run};
