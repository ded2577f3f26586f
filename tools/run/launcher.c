/* Finds where in a launcher's command line the programs are. */
#include "tools/run/internal.h"

#include "tools/run/program.h"

#include <string.h>

static const char *const launchers[] = {"mpiexec", "mpirun", "orterun", "prterun", "prun",
                                        "srun",    "aprun",  "jsrun",   "flux"};

static const char *base_name(const char *word)
{
    const char *slash = strrchr(word, '/');

    return slash ? slash + 1 : word;
}

bool pw_launcher_is(const char *word)
{
    const char *base = base_name(word);

    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        size_t n = strlen(launchers[i]);

        if (!strncmp(base, launchers[i], n) && (!base[n] || base[n] == '.' || base[n] == '-'))
            return true;
    }
    return false;
}

/*
 * Options whose values are words of their own, and how many words. They are written without leading dashes. An option
 * needs no row if it is written --name=value, or if none of its values can be the name of a program.
 */
typedef struct launcher_option {
    const char *name;
    int values;
} launcher_option;

/* From Hydra (mpiexec --help of MPICH) and Open MPI's mpirun(1). */
static const launcher_option mpi_options[] = {
    /* both */
    {"n", 1},
    {"np", 1},
    {"host", 1},
    {"hostfile", 1},
    {"machinefile", 1},
    {"wdir", 1},
    {"wd", 1},
    {"path", 1},
    {"map-by", 1},
    {"bind-to", 1},
    {"ppn", 1},
    {"configfile", 1},
    {"timeout", 1},
    /* Hydra */
    {"env", 2},
    {"genv", 2},
    {"envlist", 1},
    {"genvlist", 1},
    {"f", 1},
    {"hosts", 1},
    {"launcher", 1},
    {"launcher-exec", 1},
    {"bootstrap", 1},
    {"bootstrap-exec", 1},
    {"rmk", 1},
    {"iface", 1},
    {"membind", 1},
    {"topolib", 1},
    {"usize", 1},
    {"outfile-pattern", 1},
    {"errfile-pattern", 1},
    {"prepend-pattern", 1},
    {"localhost", 1},
    {"pmi-port", 0},
    /* Open MPI */
    {"mca", 2},
    {"gmca", 2},
    {"prtemca", 2},
    {"pmixmca", 2},
    {"x", 1},
    {"c", 1},
    {"H", 1},
    {"N", 1},
    {"npernode", 1},
    {"npersocket", 1},
    {"rank-by", 1},
    {"cpu-set", 1},
    {"output-filename", 1},
    {"prefix", 1},
    {"am", 1},
    {"tune", 1},
    {"report-uri", 1},
    {"dvm-uri", 1},
};

/* From srun(1), where some letters mean something else than for MPI launchers. Values need rows, since a partition may
 * well be called "test". */
static const launcher_option slurm_options[] = {
    {"A", 1},           {"account", 1},
    {"B", 1},           {"extra-node-info", 1},
    {"C", 1},           {"constraint", 1},
    {"D", 1},           {"chdir", 1},
    {"G", 1},           {"gpus", 1},
    {"J", 1},           {"job-name", 1},
    {"L", 1},           {"licenses", 1},
    {"M", 1},           {"clusters", 1},
    {"N", 1},           {"nodes", 1},
    {"S", 1},           {"core-spec", 1},
    {"T", 1},           {"threads", 1},
    {"W", 1},           {"wait", 1},
    {"c", 1},           {"cpus-per-task", 1},
    {"d", 1},           {"dependency", 1},
    {"e", 1},           {"error", 1},
    {"i", 1},           {"input", 1},
    {"m", 1},           {"distribution", 1},
    {"n", 1},           {"ntasks", 1},
    {"o", 1},           {"output", 1},
    {"p", 1},           {"partition", 1},
    {"q", 1},           {"qos", 1},
    {"r", 1},           {"relative", 1},
    {"t", 1},           {"time", 1},
    {"w", 1},           {"nodelist", 1},
    {"x", 1},           {"exclude", 1},
    {"export", 1},      {"mpi", 1},
    {"cpu-bind", 1},    {"gpu-bind", 1},
    {"gres", 1},        {"mem", 1},
    {"mem-bind", 1},    {"ntasks-per-node", 1},
    {"jobid", 1},       {"prolog", 1},
    {"epilog", 1},      {"task-prolog", 1},
    {"task-epilog", 1}, {"reservation", 1},
    {"wckey", 1},
};

static int values_of(const char *launcher, const char *option)
{
    bool slurm = !strncmp(base_name(launcher), "srun", 4);
    const launcher_option *options = slurm ? slurm_options : mpi_options;
    size_t n = slurm ? sizeof slurm_options : sizeof mpi_options;

    while (*option == '-')
        option++;
    for (size_t i = 0; i < n / sizeof *options; i++)
        if (!strcmp(options[i].name, option))
            return options[i].values;
    return 0;
}

static int part_end(int argc, char *const *argv, int begin)
{
    int end = begin;

    while (end < argc && strcmp(argv[end], ":"))
        end++;
    return end;
}

bool pw_launcher_part_at(int argc, char *const *argv, int begin, pw_launcher_part *out)
{
    int end = part_end(argc, argv, begin), first = -1;
    char path[4096];

    *out = (pw_launcher_part){begin, -1, end};
    for (int i = begin; i < end; i++) {
        if (argv[i][0] == '-') {
            i += values_of(argv[0], argv[i]);
            continue;
        }
        if (first < 0)
            first = i;
        /* A word that is no program may be the value of an option that is not in the table. */
        if (pw_program_find(argv[i], path, sizeof path)) {
            first = i;
            break;
        }
    }
    out->program = first;
    return first >= 0;
}
