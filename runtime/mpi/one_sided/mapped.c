/*
 * Purpose: the windows whose memory this process may reach. Data: a pw_handle_table of records, which the windows carry
 * as attributes. Invariant: a record dies with its window, however the program frees that. The memory of a target is
 * looked for when it is first addressed, and again after misses whose number is a power of two: the target may announce
 * it later.
 */
#include "runtime/mpi/one_sided/internal.h"

#include "base/env.h"
#include "base/handle_table.h"
#include "base/lock.h"
#include "runtime/exchange/commons.h"
#include "runtime/mpi/one_sided/rma.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- where ranks say that their parts lie ------------------------------------------------------------------------ */

/*
 * MPIs map one file for the memory that a window has on a node, so a part of a window is known by that file and its
 * rank in the window. A rank announces its own part in memory that all ranks of the node have in common
 * (runtime/exchange/commons.h). No rank sends a message or waits, so ranks without Packwright may take part in the
 * window.
 *
 * The table has records, found by a hash of file and rank. The process that has taken a record is the only one that
 * writes it until it gives it back. Others read a record's fields before and after its tag, so they never use a record
 * that changes meanwhile.
 */

/* The part of a window that one rank has. */
typedef struct part {
    uint64_t device, inode; /* of the file, as /proc/self/maps has them */
    int64_t at, bytes;      /* offset in the file; length */
    int64_t unit;           /* of displacements */
    int rank;               /* in the window */
} part;

enum { RECORDS = 1 << 16, PROBES = 64 };

static const uint64_t FREE = 0, TAKEN = 1; /* other tags are hashes */

typedef struct record {
    _Alignas(64) _Atomic uint64_t tag;
    _Atomic uint64_t device, inode;
    _Atomic int64_t at, bytes, unit;
    _Atomic int64_t rank;
} record;

_Static_assert(RECORDS * sizeof(record) <= PW_COMMONS_PART_BYTES, "the table has room in the memory in common");

static uint64_t tag_of(const part *p)
{
    uint64_t tag = (p->inode * UINT64_C(0x9e3779b97f4a7c15)) ^ (p->device * UINT64_C(0xbf58476d1ce4e5b9));

    tag = (tag ^ (uint64_t)p->rank ^ tag >> 29) * UINT64_C(0x94d049bb133111eb);
    return (tag ^ tag >> 32) | 2;
}

static record *probe(record *table, uint64_t tag, int i)
{
    return &table[(tag + (uint64_t)i) % RECORDS];
}

static bool is_of(const record *r, const part *p)
{
    return atomic_load_explicit(&r->device, memory_order_relaxed) == p->device &&
           atomic_load_explicit(&r->inode, memory_order_relaxed) == p->inode &&
           atomic_load_explicit(&r->rank, memory_order_relaxed) == p->rank;
}

/* Announces a part. Returns false if there is no room, or no memory in common. */
static bool announce(const part *p)
{
    record *table = pw_commons_part_of(PW_COMMONS_WINDOWS);
    uint64_t tag = tag_of(p);

    for (int i = 0; i < PROBES && table; i++) {
        record *r = probe(table, tag, i);
        uint64_t expected = FREE;

        if (!atomic_compare_exchange_strong_explicit(&r->tag, &expected, TAKEN, memory_order_acquire,
                                                     memory_order_relaxed))
            continue;
        atomic_store_explicit(&r->device, p->device, memory_order_relaxed);
        atomic_store_explicit(&r->inode, p->inode, memory_order_relaxed);
        atomic_store_explicit(&r->rank, p->rank, memory_order_relaxed);
        atomic_store_explicit(&r->at, p->at, memory_order_relaxed);
        atomic_store_explicit(&r->bytes, p->bytes, memory_order_relaxed);
        atomic_store_explicit(&r->unit, p->unit, memory_order_relaxed);
        atomic_store_explicit(&r->tag, tag, memory_order_release);
        return true;
    }
    return false;
}

/* Finds a record from the probe `*from` on. */
static record *find(const part *p, int *from)
{
    record *table = pw_commons_part_of(PW_COMMONS_WINDOWS);
    uint64_t tag = tag_of(p);

    while (table && *from < PROBES) {
        record *r = probe(table, tag, (*from)++);

        if (atomic_load_explicit(&r->tag, memory_order_acquire) == tag && is_of(r, p))
            return r;
    }
    return NULL;
}

/* Takes back what this process has announced. */
static void withdraw(const part *p)
{
    int from = 0;
    record *r = find(p, &from);

    if (r)
        atomic_store_explicit(&r->tag, FREE, memory_order_release);
}

/* Finds the part of the rank in out->rank of the window in the file of *out, and fills in the rest. Returns false if no
 * rank has announced it, or several have. */
static bool find_part(part *out)
{
    int from = 0;
    record *r = find(out, &from);

    if (!r)
        return false;
    /* Acquire, so that the tag is looked at again after all of them. */
    out->at = atomic_load_explicit(&r->at, memory_order_acquire);
    out->bytes = atomic_load_explicit(&r->bytes, memory_order_acquire);
    out->unit = atomic_load_explicit(&r->unit, memory_order_acquire);
    return atomic_load_explicit(&r->tag, memory_order_relaxed) == tag_of(out) && !find(out, &from);
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

enum { RANKS = 1 << 16, LINE = 512 };

/* A shared mapping of a file, whose byte at an address of this process is at offset address + shift. */
typedef struct mapping {
    uint64_t begin, end, shift;
} mapping;

typedef struct target {
    _Atomic bool found; /* the rest is constant then */
    _Atomic uint32_t misses;
    pw_window_memory memory;
} target;

typedef struct window {
    uint64_t key;
    bool shared, announced;
    part part; /* of this process; the file is known in any case */
    mapping mapping;
    int ranks;
    pthread_mutex_t lock; /* of a thread that looks for a target */
    target targets[];
} window;

/* The singleton. */
static struct {
    pthread_mutex_t lock;
    int keyval;
} windows = {.lock = PTHREAD_MUTEX_INITIALIZER, .keyval = MPI_KEYVAL_INVALID};

static pw_handle_table by_handle = PW_HANDLE_TABLE;

/* ---- the file of a window ---------------------------------------------------------------------------------------- */

/* Takes a mapping and its file from a line of /proc/self/maps. False: it is not shared, or cannot be read. */
static bool parse(const char *line, mapping *out, part *file)
{
    unsigned long long begin, end, at, inode;
    unsigned major, minor;
    char rights[5];

    if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu", &begin, &end, rights, &at, &major, &minor, &inode) != 7 ||
        rights[0] != 'r' || rights[3] != 's')
        return false;
    *out = (mapping){begin, end, at - begin};
    file->device = (uint64_t)major << 32 | minor;
    file->inode = inode;
    return true;
}

/* Finds the shared mapping that has the byte at an address, and its file. */
static bool find_mapping_of(const void *byte, mapping *out, part *file)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[LINE];
    bool found = false;

    while (maps && !found && fgets(line, sizeof line, maps))
        found = parse(line, out, file) && (uintptr_t)byte - out->begin < out->end - out->begin;
    if (maps)
        fclose(maps);
    return found;
}

/* Finds the mapping that has the memory of the window. A rank that brings no memory does not know it. */
static bool find_mapping(MPI_Win win, window *w)
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
    return *bytes > 0 && find_mapping_of(base, &w->mapping, &w->part) &&
           (w->part.at = (int64_t)((uint64_t)(uintptr_t)base + w->mapping.shift)) >= 0;
}

/* ---- windows that come and go ------------------------------------------------------------------------------------ */

static void destroy(window *w)
{
    if (w->announced)
        withdraw(&w->part);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

/* The delete callback of the attribute. */
static int forget(MPI_Win win, int keyval, void *value, void *extra)
{
    window *w = value;

    (void)win, (void)keyval, (void)extra;
    pw_handle_table_remove(&by_handle, w->key);
    destroy(w);
    return MPI_SUCCESS;
}

/* Makes the keyval if it does not exist yet. */
static bool is_ready(void)
{
    PW_HOLD(&windows.lock);

    if (windows.keyval == MPI_KEYVAL_INVALID &&
        PMPI_Win_create_keyval(pw_win_copy_nothing, forget, &windows.keyval, NULL) != MPI_SUCCESS)
        windows.keyval = MPI_KEYVAL_INVALID;
    return windows.keyval != MPI_KEYVAL_INVALID;
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
static bool look(MPI_Win win, window *w)
{
    if (w->shared)
        return true;
    if (!find_mapping(win, w))
        return false;
    w->announced = announce(&w->part);
    return true;
}

void pw_mapped_enter(MPI_Win win, MPI_Comm comm, bool shared)
{
    window *w = pw_env_bool(PW_ENV_SHARED) && is_ready() ? make(win, comm, shared) : NULL;

    if (!w)
        return;
    if (!look(win, w) || PMPI_Win_set_attr(win, windows.keyval, w) != MPI_SUCCESS)
        destroy(w);
    else
        pw_handle_table_insert(&by_handle, w->key, w); /* if that fails, the window is not found */
}

void pw_rma_leave(void)
{
    pw_past_leave();
    PW_HOLD(&windows.lock);
    if (windows.keyval != MPI_KEYVAL_INVALID)
        PMPI_Win_free_keyval(&windows.keyval);
    windows.keyval = MPI_KEYVAL_INVALID;
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
    part theirs = w->part;
    const mapping *m = &w->mapping;
    int64_t begin = (int64_t)(m->begin + m->shift), end = (int64_t)(m->end + m->shift);

    theirs.rank = rank;
    if (!find_part(&theirs) || theirs.bytes <= 0 || theirs.at < begin || theirs.at >= end ||
        theirs.bytes > end - theirs.at || theirs.unit <= 0)
        return false;
    *out = (pw_window_memory){(char *)(uintptr_t)((uint64_t)theirs.at - m->shift), theirs.bytes, theirs.unit};
    return true;
}

static bool find_now(MPI_Win win, window *w, int rank)
{
    PW_HOLD(&w->lock);
    target *t = &w->targets[rank];
    bool found = atomic_load_explicit(&t->found, memory_order_relaxed) ||
                 (w->shared ? ask(win, rank, &t->memory) : find_announced(w, rank, &t->memory));

    atomic_store_explicit(&t->found, found, memory_order_release);
    return found;
}

bool pw_mapped_find(MPI_Win win, int rank, pw_window_memory *out)
{
    window *w = pw_handle_table_find(&by_handle, pw_win_key(win));
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
