/* Writes entries into the directory, whole or not at all. */
#include "jit-cache/disk.h"

#include "base/log.h"
#include "base/replace.h"
#include "jit-cache/entry.h"
#include "jit-cache/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool write_new_file(int dirfd, const char *name, const void *data, size_t size)
{
    int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool ok;
    int error;

    if (fd < 0)
        return false;
    ok = pw_write_all(fd, data, size);
    error = errno;
    /* Network file systems report a full disk or quota here. */
    if (close(fd) && ok) {
        ok = false;
        error = errno;
    }
    if (!ok)
        unlinkat(dirfd, name, 0);
    errno = error;
    return ok;
}

/* Readers see the old file, or no file, or the whole new one. No fsync: after a crash the checksum tells. */
static pw_status write_entry(pw_disk *disk, pw_hash key, const void *data, size_t size, pw_diag *diag)
{
    char name[PW_NAME_TEXT], temp[PW_NAME_TEXT];
    int account, error;

    pw_name_entry(key, name);
    pw_name_temp(key, temp);
    if (!write_new_file(disk->fd, temp, data, size))
        return pw_diag_set(diag, PW_ERR_IO, "cannot write to %s: %s", disk->path, strerror(errno));
    account = pw_disk_begin_insert(disk, key, (int64_t)size);
    error = renameat(disk->fd, temp, disk->fd, name) ? errno : 0;
    pw_disk_end_insert(account);
    if (!error)
        return PW_OK;
    unlinkat(disk->fd, temp, 0);
    return pw_diag_set(diag, PW_ERR_IO, "cannot rename a file in %s: %s", disk->path, strerror(error));
}

pw_status pw_disk_store(pw_disk *disk, pw_hash key, const pw_blob *object, pw_diag *diag)
{
    void *data;
    size_t size;
    pw_status status = pw_disk_open(disk, true, diag);

    if (status)
        return status;
    status = pw_entry_seal(object->data, object->size, key, &data, &size);
    if (status)
        return pw_diag_status(diag, status);
    status = write_entry(disk, key, data, size, diag);
    free(data);
    return status;
}

bool pw_disk_may_store(pw_disk *disk)
{
    bool fails;

    if (!pw_disk_ready(disk, true))
        return false;
    pthread_mutex_lock(&disk->lock);
    fails = disk->store_fails;
    pthread_mutex_unlock(&disk->lock);
    return !fails;
}

bool pw_disk_keep(pw_disk *disk, pw_hash key, const pw_blob *object)
{
    pw_diag diag;
    bool first;

    if (!pw_disk_may_store(disk))
        return false;
    if (!pw_disk_store(disk, key, object, &diag))
        return true;
    pthread_mutex_lock(&disk->lock);
    first = !disk->store_fails;
    disk->store_fails = true;
    pthread_mutex_unlock(&disk->lock);
    if (first)
        pw_log_for_node("kernels are not kept: %s; they are compiled again in every run", diag.text);
    return false;
}
