/*
 * Purpose: maps any memory of other processes. Data: the library of XPMEM, loaded at the first need; the segment by
 * which this process shows its memory; and the rights to the segments of others. Invariant: what was attached before
 * its owner raised its count of removals is never found again (reach.h).
 */
#include "runtime/exchange/xpmem.h"

#include "base/log.h"
#include "runtime/exchange/segment.h"

#include <dlfcn.h>
#include <unistd.h>

enum { PEERS = 256, OWNER_ONLY = 0600 };

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

/* The lock must be held. */
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

/* The range's memory is the number of the owner's segment. */
static uint64_t attach(const pw_reached *range, const void *arg)
{
    char *base = NULL;

    (void)arg;
    pthread_mutex_lock(&xpmem.lock);
    if (is_there()) {
        access_id right = right_to((segment_id)(uintptr_t)range->memory);
        struct xpmem_addr from = {right, (off_t)range->begin};

        base = right > 0 ? xpmem.attach(from, range->bytes, NULL) : NULL;
    }
    pthread_mutex_unlock(&xpmem.lock);
    return base == (char *)-1 ? 0 : (uintptr_t)base;
}

static void detach(const pw_reached *range)
{
    xpmem.detach((void *)(uintptr_t)range->at);
}

static const pw_reach attached = {.all_at_once = true, .open = attach, .close = detach};

const void *pw_xpmem_attach(const pw_segment_header *h, uint64_t address, size_t bytes, pw_reached **use)
{
    uint64_t segment = atomic_load_explicit(&h->xpmem, memory_order_acquire), page = (uint64_t)sysconf(_SC_PAGESIZE);
    const pw_reached wanted = {.row = &attached,
                               .owner = h,
                               .version = atomic_load_explicit(&h->removed, memory_order_acquire),
                               .begin = address & -page,
                               .bytes = (address + bytes - (address & -page) + page - 1) & -page,
                               .memory = (void *)(uintptr_t)segment};

    *use = (segment_id)segment > 0 ? pw_reach_take(&wanted, NULL) : NULL;
    return *use ? (const void *)(uintptr_t)((*use)->at + (address - (*use)->begin)) : NULL;
}

void pw_xpmem_end(void)
{
    pw_segment_header *h = pw_segment_own_header();

    pw_reach_close(&attached, NULL, false);
    pthread_mutex_lock(&xpmem.lock);
    atomic_store_explicit(&xpmem.shown, false, memory_order_relaxed);
    if (h)
        atomic_store_explicit(&h->xpmem, 0, memory_order_release);
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
