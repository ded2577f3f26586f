/*
 * Writing: texts of layouts are appended to the segment's list and never change or go, so others read them without a
 * lock. Reading: what was read of other processes' lists is kept as layouts, with references, in a table of KEPT
 * places.
 */
#include "runtime/exchange/board.h"

#include "base/log.h"
#include "base/lru.h"
#include "runtime/exchange/peers.h"
#include "runtime/exchange/segment.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT = 64 };

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* The singleton: what is on the board of this process. The hashes are a copy of those in the header. */
static struct {
    pthread_mutex_t lock;
    _Atomic int n;
    pw_hash hashes[PW_SEGMENT_TEXTS];
} board = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool add(pw_segment_header *h, int n, const char *text, pw_hash hash)
{
    size_t bytes = strlen(text);
    char *block = bytes <= PW_SEGMENT_TEXT_BYTES ? pw_segment_take_least(bytes) : NULL;
    pw_segment_text *t = &h->texts[n];

    if (!block)
        return false;
    memcpy(block, text, bytes);
    atomic_store_explicit(&t->address, (uintptr_t)block, memory_order_relaxed);
    atomic_store_explicit(&t->bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&t->hash_lo, hash.lo, memory_order_relaxed);
    atomic_store_explicit(&t->hash_hi, hash.hi, memory_order_relaxed);
    atomic_store_explicit(&h->ntexts, (uint32_t)n + 1, memory_order_release);
    board.hashes[n] = hash;
    atomic_store_explicit(&board.n, n + 1, memory_order_release);
    return true;
}

static int find(pw_hash hash)
{
    int n = atomic_load_explicit(&board.n, memory_order_acquire);

    while (n-- > 0)
        if (board.hashes[n].lo == hash.lo && board.hashes[n].hi == hash.hi)
            return n;
    return -1;
}

static int put(pw_segment_header *h, const pw_layout *layout)
{
    int n = atomic_load_explicit(&board.n, memory_order_relaxed), found = find(layout->hash);
    char *text = NULL;

    if (found >= 0 || n == PW_SEGMENT_TEXTS)
        return found;
    text = pw_layout_text(layout);
    found = text && add(h, n, text, layout->hash) ? n : -1;
    free(text);
    return found;
}

int pw_board_put(const pw_layout *layout)
{
    pw_segment_header *h = pw_segment_own_header();
    int found = h ? find(layout->hash) : -1;

    if (found >= 0 || !h)
        return found;
    pthread_mutex_lock(&board.lock);
    found = put(h, layout);
    pthread_mutex_unlock(&board.lock);
    return found;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct kept {
    pw_lru lru;
    const pw_segment_header *segment;
    uint32_t number;
    pw_layout *layout; /* NULL: the place is free */
} kept;

/* The singleton: layouts of other processes. */
static struct {
    pthread_mutex_t lock;
    kept all[KEPT];
    uint64_t uses;
} read_before = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pw_layout *parse(const char *text, pw_layout_engine *engine, const pw_board_entry *e)
{
    pw_arena *arena = pw_arena_create();
    pw_layout *layout = NULL;
    pw_diag diag = {.status = PW_ERR_NOMEM};
    pw_type type;

    if (arena)
        diag.status = pw_parse(text, arena, &type, NULL, &diag);
    if (!diag.status)
        diag.status = pw_layout_get(engine, &type, &layout, &diag);
    pw_arena_destroy(arena);
    if (diag.status || (layout->hash.lo == e->hash_lo && layout->hash.hi == e->hash_hi && layout->size > 0))
        return layout;
    pw_layout_unref(layout);
    return NULL;
}

/* The text is copied before it is parsed, since its owner could change it meanwhile. */
static pw_layout *read_text(pid_t pid, const pw_board_entry *e, pw_layout_engine *engine)
{
    pw_peer_block block;
    const char *there = pw_peer_memory(pid, (const void *)(uintptr_t)e->address, e->bytes, &block);
    char *text = there ? malloc(e->bytes + 1) : NULL;
    pw_layout *layout = NULL;

    if (text) {
        memcpy(text, there, e->bytes);
        text[e->bytes] = '\0';
        layout = parse(text, engine, e);
    }
    free(text);
    if (!layout)
        pw_log(PW_LOG_DEBUG, "cannot read a layout on the board of process %d", (int)pid);
    return layout;
}

/* The place of a layout, or else the place that the next one gets. The lock must be held. */
static kept *place_of(const pw_segment_header *segment, uint32_t number)
{
    for (int i = 0; i < KEPT; i++) {
        kept *k = &read_before.all[i];

        if (k->layout && k->segment == segment && k->number == number)
            return k;
    }
    return pw_lru_find(read_before.all, KEPT, sizeof(kept), false);
}

static pw_layout *look_up(const pw_segment_header *segment, uint32_t number)
{
    pw_layout *layout = NULL;
    kept *k;

    pthread_mutex_lock(&read_before.lock);
    k = place_of(segment, number);
    if (k->layout && k->segment == segment && k->number == number) {
        k->lru.used = ++read_before.uses;
        layout = pw_layout_ref(k->layout);
    }
    pthread_mutex_unlock(&read_before.lock);
    return layout;
}

static void keep(const pw_segment_header *segment, uint32_t number, pw_layout *layout)
{
    pw_layout *before;
    kept *k;

    pthread_mutex_lock(&read_before.lock);
    k = place_of(segment, number);
    before = k->layout;
    *k = (kept){{.used = ++read_before.uses}, segment, number, pw_layout_ref(layout)};
    pthread_mutex_unlock(&read_before.lock);
    pw_layout_unref(before);
}

pw_layout *pw_board_get(pid_t pid, uint32_t number, pw_layout_engine *engine)
{
    const pw_segment_header *segment = pw_peer_header(pid);
    pw_layout *layout = segment ? look_up(segment, number) : NULL;
    pw_board_entry e;

    if (layout || !segment || !pw_segment_find_text(segment, number, &e))
        return layout;
    layout = read_text(pid, &e, engine);
    if (layout)
        keep(segment, number, layout);
    return layout;
}

void pw_board_forget(void)
{
    for (int i = 0; i < KEPT; i++) {
        pw_layout *layout;

        pthread_mutex_lock(&read_before.lock);
        layout = read_before.all[i].layout;
        read_before.all[i] = (kept){.layout = NULL};
        pthread_mutex_unlock(&read_before.lock);
        pw_layout_unref(layout);
    }
}
