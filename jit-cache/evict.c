#include "jit-cache/disk.h"

#include "jit-cache/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    STORES_PER_SCAN = 64, /* other processes store, too: look at the directory this often */
    ABANDONED_SECONDS = 3600
};

typedef struct candidate {
    pw_hash key;
    int64_t bytes, used_at; /* used_at in nanoseconds */
} candidate;

typedef struct scan {
    candidate *list;
    size_t n, room;
    int64_t total;
} scan;

static bool add(scan *s, pw_hash key, const struct stat *st)
{
    if (s->n == s->room) {
        size_t room = s->room ? 2 * s->room : 256;
        candidate *list = realloc(s->list, room * sizeof *list);

        if (!list)
            return false;
        s->list = list;
        s->room = room;
    }
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
    qsort(s->list, s->n, sizeof *s->list, older_first);
    for (size_t i = 0; i < s->n && s->total > goal; i++) {
        char name[PW_NAME_TEXT];

        if (pw_hash_equal(s->list[i].key, keep))
            continue;
        pw_name_entry(s->list[i].key, name);
        unlinkat(dirfd, name, 0);
        s->total -= s->list[i].bytes;
    }
}

/* The directory is read at a process's first store, then when it may have grown too large. */
static bool scan_is_due(pw_disk *disk, int64_t stored)
{
    bool due;

    pthread_mutex_lock(&disk->lock);
    due = disk->total_bytes < 0;
    if (!due)
        disk->total_bytes += stored;
    due |= disk->total_bytes > disk->max_bytes || ++disk->stores_since_scan >= STORES_PER_SCAN;
    if (due)
        disk->stores_since_scan = 0;
    pthread_mutex_unlock(&disk->lock);
    return due;
}

void pw_disk_evict(pw_disk *disk, pw_hash key, int64_t stored)
{
    scan s = {0};

    if (disk->max_bytes <= 0 || !scan_is_due(disk, stored))
        return;
    if (scan_directory(disk->fd, &s)) {
        /* An eighth below the bound, so that the next store need not scan again. */
        if (s.total > disk->max_bytes)
            remove_oldest(disk->fd, &s, disk->max_bytes - disk->max_bytes / 8, key);
        pthread_mutex_lock(&disk->lock);
        disk->total_bytes = s.total;
        pthread_mutex_unlock(&disk->lock);
    }
    free(s.list);
}
