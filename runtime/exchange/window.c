/*
 * The shared mappings of files in which windows of this process lie, and what was found for windows of others. Both are
 * read from /proc/self/maps. What was found is forgotten whenever a window comes or goes, since it may be other memory
 * from then on.
 */
#include "runtime/exchange/window.h"

#include <stdio.h>

enum { WINDOWS = 64, FOUND = 64, LINE = 512 };

typedef pw_window_mapping mapping; /* begin and end 0: the entry is free */

/* The singleton. */
static struct {
    pthread_mutex_t lock;
    _Atomic int live;         /* windows with memory here, so that those without them pay nothing */
    mapping windows[WINDOWS]; /* of this process; a window that finds no place is not shared */
    /* What was found for others: a mapping, or an empty one for a file that is not mapped here. */
    mapping found[FOUND];
    unsigned nfound;
} windows = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the mappings of this process -------------------------------------------------------------------------------- */

/* Shared mappings of files that can be read. */
static bool parse(const char *line, mapping *out)
{
    unsigned long long begin, end, at, inode;
    unsigned major, minor;
    char rights[5];

    if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu", &begin, &end, rights, &at, &major, &minor, &inode) != 7 ||
        rights[0] != 'r' || rights[3] != 's')
        return false;
    *out = (mapping){begin, end, {(uint64_t)major << 32 | minor, inode, at - begin}};
    return true;
}

static bool holds(const mapping *m, uint64_t address, uint64_t bytes)
{
    return address >= m->begin && address < m->end && bytes <= m->end - address;
}

static bool is_same_file(const pw_segment_file *a, const pw_segment_file *b)
{
    return a->device == b->device && a->inode == b->inode;
}

/* Looks for the mapping in which an address is, or for one of the file that has `bytes` bytes from offset `at` on. */
static bool look_up(uint64_t address, const pw_segment_file *file, uint64_t at, uint64_t bytes, mapping *out)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[LINE];
    bool there = false;

    while (maps && !there && fgets(line, sizeof line, maps))
        there = parse(line, out) && (file ? is_same_file(&out->file, file) && holds(out, at - out->file.shift, bytes)
                                          : holds(out, address, 1));
    if (maps)
        fclose(maps);
    return there;
}

bool pw_window_mapping_of(const void *memory, pw_window_mapping *out)
{
    return look_up((uintptr_t)memory, NULL, 0, 0, out);
}

int pw_window_mappings(pw_window_mapping *out, int most)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[LINE];
    int n = 0;

    while (maps && n < most && fgets(line, sizeof line, maps))
        n += parse(line, &out[n]);
    if (maps)
        fclose(maps);
    return n;
}

/* ---- the sender's side ------------------------------------------------------------------------------------------- */

/* What was found may be other memory from now on. The lock must be held. */
static void forget_found(void)
{
    windows.nfound = 0;
}

static mapping *place_of(uint64_t address)
{
    for (int i = 0; i < WINDOWS; i++)
        if (address ? holds(&windows.windows[i], address, 1) : windows.windows[i].end == 0)
            return &windows.windows[i];
    return NULL;
}

void pw_window_enter(const void *memory)
{
    uint64_t address = (uintptr_t)memory;
    mapping m, *place;
    bool there = memory && look_up(address, NULL, 0, 0, &m);

    pthread_mutex_lock(&windows.lock);
    forget_found();
    place = there && !place_of(address) ? place_of(0) : NULL;
    if (place) {
        *place = m;
        atomic_fetch_add_explicit(&windows.live, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&windows.lock);
}

void pw_window_leave(const void *memory)
{
    mapping *place;

    pthread_mutex_lock(&windows.lock);
    forget_found();
    place = memory ? place_of((uintptr_t)memory) : NULL;
    if (place) {
        *place = (mapping){.end = 0};
        atomic_fetch_sub_explicit(&windows.live, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&windows.lock);
}

bool pw_window_holds(const void *memory, size_t bytes, pw_segment_file *out)
{
    const mapping *place;
    bool there;

    if (atomic_load_explicit(&windows.live, memory_order_relaxed) == 0)
        return false;
    pthread_mutex_lock(&windows.lock);
    place = place_of((uintptr_t)memory);
    there = place && holds(place, (uintptr_t)memory, bytes);
    if (there)
        *out = place->file;
    pthread_mutex_unlock(&windows.lock);
    return there;
}

/* ---- the receiver's side ----------------------------------------------------------------------------------------- */

static mapping *found_before(const pw_segment_file *file, uint64_t at, uint64_t bytes)
{
    for (unsigned i = 0; i < windows.nfound && i < FOUND; i++) {
        mapping *m = &windows.found[i];

        if (is_same_file(&m->file, file) && (m->end == 0 || holds(m, at - m->file.shift, bytes)))
            return m;
    }
    return NULL;
}

const void *pw_window_find(const pw_segment_file *file, uint64_t address, size_t bytes)
{
    uint64_t at = address + file->shift;
    mapping m, *known;

    pthread_mutex_lock(&windows.lock);
    known = found_before(file, at, bytes);
    if (known)
        m = *known;
    else if (!look_up(0, file, at, bytes, &m))
        m = (mapping){.file = *file};
    if (!known)
        windows.found[windows.nfound++ % FOUND] = m;
    pthread_mutex_unlock(&windows.lock);
    return m.end ? (const void *)(uintptr_t)(at - m.file.shift) : NULL;
}
