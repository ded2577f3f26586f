/*
 * Purpose: PACKWRIGHT_TRACE, every committed type in the datatype language. Data: `trace`, items by canonical hash,
 * each with a reference to its layout. Invariant: the file is replaced whole, by rank 0 alone.
 */
#include "runtime/mpi/stats/trace.h"

#include "base/env.h"
#include "base/log.h"
#include "base/replace.h"
#include "frontend/ddt/ddt.h"
#include "frontend/ddt/trace_record.h"
#include "jit-cache/hash_map.h"
#include "runtime/mpi/stats/gather.h"
#include "runtime/mpi/types/registry.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The most types that are kept for one process. This bounds the memory of programs that make ever new types. */
enum { MOST_TYPES = 1 << 16 };

typedef struct item {
    pw_layout *layout;    /* with a reference, so that the counts outlive the type */
    pw_trace_record dead; /* counts of its commits, and of transfers by entries that are gone */
    pw_trace_record live; /* transfers by its entry, while the trace is written */
} item;

/* The singleton. Its lock is taken after the registry's, and before that of the layout engine. */
static struct {
    pthread_mutex_t lock;
    pw_hash_map by_hash; /* maps canonical hashes to items */
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool pw_trace_is_on(void)
{
    return *pw_env_string(PW_ENV_TRACE) != '\0';
}

/* ---- this process ------------------------------------------------------------------------------------- */

/* Counts a commit. The first one takes a reference to the layout. */
static void count_commit(pw_layout *layout, MPI_Datatype type)
{
    item *it;

    (void)type;
    pthread_mutex_lock(&trace.lock);
    it = pw_hash_map_begin(&trace.by_hash, layout->hash, sizeof *it, MOST_TYPES);
    if (!it)
        pw_warn_once("the trace has %d types, or no memory; further types are left out", MOST_TYPES);
    else if (!it->layout)
        it->layout = pw_layout_ref(layout);
    if (it)
        it->dead.commits++;
    pthread_mutex_unlock(&trace.lock);
}

/* Adds the sends and receives of an entry to the counts of its item. */
static void add_transfers(const pw_entry *entry, bool is_live)
{
    item *it;

    pthread_mutex_lock(&trace.lock);
    it = pw_hash_map_get(&trace.by_hash, entry->layout->hash);
    for (int id = 0; it && id < PW_STRATEGY_COUNT; id++) {
        pw_trace_record *to = is_live ? &it->live : &it->dead;

        to->sends += entry->choices.used[PW_TRANSFER_MESSAGE][id][PW_SEND];
        to->receives += entry->choices.used[PW_TRANSFER_MESSAGE][id][PW_RECV];
    }
    pthread_mutex_unlock(&trace.lock);
}

static void count_dead(const pw_entry *entry)
{
    add_transfers(entry, false);
}

static void count_live(void *arg, const pw_entry *entry)
{
    (void)arg;
    add_transfers(entry, true);
}

void pw_trace_start(void)
{
    static pw_registry_observer observer = {.learned = count_commit, .dies = count_dead};

    if (pw_trace_is_on())
        pw_registry_observe(&observer);
}

/* Prints one item, and forgets what its entry has counted. Returns false without memory. */
static bool print_item(FILE *out, item *it)
{
    const pw_layout_stats *stats = &it->layout->stats;
    pw_trace_record r = {.packs = stats->packs, .unpacks = stats->unpacks, .bytes = stats->bytes, .ranks = 1};
    char name[PW_TRACE_NAME], *type = pw_ddt_print(it->layout->type);

    pw_trace_add(&r, &it->dead);
    pw_trace_add(&r, &it->live);
    it->live = (pw_trace_record){.sends = 0};
    pw_trace_name(it->layout->hash, name);
    if (type)
        pw_trace_print(out, &r, name, type);
    free(type);
    return type != NULL;
}

/* Returns the types of this process as the text of a trace. NULL: out of memory. */
static char *own_text(size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    bool ok = out != NULL;

    pw_registry_each(count_live, NULL);
    pthread_mutex_lock(&trace.lock);
    for (size_t i = 0; i < trace.by_hash.capacity && ok; i++)
        if (trace.by_hash.cells[i].value)
            ok = print_item(out, trace.by_hash.cells[i].value);
    pthread_mutex_unlock(&trace.lock);
    if (out && (fclose(out) != 0 || !ok)) {
        free(text);
        text = NULL;
    }
    return text;
}

/* ---- the file ----------------------------------------------------------------------------------------- */

/* Writes the file from the texts of all ranks, one behind the other. */
static void write_file(const char *path, char *texts, size_t texts_size, int nranks)
{
    pw_diag diag = {.status = PW_ERR_NOMEM, .text = "out of memory"};
    size_t size = 0;
    char *text = pw_trace_merge_texts(texts, texts_size, nranks, &size);

    if (!text || pw_replace_file(path, text, size, &diag) != PW_OK)
        pw_log(PW_LOG_WARN, "no trace: %s", diag.text);
    free(text);
}

void pw_trace_write_world(void)
{
    int64_t n = -1; /* a rank whose text cannot be gathered makes all ranks fail */
    size_t size = 0;
    void *data;
    MPI_Comm comm;
    int rank, nranks;

    if (!pw_gather_open(&comm, &rank, &nranks))
        return;
    data = own_text(&size);
    if (data)
        n = (int64_t)size;
    if (!pw_gather(&data, &n, 1, comm)) {
        if (rank == 0)
            pw_log(PW_LOG_WARN, "no trace: the types of the ranks could not be gathered");
    } else if (rank == 0) {
        write_file(pw_env_path(PW_ENV_TRACE), data, (size_t)n, nranks);
    }
    PMPI_Comm_free(&comm);
    free(data);
}

void pw_trace_write_process(void)
{
    static int number;
    size_t size = 0;
    char *text = own_text(&size), path[4096], host[64] = "host";

    gethostname(host, sizeof host - 1);
    snprintf(path, sizeof path, "%s.%s-%ld-%d", pw_env_path(PW_ENV_TRACE), host, (long)getpid(), number++);
    if (text)
        write_file(path, text, size, 1);
    free(text);
}

void pw_trace_close(void)
{
    pthread_mutex_lock(&trace.lock);
    for (size_t i = 0; i < trace.by_hash.capacity; i++)
        if (trace.by_hash.cells[i].value)
            pw_layout_unref(((item *)trace.by_hash.cells[i].value)->layout);
    pw_hash_map_free(&trace.by_hash);
    pthread_mutex_unlock(&trace.lock);
}
