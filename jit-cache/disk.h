/*
 * The disk side of the cache: one directory, its entries, its locks. docs/cache.md has the rules.
 *
 *   dir.c    is the directory fit to be used?          load.c   read, verify, dlopen
 *   store.c  write and rename                          evict.c  bounded size
 *   lock.c   who compiles                              list.c   the public functions on a directory
 *
 *   seed.c   entries for all users
 *
 * A pw_disk may be used by any number of threads.
 */
#ifndef PW_JIT_CACHE_DISK_H
#define PW_JIT_CACHE_DISK_H

#include "jit-cache/cache.h"
#include "jit-cache/common.h"
#include "jit-cache/hash_map.h"
#include "jit-cache/image.h"

#include <limits.h>
#include <pthread.h>
#include <sys/stat.h>

typedef struct pw_disk {
    char *dir;             /* as configured; NULL: there is no disk cache */
    int64_t max_bytes;     /* <= 0: unbounded */
    bool system;           /* for all users: root may own it, and it is only read */
    bool foreign;          /* entries are code for another processor, kept as bytes */
    void *(*common)(void); /* pw_cache_config.common; what is loaded is put there */
    char *shipped;         /* pw_cache_config.shipped; NULL: none */
    pthread_mutex_t lock;
    /* Under `lock` until the directory is open, and constant from then on: */
    dev_t dev; /* with `ino`: of <dir>/v<version> */
    ino_t ino;
    char path[PATH_MAX]; /* of the same, without symbolic links */
    bool trusted;        /* nobody else can put another file at a path below, or take a mapped one away */
    /* Set under `lock`, and read without it: */
    _Atomic int fd; /* of <dir>/v<version>; -1 while not open */
    /* Under `lock`: */
    bool refused;         /* the directory is unfit; said so; not looked at again */
    bool store_fails;     /* writing failed; said so; not tried again */
    pw_hash_map reported; /* keys of refused entries that were reported */
    int64_t uncounted;    /* bytes of entries stored while another process held the account (evict.c) */
} pw_disk;

/* dir may be NULL; so may disk->shipped, which is set afterwards, with memory of malloc. Touches no disk: the directory
 * is opened when first needed. */
pw_status pw_disk_init(pw_disk *disk, const char *dir, int64_t max_bytes);
void pw_disk_fini(pw_disk *disk);

/*
 * Opens the directory. PW_OK: disk->fd is usable. NOT_FOUND: it does not exist (with `create`: there is no
 * disk cache). DENIED or IO: unfit, with the reason in diag. Remembers both outcomes but "does not exist".
 */
pw_status pw_disk_open(pw_disk *disk, bool create, pw_diag *diag);

/* pw_disk_open with the failure reported, the first time. */
bool pw_disk_ready(pw_disk *disk, bool create);

/* A verified entry: the whole file. */
typedef struct pw_entry_file {
    void *data; /* malloc'ed */
    size_t size;
    struct stat st;
} pw_entry_file;

/*
 * Reads and verifies the entry of `key` in the open directory under every rule of docs/cache.md. NOT_FOUND: no such
 * file. On other failures out->st tells which file was looked at (st_nlink 0: none). Reports nothing.
 */
pw_status pw_disk_read(const pw_disk *disk, pw_hash key, pw_entry_file *out, pw_diag *diag);

/* May a directory or an entry of this cache belong to this user? Root may own those for all users. */
bool pw_disk_may_own(const pw_disk *disk, uid_t uid);

/* As above, and opens the code, or keeps it when it is foreign (out->code; *pack and *unpack are NULL). An entry that
 * is refused is reported and removed. NOT_FOUND covers "no disk". */
pw_status pw_disk_load(pw_disk *disk, pw_hash key, pw_image *out, pw_kernel_fn **pack, pw_kernel_fn **unpack);

/* The foreign entry of `key` among those that came with the library, as bytes. False: there is none, or it is damaged,
 * which is said once. */
bool pw_disk_load_shipped(const pw_disk *disk, pw_hash key, pw_image *out);

/* Stores a shared object under its key, atomically; evicts others first if the cache would grow too large. */
pw_status pw_disk_store(pw_disk *disk, pw_hash key, const pw_blob *object, pw_diag *diag);
/* Stores as pw_disk_store does, and reports the first failure; after one it stores nothing more. True: the entry is
 * there. */
bool pw_disk_keep(pw_disk *disk, pw_hash key, const pw_blob *object);
/* There is a directory, and writing to it has not failed yet. */
bool pw_disk_may_store(pw_disk *disk);

/* ---- bounded size (evict.c) -------------------------------------------------------------------- */

/*
 * Counts `size` new bytes under `key` and, when they are too many, removes least recently used entries other than
 * `key`, and temporary and lock files left by the dead. The entry is to be put in its place at once, and then
 * pw_disk_end_insert is to be given what this returned: until then other processes wait.
 */
int pw_disk_begin_insert(pw_disk *disk, pw_hash key, int64_t size);
void pw_disk_end_insert(int fd);

/* ---- who compiles (lock.c) -------------------------------------------------------------------- */

typedef enum pw_lock_result {
    PW_LOCK_TAKEN, /* we compile; release it */
    PW_LOCK_HELD,  /* somebody else is compiling: look for the entry again later */
    PW_LOCK_NONE   /* there is nothing to lock in; compile */
} pw_lock_result;

typedef struct pw_disk_lock {
    dev_t dev;
    ino_t ino;
    bool stolen; /* from a process that died or stopped */
} pw_disk_lock;

pw_lock_result pw_disk_lock_take(pw_disk *disk, pw_hash key, pw_disk_lock *out);
/* Removes it, unless somebody took it over. */
void pw_disk_lock_release(pw_disk *disk, pw_hash key, const pw_disk_lock *lock);

#endif
