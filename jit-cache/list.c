/* The public functions on a directory, for tools and for seeding. */
#include "jit-cache/disk.h"

#include "jit-cache/entry.h"
#include "jit-cache/file.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A directory that does not exist holds nothing: PW_OK with *dir NULL. */
static pw_status open_listing(pw_disk *disk, const char *path, bool system, DIR **dir, pw_diag *diag)
{
    pw_status status = pw_disk_init(disk, path, 0);
    int fd;

    *dir = NULL;
    if (status)
        return pw_diag_status(diag, status);
    disk->system = system;
    status = pw_disk_open(disk, false, diag);
    if (status == PW_ERR_NOT_FOUND)
        return PW_OK;
    if (status)
        return status;
    fd = openat(disk->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *dir = fd < 0 ? NULL : fdopendir(fd);
    if (*dir)
        return PW_OK;
    status = pw_diag_set(diag, PW_ERR_IO, "cannot list %s: %s", disk->path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return status;
}

/* The number of the architecture in a cubin's flags; which bits, depends on their version. 0: it has none. */
static int cubin_arch(const pw_entry_file *file)
{
    enum { VERSION_WITH_SHIFT = 8, SHIFT = 8, MASK = 255 };
    Elf64_Ehdr h;

    if (file->size < sizeof h)
        return 0;
    memcpy(&h, file->data, sizeof h);
    return (int)(h.e_ident[EI_ABIVERSION] >= VERSION_WITH_SHIFT ? h.e_flags >> SHIFT & MASK : h.e_flags & MASK);
}

static void find_gpu(const pw_entry_file *file, char *out, size_t room)
{
    int arch = cubin_arch(file);
    pw_target target = pw_target_gpu(arch / 10, arch % 10);

    if (arch > 0)
        snprintf(out, room, "%s %s", target.arch, target.cpu);
}

/* The code's own word for what it was compiled for. */
static void find_target(const pw_entry_file *file, char *out, size_t room)
{
    static const char ident[] = PW_KERNEL_IDENT;
    const char *at = memmem(file->data, file->size, ident, sizeof ident - 1), *end = (char *)file->data + file->size;

    if (!at)
        return;
    at += sizeof ident - 1;
    snprintf(out, room, "%.*s", (int)strnlen(at, (size_t)(end - at) < room ? (size_t)(end - at) : room), at);
}

static void describe(const pw_disk *disk, const char *name, pw_hash key, pw_cache_entry *out)
{
    pw_entry_file file;
    pw_diag diag = {0};
    size_t room = sizeof out->path;

    *out = (pw_cache_entry){.key = key};
    if ((size_t)snprintf(out->path, room, "%s/%s", disk->path, name) >= room)
        out->path[0] = '\0';
    out->status = pw_disk_read(disk, key, &file, &diag);
    snprintf(out->why, sizeof out->why, "%s", out->status == PW_OK ? "" : diag.text);
    if (out->status == PW_OK)
        (pw_entry_is_foreign(file.data) ? find_gpu : find_target)(&file, out->target, sizeof out->target);
    out->bytes = file.st.st_size;
    out->used_at = file.st.st_mtime;
    free(file.data);
}

static pw_status list(const char *dir, bool system, pw_cache_entry_fn *fn, void *arg, pw_diag *diag)
{
    pw_disk disk;
    DIR *listing;
    pw_cache_entry *entry = malloc(sizeof *entry);
    pw_status status = open_listing(&disk, dir, system, &listing, diag);
    bool more = entry != NULL;

    for (struct dirent *e; listing && more && (e = readdir(listing));) {
        pw_hash key;

        if (pw_name_parse(e->d_name, &key) != PW_NAME_ENTRY)
            continue;
        describe(&disk, e->d_name, key, entry);
        more = fn(arg, entry);
    }
    if (listing)
        closedir(listing);
    pw_disk_fini(&disk);
    if (!status && !entry)
        status = pw_diag_status(diag, PW_ERR_NOMEM);
    free(entry);
    return status;
}

pw_status pw_cache_list(const char *dir, pw_cache_entry_fn *fn, void *arg, pw_diag *diag)
{
    return list(dir, false, fn, arg, diag);
}

pw_status pw_cache_list_system(const char *dir, pw_cache_entry_fn *fn, void *arg, pw_diag *diag)
{
    return list(dir, true, fn, arg, diag);
}

pw_status pw_cache_clear(const char *dir, int64_t *removed, pw_diag *diag)
{
    pw_disk disk;
    DIR *listing;
    pw_status status = open_listing(&disk, dir, false, &listing, diag);
    int64_t n = 0;

    for (struct dirent *e; listing && (e = readdir(listing));) {
        pw_hash key;
        pw_name_kind kind = pw_name_parse(e->d_name, &key);

        if (kind == PW_NAME_OTHER)
            continue;
        if (!unlinkat(disk.fd, e->d_name, 0))
            n += kind == PW_NAME_ENTRY;
        else if (errno != ENOENT)
            status = pw_diag_set(diag, PW_ERR_IO, "cannot remove %s/%s: %s", disk.path, e->d_name, strerror(errno));
    }
    if (listing)
        closedir(listing);
    pw_disk_fini(&disk);
    if (!status && removed)
        *removed = n;
    return status;
}

pw_status pw_cache_store(const char *dir, pw_hash key, const pw_blob *object, pw_diag *diag)
{
    pw_disk disk;
    pw_status status = pw_disk_init(&disk, dir, 0);

    if (status)
        return pw_diag_status(diag, status);
    status = pw_disk_store(&disk, key, object, diag);
    pw_disk_fini(&disk);
    return status;
}
