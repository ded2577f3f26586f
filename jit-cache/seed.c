/* Fills a directory for all users from a cache directory. Entries are copied as verified bytes, readable for everybody.
 */
#include "jit-cache/disk.h"

#include "base/replace.h"
#include "jit-cache/entry.h"
#include "jit-cache/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pw_status open_target(pw_disk *disk, const char *dir, pw_diag *diag)
{
    char version[PATH_MAX + 16]; /* a path that is cut is too long, too */
    pw_status status;

    snprintf(version, sizeof version, "%s/v%d", dir, PW_ENTRY_VERSION);
    status = pw_file_make_dirs(version, 0755, diag);
    return status ? status : pw_disk_open(disk, false, diag);
}

static bool write_public(int dirfd, const char *name, const pw_entry_file *file)
{
    int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && pw_write_all(fd, file->data, file->size) && !fchmod(fd, 0644);

    /* Network file systems report a full disk or quota only when the file is closed. */
    if (fd >= 0 && close(fd))
        ok = false;
    return ok;
}

static pw_status put_entry(const pw_disk *to, pw_hash key, const pw_entry_file *file, pw_diag *diag)
{
    char name[PW_NAME_TEXT], temp[PW_NAME_TEXT];
    int error;

    pw_name_entry(key, name);
    pw_name_temp(key, temp);
    if (write_public(to->fd, temp, file) && !renameat(to->fd, temp, to->fd, name))
        return PW_OK;
    error = errno;
    unlinkat(to->fd, temp, 0);
    return pw_diag_set(diag, PW_ERR_IO, "cannot write to %s: %s", to->path, strerror(error));
}

/* Copies an entry unless it is there. Entries that a run would refuse are left out. */
static pw_status copy_entry(const pw_disk *from, const pw_disk *to, pw_hash key, int64_t *copied, pw_diag *diag)
{
    pw_entry_file file = {0}, there = {0};
    pw_diag ignored = {0};
    pw_status status = PW_OK;

    if (pw_disk_read(to, key, &there, &ignored) && !pw_disk_read(from, key, &file, &ignored)) {
        status = put_entry(to, key, &file, diag);
        *copied += status == PW_OK;
    }
    free(there.data);
    free(file.data);
    return status;
}

static pw_status copy_all(const pw_disk *from, const pw_disk *to, int64_t *copied, pw_diag *diag)
{
    int fd = openat(from->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    pw_status status = PW_OK;
    struct dirent *e;
    pw_hash key;

    if (!listing) {
        status = pw_diag_set(diag, PW_ERR_IO, "cannot list %s: %s", from->path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return status;
    }
    while (!status && (e = readdir(listing)))
        if (pw_name_parse(e->d_name, &key) == PW_NAME_ENTRY)
            status = copy_entry(from, to, key, copied, diag);
    closedir(listing);
    return status;
}

pw_status pw_cache_seed(const char *from, const char *to, int64_t *copied, pw_diag *diag)
{
    pw_disk source, target;
    pw_status status = pw_disk_init(&source, from, 0);

    *copied = 0;
    if (pw_disk_init(&target, to, 0))
        status = PW_ERR_NOMEM;
    target.system = true;
    if (status)
        pw_diag_status(diag, status);
    else
        status = pw_disk_open(&source, false, diag);
    if (!status)
        status = open_target(&target, to, diag);
    if (!status)
        status = copy_all(&source, &target, copied, diag);
    pw_disk_fini(&source);
    pw_disk_fini(&target);
    return status;
}
