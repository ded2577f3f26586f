#include "base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 100, NAME_SHOWN = 160 };

static pw_status failed(pw_diag *diag, const char *what, const char *path, int error)
{
    return pw_diag_set(diag, PW_ERR_IO, "cannot %s %.*s: %s", what, NAME_SHOWN, path, strerror(error));
}

/* Renaming would put a plain file in the place of a device or a directory. */
static pw_status check_path(const char *path, pw_diag *diag)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return errno == ENOENT ? PW_OK : failed(diag, "write", path, errno);
    if (S_ISDIR(st.st_mode))
        return failed(diag, "write", path, EISDIR);
    if (!S_ISREG(st.st_mode))
        return pw_diag_set(diag, PW_ERR_IO, "cannot write %.*s: not a regular file", NAME_SHOWN, path);
    return PW_OK;
}

/* Where the file is, or will be: symbolic links to it stay what they are. malloc'ed. */
static char *place_of(const char *path)
{
    char *real = realpath(path, NULL);

    return real ? real : strdup(path);
}

/* Not mkstemp: the file is to have the mode that the user's umask gives to new files. */
static int create_temporary(const char *path, char *temp, size_t room)
{
    static atomic_uint number;
    int fd = -1;

    for (int i = 0; i < TRIES && fd < 0; i++) {
        snprintf(temp, room, "%s.tmp-%ld-%u", path, (long)getpid(), atomic_fetch_add(&number, 1));
        fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

/* Beyond the process's limit a write would raise SIGXFSZ, which ends a program that does not expect it. */
static bool beyond_limit(size_t size)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur;
}

bool pw_write_all(int fd, const void *data, size_t size)
{
    const char *at = data;

    if (beyond_limit(size)) {
        errno = EFBIG;
        return false;
    }
    while (size > 0) {
        ssize_t n = write(fd, at, size);

        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        }
    }
    return true;
}

/* 0 or an errno. Network file systems report a full disk when the file is closed. */
static int fill(int fd, const void *data, size_t size)
{
    int error = pw_write_all(fd, data, size) ? 0 : errno;

    if (close(fd) != 0 && !error)
        error = errno;
    return error;
}

static void forget(pw_replacement *r)
{
    free(r->temp);
    free(r->path);
    *r = (pw_replacement){0};
}

pw_status pw_replace_prepare(pw_replacement *r, const char *path, const void *data, size_t size, pw_diag *diag)
{
    pw_status status = check_path(path, diag);
    size_t room;
    int fd, error;

    *r = (pw_replacement){0};
    if (status != PW_OK)
        return status;
    r->path = place_of(path);
    room = r->path ? strlen(r->path) + 48 : 0;
    r->temp = r->path ? malloc(room) : NULL;
    if (!r->temp) {
        forget(r);
        return pw_diag_status(diag, PW_ERR_NOMEM);
    }
    fd = create_temporary(r->path, r->temp, room);
    error = fd < 0 ? errno : fill(fd, data, size);
    if (!error)
        return PW_OK;
    if (fd >= 0)
        unlink(r->temp);
    forget(r);
    return failed(diag, "write", path, error);
}

pw_status pw_replace_commit(pw_replacement *r, pw_diag *diag)
{
    pw_status status = PW_OK;

    if (rename(r->temp, r->path) != 0) {
        status = failed(diag, "write", r->path, errno);
        unlink(r->temp);
    }
    forget(r);
    return status;
}

void pw_replace_discard(pw_replacement *r)
{
    if (r->temp)
        unlink(r->temp);
    forget(r);
}

pw_status pw_replace_check(const char *path, pw_diag *diag)
{
    pw_status status = check_path(path, diag);
    char *place = status == PW_OK ? place_of(path) : NULL, *slash;
    const char *dir = ".";

    if (status != PW_OK)
        return status;
    if (!place)
        return pw_diag_status(diag, PW_ERR_NOMEM);
    slash = strrchr(place, '/');
    if (slash) {
        slash[slash == place] = '\0'; /* the root's slash stays */
        dir = place;
    }
    /* The temporary file and the renaming need the directory, whatever the file's own mode is. */
    if (access(dir, W_OK | X_OK) != 0)
        status = failed(diag, "write", path, errno);
    free(place);
    return status;
}

pw_status pw_replace_file(const char *path, const void *data, size_t size, pw_diag *diag)
{
    pw_replacement r;
    pw_status status = pw_replace_prepare(&r, path, data, size, diag);

    return status == PW_OK ? pw_replace_commit(&r, diag) : status;
}
