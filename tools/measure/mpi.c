/*
 * packwright-measure-<mpi>: the program that `packwright measure` becomes on every rank that a launcher has started.
 * Rank 0 measures the machine, ranks 0 and 1 the network, and further ranks wait. `packwright plan` starts it to
 * time the messages of one exchange (exchange.h).
 */
#include "base/env.h"
#include "runtime/engine/gpu/device.h"
#include "tools/command.h"
#include "tools/measure/exchange.h"
#include "tools/measure/network.h"
#include "tools/measure/save.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Returns the name that models of this MPI have. */
static const char *mpi_name(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n;

    MPI_Get_library_version(text, &n);
    return strstr(text, "Open MPI") ? "openmpi" : "mpich";
}

/* Waits for all ranks. Waiting ranks sleep, since they may share a core with one that measures. */
static void wait_for_all(void)
{
    const struct timespec a_while = {.tv_nsec = 2000000};
    MPI_Request request;
    int done = 0;

    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
        nanosleep(&a_while, NULL);
}

static void describe_mpi(pw_model *m)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n;

    MPI_Get_library_version(text, &n);
    snprintf(m->origin.mpi_version, sizeof m->origin.mpi_version, "%.*s", (int)strcspn(text, "\n,"), text);
    for (char *c = m->origin.mpi_version; *c; c++)
        *c = *c == '\t' ? ' ' : *c;
}

/* Measures what reading over the network takes; called by both ranks of the pair. */
static pw_status measure_network(const pw_measure_options *o, double seconds, MPI_Comm pair, pw_model *m, pw_diag *diag)
{
    pw_probe_list list = {.n = 0};
    pw_measure_network network;
    int rank;
    pw_status status = pw_measure_network_begin(&network, pair, &list);

    if (status != PW_OK)
        return pw_diag_set(diag, status, "network: %s",
                           status == PW_ERR_NOT_FOUND ? "there is none between the ranks" : pw_status_text(status));
    MPI_Comm_rank(pair, &rank);
    pw_probe_sample(&list, &(pw_sampling){.title = rank == 0 && !o->quiet ? "network" : NULL,
                                          .seconds = seconds,
                                          .spread = o->spread,
                                          .agree = pw_measure_agree,
                                          .arg = &pair});
    if (rank == 0)
        status = pw_measure_network_facts(&network, &list, o->spread, m, diag);
    describe_mpi(m);
    pw_measure_network_end(&network, &list);
    return status;
}

/* Returns whether both ranks of the pair go on: if one has failed, the other one must not wait for it. */
static bool all_go_on(MPI_Comm pair, pw_status status)
{
    int mine = status == PW_OK, all = 0;

    if (pair != MPI_COMM_NULL)
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, pair);
    return all;
}

static int measure(const pw_measure_options *o, int rank, int ranks)
{
    bool network = o->network && ranks > 1 && pw_env_choice(PW_ENV_NET) != 0;
    pw_model m = {.facts = PW_FACTS_DEFAULT};
    pw_diag diag = {0};
    pw_status status = PW_OK;
    MPI_Comm pair;
    bool ok;

    if (rank == 0)
        status = pw_measure_machine(o, network ? o->seconds / 2 : o->seconds, &m, &diag);
    wait_for_all();
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &pair);
    if (network && all_go_on(pair, status))
        status = measure_network(o, o->seconds / 2, pair, &m, &diag);
    wait_for_all();
    if (status != PW_OK)
        pw_command_error("measure", "%s", diag.text);
    ok = status == PW_OK && (rank != 0 || pw_measure_save(o, &m, mpi_name()));
    if (pair != MPI_COMM_NULL)
        MPI_Comm_free(&pair);
    return ok ? 0 : 1;
}

/* Kernels must be compiled at once, on both ranks, whatever the user has set for programs. */
static void set_environment(void)
{
    setenv("PACKWRIGHT_DISABLE", "0", 1);
    setenv("PACKWRIGHT_STATS", "0", 1);
    setenv("PACKWRIGHT_ALL_RANKS", "1", 1);
    if (!pw_env_is_set(PW_ENV_JIT))
        setenv("PACKWRIGHT_JIT", "sync", 1);
    pw_env_reload();
}

/* For errors of the command line, which `packwright measure` has found before it became this program. */
static const pw_command command = {.name = "measure", .help = ""};
/* Whether there is something to measure, and a file to write. Reports what is missing. */
static bool can_begin(const pw_measure_options *o)
{
    if (o->gpu || pw_env_choice(PW_ENV_NET) != 0)
        return pw_measure_can_save(o, mpi_name());
    return pw_command_error("measure", "network: PACKWRIGHT_NET names none");
}

static int measure_model(const pw_measure_options *o)
{
    int rank, ranks, begin;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    begin = rank != 0 || can_begin(o);
    MPI_Bcast(&begin, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return begin ? measure(o, rank, ranks) : 1;
}

static int measure_exchange(void)
{
    int status = pw_measure_exchange();

    wait_for_all();
    return status;
}

int main(int argc, char **argv)
{
    bool exchange = argc > 1 && !strcmp(argv[1], PW_EXCHANGE_WORD);
    pw_measure_options o;
    int status = exchange ? -1 : pw_measure_options_parse(&command, argc, argv, &o);

    if (status >= 0)
        return status;
    set_environment();
    MPI_Init(&argc, &argv);
    status = exchange ? measure_exchange() : measure_model(&o);
    pw_gpu_close();
    MPI_Finalize();
    return status;
}
