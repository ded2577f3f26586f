/*
 * <key>.lock: made with O_EXCL by whoever compiles, holding "host pid". It saves work and protects nothing:
 * a lock lost or taken twice costs one more compile, since entries are complete when they appear.
 */
#include "jit-cache/disk.h"

#include "base/replace.h"
#include "jit-cache/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STALE_SECONDS = 10 };

typedef enum lock_fate { LOCK_ALIVE, LOCK_REMOVED, LOCK_GONE } lock_fate;

static bool create_lock(int dirfd, const char *name, pw_disk_lock *out)
{
    char host[64], text[96];
    struct stat st = {0};
    int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int n;

    if (fd < 0)
        return false;
    if (fstat(fd, &st))
        st.st_ino = 0;
    pw_host_name(host);
    n = snprintf(text, sizeof text, "%s %ld\n", host, (long)getpid());
    /* Empty, on a full disk, it is a lock all the same; it only cannot tell that its owner died. */
    pw_write_all(fd, text, (size_t)n);
    close(fd);
    *out = (pw_disk_lock){.dev = st.st_dev, .ino = st.st_ino};
    return true;
}

static bool owner_is_dead(int fd)
{
    char text[96] = "", host[64];
    char *space;
    long pid;

    if (pread(fd, text, sizeof text - 1, 0) <= 0)
        return false;
    space = strchr(text, ' ');
    if (!space)
        return false;
    *space = '\0';
    pid = strtol(space + 1, NULL, 10);
    pw_host_name(host);
    return !strcmp(host, text) && pid > 0 && kill((pid_t)pid, 0) && errno == ESRCH;
}

/*
 * Removes a lock whose owner died, or that is too old: loading the compiler and compiling take a fraction of a second.
 * Clocks of hosts differ; the worst that comes of it is a compile too many, or a wait to the caller's own limit.
 */
static lock_fate remove_stale(int dirfd, const char *name)
{
    struct stat st, now;
    int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool stale;

    if (fd < 0)
        return errno == ENOENT ? LOCK_GONE : LOCK_ALIVE;
    stale = !fstat(fd, &st) && (time(NULL) - st.st_mtime > STALE_SECONDS || owner_is_dead(fd));
    close(fd);
    if (!stale)
        return LOCK_ALIVE;
    if (fstatat(dirfd, name, &now, AT_SYMLINK_NOFOLLOW))
        return LOCK_GONE;
    if (now.st_ino != st.st_ino || now.st_dev != st.st_dev || unlinkat(dirfd, name, 0))
        return LOCK_ALIVE;
    return LOCK_REMOVED;
}

/* NFS clients keep "no such file" answers until the directory is opened anew. */
static void revalidate(int dirfd)
{
    int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0)
        close(fd);
}

pw_lock_result pw_disk_lock_take(pw_disk *disk, pw_hash key, pw_disk_lock *out)
{
    char name[PW_NAME_TEXT];
    bool stolen = false;
    lock_fate fate;

    if (!pw_disk_may_store(disk))
        return PW_LOCK_NONE;
    pw_name_lock(key, name);
    for (int i = 0; i < 2; i++) {
        if (create_lock(disk->fd, name, out)) {
            out->stolen = stolen;
            revalidate(disk->fd);
            return PW_LOCK_TAKEN;
        }
        if (errno != EEXIST)
            return PW_LOCK_NONE;
        fate = remove_stale(disk->fd, name);
        if (fate == LOCK_ALIVE)
            return PW_LOCK_HELD;
        stolen |= fate == LOCK_REMOVED;
    }
    return PW_LOCK_HELD;
}

void pw_disk_lock_release(pw_disk *disk, pw_hash key, const pw_disk_lock *lock)
{
    char name[PW_NAME_TEXT];
    struct stat now;

    pw_name_lock(key, name);
    if (!fstatat(disk->fd, name, &now, AT_SYMLINK_NOFOLLOW) && now.st_ino == lock->ino && now.st_dev == lock->dev)
        unlinkat(disk->fd, name, 0);
}
