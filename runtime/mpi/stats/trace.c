/*
 * Purpose: PACKWRIGHT_TRACE, every committed type in the datatype language. Data: `trace`, items by canonical hash,
 * each with a reference to its layout. Invariant: the file is replaced whole, by rank 0 alone.
 */
#include "runtime/mpi/stats/trace.h"

#include "base/env.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/replace.h"
#include "frontend/ddt/ddt.h"
#include "jit-cache/hash_map.h"
#include "runtime/engine/layout/trace_record.h"
#include "runtime/mpi/stats/gather.h"
#include "runtime/mpi/types/registry.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The most types that are kept for one process. This bounds the memory of programs that make ever new types. */
enum { MOST_TYPES = 1 << 16 };

typedef struct item {
    pw_layout *layout; /* with a reference, so that the counts outlive the type */
    int64_t commits, sends, receives;
    int64_t place; /* its place in trace.items */
} item;

/* The singleton. Its lock is taken after the registry's, and before that of the layout engine. */
static struct {
    pthread_mutex_t lock;
    pw_hash_map by_hash; /* maps canonical hashes to items */
    item **items;
    int64_t n, room;
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool pw_trace_is_on(void)
{
    return *pw_env_string(PW_ENV_TRACE) != '\0';
}

/* ---- this process ------------------------------------------------------------------------------------- */

/* Makes room for one more item. The caller holds the lock. */
static bool make_room(void)
{
    item **grown;

    if (trace.n == MOST_TYPES) {
        pw_warn_once("the trace has %d types; further ones are left out", MOST_TYPES);
        return false;
    }
    grown = pw_grow(trace.items, trace.n, &trace.room, sizeof *grown);
    if (grown)
        trace.items = grown;
    return grown != NULL;
}

/* Adds an item. The caller holds the lock. NULL: no memory, or too many types. */
static item *add_item(pw_layout *layout)
{
    item *it = make_room() ? calloc(1, sizeof *it) : NULL;

    if (!it || pw_hash_map_put(&trace.by_hash, layout->hash, it) != PW_OK) {
        free(it);
        return NULL;
    }
    it->layout = pw_layout_ref(layout);
    it->place = trace.n;
    trace.items[trace.n++] = it;
    return it;
}

/* Counts a commit. The first one takes a reference to the layout. */
static void count_commit(pw_layout *layout, MPI_Datatype type)
{
    item *it;

    (void)type;
    pthread_mutex_lock(&trace.lock);
    it = pw_hash_map_get(&trace.by_hash, layout->hash);
    if (!it)
        it = add_item(layout);
    if (it)
        it->commits++;
    pthread_mutex_unlock(&trace.lock);
}

/* Adds the sends and receives of an entry to those of its item. */
static void add_transfers(const pw_entry *entry, int64_t *sends, int64_t *receives)
{
    for (int id = 0; id < PW_STRATEGY_COUNT; id++) {
        *sends += entry->choices.used[PW_TRANSFER_MESSAGE][id][PW_SEND];
        *receives += entry->choices.used[PW_TRANSFER_MESSAGE][id][PW_RECV];
    }
}

/* Keeps the counts of an entry that is about to be freed. */
static void keep_transfers(const pw_entry *entry)
{
    item *it;

    pthread_mutex_lock(&trace.lock);
    it = pw_hash_map_get(&trace.by_hash, entry->layout->hash);
    if (it)
        add_transfers(entry, &it->sends, &it->receives);
    pthread_mutex_unlock(&trace.lock);
}

void pw_trace_start(void)
{
    static pw_registry_observer observer = {.learned = count_commit, .dies = keep_transfers};

    if (pw_trace_is_on())
        pw_registry_observe(&observer);
}

/* The records of this process, in the order of trace.items. NULL and 0: there are none, or no memory. */
typedef struct record_list {
    pw_trace_record *at;
    int64_t n;
} record_list;

static void take_live_entry(void *arg, const pw_entry *entry)
{
    record_list *list = arg;
    const item *it;

    pthread_mutex_lock(&trace.lock);
    it = pw_hash_map_get(&trace.by_hash, entry->layout->hash);
    if (it && it->place < list->n)
        add_transfers(entry, &list->at[it->place].sends, &list->at[it->place].receives);
    pthread_mutex_unlock(&trace.lock);
}

static record_list take_records(int rank)
{
    record_list list = {0};

    pthread_mutex_lock(&trace.lock);
    list.at = trace.n ? calloc((size_t)trace.n, sizeof *list.at) : NULL;
    for (; list.at && list.n < trace.n; list.n++) {
        const item *it = trace.items[list.n];

        list.at[list.n] = (pw_trace_record){.hash = it->layout->hash,
                                            .commits = it->commits,
                                            .packs = it->layout->stats.packs,
                                            .unpacks = it->layout->stats.unpacks,
                                            .bytes = it->layout->stats.bytes,
                                            .sends = it->sends,
                                            .receives = it->receives,
                                            .ranks = 1,
                                            .owner = rank};
    }
    pthread_mutex_unlock(&trace.lock);
    pw_registry_each(take_live_entry, &list);
    return list;
}

/* Returns the texts of the types that this rank must send, each as "<place in the list> <type>\0". NULL: out of memory.
 */
static char *own_texts(const pw_trace_record *records, int64_t n, int rank, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    bool ok = out != NULL;

    pthread_mutex_lock(&trace.lock);
    for (int64_t i = 0; i < n && ok; i++) {
        const item *it = records[i].owner == rank ? pw_hash_map_get(&trace.by_hash, records[i].hash) : NULL;
        char *type = it ? pw_ddt_print(it->layout->type) : NULL;

        if (type)
            fprintf(out, "%" PRId64 " %s%c", i, type, '\0');
        ok = !it || type;
        free(type);
    }
    pthread_mutex_unlock(&trace.lock);
    if (out && (fclose(out) != 0 || !ok)) {
        free(text);
        text = NULL;
    }
    return text;
}

/* ---- the file ----------------------------------------------------------------------------------------- */

/* types[i] belongs to records[i]; NULL where no rank has sent it. */
static char *file_text(const pw_trace_record *records, int64_t n, const char *const *types, int nranks, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);

    if (!out)
        return NULL;
    fprintf(out, "# Types that a run of %d rank%s committed. See packwright-trace(1).\n", nranks,
            nranks == 1 ? "" : "s");
    for (int64_t i = 0; i < n; i++) {
        char name[PW_TRACE_NAME];

        pw_trace_name(records[i].hash, name);
        if (types[i])
            pw_trace_print(out, &records[i], name, types[i]);
    }
    return fclose(out) == 0 ? text : (free(text), NULL);
}

/* Finds the types in the texts of the ranks, and writes the file. */
static void write_file(const char *path, const pw_trace_record *records, int64_t n, const char *sent, int64_t sent_size,
                       int nranks)
{
    const char **types = calloc((size_t)n + 1, sizeof *types);
    pw_diag diag = {.status = PW_ERR_NOMEM, .text = "out of memory"};
    size_t size = 0;
    char *text = NULL;

    for (const char *at = sent; types && at < sent + sent_size; at += strlen(at) + 1) {
        char *type;
        long long i = strtoll(at, &type, 10);

        if (i >= 0 && i < n && *type == ' ')
            types[i] = type + 1;
    }
    if (types)
        text = file_text(records, n, types, nranks, &size);
    if (!text || pw_replace_file(path, text, size, &diag) != PW_OK)
        pw_log(PW_LOG_WARN, "no trace: %s", diag.text);
    free(text);
    free(types);
}

/* ---- all ranks ---------------------------------------------------------------------------------------- */

/* Sends the merged list from rank 0 to all ranks. */
static bool share(record_list *list, MPI_Comm comm, int rank)
{
    int n = rank == 0 ? (int)pw_trace_merge(list->at, list->n) : 0, ok;
    pw_trace_record *at = list->at;

    PMPI_Bcast(&n, 1, MPI_INT, 0, comm);
    if (rank != 0)
        at = realloc(list->at, ((size_t)n + 1) * sizeof *at);
    ok = rank == 0 || at != NULL;
    PMPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, comm);
    if (at)
        list->at = at;
    list->n = n;
    if (ok && n > 0) {
        MPI_Datatype record;

        PMPI_Type_contiguous((int)sizeof *at, MPI_BYTE, &record);
        PMPI_Type_commit(&record);
        ok = PMPI_Bcast(at, n, record, 0, comm) == MPI_SUCCESS;
        PMPI_Type_free(&record);
    }
    return ok;
}

/* Gathers in two rounds, so that a type which a thousand ranks have travels once: first the counts of all ranks, then
 * each text from its owner. */
static bool gather_and_write(record_list *list, MPI_Comm comm, int rank, int nranks)
{
    void *data = list->at;
    size_t size = 0;
    int64_t sent_size = -1; /* a rank whose texts cannot be gathered makes all ranks fail */
    char *sent;
    bool ok = pw_gather(&data, &list->n, sizeof *list->at, comm);

    list->at = data;
    if (!ok || !share(list, comm, rank))
        return false;
    sent = own_texts(list->at, list->n, rank, &size);
    if (sent)
        sent_size = (int64_t)size;
    data = sent;
    ok = pw_gather(&data, &sent_size, 1, comm);
    if (ok && rank == 0)
        write_file(pw_env_path(PW_ENV_TRACE), list->at, list->n, data, sent_size, nranks);
    free(data);
    return ok;
}

void pw_trace_write_world(void)
{
    record_list list;
    MPI_Comm comm;
    int rank, nranks;

    if (!pw_gather_open(&comm, &rank, &nranks))
        return;
    list = take_records(rank);
    if (!gather_and_write(&list, comm, rank, nranks) && rank == 0)
        pw_log(PW_LOG_WARN, "no trace: the types of the ranks could not be gathered");
    PMPI_Comm_free(&comm);
    free(list.at);
}

void pw_trace_write_process(void)
{
    static int number;
    record_list list = take_records(0);
    int64_t n = pw_trace_merge(list.at, list.n);
    size_t size = 0;
    char *sent = own_texts(list.at, n, 0, &size), path[4096], host[64] = "host";

    gethostname(host, sizeof host - 1);
    snprintf(path, sizeof path, "%s.%s-%ld-%d", pw_env_path(PW_ENV_TRACE), host, (long)getpid(), number++);
    if (sent)
        write_file(path, list.at, n, sent, (int64_t)size, 1);
    free(sent);
    free(list.at);
}

void pw_trace_close(void)
{
    pthread_mutex_lock(&trace.lock);
    for (int64_t i = 0; i < trace.n; i++) {
        pw_layout_unref(trace.items[i]->layout);
        free(trace.items[i]);
    }
    free(trace.items);
    trace.items = NULL;
    trace.n = trace.room = 0;
    pw_hash_map_clear(&trace.by_hash);
    pthread_mutex_unlock(&trace.lock);
}
