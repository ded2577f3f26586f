#include "runtime/node/peers.h"

#include "base/log.h"
#include "runtime/node/segment.h"
#include "runtime/node/sharing.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PEERS = 1024, PATH_BYTES = 64, LINK_BYTES = 64 };

typedef struct peer {
    _Atomic pid_t pid;         /* 0: the place is free. Set last. */
    const char *segment;       /* NULL: none */
    pw_segment_header *header; /* the same memory, but writable */
    uint64_t base, bytes;      /* copies: the header is the other's to write */
} peer;

/* The singleton. Places are filled and never emptied, so readers need no lock. */
static struct {
    pthread_mutex_t lock;
    peer many[PEERS];
} peers = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- finding a segment ------------------------------------------------------------------------------------------- */

static bool is_segment(int directory, const char *name)
{
    char link[LINK_BYTES];
    ssize_t n = readlinkat(directory, name, link, sizeof link - 1);

    if (n <= 0)
        return false;
    link[n] = '\0';
    return strstr(link, "memfd:" PW_SEGMENT_NAME) != NULL;
}

/* The title is read before anything is mapped: it may be of another version, or of the process's parent. */
static bool map(int fd, pid_t pid, peer *p)
{
    pw_segment_title h;
    void *segment, *header;

    if (pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h || strncmp(h.name, PW_SEGMENT_NAME, sizeof h.name) != 0 ||
        h.version != PW_SEGMENT_VERSION || h.pid != pid)
        return false;
    segment = mmap(NULL, h.bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
    header = mmap(NULL, PW_SEGMENT_HEADER, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (segment == MAP_FAILED || header == MAP_FAILED) {
        if (segment != MAP_FAILED)
            munmap(segment, h.bytes);
        if (header != MAP_FAILED)
            munmap(header, PW_SEGMENT_HEADER);
        return false;
    }
    *p = (peer){.segment = segment, .header = header, .base = h.base, .bytes = h.bytes};
    return true;
}

static void find_in(DIR *files, pid_t pid, peer *p)
{
    struct dirent *file;
    bool found = false;

    while (!found && (file = readdir(files))) {
        int fd;

        if (!is_segment(dirfd(files), file->d_name))
            continue;
        fd = openat(dirfd(files), file->d_name, O_RDWR | O_CLOEXEC);
        if (fd < 0)
            continue;
        found = map(fd, pid, p);
        close(fd);
    }
}

static void look_up(pid_t pid, peer *p)
{
    char path[PATH_BYTES];
    DIR *files;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    files = opendir(path);
    if (files) {
        find_in(files, pid, p);
        closedir(files);
    }
    pw_log(PW_LOG_DEBUG, "process %d %s", (int)pid,
           p->segment ? "shares its outbound messages" : "has no outbound memory that this one can map");
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* The place of a process, or the free one where it would be. NULL: it is not there, and the table is full. */
static peer *place_of(pid_t pid)
{
    for (int i = 0; i < PEERS; i++) {
        peer *p = &peers.many[((unsigned)pid + (unsigned)i) % PEERS];
        pid_t there = atomic_load_explicit(&p->pid, memory_order_acquire);

        if (there == pid || there == 0)
            return p;
    }
    return NULL;
}

static const peer *learn(pid_t pid)
{
    peer *p;

    pthread_mutex_lock(&peers.lock);
    p = place_of(pid);
    if (p && atomic_load_explicit(&p->pid, memory_order_relaxed) == 0) {
        look_up(pid, p);
        atomic_store_explicit(&p->pid, pid, memory_order_release);
    }
    pthread_mutex_unlock(&peers.lock);
    return p;
}

/* Written once: the owner of the header looks at it for every message. */
static void note_sharing(const peer *p)
{
    if (!atomic_load_explicit(&p->header->read, memory_order_relaxed))
        atomic_store_explicit(&p->header->read, 1, memory_order_relaxed);
    pw_sharing_note_read();
}

const void *pw_peer_memory(pid_t pid, const void *remote, size_t bytes)
{
    const peer *p = pid > 0 ? place_of(pid) : NULL;
    uint64_t at;

    if (p && atomic_load_explicit(&p->pid, memory_order_acquire) != pid)
        p = learn(pid);
    if (!p || !p->segment || !atomic_load_explicit(&p->header->open, memory_order_acquire))
        return NULL;
    at = (uint64_t)(uintptr_t)remote - p->base;
    if (at >= p->bytes || bytes > p->bytes - at)
        return NULL;
    note_sharing(p);
    return p->segment + at;
}

bool pw_peer_block_of(pid_t pid, const void *remote, pw_peer_block *out)
{
    const peer *p = pid > 0 ? place_of(pid) : NULL;
    const pw_segment_block *b;
    uint64_t at;

    if (!p || atomic_load_explicit(&p->pid, memory_order_acquire) != pid || !p->segment)
        return false;
    at = (uint64_t)(uintptr_t)remote - p->base;
    b = at < p->bytes ? pw_segment_find(p->header, at) : NULL;
    if (!b || b->at > p->bytes || b->bytes > p->bytes - b->at)
        return false;
    *out = (pw_peer_block){.base = p->segment + b->at,
                           .bytes = b->bytes,
                           .message = atomic_load_explicit(&b->message, memory_order_acquire),
                           .removed = atomic_load_explicit(&b->removed, memory_order_acquire),
                           .segment = p->segment,
                           .replicated = atomic_load_explicit(&b->replicated, memory_order_acquire),
                           .wanted = &p->header->wanted};
    if (out->replicated)
        out->replica = b->replica;
    return out->message <= out->bytes;
}
