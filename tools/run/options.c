#include "tools/run/options.h"

#include "base/replace.h"
#include "base/report_endings.h"
#include "tools/run/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void pw_run_set(pw_run_settings *settings, pw_env_id id, const char *value)
{
    settings->setting[settings->n++] = pw_words_join(pw_env_describe(id)->name, "=", value, "");
}

void pw_run_settings_free(pw_run_settings *settings)
{
    free(settings->page);
    while (settings->n)
        free(settings->setting[--settings->n]);
}

/* ---- options that set a variable --------------------------------------------------------------------------------- */

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

/* Sets a variable to an absolute path, since ranks may be started in another directory. Ranks write the data of a page
 * beside it. */
static void set_path(pw_run_settings *settings, pw_env_id id, const char *value)
{
    bool is_page = id == PW_ENV_REPORT && pw_report_ending_of(value) == PW_REPORT_HTML;
    char cwd[4096];
    bool is_relative = *value != '/' && getcwd(cwd, sizeof cwd);
    char *path = pw_words_join(is_relative ? cwd : "", is_relative ? "/" : "", value, is_page ? ".json" : "");

    if (path)
        pw_run_set(settings, id, path);
    if (id == PW_ENV_REPORT) {
        free(settings->page);
        settings->page = is_page && path ? strndup(path, strlen(path) - strlen(".json")) : NULL;
    }
    free(path);
}

void pw_run_set_page(pw_run_settings *settings)
{
    const char *report = pw_env_path(PW_ENV_REPORT);

    if (!settings->page && pw_report_ending_of(report) == PW_REPORT_HTML)
        set_path(settings, PW_ENV_REPORT, report);
}

/* Refuses a file that the run would fail to write at its end, when all that it would say is lost. */
static int check_output(const pw_run_options *o, const char *arg, pw_env_id id, const char *value)
{
    pw_diag diag = {0};

    if (id == PW_ENV_REPORT && pw_report_ending_of(value) == PW_REPORT_UNKNOWN)
        return pw_usage_error(o->command, "%s: the name must end with %s", arg, PW_REPORT_ENDINGS);
    if ((id != PW_ENV_REPORT && id != PW_ENV_TRACE) || pw_replace_check(value, &diag) == PW_OK)
        return PW_EXIT_OK;
    return pw_usage_error(o->command, "%.*s: %s", (int)strcspn(arg, "="), arg, diag.text);
}

static const struct {
    const char *name;
    pw_env_id id;
    bool writes; /* the run writes down what it does */
} variables[] = {
    {"--jit=", PW_ENV_JIT, false},           {"--log=", PW_ENV_LOG, false},
    {"--strategy=", PW_ENV_STRATEGY, false}, {"--cache-dir=", PW_ENV_CACHE_DIR, false},
    {"--trace=", PW_ENV_TRACE, true},        {"--stats=", PW_ENV_STATS, true},
    {"--report=", PW_ENV_REPORT, true},
};

static int take_variable(const pw_run_options *o, const char *arg, pw_env_id id, const char *value)
{
    const pw_env_info *variable = pw_env_describe(id);
    int status = check_output(o, arg, id, value);

    if (status != PW_EXIT_OK)
        return status;
    if (variable->choices && !is_choice(variable->choices, value))
        return pw_usage_error(o->command, "%s: expected one of %s", arg, variable->choices);
    if (variable->type == PW_ENV_TYPE_PATH)
        set_path(o->settings, id, value);
    else
        pw_run_set(o->settings, id, value);
    return PW_EXIT_OK;
}

/* Takes an option that both commands have. */
static int take_shared(const pw_run_options *o, const char *arg)
{
    if (!strncmp(arg, "--mpi=", 6)) {
        o->settings->mpi = pw_mpi_abi_named(arg + 6);
        return o->settings->mpi ? PW_EXIT_OK
                                : pw_usage_error(o->command, "%s: expected mpich, openmpi or mpi-abi", arg);
    }
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        size_t n = strlen(variables[i].name);

        if (!strncmp(arg, variables[i].name, n) && arg[n] && !(variables[i].writes && o->timed))
            return take_variable(o, arg, variables[i].id, arg + n);
    }
    return pw_wrong_argument(o->command, arg);
}

/* ---- options of launchers ---------------------------------------------------------------------------------------- */

/* Returns whether the option gives a number of ranks, as launchers' options do. Packwright's own -n has no value. */
static bool is_rank_count(const char *arg, const char *value)
{
    return (!strcmp(arg, "-n") || !strcmp(arg, "-np") || !strcmp(arg, "--np")) && value && *value &&
           !value[strspn(value, "0123456789")];
}

/* Says what was meant by `packwright run -n 2 ./app`. */
static int refuse_rank_count(const pw_command *command, const char *option, const char *count, const char *program)
{
    const char *launcher = "mpiexec";
    char path[4096];
    pw_program it;

    if (program && pw_program_find(program, path, sizeof path)) {
        pw_program_examine(path, &it);
        launcher = it.mpi ? pw_run_launcher_of(it.mpi) : launcher;
    }
    return pw_usage_error(command, "%s %s is an option of launchers; say: packwright %s -- %s %s %s %s", option, count,
                          command->name, launcher, option, count, program ? program : "PROGRAM");
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

int pw_run_parse(const pw_run_options *o, int argc, char **argv, int *first)
{
    int i = 1;

    for (; i < argc && argv[i][0] == '-'; i++) {
        int status;

        if (!strcmp(argv[i], "--")) {
            i++;
            break;
        }
        if (o->settings->n >= PW_RUN_SETTINGS - 2) /* the command adds up to two */
            return pw_usage_error(o->command, "too many options");
        if (is_rank_count(argv[i], i + 1 < argc ? argv[i + 1] : NULL))
            return refuse_rank_count(o->command, argv[i], argv[i + 1], i + 2 < argc ? argv[i + 2] : NULL);
        status = o->take(o->own, argv[i]);
        if (status == PW_RUN_OTHER)
            status = take_shared(o, argv[i]);
        if (status != PW_EXIT_OK)
            return status;
    }
    *first = i < argc && *argv[i] ? i : argc;
    return PW_EXIT_OK;
}
