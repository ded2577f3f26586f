/*
 * The bound on the directory's size. All processes that store share an account of it, the file "total": bytes of all
 * entries, and stores since the entries were last looked at. Whoever stores holds a flock on that file from before it
 * counts the new entry until the entry is in its place; so the bound holds however many processes store at once. A
 * process that dies loses its flock. The account may say more than there is (entries removed by hand, a process that
 * died before it stored), which only leads to an earlier look.
 */
#include "jit-cache/disk.h"

#include "base/grow.h"
#include "base/replace.h"
#include "jit-cache/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum {
    STORES_PER_SCAN = 64, /* corrects the account, and removes what the dead left */
    ABANDONED_SECONDS = 3600,
    NAP_US = 500,
    PATIENCE_US = 100000 /* the thread that stores may be the program's */
};

/* ---- the entries ------------------------------------------------------------------------------- */

typedef struct candidate {
    pw_hash key;
    int64_t bytes, used_at; /* used_at in nanoseconds */
} candidate;

typedef struct scan {
    candidate *list;
    int64_t n, room;
    int64_t total;
} scan;

static bool add(scan *s, pw_hash key, const struct stat *st)
{
    candidate *list = pw_grow(s->list, s->n, &s->room, sizeof *list);

    if (!list)
        return false;
    s->list = list;
    s->list[s->n++] = (candidate){key, st->st_size, st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec};
    s->total += st->st_size;
    return true;
}

static void visit(int dirfd, const char *name, scan *s)
{
    struct stat st;
    pw_hash key;
    pw_name_kind kind = pw_name_parse(name, &key);

    if (kind == PW_NAME_OTHER || fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
        return;
    if (kind == PW_NAME_ENTRY)
        add(s, key, &st); /* one not added for lack of memory waits for the next scan */
    else if (time(NULL) - st.st_mtime > ABANDONED_SECONDS)
        unlinkat(dirfd, name, 0);
}

static bool scan_directory(int dirfd, scan *s)
{
    int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (!dir) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    for (struct dirent *e = readdir(dir); e; e = readdir(dir))
        visit(dirfd, e->d_name, s);
    closedir(dir);
    return true;
}

static int older_first(const void *a, const void *b)
{
    const candidate *x = a, *y = b;

    return (x->used_at > y->used_at) - (x->used_at < y->used_at);
}

/* Code that is loaded stays mapped when its file goes. */
static void remove_oldest(int dirfd, scan *s, int64_t goal, pw_hash keep)
{
    if (s->n > 0)
        qsort(s->list, (size_t)s->n, sizeof *s->list, older_first);
    for (int64_t i = 0; i < s->n && s->total > goal; i++) {
        char name[PW_NAME_TEXT];

        if (pw_hash_equal(s->list[i].key, keep))
            continue;
        pw_name_entry(s->list[i].key, name);
        unlinkat(dirfd, name, 0);
        s->total -= s->list[i].bytes;
    }
}

/* Makes room for `size` bytes under `key`; returns how many there will be with them, -1: unknown. */
static int64_t make_room(pw_disk *disk, pw_hash key, int64_t size)
{
    scan s = {.total = size};
    bool seen = scan_directory(disk->fd, &s);

    /* An eighth below the bound, so that the next store need not scan again. */
    if (seen && s.total > disk->max_bytes)
        remove_oldest(disk->fd, &s, disk->max_bytes - disk->max_bytes / 8, key);
    free(s.list);
    return seen ? s.total : -1;
}

/* ---- the account -------------------------------------------------------------------------------- */

typedef struct account {
    int64_t bytes; /* -1: unknown */
    int stores;
} account;

static account read_account(int fd)
{
    char text[64] = "";
    account a = {-1, 0};

    if (pread(fd, text, sizeof text - 1, 0) > 0 && sscanf(text, "%" SCNd64 " %d", &a.bytes, &a.stores) != 2)
        a.bytes = -1;
    if (a.bytes > INT64_MAX / 2 || a.stores > INT_MAX / 2) /* nonsense, to which nothing can be added */
        a = (account){-1, 0};
    return a;
}

/* One width for all numbers, so that each text replaces the whole of the one before. */
static void write_account(int fd, account a)
{
    char text[64];
    int n = snprintf(text, sizeof text, "%20" PRId64 " %10d\n", a.bytes, a.stores);

    pw_write_all(fd, text, (size_t)n); /* where this fails, the next process has to scan */
}

/* False: another process held it all the time. On a file system without such locks the account is used without. */
static bool lock_account(int fd)
{
    static const struct timespec nap = {.tv_nsec = NAP_US * 1000};

    for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB); waited += NAP_US) {
        if (errno != EWOULDBLOCK)
            return true;
        if (waited >= PATIENCE_US)
            return false;
        nanosleep(&nap, NULL);
    }
    return true;
}

/* A process that cannot lock the account stores all the same, and counts that at its next store. False: this would come
 * to more than an eighth of the bound, so it is to use the account without the lock. */
static bool put_off(pw_disk *disk, int64_t size)
{
    bool may;

    pthread_mutex_lock(&disk->lock);
    may = disk->max_bytes <= 0 || disk->uncounted + size <= disk->max_bytes / 8;
    if (may)
        disk->uncounted += size;
    pthread_mutex_unlock(&disk->lock);
    return may;
}

/* What was put off, from now on counted. */
static int64_t take_uncounted(pw_disk *disk)
{
    int64_t bytes;

    pthread_mutex_lock(&disk->lock);
    bytes = disk->uncounted;
    disk->uncounted = 0;
    pthread_mutex_unlock(&disk->lock);
    return bytes;
}

int pw_disk_begin_insert(pw_disk *disk, pw_hash key, int64_t size)
{
    int fd = openat(disk->fd, "total", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    int64_t more;
    account a;

    if (!lock_account(fd) && put_off(disk, size))
        return fd;
    more = take_uncounted(disk) + size;
    a = read_account(fd);
    if (a.bytes >= 0)
        a.bytes += more;
    a.stores++;
    /* Unbounded, it leaves looking to others. */
    if (disk->max_bytes > 0 && (a.bytes < 0 || a.bytes > disk->max_bytes || a.stores >= STORES_PER_SCAN))
        a = (account){.bytes = make_room(disk, key, size)};
    write_account(fd, a);
    return fd;
}

void pw_disk_end_insert(int fd)
{
    if (fd < 0)
        return;
    flock(fd, LOCK_UN); /* a child forked meanwhile has the same lock, and would keep it */
    close(fd);
}
