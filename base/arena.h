/*
 * Bump allocator: one per compile, freed in one call. Not thread safe; every compiling thread has its own.
 * pw_arena_alloc returns zeroed memory aligned to 16 bytes, or NULL when the system has none.
 */
#ifndef PW_BASE_ARENA_H
#define PW_BASE_ARENA_H

#include <stddef.h>

typedef struct pw_arena pw_arena;

pw_arena *pw_arena_create(void); /* NULL: out of memory */
/* An arena with room for `bytes` (each of its allocations rounded up to 16) and hardly more. */
pw_arena *pw_arena_create_for(size_t bytes);
void pw_arena_destroy(pw_arena *arena); /* NULL is allowed */

void *pw_arena_alloc(pw_arena *arena, size_t bytes);
/* As above for n items of `bytes` each; NULL also when the product overflows. */
void *pw_arena_array(pw_arena *arena, size_t n, size_t bytes);
/* As the two above, but not zeroed: for what is filled at once. */
void *pw_arena_take(pw_arena *arena, size_t bytes);
void *pw_arena_take_array(pw_arena *arena, size_t n, size_t bytes);
void *pw_arena_copy(pw_arena *arena, const void *data, size_t bytes);
/* Bytes handed out so far and not taken back, for tests of metadata size. */
size_t pw_arena_used(const pw_arena *arena);

/* A moment in an arena's life. pw_arena_rewind takes back all that was handed out since, and keeps the memory for what
 * comes, except for large blocks; later marks are void then. */
typedef struct pw_arena_mark {
    const void *chunk;
    size_t chunk_used, used;
} pw_arena_mark;

pw_arena_mark pw_arena_here(const pw_arena *arena);
void pw_arena_rewind(pw_arena *arena, pw_arena_mark mark);

/*
 * Giving back single allocations, of those of more than PW_ARENA_LARGE bytes, which lie in blocks of their own.
 * pw_arena_keep notes that one of them is still wanted: the one that `p` points into, if any. pw_arena_sweep frees all
 * others that were handed out since the mark, and forgets what was noted. Marks made since are void then.
 */
enum { PW_ARENA_LARGE = 1 << 20 };

void pw_arena_keep(pw_arena *arena, const void *p);
void pw_arena_sweep(pw_arena *arena, pw_arena_mark mark);

#endif
