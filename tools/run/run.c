/*
 * packwright run: starts an MPI program with the interposer of its MPI.
 *
 * The interposer is meant for the program and not for the launcher, so LD_PRELOAD and the settings are put on the
 * command line, before the program: `mpiexec -n 4 /usr/bin/env LD_PRELOAD=… ./app`. This works with every launcher and
 * on remote nodes, whatever a launcher does with its own environment.
 */
#include "base/env.h"
#include "base/log.h"
#include "base/strategy_table.h"
#include "jit-cache/cache.h"
#include "tools/report/report.h"
#include "tools/run/child.h"
#include "tools/run/options.h"
#include "tools/run/told.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct run_options {
    pw_run_settings run;
    bool verbose, dry_run, list_strategies;
} run_options;

static int take_option(void *options, const char *arg)
{
    run_options *o = options;

    if (!strcmp(arg, "-v") || !strcmp(arg, "--verbose"))
        o->verbose = true;
    else if (!strcmp(arg, "-n") || !strcmp(arg, "--dry-run"))
        o->dry_run = true;
    else if (!strcmp(arg, "--list-strategies"))
        o->list_strategies = true;
    else if (!strcmp(arg, "--stage"))
        o->run.stage.parent = "/dev/shm";
    else if (!strncmp(arg, "--stage=/", 9))
        o->run.stage.parent = arg + 8;
    else if (!strcmp(arg, "--stats"))
        pw_run_set(&o->run, PW_ENV_STATS, "1");
    else
        return PW_RUN_OTHER;
    return PW_EXIT_OK;
}

/* Sets *first to the place of the command to run. */
static int parse_options(run_options *o, int argc, char **argv, int *first)
{
    const pw_run_options options = {.command = &pw_command_run, .take = take_option, .own = o, .settings = &o->run};
    int status = pw_run_parse(&options, argc, argv, first);

    if (status == PW_EXIT_OK && *first == argc && !o->list_strategies)
        return pw_usage_error(&pw_command_run, "nothing to run");
    return status;
}

/* ---- running --------------------------------------------------------------------------------------------------- */

static void print_words(FILE *f, const pw_words *w)
{
    for (int i = 0; i < w->n; i++) {
        bool plain =
            *w->word[i] && !w->word[i][strspn(w->word[i], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                                          "0123456789_-+=./:,@%")];

        fprintf(f, "%s", i ? " " : "");
        if (plain) {
            fputs(w->word[i], f);
            continue;
        }
        fputc('\'', f);
        for (const char *c = w->word[i]; *c; c++)
            fputs(*c == '\'' ? "'\\''" : (char[]){*c, '\0'}, f);
        fputc('\'', f);
    }
    fputc('\n', f);
}

static int execute(const pw_words *w)
{
    int error;

    execvp(w->word[0], (char *const *)w->word);
    error = errno;
    pw_log(PW_LOG_ERROR, "%s: %s", w->word[0], strerror(error));
    return error == ENOENT ? PW_RUN_NOT_FOUND : PW_RUN_CANNOT;
}

/* Returns whether a rank has reported; if none has, it says why. */
static bool say_why_silent(const char *events, char *const *command)
{
    pw_told told;
    char why[512];

    pw_told_read(events, &told);
    if (told.count[PW_EVENT_REPORTED])
        return true;
    pw_told_why(&told, command, why, sizeof why);
    pw_log(PW_LOG_WARN, "no rank has reported: %s", why);
    return false;
}

/* Runs the command and stays, to say whether a rank has reported, and to make the page of the report. */
static int watch(const pw_words *w, const char *events, char *const *command, const char *page)
{
    int state = 0, error;

    pw_child_take_signals(0);
    error = pw_child_run(w->word, NULL, &state);
    if (!error && say_why_silent(events, command) && page && pw_report_make_all("run", page) == 0)
        pw_log(PW_LOG_WARN, "no page: %s.json is not here", page);
    unlink(events);
    if (error)
        pw_log(PW_LOG_ERROR, "%s: %s", w->word[0], strerror(error));
    else if (WIFSIGNALED(state))
        pw_child_end_by(WTERMSIG(state));
    return error ? PW_RUN_CANNOT : WIFEXITED(state) ? WEXITSTATUS(state) : PW_EXIT_FAILURE;
}

/* Returns whether ranks are to report, by an option or by a variable. */
static bool is_reported(const pw_run_settings *run)
{
    static const pw_env_id reports[] = {PW_ENV_STATS, PW_ENV_REPORT};

    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        const char *name = pw_env_describe(reports[i])->name;

        for (int k = 0; k < run->n; k++)
            if (!strncmp(run->setting[k], name, strlen(name)))
                return true;
    }
    return pw_env_choice(PW_ENV_STATS) > 0 || *pw_env_string(PW_ENV_REPORT);
}

/* Has Slurm copy what is staged, if it does. */
static bool broadcast(const run_options *o, int argc, char *const *argv)
{
    int at = pw_run_launcher_at(argc, argv);

    return !*o->run.stage.file || at < 0 || !pw_stage_by_slurm(argv[at]) || pw_stage_broadcast(&o->run.stage, argv[at]);
}

/* The kernels that are staged are those of the cache which the run would use. */
static bool find_cache(pw_run_settings *run)
{
    const char *name = pw_env_describe(PW_ENV_CACHE_DIR)->name;
    size_t n = strlen(name);

    for (int i = 0; i < run->n; i++)
        if (!strncmp(run->setting[i], name, n) && run->setting[i][n] == '=')
            return snprintf(run->stage.cache, sizeof run->stage.cache, "%s", run->setting[i] + n + 1) > 0;
    if (pw_cache_default_dir(run->stage.cache, sizeof run->stage.cache))
        return true;
    pw_log(PW_LOG_ERROR, "--stage: there is no directory of kernels to pack to; say --cache-dir=DIR");
    return false;
}

static int start(run_options *o, int argc, char *const *argv, pw_words *w)
{
    char events[4096] = "";
    int status;

    if (!o->dry_run && is_reported(&o->run) && !pw_told_begin(&o->run, events, sizeof events))
        return PW_EXIT_FAILURE;
    if (o->run.stage.parent && !find_cache(&o->run))
        return PW_EXIT_FAILURE;
    status = pw_run_words(&o->run, argc, argv, w);
    if (status != PW_EXIT_OK && *events)
        unlink(events);
    if (status != PW_EXIT_OK)
        return status;
    if (o->dry_run) {
        print_words(stdout, w);
        return PW_EXIT_OK;
    }
    if (o->verbose)
        print_words(stderr, w);
    if (!broadcast(o, argc, argv)) {
        if (*events)
            unlink(events);
        return PW_EXIT_FAILURE;
    }
    if (*events && pw_words_preload(w))
        return watch(w, events, argv, o->run.page);
    if (*events)
        unlink(events);
    return execute(w);
}

static void list_strategies(void)
{
#define X(symbol, name, packed, help) printf("%-12s%s\n", #name, help);
    PW_STRATEGIES(X)
#undef X
}

static int run(int argc, char **argv)
{
    run_options o = {0};
    pw_words w = {0};
    int first = 0, status, warnings;

    warnings = pw_env_check();
    status = parse_options(&o, argc, argv, &first);
    if (status == PW_EXIT_OK)
        pw_run_set_page(&o.run);
    if (warnings > 0 && status == PW_EXIT_OK && !o.dry_run && !is_reported(&o.run))
        pw_run_set(&o.run, PW_ENV_RUN, "/dev/null"); /* so that ranks do not warn again */
    if (status == PW_EXIT_OK && o.list_strategies)
        list_strategies();
    else if (status == PW_EXIT_OK)
        status = start(&o, argc - first, argv + first, &w);
    free(w.word);
    pw_run_settings_free(&o.run);
    return status;
}

const pw_command pw_command_run = {
    "run", "start an MPI program with Packwright",
    "usage: packwright run [options] [--] mpiexec [its options] PROGRAM [arguments]\n"
    "       packwright run [options] [--] PROGRAM [arguments]\n\n"
    "Starts an unmodified MPI program with the interposer of the MPI that it is linked to. The interposer is\n"
    "preloaded into the program and not into the launcher; several programs (mpiexec … : …) are fine. Programs of\n"
    "MPIs with another ABI than MPICH's and Open MPI's are left alone.\n\n"
    "  --stats             print at MPI_Finalize which datatypes took how long (PACKWRIGHT_STATS=1)\n"
    "  --stats=all         print of every datatype what was done with it, and why\n"
    "  --report=FILE       write what was done in the run, as a page (.html) or as data (.json, PACKWRIGHT_REPORT)\n"
    "  --trace=FILE        write down the types that are committed (PACKWRIGHT_TRACE)\n" PW_RUN_OPTIONS_HELP
    "  --stage[=DIR]       copy the libraries and the cache to DIR of each node (/dev/shm) first, where they stay for\n"
    "                      the next run: by srun --bcast within a job of Slurm, else by the first rank of each node\n"
    "  --list-strategies   print the strategies, each with what MPI gets by it, and exit\n"
    "  -v, --verbose       print the command line before it is run\n"
    "  -n, --dry-run       only print it (what is to be staged is packed)\n\n"
    "Exit status: that of the command; 127 when a program is not found; 126 when the program cannot be run this way\n"
    "(statically linked, not a program, for another machine, of an MPI that has no interposer here); 2 when the\n"
    "command line is wrong.\n",
    run};
