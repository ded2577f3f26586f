/*
 * driver MAP: calls the compiled functions of types.h and compares every byte with what the map says. Knows nothing of
 * Packwright but the header; runs on the target, natively or under qemu. Buffers end at a page that cannot be
 * touched, and then begin at one.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "types.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATTERN = 0xa5 };

typedef struct kernel {
    const char *name;
    void (*pack)(void *packed, const void *mem, int64_t count);
    void (*unpack)(void *mem, const void *packed, int64_t count);
    int64_t size, extent, lo, hi;
} kernel;

#define T(t) {#t, pack_##t, unpack_##t, t##_SIZE, t##_EXTENT, t##_LO, t##_HI},
static const kernel kernels[] = {
#include "types.list"
};

/* One type of the map, and where each of its packed bytes lies. */
typedef struct subject {
    int64_t size, extent, lo, hi, count, overlaps, nblocks;
    int64_t total; /* packed bytes of all objects */
    int64_t from;  /* the first touched byte, relative to the first object */
    int64_t span;  /* touched memory */
    int64_t *where;
} subject;

static const kernel *current;

static void fail(const char *what, int64_t at)
{
    printf("%s: %s, at byte %" PRId64 "\n", current->name, what, at);
    exit(1);
}

static void *allocate(int64_t bytes)
{
    void *p = malloc(bytes > 0 ? (size_t)bytes : 1);

    if (!p)
        fail("out of memory", bytes);
    return p;
}

static void read_numbers(FILE *map, int64_t *out, size_t n)
{
    if (fread(out, sizeof *out, n, map) != n)
        fail("the map is too short", 0);
}

static void find_span(subject *s)
{
    int64_t last = s->count > 0 ? (s->count - 1) * s->extent : 0;

    s->from = s->lo + (last < 0 ? last : 0);
    s->span = s->count > 0 && s->size > 0 ? s->hi + (last > 0 ? last : 0) - s->from : 0;
}

static void read_subject(FILE *map, subject *s)
{
    int64_t head[7], *blocks, n = 0;

    read_numbers(map, head, 7);
    *s = (subject){.size = head[0],
                   .extent = head[1],
                   .lo = head[2],
                   .hi = head[3],
                   .count = head[4],
                   .overlaps = head[5],
                   .nblocks = head[6]};
    s->total = s->size * s->count;
    find_span(s);
    blocks = allocate(2 * s->nblocks * (int64_t)sizeof *blocks);
    read_numbers(map, blocks, 2 * (size_t)s->nblocks);
    s->where = allocate(s->total * (int64_t)sizeof *s->where);
    for (int64_t object = 0; object < s->count; object++)
        for (int64_t i = 0; i < s->nblocks; i++)
            for (int64_t k = 0; k < blocks[2 * i + 1]; k++)
                s->where[n++] = object * s->extent + blocks[2 * i] + k - s->from;
    if (n != s->total)
        fail("the map contradicts itself", n);
    free(blocks);
}

/* ---- buffers ------------------------------------------------------------------------------------------ */

typedef struct buffer {
    unsigned char *map, *data;
    size_t map_size, page, room;
    int64_t n;
} buffer;

static buffer make_buffer(int64_t n, int at_end)
{
    buffer b = {.page = (size_t)sysconf(_SC_PAGESIZE), .n = n};

    b.room = ((size_t)n + b.page) / b.page * b.page;
    b.map_size = b.room + 2 * b.page;
    b.map = mmap(NULL, b.map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b.map == MAP_FAILED || mprotect(b.map, b.page, PROT_NONE) != 0 ||
        mprotect(b.map + b.page + b.room, b.page, PROT_NONE) != 0)
        fail("cannot map a buffer", n);
    memset(b.map + b.page, PATTERN, b.room);
    b.data = b.map + b.page + (at_end ? b.room - (size_t)n : 0);
    return b;
}

static void compare(const buffer *b, const unsigned char *expected, const char *what)
{
    for (int64_t i = 0; i < b->n; i++)
        if (b->data[i] != expected[i])
            fail(what, i);
    for (unsigned char *p = b->map + b->page; p < b->map + b->page + b->room; p++)
        if ((p < b->data || p >= b->data + b->n) && *p != PATTERN)
            fail("written outside of the buffer", p - b->data);
}

static void fill(unsigned char *p, int64_t n)
{
    static uint32_t state = 1;

    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        p[i] = (unsigned char)(state >> 24);
    }
}

/* ---- the two directions ------------------------------------------------------------------------------- */

static void check_pack(const subject *s, int at_end)
{
    buffer mem = make_buffer(s->span, at_end), packed = make_buffer(s->total, at_end);
    unsigned char *expected = allocate(s->total);

    fill(mem.data, s->span);
    for (int64_t i = 0; i < s->total; i++)
        expected[i] = mem.data[s->where[i]];
    current->pack(packed.data, (void *)((uintptr_t)mem.data - (uintptr_t)s->from), s->count);
    compare(&packed, expected, "pack is wrong");
    free(expected);
    munmap(mem.map, mem.map_size);
    munmap(packed.map, packed.map_size);
}

static void check_unpack(const subject *s, int at_end)
{
    buffer mem = make_buffer(s->span, at_end), packed = make_buffer(s->total, at_end);
    unsigned char *expected = allocate(s->span);

    fill(packed.data, s->total);
    memset(expected, PATTERN, (size_t)s->span);
    for (int64_t i = 0; i < s->total; i++)
        expected[s->where[i]] = packed.data[i];
    current->unpack((void *)((uintptr_t)mem.data - (uintptr_t)s->from), packed.data, s->count);
    compare(&mem, expected, "unpack is wrong");
    free(expected);
    munmap(mem.map, mem.map_size);
    munmap(packed.map, packed.map_size);
}

static void check(FILE *map)
{
    subject s;

    read_subject(map, &s);
    if (current->size != s.size || current->extent != s.extent || current->lo != s.lo || current->hi != s.hi)
        fail("a constant of the header is wrong", 0);
    for (int at_end = 0; at_end < 2; at_end++) {
        check_pack(&s, at_end);
        if (!s.overlaps)
            check_unpack(&s, at_end);
    }
    current->pack(NULL, NULL, 0);
    current->unpack(NULL, NULL, -1);
    free(s.where);
}

int main(int argc, char **argv)
{
    FILE *map = argc == 2 ? fopen(argv[1], "rb") : NULL;
    size_t n = sizeof kernels / sizeof *kernels;

    if (!map) {
        printf("usage: driver MAP\n");
        return 2;
    }
    for (size_t i = 0; i < n; i++) {
        current = &kernels[i];
        check(map);
    }
    fclose(map);
    printf("%zu types are right\n", n);
    return 0;
}
