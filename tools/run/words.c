/* The command line that runs a program with Packwright: finds the MPI of each program, and puts the interposer and the
 * settings before it. */
#include "tools/run/words.h"

#include "base/env.h"
#include "base/grow.h"
#include "base/log.h"
#include "tools/command.h"
#include "tools/run/internal.h"
#include "tools/run/program.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- which MPI --------------------------------------------------------------------------------------------------- */

static int refuse(int status, const char *name, const char *why)
{
    pw_log(PW_LOG_ERROR, "%s %s", name, why);
    return status;
}

/* Says why a name that no program was found by is none. */
static int refuse_missing(const char *name)
{
    bool is_path = strchr(name, '/');

    if (!strcmp(name, "time"))
        return refuse(PW_RUN_NOT_FOUND, name, "is a word of the shell, and no program here: time packwright run ...");
    if (!access(name, F_OK)) {
        if (is_path)
            return refuse(PW_RUN_CANNOT, name, "is not an executable file");
        pw_log(PW_LOG_ERROR, "%s is not on the PATH; for the file that is here say ./%s", name, name);
        return PW_RUN_NOT_FOUND;
    }
    return refuse(PW_RUN_NOT_FOUND, name, is_path ? "does not exist" : "is not on the PATH");
}

const pw_mpi_abi *pw_run_mpi_of_launcher(const char *launcher)
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
    return abi ? abi : pw_mpi_abi_beside_launcher(path);
}

const char *pw_run_launcher_of(const pw_mpi_abi *mpi)
{
    char path[4096];
    bool other = pw_run_mpi_of_launcher("mpiexec") != mpi;

    return other && mpi->launcher && pw_program_find(mpi->launcher, path, sizeof path) ? mpi->launcher : "mpiexec";
}

/* Looks for the first later word that is a program linked to an MPI, as in `valgrind ./app`. Returns its place, else
 * that of the last word before `begin`. */
static int examine_later_words(char *const *argv, int begin, int end, pw_program *out)
{
    char path[4096];
    int at = begin - 1;

    for (int i = begin; i < end && !out->mpi && !*out->other_mpi; i++)
        if (argv[i][0] != '-' && pw_program_find(argv[i], path, sizeof path)) {
            pw_program_examine(path, out);
            at = out->mpi ? i : at;
        }
    return at;
}

/* Returns the ABI that mpi4py is told to take where it is installed for several; NULL: none that is known. */
static const pw_mpi_abi *mpi_of_mpi4py(void)
{
    const char *named = pw_env_foreign("MPI4PY_MPIABI");

    return named ? pw_mpi_abi_named(!strcmp(named, "mpiabi") ? "mpi-abi" : named) : NULL;
}

/* Finds the MPI of a script, or of a program such as Python that may load an MPI later: mpi4py is told, or the launcher
 * is that MPI's. */
static int mpi_not_linked(const pw_program *program, const char *name, const char *launcher, const pw_mpi_abi **out)
{
    const char *what = program->kind == PW_PROGRAM_SCRIPT ? "is a script" : "is not linked to an MPI";

    const pw_mpi_abi *told = mpi_of_mpi4py();

    *out = told ? told : pw_run_mpi_of_launcher(launcher);
    if (*out) {
        pw_log(PW_LOG_INFO, "%s %s; taking %s, as %s does, for whatever it starts", name, what, (*out)->title,
               told ? "MPI4PY_MPIABI" : "the launcher");
        return PW_EXIT_OK;
    }
    pw_log(PW_LOG_ERROR, "%s %s, and nothing tells which MPI it will use; say --mpi=mpich, openmpi or mpi-abi", name,
           what);
    return PW_RUN_CANNOT;
}

/* Finds the MPI of the program and its arguments, words [begin, end), and its library and which word it is, if the
 * program tells. Sets *out to NULL, after a warning, if it runs on an MPI that is not known. */
static int find_mpi(const pw_run_settings *o, char *const *argv, int begin, int end, const char *launcher,
                    const pw_mpi_abi **out, char *library, size_t size, int *at)
{
    const char *name = argv[begin];
    char path[4096];
    pw_program program, linked;

    if (!pw_program_find(name, path, sizeof path))
        return refuse_missing(name);
    pw_program_examine(path, &program);
    switch (program.kind) {
    case PW_PROGRAM_STATIC:
        return refuse(PW_RUN_CANNOT, name, "is statically linked: no library can be put before its MPI");
    case PW_PROGRAM_FOREIGN: return refuse(PW_RUN_CANNOT, name, "is a program for another kind of machine");
    case PW_PROGRAM_UNKNOWN: return refuse(PW_RUN_CANNOT, name, "is neither an ELF program nor a script");
    case PW_PROGRAM_DYNAMIC:
    case PW_PROGRAM_SCRIPT: break;
    }
    if (program.interposed)
        pw_log(PW_LOG_INFO, "%s is linked to Packwright already", name);
    linked = program;
    *at = examine_later_words(argv, begin + 1, end, &linked);
    snprintf(library, size, "%s", linked.mpi_library);
    *out = o->mpi ? o->mpi : linked.mpi;
    if (*out)
        return PW_EXIT_OK;
    if (!*linked.other_mpi)
        return mpi_not_linked(&program, name, launcher, out);
    pw_log(PW_LOG_WARN, "%s runs on %s, an MPI that Packwright does not know, and is left alone", name,
           linked.other_mpi);
    return PW_EXIT_OK;
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

static void add_word(pw_words *w, const char *word)
{
    const char **more = pw_grow(w->word, w->n + 1, &w->room, sizeof *more); /* the NULL behind it, too */

    if (!more) {
        w->failed = true;
        return;
    }
    w->word = more;
    w->word[w->n++] = word;
    w->word[w->n] = NULL;
}

static void add_words(pw_words *w, char *const *argv, int begin, int end)
{
    for (int i = begin; i < end; i++)
        add_word(w, argv[i]);
}

/* ---- tools in front ------------------------------------------------------------------------------------------------
 */

/* Commands that preload a tool of their own before everything else that is preloaded. */
static const char *const preloading[] = {"eztrace", "eztrace.preload", "tau_exec"};

static const char ours[] = "/libpackwright-";

/* Puts a library, $0, before whatever is preloaded where the program starts. */
static const char put_before[] = "export LD_PRELOAD=\"$0${LD_PRELOAD:+:$LD_PRELOAD}\"; exec \"$@\"";

static bool preloads(const char *word)
{
    const char *slash = strrchr(word, '/');

    for (size_t i = 0; i < sizeof preloading / sizeof *preloading; i++)
        if (!strcmp(slash ? slash + 1 : word, preloading[i]))
            return true;
    return strstr(word, "LD_PRELOAD");
}

/*
 * Returns the word before which this library has to be put where that starts, since what is preloaded is not known
 * sooner: the launcher or words between `begin` and the program, argv[at], set it. A tool that came first would call
 * PMPI_ itself, so that nothing behind it is ever called. -1: there is no such word. A program in between may be one
 * for which the words behind it are no command.
 */
static int preloaded_late(const pw_words *w, char *const *argv, int begin, int at)
{
    bool by_words = false, by_launcher = false;
    char path[4096];

    for (int i = 0; i < w->n; i++)
        by_launcher |= preloads(w->word[i]) && w->word[i] != put_before && !strstr(w->word[i], ours);
    for (int i = begin; i < at; i++)
        by_words |= preloads(argv[i]);
    for (int i = begin + 1; i < at; i++)
        by_words &= argv[i][0] == '-' || !pw_program_find(argv[i], path, sizeof path);
    return by_words ? at : by_launcher ? begin : -1;
}

/* Returns "LD_PRELOAD=…" with this library before what the user preloads. */
static char *preload_setting(const char *library)
{
    const char *others = pw_env_foreign("LD_PRELOAD");

    return pw_words_join("LD_PRELOAD=", library, others && *others ? ":" : "", others ? others : "");
}

/* Returns whether the dynamic linker takes the path for one: LD_PRELOAD is split at blanks and colons, and nothing
 * protects them. */
static bool can_preload(const char *library)
{
    return !library[strcspn(library, " \t:")];
}

/* Says if the launcher is another MPI's than the program's. Each process would then be a run of one rank. */
static void warn_of_launcher(const char *launcher, const char *program, const pw_mpi_abi *mpi)
{
    const pw_mpi_abi *others = pw_run_mpi_of_launcher(launcher);

    if (others && others != mpi && !pw_mpi_abi_is_standard(mpi))
        pw_log(PW_LOG_WARN,
               "%s is the launcher of %s, and %s runs on %s: each process will be a run of one rank; say %s", launcher,
               others->title, program, mpi->title, pw_run_launcher_of(mpi));
}

static void add_settings(pw_words *w, const pw_run_settings *o, const char *preload)
{
    add_word(w, "/usr/bin/env");
    if (preload)
        add_word(w, preload);
    add_word(w, "PACKWRIGHT_ALL_RANKS=1");
    for (int i = 0; i < o->n; i++)
        add_word(w, o->setting[i]);
    if (o->stage.parent)
        add_word(w, o->stage.setting);
}

/* Packs what is staged, and has the interposer and the cache be those of the node. */
static bool add_stage(pw_words *w, pw_run_settings *o, const char *launcher, char *library, size_t size)
{
    char name[PATH_MAX];

    if (!pw_stage_pack(&o->stage, library))
        return false;
    snprintf(name, sizeof name, "%s", pw_staged_name(library));
    if (snprintf(library, size, "%s/lib/%s", o->stage.directory, name) >= (int)size)
        return false;
    if (pw_stage_by_slurm(launcher))
        return true;
    add_word(w, "/bin/sh");
    add_word(w, "-c");
    add_word(w, pw_stage_first);
    add_word(w, o->stage.directory);
    add_word(w, o->stage.file);
    return true;
}

/* Adds the words [begin, end), preceded by the settings. */
static int add_program(pw_words *w, pw_run_settings *o, char *const *argv, int begin, int end, const char *launcher)
{
    const pw_mpi_abi *mpi = NULL;
    char library[4096], mpi_library[4096] = "", path[4096];
    char *preload;
    int at = begin, status = find_mpi(o, argv, begin, end, launcher, &mpi, mpi_library, sizeof mpi_library, &at);
    int late = preloaded_late(w, argv, begin, at);

    if (status != PW_EXIT_OK)
        return status;
    if (!mpi) {
        add_words(w, argv, begin, end);
        return PW_EXIT_OK;
    }
    if (!launcher || !pw_program_find(launcher, path, sizeof path))
        path[0] = '\0';
    if (!pw_find_interposer(mpi, mpi_library, path, library, sizeof library)) {
        pw_log(PW_LOG_ERROR, "%s runs on %s, for which this installation has no interposer (searched %s)", argv[begin],
               mpi->title, library);
        return PW_RUN_CANNOT;
    }
    if (!can_preload(library))
        return refuse(PW_RUN_CANNOT, library,
                      "cannot be preloaded: its path has a blank or a colon; move the installation");
    warn_of_launcher(launcher, argv[begin], mpi);
    if (o->stage.parent && !add_stage(w, o, launcher, library, sizeof library))
        return PW_RUN_CANNOT;
    preload = late >= 0 ? strdup(library) : preload_setting(library); /* kept until the end of the process */
    if (!preload)
        return refuse(PW_EXIT_FAILURE, argv[begin], "cannot be started: out of memory");
    add_settings(w, o, late >= 0 ? NULL : preload);
    if (late >= 0) {
        char *const words[] = {(char *)"/bin/sh", (char *)"-c", (char *)put_before, preload};

        add_words(w, argv, begin, late);
        add_words(w, words, 0, 4);
        begin = late;
    }
    add_words(w, argv, begin, end);
    return PW_EXIT_OK;
}

/* argv[0] is the launcher. */
static int add_launch(pw_words *w, pw_run_settings *o, int argc, char *const *argv)
{
    pw_launcher_part part;
    int status = PW_EXIT_OK;

    add_word(w, argv[0]);
    for (int begin = 1; status == PW_EXIT_OK; begin = part.end + 1) {
        if (!pw_launcher_part_at(argc, argv, begin, &part))
            return refuse(PW_RUN_NOT_FOUND, argv[0], "is given no program to start");
        add_words(w, argv, begin, part.program);
        status = add_program(w, o, argv, part.program, part.end, argv[0]);
        if (part.end >= argc)
            break;
        add_word(w, argv[part.end]);
    }
    return status;
}

int pw_run_launcher_at(int argc, char *const *argv)
{
    char path[4096];
    pw_program program;

    if (pw_launcher_is(argv[0]))
        return 0;
    if (pw_program_find(argv[0], path, sizeof path)) {
        pw_program_examine(path, &program);
        if (program.mpi || *program.other_mpi)
            return -1;
    }
    for (int i = 1; i < argc; i++)
        if (pw_launcher_is(argv[i]) && pw_program_find(argv[i], path, sizeof path))
            return i;
    return -1;
}

int pw_run_words(pw_run_settings *settings, int argc, char *const *argv, pw_words *out)
{
    int at = pw_run_launcher_at(argc, argv), status;
    char path[4096];

    if (at >= 0 && !pw_program_find(argv[0], path, sizeof path))
        return refuse_missing(argv[0]);
    add_words(out, argv, 0, at);
    if (at < 0)
        status = add_program(out, settings, argv, 0, argc, NULL);
    else
        status = add_launch(out, settings, argc - at, argv + at);
    if (status == PW_EXIT_OK && out->failed)
        status = refuse(PW_EXIT_FAILURE, argv[0], "cannot be started: out of memory");
    return status;
}

bool pw_words_preload(const pw_words *words)
{
    for (int i = 0; i < words->n; i++)
        if ((!strncmp(words->word[i], "LD_PRELOAD=", 11) || (i > 0 && words->word[i - 1] == put_before)) &&
            strstr(words->word[i], ours))
            return true;
    return false;
}

char *pw_words_join(const char *a, const char *b, const char *c, const char *d)
{
    size_t n = strlen(a) + strlen(b) + strlen(c) + strlen(d) + 1;
    char *s = malloc(n);

    if (s)
        snprintf(s, n, "%s%s%s%s", a, b, c, d);
    return s;
}
