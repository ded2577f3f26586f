/*
 * packwright measure: the model of this machine. Alone it measures CPU kernels and the GPU; started by an MPI's
 * launcher, it becomes the program of that MPI, which measures messages as well.
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
    "       packwright measure --show | --plot=FILE | --check [MODEL]\n"
    "\n"
    "Measures what packing, copying and sending cost on this machine, and keeps it as the model by which a run "
    "chooses\n"
    "strategies (docs/model.md). One process measures CPU kernels and the first GPU, for all MPIs; two ranks measure\n"
    "messages as well, for the MPI that started them, and with PACKWRIGHT_NET blocks that are read over a network. "
    "What was\n"
    "measured before and is not measured again stays.\n"
    "\n"
    "      --seconds=N    about how long to take (default 120)\n"
    "      --spread=N     leave out points whose best times differ by more than N percent (default 10)\n"
    "      --only=PARTS   some of cpu,gpu,messages,network\n"
    "      --mpi=MPI      mpich or openmpi, if the launcher does not tell; alone: only for this MPI\n"
    "  -o, --output=FILE  write there (default: the cache directory)\n"
    "  -q, --quiet        show no progress\n"
    "  -n, --dry-run      say what would be measured and where it would be written\n"
    "      --show         print the tables of a model\n"
    "      --plot=FILE    draw them, as .svg or .png (needs gnuplot)\n"
    "      --check        on a GPU: how good its choices are, at sizes and block lengths between those measured\n"
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
    pw_diag diag = {0};
    pw_model *m;
    pw_status status;
    bool ok;

    if (!o->cpu && !o->gpu)
        return pw_usage_error(&pw_command_measure, "messages take two ranks: mpiexec -n 2 packwright measure");
    if (!each_mpi(o, can_save, NULL))
        return PW_EXIT_FAILURE;
    m = pw_model_create();
    status = m ? PW_OK : pw_diag_status(&diag, PW_ERR_NOMEM);
    use_kernels_at_once();
    if (status == PW_OK)
        status = pw_measure_machine(o, o->seconds, m, &diag);
    if (status != PW_OK)
        pw_command_error("measure", "%s", diag.text);
    ok = status == PW_OK && each_mpi(o, save, m);
    pw_model_destroy(m);
    return ok ? PW_EXIT_OK : PW_EXIT_FAILURE;
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
        puts("  GPU: kernels to and from GPU and mapped memory, copies; if there is one");
    if (o->cpu)
        puts("  CPU kernels: pack and unpack");
    if (o->messages && mpi)
        printf("  messages between two ranks of %s: contiguous, and typed ones left to it\n", mpi);
    else if (o->messages)
        puts("  no messages: they take two ranks (mpiexec -n 2 packwright measure)");
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
    if (o.check)
        use_kernels_at_once();
    if (o.show || o.plot || o.check)
        return pw_measure_report(&o) ? PW_EXIT_OK : PW_EXIT_FAILURE;
    mpi = pw_measure_launcher();
    if (mpi && o.mpi)
        mpi = o.mpi;
    if (o.dry_run)
        return print_plan(&o, mpi);
    return mpi ? become(mpi, argv) : measure_alone(&o);
}

const pw_command pw_command_measure = {"measure", "measure this machine, for the choice of strategies", help,
                                       run_measure};
