/* The directory of the cache: is it fit, private and the one that was opened? */
#include "jit-cache/disk.h"

#include "base/env.h"
#include "base/log.h"
#include "jit-cache/entry.h"
#include "jit-cache/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

pw_status pw_disk_init(pw_disk *disk, const char *dir, int64_t max_bytes)
{
    *disk = (pw_disk){.max_bytes = max_bytes, .fd = -1};
    if (dir && *dir) {
        disk->dir = strdup(dir);
        if (!disk->dir)
            return PW_ERR_NOMEM;
    }
    pthread_mutex_init(&disk->lock, NULL);
    return PW_OK;
}

/* Whether a descriptor is of the open directory. */
static bool is_directory(const pw_disk *disk, int fd)
{
    struct stat st;

    return fd >= 0 && !fstat(fd, &st) && st.st_dev == disk->dev && st.st_ino == disk->ino;
}

void pw_disk_fini(pw_disk *disk)
{
    if (is_directory(disk, disk->fd))
        close(disk->fd);
    pw_hash_map_clear(&disk->reported);
    pthread_mutex_destroy(&disk->lock);
    free(disk->dir);
    free(disk->shipped);
    *disk = (pw_disk){.fd = -1};
}

static bool failed(const char *path, const char *what, pw_diag *diag)
{
    pw_diag_set(diag, PW_ERR_IO, "cannot %s %s: %s", what, path, strerror(errno));
    return false;
}

bool pw_disk_may_own(const pw_disk *disk, uid_t uid)
{
    return uid == geteuid() || (disk->system && uid == 0);
}

static bool check_private(const pw_disk *disk, int fd, const char *path, pw_diag *diag)
{
    struct stat st;

    if (fstat(fd, &st))
        return failed(path, "examine", diag);
    if (!pw_disk_may_own(disk, st.st_uid)) {
        pw_diag_set(diag, PW_ERR_DENIED, "%s is owned by user %u%s", path, (unsigned)st.st_uid,
                    st.st_uid == 0 ? " (PACKWRIGHT_SYSTEM_CACHE takes such a directory)" : "");
        return false;
    }
    if (st.st_mode & (S_IWGRP | S_IWOTH)) {
        pw_diag_set(diag, PW_ERR_DENIED, "others may write to %s (chmod go-w it)", path);
        return false;
    }
    return true;
}

/*
 * Nobody but root and this user can rename a component of the path of a private directory. dlopen takes a path, so only
 * then is what it maps what was verified; elsewhere (say, below a group's project directory) the verified bytes are
 * loaded from memory instead.
 */
static bool path_is_trusted(const char *real)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s", real);
    do {
        struct stat st;

        *strrchr(path, '/') = '\0';
        if (stat(*path ? path : "/", &st) || (st.st_uid != 0 && st.st_uid != geteuid()))
            return false;
        if ((st.st_mode & (S_IWGRP | S_IWOTH)) && !(st.st_mode & S_ISVTX))
            return false;
    } while (*path);
    return true;
}

/* Finds the path of an open directory without symbolic links. The system knows it; realpath would look at each of its
 * components. */
static bool path_of(int fd, const char *dir, char out[PATH_MAX])
{
    char link[64];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, out, PATH_MAX);
    if (n <= 0 || n == PATH_MAX || *out != '/')
        return realpath(dir, out);
    out[n] = '\0';
    return true;
}

/* Where another host that removes a file takes it away from those who have it mapped: the next page that is not in
 * memory is a SIGBUS. Elsewhere it stays until the last of them has unmapped it. */
static bool may_vanish(int fd)
{
    struct statfs fs;

    return !fstatfs(fd, &fs) && fs.f_type == NFS_SUPER_MAGIC;
}

static int open_dir_at(int at, const char *name, int extra_flags)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | extra_flags);
}

/* The version's subdirectory of the open cache directory `top`. */
static int open_version(const pw_disk *disk, int top, bool create, pw_diag *diag)
{
    const char *path = disk->path;
    const char *name = strrchr(path, '/') + 1;
    int fd = open_dir_at(top, name, O_NOFOLLOW);

    if (fd < 0 && errno == ENOENT && create) {
        if (mkdirat(top, name, 0700) && errno != EEXIST) {
            failed(path, "create", diag);
            return -1;
        }
        fd = open_dir_at(top, name, O_NOFOLLOW);
    }
    if (fd < 0) {
        if (errno == ENOENT)
            pw_diag_set(diag, PW_ERR_NOT_FOUND, "%s does not exist", path);
        else
            failed(path, "open", diag);
    } else if (!check_private(disk, fd, path, diag)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Fills path, of the version's subdirectory, and `real`, of the open cache directory `top`. */
static bool name_version(pw_disk *disk, int top, char real[PATH_MAX], pw_diag *diag)
{
    if (!path_of(top, disk->dir, real))
        return failed(disk->dir, "open", diag);
    if (snprintf(disk->path, sizeof disk->path, "%s/v%d", strcmp(real, "/") ? real : "", PW_ENTRY_VERSION) <
        (int)sizeof disk->path - PW_NAME_TEXT)
        return true;
    errno = ENAMETOOLONG;
    return failed(disk->dir, "open", diag);
}

/* Fills path, fd, dev, ino and trusted; true when the directory is fit. */
static bool open_both(pw_disk *disk, bool create, pw_diag *diag)
{
    char real[PATH_MAX];
    struct stat st;
    int top, fd;

    if (create && pw_file_make_dirs(disk->dir, 0700, diag) != PW_OK)
        return false;
    top = open_dir_at(AT_FDCWD, disk->dir, 0);
    if (top < 0) {
        if (errno == ENOENT)
            pw_diag_set(diag, PW_ERR_NOT_FOUND, "%s does not exist", disk->dir);
        else
            failed(disk->dir, "open", diag);
        return false;
    }
    fd = name_version(disk, top, real, diag) && check_private(disk, top, real, diag)
             ? open_version(disk, top, create, diag)
             : -1;
    close(top);
    if (fd >= 0 && fstat(fd, &st)) {
        close(fd);
        fd = -1;
    }
    if (fd < 0)
        return false;
    disk->dev = st.st_dev;
    disk->ino = st.st_ino;
    disk->trusted = path_is_trusted(real) && !may_vanish(fd);
    disk->fd = fd;
    return true;
}

/* Programs may close descriptors that they do not know. The number may then mean another directory, which must not get
 * entries. */
static bool open_again(pw_disk *disk, pw_diag *diag)
{
    int fd = open_dir_at(AT_FDCWD, disk->path, O_NOFOLLOW);

    if (is_directory(disk, fd)) {
        disk->fd = fd;
        return true;
    }
    if (fd >= 0)
        close(fd);
    pw_diag_set(diag, PW_ERR_NOT_FOUND, "%s is no longer there", disk->path);
    return false;
}

/* The lock must be held. */
static bool open_once(pw_disk *disk, bool create, pw_diag *diag)
{
    if (disk->fd < 0)
        return open_both(disk, create, diag);
    return is_directory(disk, disk->fd) || open_again(disk, diag);
}

pw_status pw_disk_open(pw_disk *disk, bool create, pw_diag *diag)
{
    pw_diag cause = {.status = PW_ERR_NOT_FOUND};
    pw_status status = PW_OK;

    if (!disk->dir)
        return PW_ERR_NOT_FOUND;
    pthread_mutex_lock(&disk->lock);
    if (disk->refused) {
        cause.status = PW_ERR_DENIED;
        snprintf(cause.text, sizeof cause.text, "%s was refused before", disk->dir);
    }
    if (disk->refused || !open_once(disk, create, &cause))
        status = cause.status;
    pthread_mutex_unlock(&disk->lock);
    if (status && diag)
        *diag = cause;
    return status;
}

bool pw_disk_ready(pw_disk *disk, bool create)
{
    pw_diag diag;
    pw_status status = pw_disk_open(disk, create, &diag);
    bool first;

    if (!status)
        return true;
    /* A directory for all users that is not there now will not be made by this process. */
    if (!disk->dir || (status == PW_ERR_NOT_FOUND && !disk->system))
        return false;
    pthread_mutex_lock(&disk->lock);
    first = !disk->refused;
    disk->refused = true;
    pthread_mutex_unlock(&disk->lock);
    if (first && status != PW_ERR_NOT_FOUND)
        pw_log_for_node(disk->system ? "the cache for all users is not used: %s"
                                     : "no disk cache: %s; kernels are compiled again in every run",
                        diag.text);
    return false;
}

bool pw_cache_default_dir(char *out, size_t size)
{
    const char *own = pw_env_path(PW_ENV_CACHE_DIR);
    const char *xdg = pw_env_foreign("XDG_CACHE_HOME"), *home = pw_env_foreign("HOME");
    int n = -1;

    /* The XDG specification has relative paths ignored. */
    if (*own)
        n = snprintf(out, size, "%s", own);
    else if (xdg && *xdg == '/')
        n = snprintf(out, size, "%s/packwright", xdg);
    else if (home && *home)
        n = snprintf(out, size, "%s/.cache/packwright", home);
    return n >= 0 && (size_t)n < size;
}

bool pw_cache_system_dir(char *out, size_t size)
{
    if (!strcmp(pw_env_string(PW_ENV_SYSTEM_CACHE), "off"))
        return false;
    return (size_t)snprintf(out, size, "%s", pw_env_path(PW_ENV_SYSTEM_CACHE)) < size && *out;
}
