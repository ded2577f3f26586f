#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CHUNK = 4096, MAX_CHUNK = PW_ARENA_LARGE, ALIGN = 16 };

typedef struct chunk {
    struct chunk *next;
    size_t used, cap;
    bool alone; /* it holds one allocation of more than PW_ARENA_LARGE bytes and nothing else */
    bool kept;  /* by pw_arena_keep */
} chunk;

struct pw_arena {
    chunk *head;
    chunk *spare; /* taken back by pw_arena_rewind */
    size_t used;
};

_Static_assert(sizeof(chunk) <= 2 * ALIGN, "chunk header");

static size_t round_up(size_t bytes)
{
    return (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

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

pw_arena *pw_arena_create_for(size_t bytes)
{
    size_t header = round_up(sizeof(pw_arena)), cap = round_up(bytes);
    pw_arena *arena = bytes > SIZE_MAX / 2 ? NULL : malloc(header + 2 * ALIGN + cap);

    if (!arena)
        return NULL;
    *arena = (pw_arena){.head = (chunk *)((char *)arena + header)};
    *arena->head = (chunk){.cap = cap};
    return arena;
}

pw_arena *pw_arena_create(void)
{
    return pw_arena_create_for(FIRST_CHUNK);
}

/* The first chunk is part of the arena's own block. It is the last of the list that `head` begins. */
static void free_chunks(chunk *c, const chunk *first)
{
    for (chunk *next; c; c = next) {
        next = c->next;
        if (c != first)
            free(c);
    }
}

void pw_arena_destroy(pw_arena *arena)
{
    const chunk *first;

    if (!arena)
        return;
    first = (const chunk *)((const char *)arena + round_up(sizeof *arena));
    free_chunks(arena->head, first);
    free_chunks(arena->spare, first);
    free(arena);
}

/* A spare chunk with room for so much; NULL: there is none. */
static chunk *take_spare(pw_arena *arena, size_t bytes)
{
    for (chunk **at = &arena->spare; *at; at = &(*at)->next) {
        chunk *c = *at;

        if (c->cap < bytes)
            continue;
        *at = c->next;
        return c;
    }
    return NULL;
}

/* Returns twice the bytes of the last chunk, within bounds. */
static size_t next_cap(size_t last)
{
    return last < FIRST_CHUNK ? FIRST_CHUNK : last < MAX_CHUNK / 2 ? 2 * last : MAX_CHUNK;
}

/* The chunk for the next `bytes`, which are more than the last one has room for. */
static chunk *new_head(pw_arena *arena, size_t bytes)
{
    bool alone = bytes > MAX_CHUNK;
    size_t cap = next_cap(arena->head->cap);
    chunk *c = alone ? NULL : take_spare(arena, bytes);

    if (!c)
        c = chunk_create(cap < bytes ? bytes : cap);
    if (c) {
        c->alone = alone;
        c->next = arena->head;
        arena->head = c;
    }
    return c;
}

void *pw_arena_take(pw_arena *arena, size_t bytes)
{
    chunk *c = arena->head;
    void *p;

    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = round_up(bytes);
    if (c->cap - c->used < bytes) {
        c = new_head(arena, bytes);
        if (!c)
            return NULL;
    }
    p = chunk_data(c) + c->used;
    c->used += bytes;
    arena->used += bytes;
    return p;
}

void *pw_arena_alloc(pw_arena *arena, size_t bytes)
{
    void *p = pw_arena_take(arena, bytes);

    return p ? memset(p, 0, bytes) : NULL;
}

void *pw_arena_take_array(pw_arena *arena, size_t n, size_t bytes)
{
    size_t total;

    if (__builtin_mul_overflow(n, bytes, &total))
        return NULL;
    return pw_arena_take(arena, total);
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
    void *p = pw_arena_take(arena, bytes);

    return p && bytes ? memcpy(p, data, bytes) : p;
}

size_t pw_arena_used(const pw_arena *arena)
{
    return arena->used;
}

pw_arena_mark pw_arena_here(const pw_arena *arena)
{
    return (pw_arena_mark){arena->head, arena->head->used, arena->used};
}

/* Empties a chunk down to `used`. In tests with sanitizers, who still looks at what was there shall notice. */
static void empty(chunk *c, size_t used)
{
#ifdef __SANITIZE_ADDRESS__
    memset(chunk_data(c) + used, 0xdd, c->used - used);
#endif
    c->used = used;
}

/* Chunks of ordinary size are kept for what comes, larger ones go back to the system. */
static void take_back(pw_arena *arena, chunk *c)
{
    if (c->alone) {
        free(c);
        return;
    }
    empty(c, 0);
    c->next = arena->spare;
    arena->spare = c;
}

void pw_arena_rewind(pw_arena *arena, pw_arena_mark mark)
{
    while (arena->head != mark.chunk) {
        chunk *c = arena->head;

        arena->head = c->next;
        take_back(arena, c);
    }
    empty(arena->head, mark.chunk_used);
    arena->used = mark.used;
}

void pw_arena_keep(pw_arena *arena, const void *p)
{
    for (chunk *c = arena->head; c; c = c->next)
        if (c->alone && (uintptr_t)p - (uintptr_t)chunk_data(c) < c->cap)
            c->kept = true;
}

void pw_arena_sweep(pw_arena *arena, pw_arena_mark mark)
{
    for (chunk **at = &arena->head; *at != mark.chunk;) {
        chunk *c = *at;

        if (!c->alone || c->kept) {
            c->kept = false;
            at = &c->next;
            continue;
        }
        *at = c->next;
        arena->used -= c->used;
        free(c);
    }
}
