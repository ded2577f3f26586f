#include "tools/launcher.h"

#include "tools/program.h"

#include <string.h>

static const char *const launchers[] = {"mpiexec", "mpirun", "orterun", "prterun", "prun",
                                        "srun",    "aprun",  "jsrun",   "flux"};

bool pw_launcher_is(const char *word)
{
    const char *slash = strrchr(word, '/');
    const char *base = slash ? slash + 1 : word;

    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        size_t n = strlen(launchers[i]);

        if (!strncmp(base, launchers[i], n) && (!base[n] || base[n] == '.' || base[n] == '-'))
            return true;
    }
    return false;
}

/*
 * Options whose values are words of their own, and how many, for Hydra (mpiexec --help of MPICH), Open MPI's mpirun(1)
 * and, as far as they mean the same, srun(1). Written without leading dashes; --name=value needs no row.
 */
static const struct {
    const char *name;
    int values;
} options[] = {
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

static int values_of(const char *option)
{
    while (*option == '-')
        option++;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
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
            i += values_of(argv[i]);
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
