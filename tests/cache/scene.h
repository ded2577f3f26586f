/* What the cache's tests have in common: a private directory, shapes by number, checks on kernels and files. */
#ifndef PW_TESTS_CACHE_SCENE_H
#define PW_TESTS_CACHE_SCENE_H

#include "jit-cache/cache.h"
#include "tests/cache/fake_backend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

enum { SCENE_SHAPES = 64 };

typedef struct scene {
    char base[64]; /* made by mkdtemp; removed with all its contents */
    char dir[128]; /* BASE/cache, which does not exist at first */
    pw_shape shapes[SCENE_SHAPES];
} scene;

/* cmocka setup and teardown of every test; resets the fake backend. */
int scene_setup(void **state);
int scene_teardown(void **state);

/* Makes a cache in the scene's directory. max_bytes 0: without a bound. */
pw_cache *scene_cache(scene *s, int64_t max_bytes);
pw_cache *scene_cache_at(const char *dir, int64_t max_bytes);

pw_hash scene_key(scene *s, int shape);
pw_kernel *scene_kernel(scene *s, pw_cache *cache, int shape);
/* Calls pw_cache_get in sync mode. */
pw_kernel *scene_get(scene *s, pw_cache *cache, int shape);

/* Returns the path of a file that belongs to a shape: ".so", ".lock". */
void scene_path(scene *s, int shape, const char *suffix, char out[256]);
/* Puts an entry there. A poison entry is valid in form, and traps when it is loaded. */
void scene_store(scene *s, int shape, bool poison);
/* Replaces a file's content. */
void scene_write(const char *path, const void *data, size_t size);
void *scene_read(const char *path, size_t *size);
bool scene_exists(const char *path);
/* Counts the files in the version's directory whose names contain `part`. */
int scene_count(scene *s, const char *part);
/* Sets both times of a file, in seconds before now. */
void scene_age(const char *path, int64_t seconds);

/* Returns whether the kernel is ready and both its functions do what the fixture does. */
bool scene_works(pw_kernel *kernel);

/* What is written to stderr between these two calls; the text lives until the next call. */
void scene_listen(void);
const char *scene_heard(void);
/* Counts how often `part` occurs in the text. */
int scene_times(const char *text, const char *part);

/* Runs fn in a child process, where cmocka's own assertions must not be used. Returns what fn has returned. */
bool scene_child(bool (*fn)(void *arg), void *arg);

#define CHILD_CHECK(condition)                                                        \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            return false;                                                             \
        }                                                                             \
    } while (0)

#endif
