/*
 * The processes that this one has looked for, by pid, each with its segment's header and the pieces that are mapped.
 * Readers take no lock: peers and mappings are only added, and stay until this process ends.
 */
#include "runtime/exchange/peers.h"

#include "base/handle_table.h"
#include "base/lock.h"
#include "base/log.h"
#include "runtime/exchange/late.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PATH_BYTES = 64, LINK_BYTES = 64 };

typedef struct mapped {
    pw_segment_piece piece;
    const char *base;         /* of a lazy piece: where it is in its owner */
    pw_segment_offer *offers; /* NULL: it cannot be mapped */
} mapped;

/* Another process. Its record and its mappings stay as long as this process, since a GPU may have registered them. */
typedef struct peer {
    pw_segment_header *header; /* NULL: the process has no segment that this one can map */
    char path[PATH_BYTES];     /* of the segment's file, in /proc, while the process has it open */
    struct stat file;
    _Atomic int nmapped; /* pieces are added under the lock and never removed */
    mapped mapped[PW_SEGMENT_PIECES];
    struct peer *next; /* in the list of all peers with a segment, also of those that have ended */
} peer;

/* The singleton. The lock is held while peers and pieces are added. */
static struct {
    pthread_mutex_t lock;
    pw_handle_table table; /* by pid */
    peer *all;             /* mappings of a peer that has ended may still be in use, so its record is kept */
    peer none;             /* stands for all processes without a segment */
} peers = {.lock = PTHREAD_MUTEX_INITIALIZER, .table = PW_HANDLE_TABLE};

/* ---- finding a segment ------------------------------------------------------------------------------------------- */

/* Whether the open file `number` in a folder /proc/PID/fd, which is open as `files`, is that of a segment. */
static bool is_segment(int files, const char *number)
{
    char link[LINK_BYTES];
    ssize_t n = readlinkat(files, number, link, sizeof link - 1);

    if (n <= 0)
        return false;
    link[n] = '\0';
    return strstr(link, "memfd:" PW_SEGMENT_NAME);
}

/* Only `bytes` that cannot be cut off are mapped: reading behind the end of a file ends the process. Others' memory is
 * nothing for core dumps of this process. */
static void *map(int fd, uint64_t at, uint64_t bytes, int access)
{
    void *memory = mmap(NULL, bytes, access, MAP_SHARED | MAP_NORESERVE, fd, (off_t)at);

    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, bytes, MADV_DONTDUMP);
    return memory;
}

/* Checks the title before anything is mapped: the file may be of another version, or belong to the process's parent. */
static pw_segment_header *map_header(int fd, pid_t pid, struct stat *file)
{
    pw_segment_title title;
    pw_segment_header *h;
    int seals = fcntl(fd, F_GET_SEALS);

    if (pread(fd, &title, sizeof title, 0) != (ssize_t)sizeof title || !pw_segment_is_titled(&title, pid) ||
        fstat(fd, file) != 0 || file->st_size < (off_t)sizeof *h || seals < 0 || !(seals & F_SEAL_SHRINK))
        return NULL;
    h = map(fd, 0, sizeof *h, PROT_READ | PROT_WRITE);
    if (h && !pw_segment_owner_lives(h)) {
        munmap(h, sizeof *h);
        return NULL;
    }
    return h;
}

static void find_in(DIR *files, pid_t pid, peer *p)
{
    struct dirent *file;

    while (!p->header && (file = readdir(files))) {
        int fd;

        if (!is_segment(dirfd(files), file->d_name))
            continue;
        fd = openat(dirfd(files), file->d_name, O_RDWR | O_CLOEXEC);
        if (fd < 0)
            continue;
        snprintf(p->path, sizeof p->path, "/proc/%d/fd/%.16s", (int)pid, file->d_name);
        p->header = map_header(fd, pid, &p->file);
        close(fd);
    }
}

/* The lock must be held. */
static peer *look_up(pid_t pid)
{
    peer *p = calloc(1, sizeof *p);
    char path[PATH_BYTES];
    DIR *files;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    files = p ? opendir(path) : NULL;
    if (files) {
        find_in(files, pid, p);
        closedir(files);
    }
    if (p && p->header) {
        p->next = peers.all;
        peers.all = p;
    } else {
        free(p);
        p = &peers.none;
    }
    pw_log(PW_LOG_DEBUG, "process %d %s", (int)pid,
           p->header ? "shares its outbound messages" : "has no outbound memory that this one can map");
    return p;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static bool is_current(const peer *p)
{
    return p && (!p->header || pw_segment_owner_lives(p->header));
}

static peer *learn(pid_t pid)
{
    PW_HOLD(&peers.lock);
    peer *p = pw_handle_table_find(&peers.table, (uint64_t)pid);

    if (!is_current(p)) {
        p = look_up(pid);
        pw_handle_table_insert(&peers.table, (uint64_t)pid, p); /* if that fails, it is looked up again */
    }
    return p;
}

static peer *peer_of(pid_t pid)
{
    peer *p = pid > 0 ? pw_handle_table_find(&peers.table, (uint64_t)pid) : &peers.none;

    return is_current(p) ? p : learn(pid);
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static mapped *find_mapped(peer *p, uint64_t address, uint64_t bytes)
{
    for (int i = atomic_load_explicit(&p->nmapped, memory_order_acquire); i-- > 0;)
        if (pw_segment_piece_holds(&p->mapped[i].piece, address, bytes))
            return &p->mapped[i];
    return NULL;
}

/* Lets this process write the offers of a piece, in which it says that it reads a message late. */
static bool open_offers(char *base, const pw_segment_piece *piece)
{
    uint64_t blocks = pw_segment_piece_bytes(piece), first = blocks - blocks % (uint64_t)sysconf(_SC_PAGESIZE);

    return mprotect(base + first, pw_segment_mapped_bytes(piece) - first, PROT_READ | PROT_WRITE) == 0;
}

/* Blocks of lazy memory are not in the file: their addresses are those of the owner, and nobody reads there. */
static void map_in(int fd, mapped *m)
{
    const pw_segment_piece *piece = &m->piece;
    uint64_t blocks = piece->lazy ? 0 : pw_segment_piece_bytes(piece), bytes = pw_segment_file_bytes(piece);
    char *base = map(fd, piece->at, bytes, piece->lazy ? PROT_READ | PROT_WRITE : PROT_READ);

    if (base && !piece->lazy && !open_offers(base, piece)) {
        munmap(base, bytes);
        return;
    }
    m->offers = base ? (pw_segment_offer *)(void *)(base + blocks) : NULL;
    m->base = piece->lazy ? (const char *)(uintptr_t)piece->address : base;
}

/* Opens the peer's file anew. -1: it cannot be opened, or is another one meanwhile. */
static int open_file(const peer *p)
{
    int fd = open(p->path, O_RDWR | O_CLOEXEC);
    struct stat now;

    if (fd < 0 || (fstat(fd, &now) == 0 && now.st_dev == p->file.st_dev && now.st_ino == p->file.st_ino))
        return fd;
    close(fd);
    return -1;
}

void *pw_peer_commons(pid_t pid, size_t bytes)
{
    const peer *p = peer_of(pid);
    uint64_t at = p->header ? p->header->commons : 0, all = (uint64_t)p->file.st_size;
    bool is_there = at > 0 && at % PW_SEGMENT_GRAIN == 0 && at <= all && bytes <= all - at;
    int fd = is_there && p->file.st_uid == geteuid() ? open_file(p) : -1;
    void *memory;

    if (fd < 0)
        return NULL;
    memory = map(fd, at, bytes, PROT_READ | PROT_WRITE);
    close(fd);
    return memory;
}

/* Maps the piece that has these bytes, unless another thread was faster. */
static mapped *add_mapped(peer *p, const pw_segment_piece *piece, uint64_t address, uint64_t bytes)
{
    PW_HOLD(&peers.lock);
    int n = atomic_load_explicit(&p->nmapped, memory_order_relaxed), fd;
    mapped *m = find_mapped(p, address, bytes);

    if (m || n == PW_SEGMENT_PIECES)
        return m;
    m = &p->mapped[n];
    m->piece = *piece;
    fd = open_file(p);
    if (fd >= 0) {
        map_in(fd, m);
        close(fd);
    }
    atomic_store_explicit(&p->nmapped, n + 1, memory_order_release);
    return m;
}

/* Takes no lock for bytes that are in no piece, as those of messages that the peer has not packed. */
static mapped *mapped_with(peer *p, uint64_t address, uint64_t bytes)
{
    mapped *m = find_mapped(p, address, bytes);
    pw_segment_piece piece;

    if (m || !pw_segment_find(p->header, (uint64_t)p->file.st_size, address, bytes, &piece))
        return m;
    return add_mapped(p, &piece, address, bytes);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static pw_peer_block block_at(peer *p, pid_t pid, const mapped *m, uint64_t at)
{
    uint64_t bytes = (uint64_t)1 << m->piece.shift, number = at >> m->piece.shift;
    pw_segment_offer *o = &m->offers[number];
    pw_segment_late *part = pw_late_part_at(p->header, m->piece.address + at);
    pw_peer_block block = {.base = m->base + number * bytes,
                           .bytes = bytes,
                           .message = atomic_load_explicit(&o->bytes, memory_order_acquire),
                           .removed = atomic_load_explicit(&o->removed, memory_order_acquire),
                           .form = (pw_offer_form)atomic_load_explicit(&o->form, memory_order_acquire),
                           .lazy = m->piece.lazy,
                           .pid = pid,
                           .address = m->piece.address + number * bytes,
                           .replica = {.segment = p->header, .wanted = &p->header->wanted},
                           .offer = o,
                           .late = part ? part : &o->late};

    if (block.message > bytes)
        block.message = 0;
    if (block.form != PW_OFFER_BLOCK)
        block.replica.memory = o->exported;
    return block;
}

pw_segment_header *pw_peer_header(pid_t pid)
{
    pw_segment_header *h = peer_of(pid)->header;

    return h && atomic_load_explicit(&h->open, memory_order_acquire) ? h : NULL;
}

const void *pw_peer_memory(pid_t pid, const void *remote, size_t bytes, pw_peer_block *block)
{
    uint64_t address = (uintptr_t)remote;
    peer *p = peer_of(pid);
    mapped *m;

    if (!p->header || !atomic_load_explicit(&p->header->open, memory_order_acquire))
        return NULL;
    m = mapped_with(p, address, bytes);
    if (!m || !m->offers)
        return NULL;
    *block = block_at(p, pid, m, address - m->piece.address);
    return m->base + (address - m->piece.address);
}

/* Asks the system, which asks the owner. If that process ends meanwhile, the system may deliver zeros. */
static bool copy_lazy(const pw_peer_block *block, void *to, uint64_t address, size_t bytes)
{
    while (bytes > 0) {
        struct iovec local = {.iov_base = to, .iov_len = bytes};
        struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = bytes};
        ssize_t n = syscall(SYS_process_vm_readv, block->pid, &local, 1, &remote, 1, 0);

        if (n <= 0)
            return false;
        to = (char *)to + n;
        address += (uint64_t)n;
        bytes -= (size_t)n;
    }
    errno = ESRCH;
    return pw_segment_owner_lives(block->replica.segment);
}

bool pw_peer_copy(const pw_peer_block *block, void *to, const void *from, size_t bytes)
{
    if (block->lazy)
        return copy_lazy(block, to, block->address + (uint64_t)((const char *)from - block->base), bytes);
    memcpy(to, from, bytes);
    return true;
}
