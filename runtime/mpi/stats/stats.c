/*
 * From counts in layouts, entries and decisions to a report: of this process, or gathered from all ranks at rank 0,
 * where MPI still works. Without memory a report is shorter; the program goes on.
 */
#include "runtime/mpi/stats/stats.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/events.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/replace.h"
#include "base/report_endings.h"
#include "frontend/ddt/ddt.h"
#include "runtime/engine/gpu/layout.h"
#include "runtime/mpi/stats/built.h"
#include "runtime/mpi/stats/report.h"
#include "runtime/mpi/stats/show.h"
#include "runtime/mpi/stats/trace.h"
#include "runtime/mpi/stats/unfreed.h"
#include "runtime/mpi/types/origin.h"
#include "runtime/mpi/types/registry.h"

#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATS_OFF, STATS_ALL = 2 }; /* words of PACKWRIGHT_STATS */

/* When this process began to use MPI. Set once, at start. */
static int64_t began;

typedef struct record_list {
    pw_stats_record *at;
    int64_t n, room;
    FILE *texts; /* the types of the records, one after the other, each with its zero */
} record_list;

/* ---- this process ------------------------------------------------------------------------------------------------ */

static void take_kernel(pw_stats_record *r, const pw_kernel *kernel)
{
    int64_t ns = kernel ? kernel->ready_ns : 0;

    if (!kernel)
        return;
    r->failed = kernel->state == PW_KERNEL_FAILED;
    if (kernel->origin == PW_ORIGIN_COMPILED) {
        r->compiled = 1;
        r->compile_ns = ns;
    } else if (kernel->origin == PW_ORIGIN_DISK) {
        r->loaded = 1;
        r->load_ns = ns;
    }
}

static void take_record(void *arg, const pw_entry *entry)
{
    record_list *list = arg;
    const pw_layout *layout = entry->layout;
    pw_stats_record *r = pw_grow(list->at, list->n, &list->room, sizeof *r);
    char *text;

    if (!r)
        return; /* without memory the report is shorter */
    list->at = r;
    r += list->n++;
    memset(r, 0, sizeof *r);
    r->hash = layout->hash;
    r->size = layout->size;
    r->packs = layout->stats.packs;
    r->unpacks = layout->stats.unpacks;
    r->streamed = layout->stats.streamed;
    r->shared = layout->stats.shared;
    r->from_gpu = layout->stats.from_gpu;
    r->bytes = layout->stats.bytes;
    r->nanoseconds = layout->stats.nanoseconds;
    r->tier1_calls = layout->stats.tier1_calls;
    for (int id = 0; id < PW_STRATEGY_COUNT; id++) {
        for (int of = 0; of < PW_TRANSFERS; of++) {
            r->used[of][id][PW_SEND] = entry->choices.used[of][id][PW_SEND];
            r->used[of][id][PW_RECV] = entry->choices.used[of][id][PW_RECV];
        }
    }
    r->moved = entry->choices.moved;
    r->ranks = 1;
    take_kernel(r, layout->kernel);
    r->gpu_compiled = pw_gpu_layout_origin(layout) == PW_ORIGIN_COMPILED;
    r->gpu_loaded = pw_gpu_layout_origin(layout) == PW_ORIGIN_DISK;
    text = pw_ddt_print(layout->type);
    fprintf(list->texts, "%s%c", text ? text : "?", 0);
    free(text);
    pw_built_take(r);
}

typedef struct choice_list {
    pw_stats_choice *at;
    int64_t n, room;
} choice_list;

static void take_choice(void *arg, const pw_site *d)
{
    choice_list *list = arg;
    pw_stats_choice *at = pw_grow(list->at, list->n, &list->room, sizeof *at);

    if (!at)
        return; /* without memory the report is shorter */
    list->at = at;
    list->n += pw_stats_choice_take(d, &list->at[list->n]);
}

/* ---- this rank's sums ---------------------------------------------------------------------------------------------
 */

/* Sums up the records and choices of this rank. */
static void sum_up(const record_list *list, const choice_list *choices, pw_stats_rank *self)
{
    for (int64_t i = 0; i < list->n; i++) {
        pw_stats_record *r = &list->at[i];

        r->least = r->most = r->nanoseconds;
        r->slowest = self->rank;
        self->calls += r->packs + r->unpacks;
        self->nanoseconds += r->nanoseconds;
        self->bytes += r->bytes;
        self->messages += pw_stats_transfers(r, PW_TRANSFER_MESSAGE);
        self->accesses += pw_stats_accesses(r);
    }
    for (int64_t i = 0; i < choices->n; i++)
        pw_stats_saved_add(&self->saved, choices->at[i].saved);
}

/* What this process has to report. */
typedef struct lists {
    record_list records;
    char *texts; /* those of the records */
    int64_t ntexts;
    choice_list choices;
    pw_stats_rank *ranks; /* NULL: out of memory */
    pw_stats_record *unfreed;
    int64_t nranks, nunfreed;
} lists;

static lists take_lists(int rank)
{
    lists all = {.ranks = calloc(1, sizeof *all.ranks)};
    size_t bytes = 0;

    all.records.texts = open_memstream(&all.texts, &bytes);
    if (all.records.texts) {
        pw_registry_each(take_record, &all.records);
        if (fclose(all.records.texts) != 0)
            all.records.n = 0;
    }
    all.ntexts = (int64_t)bytes;
    all.nranks = all.ranks != NULL;
    all.unfreed = pw_unfreed_take(&all.nunfreed);
    pw_site_each(take_choice, &all.choices);
    if (all.ranks) {
        all.ranks->rank = rank;
        all.ranks->noted = pw_note_total();
        all.ranks->elapsed = pw_clock_ns() - began;
        gethostname(all.ranks->host, sizeof all.ranks->host - 1);
        sum_up(&all.records, &all.choices, all.ranks);
    }
    return all;
}

static void free_lists(lists *all)
{
    free(all->records.at);
    free(all->texts);
    free(all->choices.at);
    free(all->ranks);
    free(all->unfreed);
}

/* ---- the report -------------------------------------------------------------------------------------------------- */

/* Writes the data to a file, whole or not at all. */
static bool write_data(const char *path, const char *text, size_t size)
{
    pw_diag diag = {0};
    bool written = pw_replace_file(path, text, size, &diag) == PW_OK;

    if (!written)
        pw_log(PW_LOG_WARN, "no report: %s", diag.text);
    return written;
}

/* Has the table printed by the packwright command; where there is none, leaves the data for it. */
static void show(const char *text, size_t size, const char *path)
{
    bool all = pw_env_choice(PW_ENV_STATS) == STATS_ALL;
    char own[128], host[64] = "host";

    if (pw_show(text, size, all))
        return;
    if (!path) {
        gethostname(host, sizeof host - 1);
        snprintf(own, sizeof own, "packwright-%s-%ld.json", host, (long)getpid());
        path = write_data(own, text, size) ? own : NULL;
    }
    if (path)
        pw_log(PW_LOG_WARN, "no packwright command beside this library; see the statistics by: packwright report %s %s",
               path, all ? "--stats=all" : "--stats");
}

static void write_all(const pw_report *report, const char *path)
{
    size_t size = 0;
    char *text = pw_report_data(report, &size);
    bool written = text && path && write_data(path, text, size);

    if (text && pw_env_choice(PW_ENV_STATS) != STATS_OFF)
        show(text, size, written ? path : NULL);
    free(text);
    pw_event_leave(PW_EVENT_REPORTED);
}

/* Gives each record its text. */
static void find_texts(lists *all)
{
    const char *at = all->texts;

    for (int64_t i = 0; i < all->records.n; i++) {
        all->records.at[i].ddt = at;
        at += strlen(at) + 1;
    }
}

/* The files to write; NULL: none. In data, numbers are those of the C locale, whatever the program's is. */
static void report_lists(lists *all, const char *path, const char *trace)
{
    pw_report report = {.n = 0};
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), own = uselocale(c);

    find_texts(all);
    report.n = pw_stats_merge(all->records.at, all->records.n);
    report.nchoices = pw_stats_choice_merge(all->choices.at, all->choices.n);
    report.nranks = all->nranks;
    report.records = all->records.at;
    report.choices = all->choices.at;
    report.ranks = all->ranks;
    report.nunfreed = pw_unfreed_merge(all->unfreed, all->nunfreed);
    report.unfreed = all->unfreed;
    pw_report_complete(&report);
    if (pw_env_choice(PW_ENV_STATS) != STATS_OFF || path)
        write_all(&report, path);
    if (trace)
        pw_trace_write(&report, trace);
    uselocale(own);
    if (c)
        freelocale(c);
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
    pw_built_start();
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
    lists all = take_lists(0);
    const char *file = report_path(), *trace = pw_trace_is_on() ? pw_env_path(PW_ENV_TRACE) : NULL;
    char path[4096], traced[4096];

    if (file)
        file = own_name(path, sizeof path, file, (size_t)(strrchr(file, '.') - file), number);
    if (trace)
        trace = own_name(traced, sizeof traced, trace, strlen(trace), number);
    number++;
    report_lists(&all, file, trace);
    free_lists(&all);
}

void pw_stats_close(void)
{
    pw_built_close();
    pw_origin_close();
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

/* Makes room for the items of all ranks at rank 0, which keeps its own in front. Sets displs to where the items of each
 * rank begin. */
static bool make_room(void **data, size_t item_bytes, const int *counts, int *displs, int nranks, int64_t *total)
{
    void *grown;

    *total = 0;
    for (int i = 0; i < nranks; i++) {
        displs[i] = (int)*total;
        *total += counts[i];
        if (*total > INT_MAX)
            return false;
    }
    grown = realloc(*data, (size_t)(*total + 1) * item_bytes);
    if (grown)
        *data = grown;
    return grown != NULL;
}

/*
 * Gathers a list. Collective. On rank 0, the list of *n items at *data (malloc'ed, or NULL) grows to the lists of all
 * ranks, in the order of ranks; on other ranks it stays. Returns false on every rank if the list is too long for any,
 * or memory or MPI has failed; all lists are then as they were.
 */
static bool gather_list(void **data, int64_t *n, size_t item_bytes, MPI_Comm comm)
{
    int rank, nranks, mine = *n <= INT_MAX ? (int)*n : -1, ok;
    int64_t total = 0;
    int *counts, *displs;
    MPI_Datatype item;

    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &nranks);
    /* Only rank 0 needs the counts. If it lacks memory for them, all ranks find out before the data moves. */
    counts = rank == 0 ? calloc((size_t)nranks * 2, sizeof *counts) : NULL;
    displs = counts ? counts + nranks : NULL;
    PMPI_Type_contiguous((int)item_bytes, MPI_BYTE, &item);
    PMPI_Type_commit(&item);
    ok = (rank != 0 || counts) && mine >= 0;
    PMPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, comm);
    if (ok)
        PMPI_Gather(&mine, 1, MPI_INT, counts, 1, MPI_INT, 0, comm);
    if (ok && rank == 0)
        ok = make_room(data, item_bytes, counts, displs, nranks, &total);
    PMPI_Bcast(&ok, 1, MPI_INT, 0, comm);
    if (ok) {
        ok = PMPI_Gatherv(rank == 0 ? MPI_IN_PLACE : *data, mine, item, *data, counts, displs, item, 0, comm) ==
             MPI_SUCCESS;
        if (rank == 0 && ok)
            *n = total;
    }
    PMPI_Type_free(&item);
    free(counts);
    return ok;
}

/* Gathers the lists of all ranks. Collective. False: some list could not be gathered. */
static bool gather(lists *all, MPI_Comm comm)
{
    void *data = all->records.at;
    bool ok = gather_list(&data, &all->records.n, sizeof *all->records.at, comm);

    all->records.at = data;
    data = all->texts;
    ok = ok && gather_list(&data, &all->ntexts, 1, comm);
    all->texts = data;
    data = all->choices.at;
    ok = ok && gather_list(&data, &all->choices.n, sizeof *all->choices.at, comm);
    all->choices.at = data;
    data = all->ranks;
    ok = ok && gather_list(&data, &all->nranks, sizeof *all->ranks, comm);
    all->ranks = data;
    data = all->unfreed;
    ok = ok && gather_list(&data, &all->nunfreed, sizeof *all->unfreed, comm);
    all->unfreed = data;
    return ok;
}

void pw_stats_report_world(void)
{
    MPI_Comm comm;
    int rank, nranks;
    lists all;

    if (!open_world(&comm, &rank, &nranks))
        return;
    all = take_lists(rank);
    if (!gather(&all, comm))
        pw_log(PW_LOG_WARN, "the statistics of the ranks could not be gathered");
    else if (rank == 0)
        report_lists(&all, report_path(), pw_trace_is_on() ? pw_env_path(PW_ENV_TRACE) : NULL);
    PMPI_Comm_free(&comm);
    free_lists(&all);
}
