/*
 * The file, the pieces in it and their free blocks. Pieces are only added and the file never gets shorter, so what
 * another process has mapped of it stays readable.
 */
#include "runtime/exchange/segment.h"

#include "base/clock.h"
#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "runtime/engine/memory/source.h"
#include "runtime/exchange/commons.h"
#include "runtime/exchange/late.h"
#include "runtime/exchange/lazy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LEAST_PIECE = 64 << 10,
    MOST_PIECE = 32 << 20,
    MOST_LAZY_PIECE = 1 << 30, /* addresses without memory */
    HUGE_PAGE = 2 << 20,
    LEAST_FOR_COMMONS = 8 * PW_COMMONS_BYTES, /* of the file */
    STEP = 1 << 20 /* bytes whose pages one system call makes; after a signal the call repeats only one step */
};

_Static_assert(MOST_PIECE >> PW_SEGMENT_FIRST_SHIFT <= PW_SEGMENT_PIECE_BLOCKS, "others accept the longest piece");
_Static_assert(LEAST_PIECE % PW_SEGMENT_GRAIN == 0, "offers begin with a page");

static const uint64_t most_bytes = (uint64_t)4 << 30;

typedef struct piece {
    char *base;
    uint64_t at;
    uint32_t shift, count;
    bool lazy;
    pw_segment_offer *offers;
    uint32_t *free, nfree; /* numbers of the free blocks; guarded by the lock */
} piece;

/* The singleton. Pieces are added and never removed, so a block's piece is found without the lock. */
static struct {
    pthread_mutex_t lock;
    _Atomic(pw_segment_header *) header; /* NULL: there is no segment, or it belongs to the parent of this process */
    struct stat file;                    /* identifies the open file, whose descriptor the program may have closed */
    int fd;
    uint64_t bytes, used;
    bool refused;
    piece pieces[PW_SEGMENT_PIECES];
    _Atomic uint32_t npieces;
} segment = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pw_segment_header *header(void)
{
    return atomic_load_explicit(&segment.header, memory_order_acquire);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* The longest that the file may be: the system ends a process that writes beyond its limit. */
static uint64_t allowed_bytes(void)
{
    struct rlimit limit;
    uint64_t bytes = most_bytes;

    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes)
        bytes = limit.rlim_cur;
    return bytes - bytes % PW_SEGMENT_GRAIN;
}

/* Whether the descriptor is still the segment's: programs may close all descriptors that they do not know, and the
 * number may then mean another file. */
static bool has_file(void)
{
    struct stat now;

    return fstat(segment.fd, &now) == 0 && now.st_dev == segment.file.st_dev && now.st_ino == segment.file.st_ino;
}

/* Makes the pages of a range now: a later write without memory for its page would end the process. */
static bool make_pages(uint64_t at, uint64_t bytes)
{
    for (uint64_t end = at + bytes, n; at < end; at += n) {
        n = end - at < STEP ? end - at : STEP;
        while (fallocate(segment.fd, 0, (off_t)at, (off_t)n) != 0)
            if (errno != EINTR)
                return false;
    }
    return true;
}

/* A child could not tell its pages from its parent's, and core dumps would read all of them, also missing ones. */
static void *map(uint64_t at, uint64_t bytes, uint64_t alignment)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
    char *base = pw_reserve(whole, alignment > page ? alignment : page);

    if (!base)
        return NULL;
    if (mmap(base, whole, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, segment.fd, (off_t)at) !=
            MAP_FAILED &&
        madvise(base, whole, MADV_DONTFORK) == 0 && madvise(base, whole, MADV_DONTDUMP) == 0)
        return base;
    munmap(base, whole);
    return NULL;
}

static bool make_file(void)
{
    segment.bytes = allowed_bytes();
    segment.fd = memfd_create(PW_SEGMENT_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return segment.fd >= 0 && segment.bytes > PW_SEGMENT_GRAIN && ftruncate(segment.fd, (off_t)segment.bytes) == 0 &&
           fcntl(segment.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0 && fstat(segment.fd, &segment.file) == 0;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

/* Runs in the child of a fork, which has the file but not the mapping. */
static void forget(void)
{
    atomic_store_explicit(&segment.header, NULL, memory_order_relaxed);
    segment.refused = true;
}

static void make_owner(pthread_mutex_t *owner)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(owner, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

static pw_segment_header *make_header(void)
{
    pw_segment_header *h = make_file() && make_pages(0, sizeof *h) ? map(0, sizeof *h, 0) : NULL;

    if (!h) {
        if (segment.fd >= 0)
            close(segment.fd);
        return NULL;
    }
    h->title = (pw_segment_title){.name = PW_SEGMENT_NAME, .version = PW_SEGMENT_VERSION, .pid = getpid()};
    make_owner(&h->owner);
    h->identity = (uint64_t)pw_clock_ns() ^ segment.file.st_ino << 40;
    segment.used = PW_SEGMENT_GRAIN;
    if (segment.bytes >= LEAST_FOR_COMMONS) {
        h->commons = segment.used;
        segment.used += PW_COMMONS_BYTES;
    }
    return h;
}

static void create(void)
{
    pw_segment_header *h = make_header();

    if (!h) {
        segment.refused = true;
        pw_log(PW_LOG_INFO, "no memory to share within the node (%s): messages are copied once more", strerror(errno));
        return;
    }
    pthread_atfork(NULL, NULL, forget);
    atomic_store_explicit(&segment.header, h, memory_order_release);
}

/* The calling thread locks the owner mutex for the process, unless another thread holds it. */
static void enter(pw_segment_header *h)
{
    if (pthread_mutex_trylock(&h->owner) == EOWNERDEAD)
        pthread_mutex_consistent(&h->owner);
    atomic_store_explicit(&h->ended, 0, memory_order_relaxed);
    atomic_store_explicit(&h->open, 1, memory_order_release);
}

/* The header's mapping has whole pages. */
static bool words(pw_source_words *words)
{
    pw_segment_header *h = header();
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (!h)
        return false;
    *words = (pw_source_words){.pages = h,
                               .bytes = (sizeof *h + page - 1) / page * page,
                               .first = &h->signals[0].value,
                               .stride = sizeof h->signals[0],
                               .count = PW_SEGMENT_SIGNALS};
    return true;
}

void pw_segment_open(void)
{
    static const pw_source source = {
        .take = pw_segment_take, .take_lazy = pw_segment_take_lazy, .give = pw_segment_give, .words = words};

    if (!pw_env_bool(PW_ENV_SHARED) || pw_env_bool(PW_ENV_DISABLE))
        return;
    PW_HOLD(&segment.lock);
    if (!header() && !segment.refused)
        create();
    if (header()) {
        enter(header());
        atomic_store_explicit(&pw_shared_source, &source, memory_order_release);
    }
}

/* Runs also when a process ends without MPI_Finalize. */
__attribute__((destructor)) void pw_segment_close(void)
{
    if (header())
        atomic_store_explicit(&header()->open, 0, memory_order_release);
}

void pw_segment_end(void)
{
    if (header())
        atomic_store_explicit(&header()->ended, 1, memory_order_release);
    pw_segment_close();
}

bool pw_segment_is_open(void)
{
    return header() && atomic_load_explicit(&header()->open, memory_order_relaxed);
}

pw_segment_header *pw_segment_own_header(void)
{
    return header();
}

bool pw_segment_wants_replicas(void)
{
    return header() && atomic_load_explicit(&header()->wanted, memory_order_relaxed);
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static uint64_t bytes_of(const piece *p)
{
    return (uint64_t)p->count << p->shift;
}

/* The piece in which the byte is, also in a child, where nothing is mapped there. NULL: none. The longest pieces are
 * the latest ones. */
static piece *piece_of(const void *byte)
{
    for (uint32_t i = atomic_load_explicit(&segment.npieces, memory_order_acquire); i-- > 0;)
        if ((uintptr_t)byte - (uintptr_t)segment.pieces[i].base < bytes_of(&segment.pieces[i]))
            return &segment.pieces[i];
    return NULL;
}

static uint32_t number_of(const piece *p, const void *block)
{
    return (uint32_t)((uint64_t)((const char *)block - p->base) >> p->shift);
}

/* Enters the piece into the directory, so that other processes may map it. */
static void publish(const piece *p)
{
    uint32_t n = atomic_load_explicit(&segment.npieces, memory_order_relaxed);

    segment.pieces[n] = *p;
    header()->pieces[n] = (pw_segment_piece){(uintptr_t)p->base, p->at, p->shift, p->count, p->lazy};
    atomic_store_explicit(&segment.npieces, n + 1, memory_order_release);
    atomic_store_explicit(&header()->npieces, n + 1, memory_order_release);
}

static uint64_t alignment_of(uint64_t bytes)
{
    return bytes < HUGE_PAGE ? PW_SEGMENT_GRAIN : HUGE_PAGE;
}

/* Maps the piece's memory in the file, of which `blocks` bytes are blocks, and makes the pages of its offers. */
static char *map_in_file(const piece *p, uint64_t blocks)
{
    uint64_t offers = p->count * sizeof *p->offers;

    if (p->at > segment.bytes || blocks + offers > segment.bytes - p->at || !make_pages(p->at + blocks, offers))
        return NULL;
    return map(p->at, blocks + offers, alignment_of(blocks));
}

static bool map_piece(piece *p)
{
    uint64_t blocks = p->lazy ? 0 : bytes_of(p);
    char *base = map_in_file(p, blocks);

    p->offers = base ? (pw_segment_offer *)(base + blocks) : NULL;
    p->base = base && p->lazy ? pw_lazy_map(p->shift, p->count) : base;
    if (base && !p->base)
        munmap(base, p->count * sizeof *p->offers);
    return p->base;
}

static bool add_piece(uint32_t shift, uint32_t count, bool lazy)
{
    uint64_t in_file = lazy ? 0 : (uint64_t)count << shift, alignment = alignment_of(in_file);
    piece p = {
        .shift = shift, .count = count, .lazy = lazy, .at = (segment.used + alignment - 1) / alignment * alignment};

    if (atomic_load_explicit(&segment.npieces, memory_order_relaxed) == PW_SEGMENT_PIECES)
        return false;
    p.free = malloc(count * sizeof *p.free);
    if (!p.free || !map_piece(&p)) {
        free(p.free);
        return false;
    }
    while (p.nfree < count) {
        p.free[p.nfree] = count - 1 - p.nfree;
        p.nfree++;
    }
    segment.used = p.at + in_file + count * sizeof *p.offers;
    publish(&p);
    return true;
}

/* The blocks of a new piece: as many as there are of this size, within bounds; one if there is no room for so many. */
static bool add_blocks(uint32_t shift, bool lazy)
{
    uint64_t bytes = 0, block = (uint64_t)1 << shift, most = lazy ? MOST_LAZY_PIECE : MOST_PIECE;
    uint32_t n = atomic_load_explicit(&segment.npieces, memory_order_relaxed);

    for (uint32_t i = 0; i < n; i++)
        if (segment.pieces[i].shift == shift && segment.pieces[i].lazy == lazy)
            bytes += bytes_of(&segment.pieces[i]);
    most = most >> shift > PW_SEGMENT_PIECE_BLOCKS ? (uint64_t)PW_SEGMENT_PIECE_BLOCKS << shift : most;
    bytes = bytes < LEAST_PIECE ? LEAST_PIECE : bytes > most ? most : bytes;
    return (bytes > block && add_piece(shift, (uint32_t)(bytes >> shift), lazy)) || add_piece(shift, 1, lazy);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static piece *piece_with_room(uint32_t shift, bool lazy)
{
    uint32_t n = atomic_load_explicit(&segment.npieces, memory_order_relaxed);

    for (uint32_t i = 0; i < n; i++)
        if (segment.pieces[i].shift == shift && segment.pieces[i].lazy == lazy && segment.pieces[i].nfree > 0)
            return &segment.pieces[i];
    return NULL;
}

static char *take_free(uint32_t shift, bool lazy)
{
    PW_HOLD(&segment.lock);
    piece *p = piece_with_room(shift, lazy);

    if (!has_file())
        return NULL;
    if (!p && add_blocks(shift, lazy))
        p = piece_with_room(shift, lazy);
    return p ? p->base + ((uint64_t)p->free[--p->nfree] << shift) : NULL;
}

/* Gives the block's pages back to the system. */
static void put_free(piece *p, char *block)
{
    if (p->lazy)
        pw_lazy_clear(block);
    else
        madvise(block, (size_t)1 << p->shift, MADV_REMOVE);
    PW_HOLD(&segment.lock);
    p->free[p->nfree++] = number_of(p, block);
}

static char *take(uint32_t shift, bool lazy)
{
    bool is_size = shift >= PW_SEGMENT_FIRST_SHIFT && shift <= PW_SEGMENT_LAST_SHIFT;

    return header() && is_size ? take_free(shift, lazy) : NULL;
}

void *pw_segment_take_stand_in(size_t bytes)
{
    return pw_lazy_serves() != PW_LAZY_NOBODY ? take((uint32_t)__builtin_ctzll(bytes), true) : NULL;
}

void *pw_segment_take_lazy(size_t bytes)
{
    return bytes > (size_t)1 << PW_SEGMENT_FIRST_SHIFT && pw_lazy_serves() == PW_LAZY_EVERYBODY
               ? take((uint32_t)__builtin_ctzll(bytes), true)
               : NULL;
}

void *pw_segment_take(size_t bytes)
{
    uint32_t shift = PW_SEGMENT_FIRST_SHIFT;
    char *block;
    piece *p;

    while (shift <= PW_SEGMENT_LAST_SHIFT && (size_t)1 << shift < bytes)
        shift++;
    block = take(shift, false);
    if (!block)
        return NULL;
    p = piece_of(block);
    if (make_pages(p->at + (uint64_t)(block - p->base), bytes))
        return block;
    put_free(p, block);
    return NULL;
}

pw_segment_offer *pw_segment_offer_at(const void *data)
{
    piece *p = header() ? piece_of(data) : NULL;
    uint32_t number;

    if (!p || p->shift == PW_SEGMENT_FIRST_SHIFT)
        return NULL;
    number = number_of(p, data);
    return (const char *)data == p->base + ((uint64_t)number << p->shift) ? &p->offers[number] : NULL;
}

void pw_segment_fill(pw_segment_offer *o, size_t bytes, pw_offer_form form, bool late)
{
    if (atomic_load_explicit(&o->form, memory_order_relaxed) != form)
        atomic_store_explicit(&o->form, form, memory_order_release);
    pw_late_begin(&o->late, late);
    atomic_store_explicit(&o->bytes, bytes, memory_order_release);
}

void pw_segment_note(const void *data, size_t bytes, pw_offer_form form, bool late)
{
    pw_segment_offer *o = pw_segment_offer_at(data);

    if (o)
        pw_segment_fill(o, bytes, form, late);
}

bool pw_segment_give(void *block)
{
    piece *p = piece_of(block);
    pw_segment_offer *o;

    if (!p || !header())
        return p;
    o = &p->offers[number_of(p, block)];
    atomic_store_explicit(&o->bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&o->form, PW_OFFER_BLOCK, memory_order_relaxed);
    o->exported.number = 0;
    atomic_fetch_add_explicit(&o->removed, 1, memory_order_release);
    put_free(p, block);
    return true;
}
