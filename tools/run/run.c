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
#include "tools/command.h"
#include "tools/run/internal.h"
#include "tools/run/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The exit statuses of shells: the command was found but cannot run in this way, or it was not found. */
enum { EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

enum { MOST_SETTINGS = 16 };

typedef struct run_options {
    const pw_mpi_abi *mpi; /* named by --mpi; NULL: none was */
    bool verbose, dry_run, list_strategies;
    int nsettings;
    char *settings[MOST_SETTINGS]; /* each "NAME=value", malloc'ed */
} run_options;

/* ---- options ----------------------------------------------------------------------------------------------------- */

static char *join(const char *a, const char *b, const char *c, const char *d)
{
    size_t n = strlen(a) + strlen(b) + strlen(c) + strlen(d) + 1;
    char *s = malloc(n);

    if (s)
        snprintf(s, n, "%s%s%s%s", a, b, c, d);
    return s;
}

static void set(run_options *o, pw_env_id id, const char *value)
{
    o->settings[o->nsettings++] = join(pw_env_describe(id)->name, "=", value, "");
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
    char *absolute = *value != '/' && getcwd(cwd, sizeof cwd) ? join(cwd, "/", value, "") : NULL;

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
        o->mpi = arg[5] ? pw_mpi_abi_named(arg + 6) : NULL;
        if (!o->mpi)
            return pw_usage_error(&pw_command_run, "%s: expected mpich or openmpi", arg);
    } else {
        return take_setting(o, arg);
    }
    return PW_EXIT_OK;
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
        if (o->nsettings == MOST_SETTINGS - 1)
            return pw_usage_error(&pw_command_run, "too many options");
        status = take_option(o, argv[i]);
        if (status != PW_EXIT_OK)
            return status;
    }
    if ((i >= argc || !*argv[i]) && !o->list_strategies)
        return pw_usage_error(&pw_command_run, "nothing to run");
    *first = i;
    return PW_EXIT_OK;
}

/* ---- which MPI --------------------------------------------------------------------------------------------------- */

static int refuse(int status, const char *name, const char *why)
{
    pw_log(PW_LOG_ERROR, "%s %s", name, why);
    return status;
}

static const pw_mpi_abi *mpi_of_launcher(const char *launcher)
{
    char path[4096];
    char *real, *slash;
    const pw_mpi_abi *abi;

    if (!launcher || !pw_program_find(launcher, path, sizeof path))
        return NULL;
    real = realpath(path, NULL);
    slash = strrchr(real ? real : path, '/');
    abi = slash ? pw_mpi_abi_of_launcher(slash + 1) : NULL;
    free(real);
    return abi;
}

/* Returns the MPI of the first later word that is a program linked to one, as in `valgrind ./app`. */
static const pw_mpi_abi *mpi_of_later_word(char *const *argv, int begin, int end)
{
    char path[4096];
    pw_program program;

    for (int i = begin; i < end; i++) {
        if (argv[i][0] == '-' || !pw_program_find(argv[i], path, sizeof path))
            continue;
        pw_program_examine(path, &program);
        if (program.mpi)
            return program.mpi;
    }
    return NULL;
}

/* Finds the MPI of a script, or of a program such as Python that may load an MPI later: the launcher is that MPI's. */
static int mpi_not_linked(const pw_program *program, const char *name, const char *launcher, const pw_mpi_abi **out)
{
    const char *what = program->kind == PW_PROGRAM_SCRIPT ? "is a script" : "is not linked to an MPI";

    *out = mpi_of_launcher(launcher);
    if (*out) {
        pw_log(PW_LOG_WARN, "%s %s; taking %s, as the launcher does, for whatever it starts", name, what,
               (*out)->title);
        return PW_EXIT_OK;
    }
    pw_log(PW_LOG_ERROR, "%s %s, and nothing tells which MPI it will use; say --mpi=mpich or --mpi=openmpi", name,
           what);
    return EXIT_CANNOT_RUN;
}

/* Finds the MPI of the program and its arguments, words [begin, end). */
static int find_mpi(const run_options *o, char *const *argv, int begin, int end, const char *launcher,
                    const pw_mpi_abi **out)
{
    const char *name = argv[begin];
    char path[4096];
    pw_program program;

    if (!pw_program_find(name, path, sizeof path))
        return refuse(EXIT_NOT_FOUND, name, "not found, or not executable");
    pw_program_examine(path, &program);
    switch (program.kind) {
    case PW_PROGRAM_STATIC:
        return refuse(EXIT_CANNOT_RUN, name, "is statically linked: no library can be put before its MPI");
    case PW_PROGRAM_FOREIGN: return refuse(EXIT_CANNOT_RUN, name, "is a program for another kind of machine");
    case PW_PROGRAM_UNKNOWN: return refuse(EXIT_CANNOT_RUN, name, "is neither an ELF program nor a script");
    case PW_PROGRAM_DYNAMIC:
    case PW_PROGRAM_SCRIPT: break;
    }
    if (program.interposed)
        pw_log(PW_LOG_INFO, "%s is linked to Packwright already", name);
    *out = o->mpi ? o->mpi : program.mpi ? program.mpi : mpi_of_later_word(argv, begin + 1, end);
    return *out ? PW_EXIT_OK : mpi_not_linked(&program, name, launcher, out);
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

/* A command line that grows by what is put before each program. Ends with NULL for execvp. */
typedef struct words {
    int n, room;
    const char **word;
    bool failed;
} words;

static void add_word(words *w, const char *word)
{
    if (w->n + 1 >= w->room) {
        int room = w->room ? 2 * w->room : 64;
        const char **more = realloc(w->word, (size_t)room * sizeof *more);

        if (!more) {
            w->failed = true;
            return;
        }
        w->word = more;
        w->room = room;
    }
    w->word[w->n++] = word;
    w->word[w->n] = NULL;
}

static void add_words(words *w, char *const *argv, int begin, int end)
{
    for (int i = begin; i < end; i++)
        add_word(w, argv[i]);
}

/* Returns "LD_PRELOAD=…" with this library before what the user preloads. */
static char *preload_setting(const char *library)
{
    const char *others = pw_env_foreign("LD_PRELOAD");

    return join("LD_PRELOAD=", library, others && *others ? ":" : "", others ? others : "");
}

/* Adds the words [begin, end), preceded by the settings. */
static int add_program(words *w, run_options *o, char *const *argv, int begin, int end, const char *launcher)
{
    const pw_mpi_abi *mpi = NULL;
    char library[4096];
    char *preload;
    int status = find_mpi(o, argv, begin, end, launcher, &mpi);

    if (status != PW_EXIT_OK)
        return status;
    if (!pw_find_interposer(mpi, library, sizeof library)) {
        pw_log(PW_LOG_ERROR, "%s runs on %s, for which this installation has no interposer (searched %s)", argv[begin],
               mpi->title, library);
        return EXIT_CANNOT_RUN;
    }
    preload = preload_setting(library);
    if (!preload)
        return refuse(PW_EXIT_FAILURE, argv[begin], "cannot be started: out of memory");
    add_word(w, "/usr/bin/env");
    add_word(w, preload); /* kept until the end of the process */
    add_word(w, "PACKWRIGHT_ALL_RANKS=1");
    for (int i = 0; i < o->nsettings; i++)
        add_word(w, o->settings[i]);
    add_words(w, argv, begin, end);
    return PW_EXIT_OK;
}

/* argv[0] is the launcher. */
static int add_launch(words *w, run_options *o, int argc, char *const *argv)
{
    pw_launcher_part part;
    int status = PW_EXIT_OK;

    add_word(w, argv[0]);
    for (int begin = 1; status == PW_EXIT_OK; begin = part.end + 1) {
        if (!pw_launcher_part_at(argc, argv, begin, &part))
            return refuse(EXIT_NOT_FOUND, argv[0], "is given no program to start");
        add_words(w, argv, begin, part.program);
        status = add_program(w, o, argv, part.program, part.end, argv[0]);
        if (part.end >= argc)
            break;
        add_word(w, argv[part.end]);
    }
    return status;
}

static void print_words(FILE *f, const words *w)
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

static int execute(const words *w)
{
    int error;

    execvp(w->word[0], (char *const *)w->word);
    error = errno;
    pw_log(PW_LOG_ERROR, "%s: %s", w->word[0], strerror(error));
    return error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

static int start(run_options *o, int argc, char *const *argv, words *w)
{
    char path[4096];
    int status;

    if (!pw_launcher_is(argv[0]))
        status = add_program(w, o, argv, 0, argc, NULL);
    else if (pw_program_find(argv[0], path, sizeof path))
        status = add_launch(w, o, argc, argv);
    else
        status = refuse(EXIT_NOT_FOUND, argv[0], "not found, or not executable");
    if (status == PW_EXIT_OK && w->failed)
        status = refuse(PW_EXIT_FAILURE, argv[0], "cannot be started: out of memory");
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
    words w = {0};
    int first = 0, status;

    pw_env_check_unknown();
    status = parse_options(&o, argc, argv, &first);
    if (status == PW_EXIT_OK && o.list_strategies)
        list_strategies();
    else if (status == PW_EXIT_OK)
        status = start(&o, argc - first, argv + first, &w);
    free(w.word);
    while (o.nsettings)
        free(o.settings[--o.nsettings]);
    return status;
}

const pw_command pw_command_run = {
    "run", "start an MPI program with Packwright",
    "usage: packwright run [options] [--] mpiexec [its options] PROGRAM [arguments]\n"
    "       packwright run [options] [--] PROGRAM [arguments]\n\n"
    "Starts an unmodified MPI program with the interposer of the MPI that it is linked to. The interposer is\n"
    "preloaded into the program and not into the launcher; several programs (mpiexec … : …) are fine.\n\n"
    "  --stats             print at MPI_Finalize what happened to each datatype (PACKWRIGHT_STATS=1)\n"
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
