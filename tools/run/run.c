/*
 * packwright run: starts an MPI program with the interposer of its MPI.
 *
 * The interposer is meant for the program and not for the launcher, so LD_PRELOAD and the settings are put on the
 * command line, before the program: `mpiexec -n 4 /usr/bin/env LD_PRELOAD=… ./app`. This works with every launcher and
 * on remote nodes, whatever a launcher does with its own environment.
 */
#include "base/env.h"
#include "base/log.h"
#include "base/report_endings.h"
#include "base/strategy_table.h"
#include "tools/command.h"
#include "tools/run/program.h"
#include "tools/run/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct run_options {
    pw_run_settings run;
    bool verbose, dry_run, list_strategies;
} run_options;

/* ---- options ----------------------------------------------------------------------------------------------------- */

static void set(run_options *o, pw_env_id id, const char *value)
{
    o->run.setting[o->run.n++] = pw_words_join(pw_env_describe(id)->name, "=", value, "");
}

static bool is_choice(const char *words, const char *word)
{
    size_t len = strlen(word);

    for (; words; words = strchr(words, '|')) {
        words += *words == '|';
        if (strcspn(words, "|") == len && !strncmp(words, word, len))
            return true;
    }
    return false;
}

/* Sets a variable to an absolute path, since ranks may be started in another directory. */
static void set_path(run_options *o, pw_env_id id, const char *value)
{
    char cwd[4096];
    char *absolute = *value != '/' && getcwd(cwd, sizeof cwd) ? pw_words_join(cwd, "/", value, "") : NULL;

    set(o, id, absolute ? absolute : value);
    free(absolute);
}

/* Options that only set a variable. */
static const struct {
    const char *name;
    pw_env_id id;
} settings[] = {
    {"--jit=", PW_ENV_JIT},           {"--log=", PW_ENV_LOG},
    {"--strategy=", PW_ENV_STRATEGY}, {"--cache-dir=", PW_ENV_CACHE_DIR},
    {"--trace=", PW_ENV_TRACE},       {"--dump=", PW_ENV_DUMP},
    {"--stats=", PW_ENV_STATS},       {"--report=", PW_ENV_REPORT},
};

/* Returns PW_EXIT_OK, or the status to exit with. */
static int take_setting(run_options *o, const char *arg)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        size_t n = strlen(settings[i].name);
        const char *choices = pw_env_describe(settings[i].id)->choices;

        if (strncmp(arg, settings[i].name, n - 1) || (arg[n - 1] && arg[n - 1] != '='))
            continue;
        if (!arg[n - 1] || !arg[n])
            return pw_usage_error(&pw_command_run, "%.*s needs a value: %s...", (int)n - 1, arg, settings[i].name);
        if (choices && !is_choice(choices, arg + n))
            return pw_usage_error(&pw_command_run, "%s: expected one of %s", arg, choices);
        if (settings[i].id == PW_ENV_REPORT && pw_report_ending_of(arg + n) == PW_REPORT_UNKNOWN)
            return pw_usage_error(&pw_command_run, "%s: the name must end with %s", arg, PW_REPORT_ENDINGS);
        if (pw_env_describe(settings[i].id)->type == PW_ENV_TYPE_PATH)
            set_path(o, settings[i].id, arg + n);
        else
            set(o, settings[i].id, arg + n);
        return PW_EXIT_OK;
    }
    return pw_usage_error(&pw_command_run, "unknown option '%s'", arg);
}

static int take_option(run_options *o, const char *arg)
{
    if (!strcmp(arg, "-v") || !strcmp(arg, "--verbose")) {
        o->verbose = true;
    } else if (!strcmp(arg, "-n") || !strcmp(arg, "--dry-run")) {
        o->dry_run = true;
    } else if (!strcmp(arg, "--list-strategies")) {
        o->list_strategies = true;
    } else if (!strcmp(arg, "--stats")) {
        set(o, PW_ENV_STATS, "1");
    } else if (!strncmp(arg, "--mpi=", 6) || !strcmp(arg, "--mpi")) {
        o->run.mpi = arg[5] ? pw_mpi_abi_named(arg + 6) : NULL;
        if (!o->run.mpi)
            return pw_usage_error(&pw_command_run, "%s: expected mpich or openmpi", arg);
    } else {
        return take_setting(o, arg);
    }
    return PW_EXIT_OK;
}

/* Returns whether the option gives a number of ranks, as launchers' options do. Packwright's own -n has no value. */
static bool is_rank_count(const char *arg, const char *value)
{
    return (!strcmp(arg, "-n") || !strcmp(arg, "-np") || !strcmp(arg, "--np")) && value && *value &&
           !value[strspn(value, "0123456789")];
}

/* Says what was meant by `packwright run -n 2 ./app`. */
static int refuse_rank_count(const char *option, const char *count, const char *program)
{
    const char *launcher = "mpiexec";
    char path[4096];
    pw_program it;

    if (program && pw_program_find(program, path, sizeof path)) {
        pw_program_examine(path, &it);
        launcher = it.mpi ? pw_run_launcher_of(it.mpi) : launcher;
    }
    return pw_usage_error(&pw_command_run, "%s %s is an option of launchers; say: packwright run -- %s %s %s %s",
                          option, count, launcher, option, count, program ? program : "PROGRAM");
}

/* Sets *first to the place of the command to run. */
static int parse_options(run_options *o, int argc, char **argv, int *first)
{
    int i = 1;

    for (; i < argc && argv[i][0] == '-'; i++) {
        int status;

        if (!strcmp(argv[i], "--")) {
            i++;
            break;
        }
        if (o->run.n == PW_RUN_SETTINGS - 1)
            return pw_usage_error(&pw_command_run, "too many options");
        if (is_rank_count(argv[i], i + 1 < argc ? argv[i + 1] : NULL))
            return refuse_rank_count(argv[i], argv[i + 1], i + 2 < argc ? argv[i + 2] : NULL);
        status = take_option(o, argv[i]);
        if (status != PW_EXIT_OK)
            return status;
    }
    if ((i >= argc || !*argv[i]) && !o->list_strategies)
        return pw_usage_error(&pw_command_run, "nothing to run");
    *first = i;
    return PW_EXIT_OK;
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

static int start(const run_options *o, int argc, char *const *argv, pw_words *w)
{
    int status = pw_run_words(&o->run, argc, argv, w);

    if (status != PW_EXIT_OK)
        return status;
    if (o->dry_run) {
        print_words(stdout, w);
        return PW_EXIT_OK;
    }
    if (o->verbose)
        print_words(stderr, w);
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
    int first = 0, status;

    pw_env_check_unknown();
    status = parse_options(&o, argc, argv, &first);
    if (status == PW_EXIT_OK && o.list_strategies)
        list_strategies();
    else if (status == PW_EXIT_OK)
        status = start(&o, argc - first, argv + first, &w);
    free(w.word);
    while (o.run.n)
        free(o.run.setting[--o.run.n]);
    return status;
}

const pw_command pw_command_run = {
    "run", "start an MPI program with Packwright",
    "usage: packwright run [options] [--] mpiexec [its options] PROGRAM [arguments]\n"
    "       packwright run [options] [--] PROGRAM [arguments]\n\n"
    "Starts an unmodified MPI program with the interposer of the MPI that it is linked to. The interposer is\n"
    "preloaded into the program and not into the launcher; several programs (mpiexec … : …) are fine.\n\n"
    "  --stats             print at MPI_Finalize which datatypes took how long (PACKWRIGHT_STATS=1)\n"
    "  --stats=all         print of every datatype what was done with it, and why\n"
    "  --report=FILE       write what the run gained, as a page (.html) or as data (.json) (PACKWRIGHT_REPORT)\n"
    "  --jit=MODE          sync, async or off (PACKWRIGHT_JIT)\n"
    "  --cache-dir=DIR     directory of compiled kernels (PACKWRIGHT_CACHE_DIR)\n"
    "  --trace=FILE        write down the types that are committed (PACKWRIGHT_TRACE)\n"
    "  --dump=DIR          write every stage of every kernel (PACKWRIGHT_DUMP)\n"
    "  --log=LEVEL         error, warn, info or debug (PACKWRIGHT_LOG)\n"
    "  --strategy=NAME     force a transfer strategy wherever it can carry the message (PACKWRIGHT_STRATEGY)\n"
    "  --list-strategies   print the strategies, each with what MPI gets by it, and exit\n"
    "  --mpi=NAME          mpich or openmpi, for programs that are not linked to one, such as scripts\n"
    "  -v, --verbose       print the command line before it is run\n"
    "  -n, --dry-run       only print it\n\n"
    "Exit status: that of the command; 127 when a program is not found; 126 when the program cannot be run this way\n"
    "(statically linked, not a program, for another machine, of an MPI that has no interposer here); 2 when the\n"
    "command line is wrong.\n",
    run};
