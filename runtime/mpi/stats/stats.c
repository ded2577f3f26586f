#include "runtime/mpi/stats/stats.h"

#include "base/log.h"
#include "runtime/engine/gpu/layout.h"
#include "runtime/mpi/stats/gather.h"
#include "runtime/mpi/stats/record.h"
#include "runtime/mpi/strategy/strategy.h"
#include "runtime/mpi/types/registry.h"

#include <ctype.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct record_list {
    pw_stats_record *at;
    int64_t n, room;
} record_list;

/* ---- this process ------------------------------------------------------------------------------------------------ */

/* Writes the canonical type on one line. Shortens long lists, makes runs of blanks one blank, and ends a text that is
 * too long with dots. */
static void describe(const pw_type *type, char out[PW_STATS_TEXT])
{
    char *text = pw_print(type, 4);
    int n = 0;

    for (const char *c = text ? text : "?"; *c; c++) {
        bool blank = isspace((unsigned char)*c);

        if (n == PW_STATS_TEXT - 5) {
            memcpy(out + n, " ...", 4);
            n += 4;
            break;
        }
        if (!blank || (n > 0 && out[n - 1] != ' '))
            out[n++] = blank ? ' ' : *c;
    }
    while (n > 0 && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
    free(text);
}

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
    pw_stats_record *r;

    if (list->n == list->room) {
        int64_t room = list->room ? 2 * list->room : 64;
        pw_stats_record *grown = realloc(list->at, (size_t)room * sizeof *grown);

        if (!grown)
            return; /* without memory the report is shorter */
        list->at = grown;
        list->room = room;
    }
    r = &list->at[list->n++];
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
        r->used[id][PW_SEND] = entry->choices.used[id][PW_SEND];
        r->used[id][PW_RECV] = entry->choices.used[id][PW_RECV];
    }
    r->ranks = 1;
    take_kernel(r, layout->kernel);
    r->gpu_compiled = pw_gpu_layout_origin(layout) == PW_ORIGIN_COMPILED;
    r->gpu_loaded = pw_gpu_layout_origin(layout) == PW_ORIGIN_DISK;
    describe(layout->type, r->text);
}

typedef struct choice_list {
    pw_stats_choice *at;
    int64_t n, room;
} choice_list;

static void take_choice(void *arg, const pw_decision *d)
{
    choice_list *list = arg;

    if (list->n == list->room) {
        int64_t room = list->room ? 2 * list->room : 64;
        pw_stats_choice *grown = realloc(list->at, (size_t)room * sizeof *grown);

        if (!grown)
            return; /* without memory the report is shorter */
        list->at = grown;
        list->room = room;
    }
    list->n += pw_stats_choice_take(d, &list->at[list->n]);
}

static void print(record_list *list, choice_list *choices, const pw_note_totals *noted, int nranks)
{
    int64_t n = pw_stats_merge(list->at, list->n);
    int64_t nchoices = pw_stats_choice_merge(choices->at, choices->n);
    char *text = pw_stats_text(list->at, n, choices->at, nchoices, noted, nranks);

    for (size_t left = text ? strlen(text) : 0, done = 0; left > 0;) {
        ssize_t written = write(STDERR_FILENO, text + done, left);

        if (written <= 0)
            break;
        done += (size_t)written;
        left -= (size_t)written;
    }
    free(text);
}

void pw_stats_report_process(void)
{
    record_list list = {NULL, 0, 0};
    choice_list choices = {NULL, 0, 0};
    pw_note_totals noted = pw_note_total();

    pw_registry_each(take_record, &list);
    pw_decision_each(take_choice, &choices);
    print(&list, &choices, &noted, 1);
    free(list.at);
    free(choices.at);
}

/* ---- all ranks --------------------------------------------------------------------------------------------------- */

/* Gathers the lists of all ranks. Collective. False: some list could not be gathered. */
static bool gather(record_list *list, choice_list *choices, MPI_Comm comm)
{
    void *data = list->at;
    bool ok = pw_gather(&data, &list->n, sizeof *list->at, comm);

    list->at = data;
    data = choices->at;
    ok = ok && pw_gather(&data, &choices->n, sizeof *choices->at, comm);
    choices->at = data;
    return ok;
}

/* Sums the totals of all ranks on rank 0. Collective. */
static bool gather_noted(pw_note_totals *sum, MPI_Comm comm)
{
    pw_note_totals *all = malloc(sizeof *all);
    void *data = all;
    int64_t n = all ? 1 : 0;
    bool ok;

    if (all)
        *all = pw_note_total();
    ok = pw_gather(&data, &n, sizeof *all, comm);
    all = data;
    for (int64_t i = 0; i < n; i++) {
        sum->types += all[i].types;
        sum->uses += all[i].uses;
        sum->bytes += all[i].bytes;
    }
    free(all);
    return ok;
}

void pw_stats_report_world(void)
{
    record_list list = {NULL, 0, 0};
    choice_list choices = {NULL, 0, 0};
    pw_note_totals noted = {0};
    MPI_Comm comm;
    int rank, nranks;

    if (!pw_gather_open(&comm, &rank, &nranks))
        return;
    pw_registry_each(take_record, &list);
    pw_decision_each(take_choice, &choices);
    if (!gather(&list, &choices, comm) || !gather_noted(&noted, comm))
        pw_log(PW_LOG_WARN, "the statistics of the ranks could not be gathered");
    else if (rank == 0)
        print(&list, &choices, &noted, nranks);
    PMPI_Comm_free(&comm);
    free(list.at);
    free(choices.at);
}
