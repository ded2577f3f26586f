/*
 * Code in the address space: a shared object opened from its path or from bytes in memory.
 *
 * glibc's dlopen returns an already loaded object whose *name* equals the one asked for. Paths in the cache
 * are unique for each key, and equal keys mean equal code, so that is harmless there. Bytes are opened by a way to
 * /proc/self/fd/N that is spelt differently each time, so N may be used again: no descriptor stays open.
 */
#ifndef PW_JIT_CACHE_IMAGE_H
#define PW_JIT_CACHE_IMAGE_H

#include "codegen/backend.h"

typedef struct pw_image {
    void *handle; /* NULL: nothing open */
    pw_blob code; /* foreign code, kept as it is; `handle` is NULL then */
} pw_image;

pw_status pw_image_open_path(const char *path, pw_image *out, pw_diag *diag);
/* `data` may be freed afterwards. */
pw_status pw_image_open_bytes(const void *data, size_t size, pw_image *out, pw_diag *diag);
/* The two functions of a kernel. */
pw_status pw_image_symbols(const pw_image *image, pw_hash key, pw_kernel_fn **pack, pw_kernel_fn **unpack,
                           pw_diag *diag);
/* Unloads the code. Harmless on an image that is not open. */
void pw_image_close(pw_image *image);

#endif
