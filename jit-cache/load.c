/* Reads an entry of the directory: open, check, refuse. */
#include "jit-cache/disk.h"

#include "base/log.h"
#include "jit-cache/entry.h"
#include "jit-cache/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Times of use are kept this coarse, so that a thousand ranks do not all write to the same inode. */
enum { USE_GRAIN_SECONDS = 3600 };

static pw_status refuse_errno(const char *what, pw_diag *diag)
{
    return pw_diag_set(diag, PW_ERR_IO, "cannot %s: %s", what, strerror(errno));
}

/* O_NONBLOCK: a FIFO in the place of an entry must not block. */
static pw_status open_entry(int dirfd, const char *name, int *out, struct stat *st, pw_diag *diag)
{
    int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

    *out = openat(dirfd, name, flags);
    if (*out < 0 && errno == ESTALE) /* NFS: replaced by another host just now */
        *out = openat(dirfd, name, flags);
    if (*out >= 0)
        return fstat(*out, st) ? refuse_errno("examine it", diag) : PW_OK;
    if (errno == ENOENT)
        return PW_ERR_NOT_FOUND;
    if (fstatat(dirfd, name, st, AT_SYMLINK_NOFOLLOW))
        st->st_nlink = 0;
    if (errno == ELOOP)
        return pw_diag_set(diag, PW_ERR_DENIED, "a symbolic link");
    return refuse_errno("open it", diag);
}

static pw_status check_inode(const pw_disk *disk, const struct stat *st, pw_diag *diag)
{
    if (!S_ISREG(st->st_mode))
        return pw_diag_set(diag, PW_ERR_DENIED, "not a regular file");
    if (!pw_disk_may_own(disk, st->st_uid))
        return pw_diag_set(diag, PW_ERR_DENIED, "owned by user %u", (unsigned)st->st_uid);
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return pw_diag_set(diag, PW_ERR_DENIED, "others may write to it (mode %04o)", st->st_mode & 07777u);
    if (st->st_size > PW_ENTRY_MAX_BYTES)
        return pw_diag_set(diag, PW_ERR_CORRUPT, "%lld bytes long", (long long)st->st_size);
    return PW_OK;
}

static pw_status read_image(int fd, pw_hash key, pw_entry_file *out, pw_diag *diag)
{
    pw_status status;

    out->size = (size_t)out->st.st_size;
    out->data = malloc(out->size ? out->size : 1);
    if (!out->data)
        return pw_diag_status(diag, PW_ERR_NOMEM);
    if (!pw_file_read(fd, out->data, out->size))
        status = errno ? refuse_errno("read it", diag) : pw_diag_set(diag, PW_ERR_CORRUPT, "truncated");
    else
        status = pw_entry_check(out->data, out->size, key, diag);
    if (status) {
        free(out->data);
        out->data = NULL;
    }
    return status;
}

/* An old time of use is brought up to date; that this may be impossible (read-only) does not matter. */
static void touch(int fd, const struct stat *st)
{
    if (time(NULL) - st->st_mtime > USE_GRAIN_SECONDS && futimens(fd, NULL))
        errno = 0;
}

static pw_status read_entry(const pw_disk *disk, pw_hash key, bool use, pw_entry_file *out, pw_diag *diag)
{
    char name[PW_NAME_TEXT];
    int fd;
    pw_status status;

    *out = (pw_entry_file){0};
    pw_name_entry(key, name);
    status = open_entry(disk->fd, name, &fd, &out->st, diag);
    if (!status)
        status = check_inode(disk, &out->st, diag);
    if (!status)
        status = read_image(fd, key, out, diag);
    if (!status && use && !disk->system)
        touch(fd, &out->st);
    if (fd >= 0)
        close(fd);
    return status;
}

pw_status pw_disk_read(const pw_disk *disk, pw_hash key, pw_entry_file *out, pw_diag *diag)
{
    return read_entry(disk, key, false, out, diag);
}

static void report(pw_disk *disk, pw_hash key, const char *name, const pw_diag *diag)
{
    bool first;

    pthread_mutex_lock(&disk->lock);
    first = !pw_hash_map_get(&disk->reported, key);
    if (first && pw_hash_map_put(&disk->reported, key, disk))
        pw_log(PW_LOG_DEBUG, "out of memory: cache entries may be reported again");
    pthread_mutex_unlock(&disk->lock);
    pw_log(first ? PW_LOG_WARN : PW_LOG_DEBUG, "cache entry %s/%s refused: %s%s", disk->path, name, diag->text,
           disk->system ? "" : "; it will be rebuilt");
}

/*
 * Says once why an entry is refused, and removes it if the directory is not for all users, and the entry is this
 * user's, bad for everybody (a failure of the system is not), and still the one that was looked at: another process may
 * have put a good one in its place.
 */
static void refuse(pw_disk *disk, pw_hash key, const struct stat *seen, const pw_diag *diag)
{
    char name[PW_NAME_TEXT];
    struct stat now;

    pw_name_entry(key, name);
    report(disk, key, name, diag);
    if (diag->status == PW_ERR_IO || disk->system)
        return;
    if (fstatat(disk->fd, name, &now, AT_SYMLINK_NOFOLLOW) || now.st_dev != seen->st_dev || now.st_ino != seen->st_ino)
        return;
    if (now.st_uid == geteuid() && !S_ISDIR(now.st_mode) && unlinkat(disk->fd, name, 0))
        pw_log(PW_LOG_DEBUG, "cannot remove %s/%s: %s", disk->path, name, strerror(errno));
}

/* By path when that is safe, since debuggers and profilers then find the file; else, and where the file
 * system forbids execution, from the verified bytes. */
static pw_status open_code(const pw_disk *disk, pw_hash key, const pw_entry_file *file, pw_image *out, pw_diag *diag)
{
    char name[PW_NAME_TEXT], path[PATH_MAX + PW_NAME_TEXT];

    pw_name_entry(key, name);
    snprintf(path, sizeof path, "%s/%s", disk->path, name);
    if (disk->trusted && !pw_image_open_path(path, out, diag))
        return PW_OK;
    return pw_image_open_bytes(file->data, file->size, out, diag);
}

/* Opens native code and finds its functions. */
static pw_status open_functions(const pw_disk *disk, pw_hash key, const pw_entry_file *file, pw_image *out,
                                pw_kernel_fn **pack, pw_kernel_fn **unpack, pw_diag *diag)
{
    pw_status status = open_code(disk, key, file, out, diag);

    if (!status) {
        status = pw_image_symbols(out, key, pack, unpack, diag);
        if (status)
            pw_image_close(out);
    }
    return status;
}

/* Gives the file's memory to the image. */
static void keep_code(pw_entry_file *file, pw_image *out, pw_kernel_fn **pack, pw_kernel_fn **unpack)
{
    *out = (pw_image){.code = {file->data, file->size - sizeof(pw_entry_footer)}};
    *pack = *unpack = NULL;
    file->data = NULL;
}

/* To the other processes of this node, which then need not look for it. */
static void pass_on(const pw_disk *disk, pw_hash key, const pw_entry_file *file)
{
    pw_common *common = disk->common ? disk->common() : NULL;

    if (common)
        pw_common_put(common, key, file->data, file->size);
}

pw_status pw_disk_load(pw_disk *disk, pw_hash key, pw_image *out, pw_kernel_fn **pack, pw_kernel_fn **unpack)
{
    pw_entry_file file;
    pw_diag diag = {0};
    pw_status status;

    if (!pw_disk_ready(disk, false))
        return PW_ERR_NOT_FOUND;
    status = read_entry(disk, key, true, &file, &diag);
    if (status == PW_ERR_NOT_FOUND || status == PW_ERR_NOMEM)
        return status;
    if (!status && pw_entry_is_foreign(file.data) != disk->foreign)
        status = pw_diag_set(&diag, PW_ERR_UNSUPPORTED, "code for another machine");
    if (!status && disk->foreign)
        keep_code(&file, out, pack, unpack);
    else if (!status)
        status = open_functions(disk, key, &file, out, pack, unpack, &diag);
    if (status)
        refuse(disk, key, &file.st, &diag);
    else if (file.data)
        pass_on(disk, key, &file);
    free(file.data);
    return status;
}

/* Trusted as the library is, whoever owns it: of the rules for entries only those for their content hold. */
static pw_status read_shipped(int dirfd, pw_hash key, pw_entry_file *out, pw_diag *diag)
{
    char name[PW_NAME_TEXT];
    int fd;
    pw_status status;

    pw_name_entry(key, name);
    status = open_entry(dirfd, name, &fd, &out->st, diag);
    if (!status && (!S_ISREG(out->st.st_mode) || out->st.st_size > PW_ENTRY_MAX_BYTES))
        status = pw_diag_set(diag, PW_ERR_CORRUPT, "no entry");
    if (!status)
        status = read_image(fd, key, out, diag);
    if (!status && !pw_entry_is_foreign(out->data))
        status = pw_diag_set(diag, PW_ERR_UNSUPPORTED, "code for another machine");
    if (fd >= 0)
        close(fd);
    return status;
}

bool pw_disk_load_shipped(const pw_disk *disk, pw_hash key, pw_image *out)
{
    pw_entry_file file = {0};
    pw_kernel_fn *none[2];
    pw_diag diag = {0};
    pw_status status;
    char path[PATH_MAX];
    int dirfd;

    if (!disk->shipped || snprintf(path, sizeof path, "%s/v%d", disk->shipped, PW_ENTRY_VERSION) >= (int)sizeof path)
        return false;
    dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dirfd < 0)
        return false;
    status = read_shipped(dirfd, key, &file, &diag);
    close(dirfd);
    if (status == PW_OK)
        keep_code(&file, out, &none[0], &none[1]);
    else if (status != PW_ERR_NOT_FOUND)
        pw_warn_once("a kernel in %s is refused: %s; it is compiled", disk->shipped, diag.text);
    free(file.data);
    return status == PW_OK;
}
