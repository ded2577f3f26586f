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

#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATS_OFF, STATS_ALL = 2 }; /* words of PACKWRIGHT_STATS */

/* When this process began to use MPI. Set once, at start. */
static int64_t began;

/* ---- this process ------------------------------------------------------------------------------------------------ */

/* A text that is malloc'ed. */
typedef struct text {
    char *at;
    size_t n;
} text;

/* Returns what this process has to report; behind that of other ranks, with a comma. Nothing without memory. Numbers
 * are those of the C locale, whatever the program's is. */
static text take_process(int rank)
{
    text t = {NULL, 0};
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), own = uselocale(c);
    FILE *out = open_memstream(&t.at, &t.n);

    if (out && rank > 0)
        fputc(',', out);
    if (out)
        pw_report_put_process(out, rank, pw_clock_ns() - began);
    if (out && fclose(out) != 0)
        t.n = 0;
    uselocale(own);
    if (c)
        freelocale(c);
    return t;
}

/* Returns the data of all processes, of which these are the texts. */
static text data_of(const text *processes)
{
    text t = {NULL, 0};
    FILE *out = open_memstream(&t.at, &t.n);

    if (!out)
        return t;
    fputs("{\"run\": ", out);
    pw_report_put_run(out);
    fputs(", \"processes\": [\n", out);
    fwrite(processes->at, 1, processes->n, out);
    fputs("]}\n", out);
    if (fclose(out) != 0)
        t.n = 0;
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

/* Where there is no command, leaves the data for it. `path`: the file of the report; NULL: none. `is_there`: it has the
 * data already. */
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
static void report(const text *processes, const char *path, const char *trace)
{
    const char *shown = pw_env_choice(PW_ENV_STATS) == STATS_OFF   ? NULL
                        : pw_env_choice(PW_ENV_STATS) == STATS_ALL ? "--stats=all"
                                                                   : "--stats";
    pw_diag diag = {0};
    text data = data_of(processes);
    bool is_there = data.n > 0 && path && pw_show(data.at, data.n, "--data", path);
    const char *missed = data.n > 0 && path && !is_there ? "--data" : NULL;

    if (data.n > 0 && trace && !pw_show(data.at, data.n, "--trace", trace) && pw_replace_check(trace, &diag) == PW_OK)
        missed = "--trace";
    if (data.n > 0 && shown && !pw_show(data.at, data.n, shown, NULL))
        missed = shown;
    if (missed)
        leave_data(&data, path, is_there, missed);
    free(data.at);
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
    text own = take_process(0);
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

/* Finds where the texts of all ranks begin behind each other, and makes room for them in that of rank 0. */
static bool make_room(text *t, const int *lengths, int *displs, int nranks)
{
    int64_t total = 0;
    char *grown;

    for (int i = 0; i < nranks; i++) {
        displs[i] = (int)total;
        total += lengths[i];
        if (total > INT_MAX)
            return false;
    }
    grown = realloc(t->at, (size_t)total + 1);
    if (!grown)
        return false;
    *t = (text){grown, (size_t)total};
    return true;
}

/* Gathers the texts of all ranks at rank 0. Collective. Returns false on every rank if they are too long, or memory or
 * MPI has failed. */
static bool gather(text *t, MPI_Comm comm, int rank, int nranks)
{
    int mine = t->n <= INT_MAX ? (int)t->n : 0, ok;
    /* Only rank 0 needs the lengths. If it lacks memory for them, all ranks find out before the data move. */
    int *lengths = rank == 0 ? calloc((size_t)nranks * 2, sizeof *lengths) : NULL;

    ok = rank != 0 || lengths;
    PMPI_Bcast(&ok, 1, MPI_INT, 0, comm);
    if (ok)
        PMPI_Gather(&mine, 1, MPI_INT, lengths, 1, MPI_INT, 0, comm);
    if (ok && rank == 0)
        ok = make_room(t, lengths, lengths + nranks, nranks);
    PMPI_Bcast(&ok, 1, MPI_INT, 0, comm);
    if (ok)
        ok = PMPI_Gatherv(rank == 0 ? MPI_IN_PLACE : t->at, mine, MPI_BYTE, t->at, lengths,
                          lengths ? lengths + nranks : NULL, MPI_BYTE, 0, comm) == MPI_SUCCESS;
    free(lengths);
    return ok;
}

/* Returns on all ranks at about the same time, when what they have sent is acknowledged. MPICH 3.4 to 4.1 over UCX may
 * wait forever in MPI_Finalize otherwise. */
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
    text all;

    if (!open_world(&comm, &rank, &nranks))
        return;
    all = take_process(rank);
    if (!gather(&all, comm, rank, nranks))
        pw_log(PW_LOG_WARN, "the statistics of the ranks could not be gathered");
    else if (rank == 0)
        report(&all, report_path(), pw_trace_is_on() ? pw_env_path(PW_ENV_TRACE) : NULL);
    leave_together(comm);
    PMPI_Comm_free(&comm);
    free(all.at);
}
