/*
 * From counts in layouts, entries and decisions to a report: of this process, or gathered from all ranks at rank 0,
 * where MPI still works. Without memory a report is shorter; the program goes on.
 */
#include "runtime/mpi/stats/stats.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/events.h"
#include "base/log.h"
#include "base/replace.h"
#include "base/report_endings.h"
#include "frontend/ddt/ddt.h"
#include "runtime/engine/gpu/layout.h"
#include "runtime/mpi/stats/report.h"
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

/* What is reported. The texts are the types of the records, one after the other, each with its zero. */
enum { RECORDS, TEXTS, CHOICES, RANKS, UNFREED, LISTS };

typedef struct lists {
    pw_stats_list of[LISTS];
    FILE *texts; /* writes them */
} lists;

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
    lists *all = arg;
    const pw_layout *layout = entry->layout;
    pw_stats_record *r = pw_stats_list_add(&all->of[RECORDS]);
    char *text;

    if (!r)
        return;
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
    fprintf(all->texts, "%s%c", text ? text : "?", 0);
    free(text);
    pw_built_take(r);
}

static void take_choice(void *arg, const pw_site *d)
{
    pw_stats_list *list = arg;
    pw_stats_choice *choice = pw_stats_list_add(list);

    if (choice && !pw_stats_choice_take(d, choice))
        list->n--;
}

/* Sums up the records and choices of this rank. */
static void sum_up(const lists *all, pw_stats_rank *self)
{
    pw_stats_record *records = all->of[RECORDS].at;
    const pw_stats_choice *choices = all->of[CHOICES].at;

    for (int64_t i = 0; i < all->of[RECORDS].n; i++) {
        pw_stats_record *r = &records[i];

        r->least = r->most = r->nanoseconds;
        r->slowest = self->rank;
        self->calls += r->packs + r->unpacks;
        self->nanoseconds += r->nanoseconds;
        self->bytes += r->bytes;
        self->messages += pw_stats_transfers(r, PW_TRANSFER_MESSAGE);
        self->accesses += pw_stats_accesses(r);
    }
    for (int64_t i = 0; i < all->of[CHOICES].n; i++)
        pw_stats_saved_add(&self->saved, choices[i].saved);
}

static void take_rank(lists *all, int rank)
{
    pw_stats_rank *self = pw_stats_list_add(&all->of[RANKS]);

    if (!self)
        return;
    self->rank = rank;
    self->noted = pw_note_total();
    self->elapsed = pw_clock_ns() - began;
    gethostname(self->host, sizeof self->host - 1);
    sum_up(all, self);
}

/* Returns what this process has to report. */
static lists take_lists(int rank)
{
    lists all = {.of = {[RECORDS].bytes = sizeof(pw_stats_record),
                        [TEXTS].bytes = 1,
                        [CHOICES].bytes = sizeof(pw_stats_choice),
                        [RANKS].bytes = sizeof(pw_stats_rank),
                        [UNFREED].bytes = sizeof(pw_stats_record)}};
    char *texts = NULL;
    size_t bytes = 0;

    all.texts = open_memstream(&texts, &bytes);
    if (all.texts) {
        pw_registry_each(take_record, &all);
        if (fclose(all.texts) != 0)
            all.of[RECORDS].n = 0;
    }
    all.of[TEXTS].at = texts;
    all.of[TEXTS].n = (int64_t)bytes;
    pw_unfreed_take(&all.of[UNFREED]);
    pw_site_each(take_choice, &all.of[CHOICES]);
    take_rank(&all, rank);
    return all;
}

static void free_lists(lists *all)
{
    for (int i = 0; i < LISTS; i++)
        free(all->of[i].at);
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
    pw_stats_record *records = all->of[RECORDS].at;
    const char *at = all->of[TEXTS].at;

    for (int64_t i = 0; i < all->of[RECORDS].n; i++) {
        records[i].ddt = at;
        at += strlen(at) + 1;
    }
}

/* The files to write; NULL: none. In data, numbers are those of the C locale, whatever the program's is. */
static void report_lists(lists *all, const char *path, const char *trace)
{
    pw_report report;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), own = uselocale(c);

    find_texts(all);
    pw_stats_merge(&all->of[RECORDS]);
    pw_stats_choice_merge(&all->of[CHOICES]);
    pw_unfreed_merge(&all->of[UNFREED]);
    report = (pw_report){.records = all->of[RECORDS].at,
                         .choices = all->of[CHOICES].at,
                         .ranks = all->of[RANKS].at,
                         .unfreed = all->of[UNFREED].at,
                         .n = all->of[RECORDS].n,
                         .nchoices = all->of[CHOICES].n,
                         .nranks = all->of[RANKS].n,
                         .nunfreed = all->of[UNFREED].n};
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
static bool make_room(pw_stats_list *l, const int *counts, int *displs, int nranks, int64_t *total)
{
    void *grown;

    *total = 0;
    for (int i = 0; i < nranks; i++) {
        displs[i] = (int)*total;
        *total += counts[i];
        if (*total > INT_MAX)
            return false;
    }
    grown = realloc(l->at, (size_t)(*total + 1) * l->bytes);
    if (grown)
        l->at = grown;
    return grown != NULL;
}

/*
 * Gathers a list. Collective. On rank 0 the list grows to the lists of all ranks, in the order of ranks; on other ranks
 * it stays. Returns false on every rank if the list is too long for any, or memory or MPI has failed; all lists are
 * then as they were.
 */
static bool gather_list(pw_stats_list *l, MPI_Comm comm)
{
    int rank, nranks, mine = l->n <= INT_MAX ? (int)l->n : -1, ok;
    int64_t total = 0;
    int *counts, *displs;
    MPI_Datatype item;

    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &nranks);
    /* Only rank 0 needs the counts. If it lacks memory for them, all ranks find out before the data moves. */
    counts = rank == 0 ? calloc((size_t)nranks * 2, sizeof *counts) : NULL;
    displs = counts ? counts + nranks : NULL;
    PMPI_Type_contiguous((int)l->bytes, MPI_BYTE, &item);
    PMPI_Type_commit(&item);
    ok = (rank != 0 || counts) && mine >= 0;
    PMPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, comm);
    if (ok)
        PMPI_Gather(&mine, 1, MPI_INT, counts, 1, MPI_INT, 0, comm);
    if (ok && rank == 0)
        ok = make_room(l, counts, displs, nranks, &total);
    PMPI_Bcast(&ok, 1, MPI_INT, 0, comm);
    if (ok) {
        ok = PMPI_Gatherv(rank == 0 ? MPI_IN_PLACE : l->at, mine, item, l->at, counts, displs, item, 0, comm) ==
             MPI_SUCCESS;
        if (rank == 0 && ok)
            l->n = total;
    }
    PMPI_Type_free(&item);
    free(counts);
    return ok;
}

/* Gathers the lists of all ranks. Collective. False: some list could not be gathered. */
static bool gather(lists *all, MPI_Comm comm)
{
    bool ok = true;

    for (int i = 0; i < LISTS && ok; i++)
        ok = gather_list(&all->of[i], comm);
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
