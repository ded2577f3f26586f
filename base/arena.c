#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CHUNK = 4096, MAX_CHUNK = 1 << 20, ALIGN = 16 };

typedef struct chunk {
    struct chunk *next;
    size_t used, cap;
} chunk;

struct pw_arena {
    chunk *head;
    size_t used;
};

_Static_assert(sizeof(chunk) <= 2 * ALIGN, "chunk header");

static char *chunk_data(chunk *c)
{
    return (char *)c + 2 * ALIGN;
}

static chunk *chunk_create(size_t cap)
{
    chunk *c = malloc(2 * ALIGN + cap);

    if (c)
        *c = (chunk){.cap = cap};
    return c;
}

pw_arena *pw_arena_create(void)
{
    pw_arena *arena = malloc(sizeof *arena);

    if (!arena)
        return NULL;
    arena->used = 0;
    arena->head = chunk_create(FIRST_CHUNK);
    if (!arena->head) {
        free(arena);
        return NULL;
    }
    return arena;
}

void pw_arena_destroy(pw_arena *arena)
{
    if (!arena)
        return;
    for (chunk *c = arena->head, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(arena);
}

void *pw_arena_alloc(pw_arena *arena, size_t bytes)
{
    chunk *c = arena->head;
    void *p;

    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (c->cap - c->used < bytes) {
        size_t cap = c->cap < MAX_CHUNK ? 2 * c->cap : MAX_CHUNK;

        c = chunk_create(cap < bytes ? bytes : cap);
        if (!c)
            return NULL;
        c->next = arena->head;
        arena->head = c;
    }
    p = chunk_data(c) + c->used;
    c->used += bytes;
    arena->used += bytes;
    return memset(p, 0, bytes);
}

void *pw_arena_array(pw_arena *arena, size_t n, size_t bytes)
{
    size_t total;

    if (__builtin_mul_overflow(n, bytes, &total))
        return NULL;
    return pw_arena_alloc(arena, total);
}

void *pw_arena_copy(pw_arena *arena, const void *data, size_t bytes)
{
    void *p = pw_arena_alloc(arena, bytes);

    return p && bytes ? memcpy(p, data, bytes) : p;
}

size_t pw_arena_used(const pw_arena *arena)
{
    return arena->used;
}
