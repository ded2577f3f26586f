/*
 * Purpose: the windows whose memory this process may reach. Data: a pw_handle_table of records, which the windows carry
 * as attributes. Invariant: a record dies with its window, however the program frees that. The memory of a target is
 * looked for when it is first addressed, and again after misses whose number is a power of two: the target may announce
 * it later.
 */
#include "runtime/mpi/one_sided/mapped.h"

#include "base/env.h"
#include "runtime/engine/memory/handle_table.h"
#include "runtime/mpi/one_sided/announced.h"
#include "runtime/mpi/one_sided/internal.h"
#include "runtime/mpi/one_sided/rma.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAPPINGS = 512, RANKS = 1 << 16, LINE = 512 };

/* A shared mapping of a file, whose byte at an address of this process is at offset address + shift. */
typedef struct mapping {
    uint64_t begin, end, shift;
    uint64_t device, inode; /* of the file, as /proc/self/maps has them */
} mapping;

struct pw_mapped_before {
    int n;
    mapping mappings[MAPPINGS];
};

typedef struct target {
    _Atomic bool found; /* the rest is constant then */
    _Atomic uint32_t misses;
    pw_window_memory memory;
} target;

typedef struct window {
    uint64_t key;
    bool shared, announced;
    pw_window_part part; /* of this process; the file is known in any case */
    mapping mapping;
    int ranks;
    pthread_mutex_t lock; /* of a thread that looks for a target */
    target targets[];
} window;

/* The singleton. */
static struct {
    pthread_mutex_t lock;
    bool is_open;
    int keyval;
    pw_handle_table table;
} windows = {.lock = PTHREAD_MUTEX_INITIALIZER, .keyval = MPI_KEYVAL_INVALID};

/* ---- the file of a window ---------------------------------------------------------------------------------------- */

/* Takes a mapping from a line of /proc/self/maps. False: it is not shared, or cannot be read. */
static bool parse(const char *line, mapping *out)
{
    unsigned long long begin, end, at, inode;
    unsigned major, minor;
    char rights[5];

    if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu", &begin, &end, rights, &at, &major, &minor, &inode) != 7 ||
        rights[0] != 'r' || rights[3] != 's')
        return false;
    *out = (mapping){begin, end, at - begin, (uint64_t)major << 32 | minor, inode};
    return true;
}

/* Lists up to `most` shared mappings, or those that have the byte at an address, and returns their number. */
static int list_mappings(mapping *out, int most, const void *byte)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[LINE];
    int n = 0;

    while (maps && n < most && fgets(line, sizeof line, maps))
        n += parse(line, &out[n]) && (!byte || (uintptr_t)byte - out[n].begin < out[n].end - out[n].begin);
    if (maps)
        fclose(maps);
    return n;
}

pw_mapped_before *pw_mapped_list(MPI_Aint bytes)
{
    pw_mapped_before *before = bytes == 0 ? malloc(sizeof *before) : NULL;

    if (before)
        before->n = list_mappings(before->mappings, MAPPINGS, NULL);
    return before;
}

static bool is_among(const pw_mapped_before *list, const mapping *m)
{
    for (int i = 0; i < list->n; i++)
        if (list->mappings[i].inode == m->inode && list->mappings[i].device == m->device)
            return true;
    return false;
}

/* Finds the one file that has been mapped since `before`. */
static bool find_new(const pw_mapped_before *before, mapping *out)
{
    pw_mapped_before *now = before->n < MAPPINGS ? pw_mapped_list(0) : NULL;
    int found = 0;

    for (int i = 0; now && i < now->n; i++)
        if (!is_among(before, &now->mappings[i])) {
            *out = now->mappings[i];
            found++;
        }
    free(now);
    return found == 1;
}

/* Finds the mapping that has the memory of the window. */
static bool find_mapping(MPI_Win win, const pw_mapped_before *before, window *w)
{
    int found = 0, *unit;
    MPI_Aint *bytes;
    void *base;

    if (PMPI_Win_get_attr(win, MPI_WIN_SIZE, &bytes, &found) != MPI_SUCCESS || !found ||
        PMPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &found) != MPI_SUCCESS || !found ||
        PMPI_Win_get_attr(win, MPI_WIN_BASE, &base, &found) != MPI_SUCCESS || !found)
        return false;
    w->part.bytes = *bytes;
    w->part.unit = *unit;
    if (*bytes == 0)
        return before && find_new(before, &w->mapping);
    return list_mappings(&w->mapping, 1, base) == 1 &&
           (w->part.at = (int64_t)((uint64_t)(uintptr_t)base + w->mapping.shift)) >= 0;
}

/* ---- windows that come and go ------------------------------------------------------------------------------------ */

static void destroy(window *w)
{
    if (w->announced)
        pw_window_withdraw(&w->part);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

/* The delete callback of the attribute. */
static int forget(MPI_Win win, int keyval, void *value, void *extra)
{
    window *w = value;

    (void)win, (void)keyval, (void)extra;
    pw_handle_table_remove(&windows.table, w->key);
    destroy(w);
    return MPI_SUCCESS;
}

static int copy_nothing(MPI_Win win, int keyval, void *extra, void *value, void *copy, int *flag)
{
    (void)win, (void)keyval, (void)extra, (void)value, (void)copy;
    *flag = 0;
    return MPI_SUCCESS;
}

/* Opens the table and makes the keyval if they do not exist yet. */
static bool is_ready(void)
{
    bool ready;

    pthread_mutex_lock(&windows.lock);
    windows.is_open = windows.is_open || pw_handle_table_open(&windows.table) == PW_OK;
    if (windows.is_open && windows.keyval == MPI_KEYVAL_INVALID &&
        PMPI_Win_create_keyval(copy_nothing, forget, &windows.keyval, NULL) != MPI_SUCCESS)
        windows.keyval = MPI_KEYVAL_INVALID;
    ready = windows.is_open && windows.keyval != MPI_KEYVAL_INVALID;
    pthread_mutex_unlock(&windows.lock);
    return ready;
}

static window *make(MPI_Win win, MPI_Comm comm, bool shared)
{
    int ranks = 0, rank = 0;
    window *w;

    if (PMPI_Comm_size(comm, &ranks) != MPI_SUCCESS || PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS || ranks > RANKS)
        return NULL;
    w = calloc(1, sizeof *w + (size_t)ranks * sizeof *w->targets);
    if (!w)
        return NULL;
    w->key = pw_win_key(win);
    w->shared = shared;
    w->ranks = ranks;
    w->part.rank = rank;
    pthread_mutex_init(&w->lock, NULL);
    return w;
}

/* Finds out where this rank's memory lies, and announces that. */
static bool look(MPI_Win win, const pw_mapped_before *before, window *w)
{
    if (w->shared)
        return true;
    if (!find_mapping(win, before, w))
        return false;
    w->part.device = w->mapping.device;
    w->part.inode = w->mapping.inode;
    w->announced = w->part.bytes > 0 && pw_window_announce(&w->part);
    return true;
}

static void enter(MPI_Win win, MPI_Comm comm, bool shared, const pw_mapped_before *before)
{
    window *w = is_ready() ? make(win, comm, shared) : NULL;

    if (!w)
        return;
    if (!look(win, before, w) || PMPI_Win_set_attr(win, windows.keyval, w) != MPI_SUCCESS)
        destroy(w);
    else
        pw_handle_table_insert(&windows.table, w->key, w); /* if that fails, the window is not found */
}

void pw_mapped_enter(MPI_Win win, MPI_Comm comm, bool shared, pw_mapped_before *before)
{
    if (pw_env_bool(PW_ENV_SHARED))
        enter(win, comm, shared, before);
    free(before);
}

void pw_rma_leave(void)
{
    pthread_mutex_lock(&windows.lock);
    if (windows.keyval != MPI_KEYVAL_INVALID)
        PMPI_Win_free_keyval(&windows.keyval);
    windows.keyval = MPI_KEYVAL_INVALID;
    pthread_mutex_unlock(&windows.lock);
}

/* ---- targets ----------------------------------------------------------------------------------------------------- */

static bool ask(MPI_Win win, int rank, pw_window_memory *out)
{
    MPI_Aint bytes = 0;
    void *base = NULL;
    int unit = 0;

    if (PMPI_Win_shared_query(win, rank, &bytes, &unit, &base) != MPI_SUCCESS)
        return false;
    *out = (pw_window_memory){base, bytes, unit};
    return true;
}

/* Finds what a rank has announced, where it lies in the mapping of this process. */
static bool find_announced(const window *w, int rank, pw_window_memory *out)
{
    pw_window_part part = w->part;
    const mapping *m = &w->mapping;
    int64_t begin = (int64_t)(m->begin + m->shift), end = (int64_t)(m->end + m->shift);

    part.rank = rank;
    if (!pw_window_part_find(&part) || part.bytes <= 0 || part.at < begin || part.at >= end ||
        part.bytes > end - part.at || part.unit <= 0)
        return false;
    *out = (pw_window_memory){(char *)(uintptr_t)((uint64_t)part.at - m->shift), part.bytes, part.unit};
    return true;
}

static bool find_now(MPI_Win win, window *w, int rank)
{
    target *t = &w->targets[rank];
    bool found;

    pthread_mutex_lock(&w->lock);
    found = atomic_load_explicit(&t->found, memory_order_relaxed) ||
            (w->shared ? ask(win, rank, &t->memory) : find_announced(w, rank, &t->memory));
    atomic_store_explicit(&t->found, found, memory_order_release);
    pthread_mutex_unlock(&w->lock);
    return found;
}

bool pw_mapped_find(MPI_Win win, int rank, pw_window_memory *out)
{
    window *w = pw_handle_table_find(&windows.table, pw_win_key(win));
    uint32_t misses;
    target *t;

    if (!w || rank < 0 || rank >= w->ranks)
        return false;
    t = &w->targets[rank];
    if (!atomic_load_explicit(&t->found, memory_order_acquire)) {
        misses = atomic_fetch_add_explicit(&t->misses, 1, memory_order_relaxed);
        if ((misses & (misses - 1)) != 0 || !find_now(win, w, rank))
            return false;
    }
    *out = t->memory;
    return true;
}
