/*
 * packwright measure: the model of this machine. Alone it measures the GPU; started by an MPI's launcher, it
 * becomes the program of that MPI, which measures the network as well.
 */
#include "base/env.h"
#include "runtime/engine/model/file.h"
#include "tools/command.h"
#include "tools/measure/rank.h"
#include "tools/measure/report.h"
#include "tools/measure/save.h"
#include "tools/run/interposer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: packwright measure [OPTIONS]\n"
    "       mpiexec -n 2 packwright measure [OPTIONS]\n"
    "       packwright measure --show [MODEL]\n"
    "\n"
    "Measures facts of this machine from which a run first guesses how messages go (docs/model.md): of the first GPU,\n"
    "for all MPIs; and, by two ranks with PACKWRIGHT_NET, from which lengths on blocks gain by being read over the\n"
    "network. Other messages need no measuring: programs try their ways. What was measured before and is not measured\n"
    "again stays.\n"
    "\n"
    "      --seconds=N    about how long to take (default 30)\n"
    "      --spread=N     leave out times whose best samples differ by more than N percent (default 10)\n"
    "      --only=PARTS   some of gpu,network\n"
    "      --mpi=MPI      mpich or openmpi, if the launcher does not tell; alone: only for this MPI\n"
    "  -o, --output=FILE  write there (default: the cache directory)\n"
    "  -q, --quiet        say nothing but the file\n"
    "  -n, --dry-run      say what would be measured and where it would be written\n"
    "      --show         print the facts of a model\n"
    "\n"
    "MODEL is a file; by default that of --mpi, or of the first MPI that has one.\n";

/* ---- a rank ----------------------------------------------------------------------------------------------------- */

static int become(const char *mpi, char **argv)
{
    char path[4096];

    if (!pw_measure_program(mpi, path, sizeof path)) {
        pw_command_error("measure", "this is a rank of %s, but there is no %s", mpi, path);
        return PW_EXIT_FAILURE;
    }
    fflush(stdout);
    execv(path, argv);
    pw_command_error("measure", "cannot run %s: %s", path, strerror(errno));
    return PW_EXIT_FAILURE;
}

/* ---- alone ------------------------------------------------------------------------------------------------------- */

/* Calls fn for every MPI whose model a run without ranks writes. */
static bool each_mpi(const pw_measure_options *o, bool (*fn)(const pw_measure_options *o, const char *mpi, void *arg),
                     void *arg)
{
    const pw_mpi_abi *abi;
    bool any = false;

    if (o->mpi || o->output)
        return fn(o, o->mpi ? o->mpi : "", arg);
    for (int i = 0; (abi = pw_mpi_abi_at(i)); i++) {
        if (!pw_mpi_is_built(abi) || pw_mpi_abi_is_standard(abi)) /* that has the models of its MPIs */
            continue;
        any = true;
        if (!fn(o, abi->name, arg))
            return false;
    }
    if (!any)
        fputs("packwright measure: this Packwright was built for no MPI; say --mpi or --output\n", stderr);
    return any;
}

/* Kernels must be compiled at once: the time to wait for them is not to be measured. */
static void use_kernels_at_once(void)
{
    if (pw_env_is_set(PW_ENV_JIT))
        return;
    setenv("PACKWRIGHT_JIT", "sync", 1);
    pw_env_reload();
}

static bool can_save(const pw_measure_options *o, const char *mpi, void *arg)
{
    (void)arg;
    return pw_measure_can_save(o, mpi);
}

static bool save(const pw_measure_options *o, const char *mpi, void *arg)
{
    return pw_measure_save(o, arg, mpi);
}

static int measure_alone(const pw_measure_options *o)
{
    pw_model m = {.facts = PW_FACTS_DEFAULT};
    pw_diag diag = {0};

    if (!o->gpu)
        return pw_usage_error(&pw_command_measure, "a network takes two ranks: mpiexec -n 2 packwright measure");
    if (!each_mpi(o, can_save, NULL))
        return PW_EXIT_FAILURE;
    use_kernels_at_once();
    if (pw_measure_machine(o, o->seconds, &m, &diag) != PW_OK) {
        pw_command_error("measure", "%s", diag.text);
        return PW_EXIT_FAILURE;
    }
    return (m.measured ? each_mpi(o, save, &m) : pw_measure_save(o, &m, "")) ? PW_EXIT_OK : PW_EXIT_FAILURE;
}

/* ---- what would be done ------------------------------------------------------------------------------------------ */

static bool print_path(const pw_measure_options *o, const char *mpi, void *arg)
{
    char path[PW_MODEL_PATH];

    (void)arg;
    if (o->output)
        snprintf(path, sizeof path, "%s", o->output);
    else if (!pw_model_path(mpi, path, sizeof path))
        snprintf(path, sizeof path, "nowhere: PACKWRIGHT_CACHE_DIR, XDG_CACHE_HOME and HOME are not set");
    printf("to %s\n", path);
    return true;
}

static int print_plan(const pw_measure_options *o, const char *mpi)
{
    pw_measure_options one = *o;

    printf("at most about %g s:\n", o->seconds);
    if (o->gpu)
        puts("  GPU: kernels and copies; if there is one");
    if (o->network && mpi && pw_env_choice(PW_ENV_NET) != 0)
        puts("  blocks that are read over the network of PACKWRIGHT_NET");
    if (mpi)
        one.mpi = mpi;
    return each_mpi(&one, print_path, NULL) ? PW_EXIT_OK : PW_EXIT_FAILURE;
}

static int run_measure(int argc, char **argv)
{
    pw_measure_options o;
    int status = pw_measure_options_parse(&pw_command_measure, argc, argv, &o);
    const char *mpi;

    if (status >= 0)
        return status;
    if (o.show)
        return pw_measure_show(&o) ? PW_EXIT_OK : PW_EXIT_FAILURE;
    mpi = pw_measure_launcher();
    if (mpi && o.mpi)
        mpi = o.mpi;
    if (o.dry_run)
        return print_plan(&o, mpi);
    return mpi ? become(mpi, argv) : measure_alone(&o);
}

const pw_command pw_command_measure = {"measure", "measure the GPU and the network, for the choice of strategies", help,
                                       run_measure};
