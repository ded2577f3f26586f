#include "jit-cache/image.h"

#include "base/replace.h"
#include "jit-cache/fork_guard.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

enum { PATH_TEXT = 96 };

pw_status pw_image_open_path(const char *path, pw_image *out, pw_diag *diag)
{
    void *handle;

    pw_fork_guard_enter();
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    pw_fork_guard_leave();
    if (!handle)
        return pw_diag_set(diag, PW_ERR_IO, "%s", dlerror());
    *out = (pw_image){.handle = handle};
    return PW_OK;
}

/* A file without a name: a memfd (executable also where vm.memfd_noexec asks for saying so), else an unlinked
 * temporary file. */
static int anonymous_file(void)
{
    static const char *const dirs[] = {"/dev/shm", "/tmp"};
    int fd = memfd_create("packwright-kernel", MFD_CLOEXEC | MFD_EXEC);

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("packwright-kernel", MFD_CLOEXEC);
    for (size_t i = 0; fd < 0 && i < sizeof dirs / sizeof *dirs; i++)
        fd = open(dirs[i], O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    return fd;
}

/* A path of the descriptor that none before was: the bits of a serial number stand before it as "/" and "/.". */
static void spell_path(int fd, char out[PATH_TEXT])
{
    static _Atomic unsigned serial;
    unsigned bits = atomic_fetch_add_explicit(&serial, 1, memory_order_relaxed);
    int n = snprintf(out, PATH_TEXT, "/proc/self/fd");

    do {
        out[n++] = '/';
        if (bits & 1)
            out[n++] = '.';
    } while (bits >>= 1);
    snprintf(out + n, (size_t)(PATH_TEXT - n), "/%d", fd);
}

pw_status pw_image_open_bytes(const void *data, size_t size, pw_image *out, pw_diag *diag)
{
    char path[PATH_TEXT];
    int fd = anonymous_file();
    pw_status status;

    if (fd < 0)
        return pw_diag_set(diag, PW_ERR_IO, "no anonymous file for the code: %s", strerror(errno));
    if (!pw_write_all(fd, data, size)) {
        status = pw_diag_set(diag, PW_ERR_IO, "cannot write an anonymous file: %s", strerror(errno));
        close(fd);
        return status;
    }
    spell_path(fd, path);
    status = pw_image_open_path(path, out, diag);
    close(fd); /* what is mapped stays */
    return status;
}

static pw_kernel_fn *find_function(void *handle, const char *name)
{
    /* ISO C has no conversion from object to function pointers; POSIX has, in this form. */
    union {
        void *object;
        pw_kernel_fn *function;
    } u = {.object = dlsym(handle, name)};

    return u.function;
}

pw_status pw_image_symbols(const pw_image *image, pw_hash key, pw_kernel_fn **pack, pw_kernel_fn **unpack,
                           pw_diag *diag)
{
    char names[2][PW_SYMBOL_TEXT];
    pw_kernel_fn *p, *u;

    pw_kernel_symbols(key, names[0], names[1]);
    p = find_function(image->handle, names[0]);
    u = find_function(image->handle, names[1]);
    if (!p || !u)
        return pw_diag_set(diag, PW_ERR_CORRUPT, "does not define %s", p ? names[1] : names[0]);
    *pack = p;
    *unpack = u;
    return PW_OK;
}

void pw_image_close(pw_image *image)
{
    pw_blob_free(&image->code);
    if (!image->handle)
        return;
    pw_fork_guard_enter();
    dlclose(image->handle);
    pw_fork_guard_leave();
    *image = (pw_image){0};
}
