/*
 * The one interface of code generators.
 *
 * A kernel moves `count` objects. Pack: dst is the packed buffer, src the address of the first object in
 * memory. Unpack: dst is the address of the first object, src the packed buffer. dst and src do not
 * overlap. Kernels never write outside the bytes of the layout (pack: outside [0, count * size)), read
 * nothing that could fault, need no alignment beyond 1, and may run in any number of threads at once.
 */
#ifndef PW_CODEGEN_BACKEND_H
#define PW_CODEGEN_BACKEND_H

#include "codegen/shape.h"
#include "codegen/target.h"

typedef void pw_kernel_fn(void *dst, const void *src, int64_t count, const pw_kernel_args *args);

/* What a backend is asked to produce. */
typedef enum pw_emit {
    PW_EMIT_SHARED, /* an ELF shared object, ready for dlopen; for a GPU a cubin */
    PW_EMIT_OBJECT, /* a relocatable object, position independent */
    PW_EMIT_ASM,    /* assembly text */
    PW_EMIT_IR_RAW, /* the backend's IR text as generated */
    PW_EMIT_IR,     /* ... and after its optimiser */
    /* ... with the lines of PW_EMIT_IR that each instruction comes from: `.loc` in assembly, debug information in a
     * cubin, which only the backend "nvrtc" has. */
    PW_EMIT_LINES,
    PW_EMIT_SHARED_LINES
} pw_emit;

/* Bytes on the heap; free with pw_blob_free. Text results are NUL-terminated (not counted in size). */
typedef struct pw_blob {
    void *data;
    size_t size;
} pw_blob;

void pw_blob_free(pw_blob *blob);

typedef struct pw_compile_job {
    const pw_shape *shape;
    const pw_target *target;
    pw_emit emit;
    const char *pack_name, *unpack_name; /* symbols to define */
    /* Ahead-of-time form: when set, params and tables (sizes from `nest`) are embedded as constants and
     * the functions take (dst, src, count) only. */
    const pw_kernel_args *embed;
    const pw_nest *nest; /* the tables' lengths; needed with embed only */
    /* More kernels in the same output, each with names of its own; their target, emit and soname are those of the
     * first. NULL at the end. */
    const struct pw_compile_job *next;
    const char *soname; /* the SONAME of PW_EMIT_SHARED; NULL: pack_name with ".so" */
} pw_compile_job;

/* Returns whether the shape is small enough to be compiled. Backends refuse others with PW_ERR_UNSUPPORTED. Tier 0 does
 * well on these, and written as one list of blocks (a single region) they would be small enough. */
bool pw_backend_takes(const pw_shape *shape);

typedef struct pw_backend {
    const char *name;    /* "llvm" */
    const char *version; /* the version of the generator and of the libraries below it; part of every cache key */
    pw_status (*compile)(const pw_compile_job *job, pw_blob *out, pw_diag *diag);
} pw_backend;

/*
 * A backend lives in a module of its own (libpackwright-<name>.so), loaded with dlopen on first need from
 * the directory of this library, or from PACKWRIGHT_LLVM_MODULE. NULL with the cause in `diag` when it cannot
 * be loaded; the result, either way, is remembered. Thread safe.
 */
const pw_backend *pw_backend_load(const char *name, pw_diag *diag);

/* The path of a file or folder `name` in the directory that the module of this backend is in, or would be according to
 * its variable. False: it is not there. `out` has PATH_MAX bytes. */
bool pw_backend_beside(const char *backend, const char *name, char *out);

/* Finds a library in the directory of this one, or in the prefix's library directory. False: it is not there. `out` has
 * PATH_MAX bytes. */
bool pw_backend_find(const char *file, char *out);

/* The version string a module of this build would report, known without loading it: cache keys need it. */
const char *pw_backend_version(const char *name);

/* The entry point every module exports. */
#define PW_BACKEND_ENTRY "pw_backend_entry"
typedef const pw_backend *pw_backend_entry_fn(void);

/* Begins a line in the .comment section of code, which ends with "<architecture> <CPU>": `readelf -p .comment`. */
#define PW_KERNEL_IDENT "packwright kernel for "

/* "pw_pack_<hash>" and "pw_unpack_<hash>": the symbols of a cached kernel with this key. */
enum { PW_SYMBOL_TEXT = 48 };
void pw_kernel_symbols(pw_hash key, char pack[PW_SYMBOL_TEXT], char unpack[PW_SYMBOL_TEXT]);

#endif
