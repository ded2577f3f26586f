/*
 * The data of this process, or gathered from all ranks at rank 0, where MPI still works, and what is made of them by
 * the packwright command. Without memory a report is shorter; the program goes on.
 */
#include "runtime/mpi/stats/stats.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/events.h"
#include "base/log.h"
#include "base/replace.h"
#include "base/report_endings.h"
#include "runtime/mpi/mpi_compat.h"
#include "runtime/mpi/stats/report.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATS_OFF, STATS_ALL = 2 }; /* words of PACKWRIGHT_STATS */

/* When this process began to use MPI. Set once, at start. */
static int64_t began;

/* ---- the data ---------------------------------------------------------------------------------------------------- */

/* A text that is malloc'ed. */
typedef struct text {
    char *at;
    size_t n;
} text;

/* Appends the text of a rank. Without memory it is lost, and the rank goes on. */
static void receive_text(FILE *out, int rank, MPI_Comm comm)
{
    MPI_Status status;
    char *taken;
    int n;

    if (PMPI_Probe(rank, 0, comm, &status) != MPI_SUCCESS || PMPI_Get_count(&status, MPI_BYTE, &n) != MPI_SUCCESS)
        return;
    taken = malloc((size_t)n + 1);
    if (PMPI_Recv(taken, taken ? n : 0, MPI_BYTE, rank, 0, comm, &status) == MPI_SUCCESS && taken && out)
        fwrite(taken, 1, (size_t)n, out);
    free(taken);
}

/* Returns what this process has to report: on rank 0 as the data of all `nranks` processes, of which the others send
 * theirs. Nothing without memory. Numbers are those of the C locale, whatever the program's is. */
static text take_text(int rank, MPI_Comm comm, int nranks)
{
    text t = {NULL, 0};
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), own = uselocale(c);
    FILE *out = open_memstream(&t.at, &t.n);

    if (out && rank == 0)
        pw_report_put_run(out);
    if (out)
        pw_report_put_process(out, rank, pw_clock_ns() - began);
    for (int i = 1; i < nranks; i++)
        receive_text(out, i, comm);
    if (out && rank == 0)
        fputs("]}\n", out);
    if (out && fclose(out) != 0)
        t.n = 0;
    uselocale(own);
    if (c)
        freelocale(c);
    return t;
}

/* ---- the report -------------------------------------------------------------------------------------------------- */

/* Writes the data to a file, whole or not at all. */
static bool write_data(const char *path, const text *data)
{
    pw_diag diag = {0};
    bool written = pw_replace_file(path, data->at, data->n, &diag) == PW_OK;

    if (!written)
        pw_log(PW_LOG_WARN, "no report: %s", diag.text);
    return written;
}

/* Where there is no command, leaves the data for it. `path`: the report; NULL: none. `is_there`: it has the data. */
static void leave_data(const text *data, const char *path, bool is_there, const char *option)
{
    char own[128], host[64] = "host";

    if (!path) {
        gethostname(host, sizeof host - 1);
        snprintf(own, sizeof own, "packwright-%s-%ld.json", host, (long)getpid());
    }
    if (is_there || write_data(path ? path : own, data))
        pw_log(PW_LOG_WARN, "no packwright command beside this library; see the statistics by: packwright report %s %s",
               path ? path : own, option);
}

/* The files to write; NULL: none. */
static void report(const text *data, const char *path, const char *trace)
{
    const char *shown = pw_env_choice(PW_ENV_STATS) == STATS_OFF   ? NULL
                        : pw_env_choice(PW_ENV_STATS) == STATS_ALL ? "--stats=all"
                                                                   : "--stats";
    pw_diag diag = {0};
    bool is_there = data->n > 0 && path && pw_show(data->at, data->n, "--data", path);
    const char *missed = data->n > 0 && path && !is_there ? "--data" : NULL;

    if (data->n > 0 && trace && !pw_show(data->at, data->n, "--trace", trace) &&
        pw_replace_check(trace, &diag) == PW_OK)
        missed = "--trace";
    if (data->n > 0 && shown && !pw_show(data->at, data->n, shown, NULL))
        missed = shown;
    if (missed)
        leave_data(data, path, is_there, missed);
    if (path || shown)
        pw_event_leave(PW_EVENT_REPORTED);
}

/* Returns the file of the report; NULL: none is asked for, or it has a name that pw_stats_start has refused. */
static const char *report_path(void)
{
    const char *path = pw_env_path(PW_ENV_REPORT);

    return pw_report_ending_of(path) == PW_REPORT_JSON ? path : NULL;
}

void pw_stats_start(void)
{
    const char *path = pw_env_string(PW_ENV_REPORT);

    began = pw_clock_ns();
    if (*path && pw_report_ending_of(path) != PW_REPORT_JSON)
        pw_log_for_node("PACKWRIGHT_REPORT=%s: the name must end with .json; no report will be written (a page: "
                        "packwright run --report=FILE.html)",
                        path);
}

void pw_stats_check_files(void)
{
    static const pw_env_id files[] = {PW_ENV_REPORT, PW_ENV_TRACE};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        pw_diag diag = {0};

        if (*pw_env_string(files[i]) && pw_replace_check(pw_env_path(files[i]), &diag) != PW_OK)
            pw_log(PW_LOG_WARN, "%s: %s; mend it before the run ends", pw_env_describe(files[i])->name, diag.text);
    }
}

/* Returns the name of a file for this process alone; the process's place in the name is behind `stem` bytes of it. */
static const char *own_name(char *out, size_t size, const char *file, size_t stem, int number)
{
    char host[64] = "host";

    gethostname(host, sizeof host - 1);
    snprintf(out, size, "%.*s.%s-%ld-%d%s", (int)stem, file, host, (long)getpid(), number, file + stem);
    return out;
}

void pw_stats_report_process(void)
{
    static int number;
    text own = take_text(0, MPI_COMM_NULL, 1);
    const char *file = report_path(), *trace = pw_trace_is_on() ? pw_env_path(PW_ENV_TRACE) : NULL;
    char path[4096], traced[4096];

    if (file)
        file = own_name(path, sizeof path, file, (size_t)(strrchr(file, '.') - file), number);
    if (trace)
        trace = own_name(traced, sizeof traced, trace, strlen(trace), number);
    number++;
    report(&own, file, trace);
    free(own.at);
}

bool pw_trace_is_on(void)
{
    return *pw_env_string(PW_ENV_TRACE) != '\0';
}

/* ---- all ranks --------------------------------------------------------------------------------------------------- */

/* Makes a communicator of the whole world for this library's own messages. Collective. False: MPI has failed. */
static bool open_world(MPI_Comm *comm, int *rank, int *nranks)
{
    /* MPI_Comm_split, unlike MPI_Comm_dup, copies no attributes, so none of the application's callbacks run. */
    PMPI_Comm_rank(MPI_COMM_WORLD, rank);
    if (PMPI_Comm_split(MPI_COMM_WORLD, 0, *rank, comm) != MPI_SUCCESS)
        return false;
    PMPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
    PMPI_Comm_size(*comm, nranks);
    return true;
}

/* Returns on all ranks at about the same time, when what they have sent is acknowledged. Otherwise MPICH 3.4 to 4.1
 * over UCX mostly waits forever in MPI_Finalize if ranks are on several nodes. */
static void leave_together(MPI_Comm comm)
{
    enum { MOMENT_NS = 50 * 1000 * 1000 };
    int64_t end;
    int any;

    PMPI_Barrier(comm);
    end = pw_clock_ns() + MOMENT_NS;
    while (pw_clock_ns() < end)
        PMPI_Iprobe(MPI_ANY_SOURCE, 0, comm, &any, MPI_STATUS_IGNORE); /* makes progress */
}

void pw_stats_report_world(void)
{
    MPI_Comm comm;
    int rank, nranks;
    text t;

    if (!open_world(&comm, &rank, &nranks))
        return;
    t = take_text(rank, comm, rank == 0 ? nranks : 0);
    if (rank == 0)
        report(&t, report_path(), pw_trace_is_on() ? pw_env_path(PW_ENV_TRACE) : NULL);
    else
        PMPI_Send(t.at, (int)t.n, MPI_BYTE, 0, 0, comm);
    leave_together(comm);
    PMPI_Comm_free(&comm);
    free(t.at);
}
