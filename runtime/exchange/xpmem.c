/*
 * Purpose: maps any memory of other processes. Data: the library of XPMEM, loaded at the first need, and the segment by
 * which this process shows its memory. Invariant: what was attached before its owner raised its count of removals is
 * never found again (reach.h).
 */
#include "runtime/exchange/xpmem.h"

#include "base/log.h"
#include "runtime/exchange/segment.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

enum { OWNER_ONLY = 0600 };

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

/* The singleton. */
static struct {
    pthread_once_t once;
    bool is_there;
#define X(result, name, parameters) result(*name) parameters;
    FUNCTIONS(X)
#undef X
    segment_id own; /* 0: not made */
} xpmem = {.once = PTHREAD_ONCE_INIT};

static void load(void)
{
    void *library = dlopen("libxpmem.so.0", RTLD_NOW | RTLD_LOCAL);

    xpmem.is_there = library;
#define X(result, name, parameters) \
    xpmem.is_there = library && (*(void **)&xpmem.name = dlsym(library, "xpmem_" #name)) && xpmem.is_there;
    FUNCTIONS(X)
#undef X
    if (library && !xpmem.is_there)
        pw_log(PW_LOG_INFO, "libxpmem.so.0 lacks functions of XPMEM, which is not used");
}

static bool is_there(void)
{
    pthread_once(&xpmem.once, load);
    return xpmem.is_there;
}

/* ---- the owner's side -------------------------------------------------------------------------------------------- */

void pw_xpmem_show(void)
{
    pw_segment_header *h = pw_segment_own_header();

    if (!h || !is_there())
        return;
    if (xpmem.own <= 0)
        xpmem.own = xpmem.make(NULL, SIZE_MAX, XPMEM_PERMIT_MODE, (void *)(uintptr_t)OWNER_ONLY);
    if (xpmem.own > 0)
        atomic_store_explicit(&h->xpmem, (uint64_t)xpmem.own, memory_order_release);
    else
        pw_log(PW_LOG_INFO, "XPMEM makes no segment of this process, and is not used");
}

bool pw_xpmem_is_shown(void)
{
    const pw_segment_header *h = pw_segment_own_header();

    return h && atomic_load_explicit(&h->xpmem, memory_order_relaxed);
}

void pw_xpmem_note_removal(void)
{
    pw_segment_header *h = pw_segment_own_header();

    if (h && atomic_load_explicit(&h->xpmem, memory_order_relaxed))
        atomic_fetch_add_explicit(&h->removed, 1, memory_order_release);
}

/* ---- attaching --------------------------------------------------------------------------------------------------- */

/* The range's memory is the number of the owner's segment, and then that of the access to it. */
static uint64_t attach(pw_reached *range, const void *arg)
{
    access_id access =
        is_there() ? xpmem.get((segment_id)(uintptr_t)range->memory, XPMEM_RDWR, XPMEM_PERMIT_MODE, NULL) : -1;
    const struct xpmem_addr from = {access, (off_t)range->begin};
    char *base = access > 0 ? xpmem.attach(from, range->bytes, NULL) : (char *)-1;

    (void)arg;
    range->memory = (void *)(uintptr_t)access;
    if (base != (char *)-1)
        return (uintptr_t)base;
    if (access > 0)
        xpmem.release(access);
    return 0;
}

static void detach(const pw_reached *range)
{
    xpmem.detach((void *)(uintptr_t)range->at);
    xpmem.release((access_id)(uintptr_t)range->memory);
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
    if (h)
        atomic_store_explicit(&h->xpmem, 0, memory_order_release);
    if (xpmem.own > 0)
        xpmem.remove(xpmem.own);
    xpmem.own = 0;
}
