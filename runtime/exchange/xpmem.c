/*
 * The library of XPMEM, loaded at the first need; the segment by which this process shows its memory; and the ranges of
 * other processes that are attached, in a table that all threads share under one lock. A range that is in use stays
 * attached. One whose owner has raised its count of removals since is never found again.
 */
#include "runtime/exchange/xpmem.h"

#include "base/log.h"
#include "base/lru.h"
#include "runtime/exchange/segment.h"

#include <dlfcn.h>
#include <unistd.h>

enum { KEPT = 32, PEERS = 256, OWNER_ONLY = 0600 };

/* XPMEM's own header, xpmem.h, declares these so. It need not be installed. */
enum { XPMEM_RDWR = 2, XPMEM_PERMIT_MODE = 1 };
typedef int64_t segment_id;
typedef int64_t access_id;
struct xpmem_addr {
    access_id apid;
    off_t offset;
};

/* X(result, name, parameters) */
#define FUNCTIONS(X)                                                                  \
    X(segment_id, make, (void *address, size_t bytes, int permit_type, void *permit)) \
    X(int, remove, (segment_id segment))                                              \
    X(access_id, get, (segment_id segment, int flags, int permit_type, void *permit)) \
    X(int, release, (access_id access))                                               \
    X(void *, attach, (struct xpmem_addr from, size_t bytes, void *address))          \
    X(int, detach, (void *address))

/* A range of another process. */
typedef struct attachment {
    pw_lru lru;
    segment_id segment; /* 0: the place is free */
    uint64_t removed;   /* the owner's count when it was attached */
    uint64_t begin, bytes;
    char *base;
} attachment;

/* Access to another process's segment. It is kept, since XPMEM detaches what was attached by an access with it. */
typedef struct access_right {
    segment_id segment; /* 0: the place is free */
    access_id id;       /* -1: refused */
} access_right;

/* The singleton. */
static struct {
    pthread_mutex_t lock;
    bool looked;
    void *library; /* NULL: there is none */
#define X(result, name, parameters) result(*name) parameters;
    FUNCTIONS(X)
#undef X
    segment_id own; /* 0: not made; guarded by the lock */
    _Atomic bool shown;
    access_right rights[PEERS];
    attachment kept[KEPT];
    uint64_t uses;
} xpmem = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the library ------------------------------------------------------------------------------------------------- */

/* The lock must be held. */
static bool find_functions(void *library)
{
    bool all = true;

#define X(result, name, parameters) all = (*(void **)&xpmem.name = dlsym(library, "xpmem_" #name)) && all;
    FUNCTIONS(X)
#undef X
    return all;
}

/* The lock must be held. */
static bool is_there(void)
{
    void *library;

    if (xpmem.looked)
        return xpmem.library;
    xpmem.looked = true;
    library = dlopen("libxpmem.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library && find_functions(library))
        xpmem.library = library;
    else if (library)
        pw_log(PW_LOG_INFO, "libxpmem.so.0 lacks functions of XPMEM, which is not used");
    return xpmem.library;
}

/* ---- the owner's side -------------------------------------------------------------------------------------------- */

void pw_xpmem_show(void)
{
    pw_segment_header *h = pw_segment_own_header();

    pthread_mutex_lock(&xpmem.lock);
    if (h && !xpmem.own && is_there()) {
        xpmem.own = xpmem.make(NULL, SIZE_MAX, XPMEM_PERMIT_MODE, (void *)(uintptr_t)OWNER_ONLY);
        if (xpmem.own <= 0) {
            pw_log(PW_LOG_INFO, "XPMEM makes no segment of this process, and is not used");
            xpmem.own = 0;
        }
    }
    if (h && xpmem.own) {
        atomic_store_explicit(&h->xpmem, (uint64_t)xpmem.own, memory_order_release);
        atomic_store_explicit(&xpmem.shown, true, memory_order_relaxed);
    }
    pthread_mutex_unlock(&xpmem.lock);
}

bool pw_xpmem_is_shown(void)
{
    return atomic_load_explicit(&xpmem.shown, memory_order_relaxed) && pw_segment_own_header();
}

void pw_xpmem_note_removal(void)
{
    pw_segment_header *h = pw_xpmem_is_shown() ? pw_segment_own_header() : NULL;

    if (h)
        atomic_fetch_add_explicit(&h->removed, 1, memory_order_release);
}

/* ---- attaching --------------------------------------------------------------------------------------------------- */

/* The lock must be held in the functions from here on. */

static access_id right_to(segment_id segment)
{
    access_right *r = xpmem.rights, *end = r + PEERS;

    while (r < end && r->segment && r->segment != segment)
        r++;
    if (r == end)
        return -1;
    if (!r->segment)
        *r = (access_right){segment, xpmem.get(segment, XPMEM_RDWR, XPMEM_PERMIT_MODE, NULL)};
    return r->id;
}

static void let_go(attachment *a)
{
    xpmem.detach(a->base);
    *a = (attachment){.segment = 0};
}

static void let_go_of_older(segment_id segment, uint64_t removed)
{
    for (int i = 0; i < KEPT; i++)
        if (xpmem.kept[i].segment == segment && xpmem.kept[i].removed != removed && xpmem.kept[i].lru.users == 0)
            let_go(&xpmem.kept[i]);
}

static attachment *find(segment_id segment, uint64_t removed, uint64_t begin, uint64_t bytes)
{
    for (int i = 0; i < KEPT; i++) {
        attachment *a = &xpmem.kept[i];

        if (a->segment == segment && a->removed == removed && begin >= a->begin && bytes <= a->bytes &&
            begin - a->begin <= a->bytes - bytes)
            return a;
    }
    return NULL;
}

/* The place that the next attachment gets. NULL: all are in use. */
static attachment *make_room(void)
{
    attachment *a = pw_lru_find(xpmem.kept, KEPT, sizeof *a, false);

    if (a && a->segment)
        let_go(a);
    return a;
}

static attachment *attach(segment_id segment, uint64_t removed, uint64_t begin, uint64_t bytes)
{
    attachment *a = make_room();
    access_id right = a ? right_to(segment) : -1;
    struct xpmem_addr from = {right, (off_t)begin};
    char *base = right > 0 ? xpmem.attach(from, bytes, NULL) : NULL;

    if (!base || base == (char *)-1)
        return NULL;
    *a = (attachment){.segment = segment, .removed = removed, .begin = begin, .bytes = bytes, .base = base};
    return a;
}

const void *pw_xpmem_attach(const pw_segment_header *h, uint64_t address, size_t bytes, pw_xpmem_use *use)
{
    segment_id segment = (segment_id)atomic_load_explicit(&h->xpmem, memory_order_acquire);
    uint64_t removed = atomic_load_explicit(&h->removed, memory_order_acquire), page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t begin = address & -page, whole = (address + bytes - begin + page - 1) & -page;
    const void *at = NULL;
    attachment *a;

    use->place = -1;
    if (segment <= 0)
        return NULL;
    pthread_mutex_lock(&xpmem.lock);
    let_go_of_older(segment, removed);
    a = is_there() ? find(segment, removed, begin, whole) : NULL;
    if (!a && is_there())
        a = attach(segment, removed, begin, whole);
    if (a) {
        pw_lru_take(&a->lru, &xpmem.uses);
        use->place = (int)(a - xpmem.kept);
        at = a->base + (address - a->begin);
    }
    pthread_mutex_unlock(&xpmem.lock);
    return at;
}

void pw_xpmem_release(const pw_xpmem_use *use)
{
    if (use->place < 0)
        return;
    pthread_mutex_lock(&xpmem.lock);
    xpmem.kept[use->place].lru.users--;
    pthread_mutex_unlock(&xpmem.lock);
}

void pw_xpmem_end(void)
{
    pw_segment_header *h = pw_segment_own_header();

    pthread_mutex_lock(&xpmem.lock);
    atomic_store_explicit(&xpmem.shown, false, memory_order_relaxed);
    if (h)
        atomic_store_explicit(&h->xpmem, 0, memory_order_release);
    for (int i = 0; i < KEPT; i++)
        if (xpmem.kept[i].segment)
            let_go(&xpmem.kept[i]);
    for (int i = 0; i < PEERS; i++) {
        if (xpmem.rights[i].segment && xpmem.rights[i].id > 0)
            xpmem.release(xpmem.rights[i].id);
        xpmem.rights[i] = (access_right){.segment = 0};
    }
    if (xpmem.own)
        xpmem.remove(xpmem.own);
    xpmem.own = 0;
    pthread_mutex_unlock(&xpmem.lock);
}
