/*
 * The kernel cache: key -> kernel, in memory and on disk, shared between threads and processes.
 *
 * The key is a hash of the shape, the target, and the backend's name and version. Entries on disk are
 * ordinary shared objects with a checksummed footer; they load without a compiler. docs/cache.md has
 * the file format and the rules by which an entry is refused.
 *
 * Kernels stay valid until pw_cache_destroy; a pw_kernel* may be kept. All functions are thread safe.
 */
#ifndef PW_JIT_CACHE_CACHE_H
#define PW_JIT_CACHE_CACHE_H

#include "codegen/backend.h"

#include <stdatomic.h>

typedef enum pw_kernel_state {
    PW_KERNEL_NEW,    /* known, nothing asked for */
    PW_KERNEL_QUEUED, /* a worker has it */
    PW_KERNEL_READY,  /* pack and unpack are set */
    PW_KERNEL_ABSENT, /* not on disk; compile not asked for */
    PW_KERNEL_FAILED  /* cannot be had; tier 0 for good */
} pw_kernel_state;

typedef enum pw_kernel_origin { PW_ORIGIN_NONE, PW_ORIGIN_DISK, PW_ORIGIN_COMPILED } pw_kernel_origin;

/* Read `pack`/`unpack` with acquire; NULL until the kernel is ready. */
typedef struct pw_kernel {
    _Atomic(pw_kernel_fn *) pack, unpack;
    _Atomic(const pw_blob *) code; /* of a cache of foreign code: the ELF image, NULL until the kernel is ready */
    _Atomic pw_kernel_state state;
    _Atomic pw_kernel_origin origin;
    _Atomic int64_t ready_ns; /* time it took to load or compile and link */
    pw_hash key;
    pw_hash code_key;      /* the one in the names of the functions in `code`, which may be made for another target */
    _Atomic int64_t moved; /* bytes without the kernel, as those who share it count them; the cache does not look */
} pw_kernel;

typedef struct pw_cache pw_cache;

/* Everything is copied, but for `slow_path`, which must live as long as the cache. */
typedef struct pw_cache_config {
    const char *dir;     /* NULL: no disk cache */
    const char *system;  /* the directory for all users, looked into first and never written to; NULL: none */
    int64_t max_bytes;   /* of the disk cache; 0: no bound */
    const char *backend; /* "llvm" */
    const pw_target *target;
    /* Returns memory of PW_COMMON_BYTES that processes have in common, in which they pass on entries that one of them
     * has read or compiled (jit-cache/common.h). May be called by any thread, often. NULL, or it returns NULL: there is
     * none. */
    void *(*common)(void);
    /* The code is for another processor, a GPU: it is kept as bytes (pw_kernel.code) and not opened. */
    bool foreign;
    /* A directory of such entries that came with this library, and is as trusted as it is: looked into when `dir` has
     * none, never written to. NULL: none. */
    const char *shipped;
    const char *slow_path; /* what does without kernels, for warnings; NULL: "the interpreter" */
    /* NULL takes pw_backend_load; tests, and the dump of stages, put something in between. */
    const pw_backend *(*load_backend)(const char *name, pw_diag *diag);
} pw_cache_config;

/* Never fails for reasons of the disk: an unusable directory is one warning and no disk cache. */
pw_status pw_cache_create(const pw_cache_config *config, pw_cache **out);

/* At the end the application waits: long enough for the few kernels of a short run to be there in the next one, not for
 * the hundreds that may be queued. A compile under way is finished in any case. */
enum { PW_CACHE_FINISH_MS = 300 };
/* Lets the worker threads go on with their queues for PW_CACHE_FINISH_MS at most if what they make is kept on disk, and
 * ends them. Kernels stay, and can still be had by pw_cache_get. NULL is allowed. */
void pw_cache_stop(pw_cache *cache);
/* The same; then unloads all kernels. NULL is allowed. */
void pw_cache_destroy(pw_cache *cache);

/* The kernel of a shape, created in state NEW when unknown. Touches no disk. NULL: out of memory, or called in a
 * child of fork(), where a cache of the parent does nothing. */
pw_kernel *pw_cache_kernel(pw_cache *cache, pw_shape *shape);
/* The same if there is one for a shape of this hash; NULL: there is none. */
pw_kernel *pw_cache_find(pw_cache *cache, pw_hash shape);
/* The shape that it is for. */
pw_shape *pw_kernel_shape(pw_kernel *kernel);
/* Gives one such kernel back. When nobody has it any more, and there is no code, it is forgotten: programs that go
 * through types would fill memory with kernels that are never asked for. Without this call it stays until the end. */
void pw_cache_release(pw_cache *cache, pw_kernel *kernel);

typedef enum pw_cache_want {
    PW_WANT_LOAD,   /* from disk only */
    PW_WANT_COMPILE /* from disk, else compile and store */
} pw_cache_want;

/* Gets it ready in this thread: afterwards it is READY, FAILED or, if it was only to be loaded, ABSENT. Waits for
 * another thread that has it in work, and up to 5 s for another process. */
void pw_cache_get(pw_cache *cache, pw_kernel *kernel, pw_cache_want want);
/* Has worker threads do so, which are started on first use. Takes the cache's mutex and touches no disk; asking again
 * is harmless. */
void pw_cache_request(pw_cache *cache, pw_kernel *kernel, pw_cache_want want);
/* Blocks until the workers' queues are empty. Kernels that other processes are compiling keep it up to 30 s. */
void pw_cache_drain(pw_cache *cache);

/* ---- the directory, for `packwright cache` and for seeding a cluster (jit-cache/list.c) ------------- */

/* $PACKWRIGHT_CACHE_DIR, else $XDG_CACHE_HOME/packwright, else ~/.cache/packwright. False: none is set. */
bool pw_cache_default_dir(char *out, size_t size);

/* $PACKWRIGHT_SYSTEM_CACHE, else /usr/share/packwright: kernels and models for all users. False: it is turned off. */
bool pw_cache_system_dir(char *out, size_t size);

/* The key under which a kernel is stored. */
pw_hash pw_cache_key(const pw_shape *shape, const pw_target *target, const char *backend);

typedef struct pw_cache_entry {
    pw_hash key;
    char path[4096];
    int64_t bytes, used_at; /* seconds since the epoch */
    pw_status status;       /* PW_OK, or why it would be refused */
    char why[256];          /* the same in words; "" with PW_OK */
    char target[64];        /* "x86_64 znver4", as its code says (PW_KERNEL_IDENT); "" when it does not or is refused */
} pw_cache_entry;

typedef bool pw_cache_entry_fn(void *arg, const pw_cache_entry *entry);

/* Calls fn for each entry, fully verified; stops when fn returns false. A directory that does not exist has no entries;
 * one that is unfit is PW_ERR_DENIED or PW_ERR_IO. Both hold for pw_cache_clear, too. */
pw_status pw_cache_list(const char *dir, pw_cache_entry_fn *fn, void *arg, pw_diag *diag);
/* Lists the entries of a directory for all users, as pw_cache_list does: root may own it. */
pw_status pw_cache_list_system(const char *dir, pw_cache_entry_fn *fn, void *arg, pw_diag *diag);
/* Removes all entries (and our temporary and lock files); *removed, which may be NULL, counts
 * entries. */
pw_status pw_cache_clear(const char *dir, int64_t *removed, pw_diag *diag);
/* Stores a shared object under `key`, atomically. */
pw_status pw_cache_store(const char *dir, pw_hash key, const pw_blob *object, pw_diag *diag);

/* Copies the good entries of the cache directory `from` that the directory for all users `to` has not, readable for
 * everybody (jit-cache/seed.c). *copied counts them. `to` is made if it does not exist. */
pw_status pw_cache_seed(const char *from, const char *to, int64_t *copied, pw_diag *diag);

#endif
