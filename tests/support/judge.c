#include "tests/support/judge.h"

#include "tests/support/random_ir.h"
#include "tests/support/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATTERN = 0xa5 };

static void die(const char *what)
{
    perror(what);
    exit(99);
}

static void *allocate(int64_t bytes)
{
    void *p = malloc(bytes > 0 ? (size_t)bytes : 1);

    if (!p)
        die("malloc");
    return p;
}

/* ---- buffers ------------------------------------------------------------------------------------- */

void pw_guarded_init(pw_guarded *b, int64_t most)
{
    *b = (pw_guarded){.page = (size_t)sysconf(_SC_PAGESIZE)};
    b->room = ((size_t)most + 2 * PW_GUARDED_LEAD + b->page - 1) / b->page * b->page;
    b->map = mmap(NULL, b->room + 2 * b->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b->map == MAP_FAILED)
        die("mmap");
    if (mprotect(b->map, b->page, PROT_NONE) || mprotect(b->map + b->page + b->room, b->page, PROT_NONE))
        die("mprotect");
}

void pw_guarded_free(pw_guarded *b)
{
    munmap(b->map, b->room + 2 * b->page);
}

void pw_guarded_place(pw_guarded *b, int64_t n, int64_t lead)
{
    unsigned char *first = b->map + b->page;

    memset(first, PATTERN, b->room);
    b->n = n;
    b->data = lead == PW_AT_END ? first + b->room - n : first + lead;
}

int64_t pw_guarded_difference(const pw_guarded *b, const unsigned char *expected)
{
    const unsigned char *first = b->map + b->page, *end = first + b->room;

    if (memcmp(b->data, expected, (size_t)b->n) != 0)
        for (int64_t i = 0; i < b->n; i++)
            if (b->data[i] != expected[i])
                return i;
    for (const unsigned char *p = first; p < b->data; p++)
        if (*p != PATTERN)
            return p - b->data;
    for (const unsigned char *p = b->data + b->n; p < end; p++)
        if (*p != PATTERN)
            return p - b->data;
    return PW_JUDGED_RIGHT;
}

/* ---- the right answer ---------------------------------------------------------------------------- */

typedef struct where_arg {
    int64_t *out;
    int64_t n, origin;
} where_arg;

static bool note_block(void *arg, int64_t off, int64_t n)
{
    where_arg *w = arg;

    for (int64_t i = 0; i < n; i++)
        w->out[w->n++] = w->origin + off + i;
    return true;
}

static void write_out(pw_judge *j)
{
    where_arg w = {.out = j->where};

    for (int64_t i = 0; i < j->count; i++) {
        w.origin = i * j->type->extent;
        pw_walk(j->type->root, 0, note_block, &w);
    }
}

void pw_judge_init(pw_judge *j, const pw_type *type, int64_t count, uint64_t seed)
{
    pw_rng rng = {.state = seed};
    int64_t hi;

    *j = (pw_judge){.type = type, .count = count, .total = count * type->root->size};
    pw_random_bounds(type, count, &j->lo, &hi);
    j->span = hi - j->lo;
    j->overlaps = pw_random_overlaps(type, count);
    j->where = allocate(j->total * (int64_t)sizeof *j->where);
    j->memory = allocate(j->span);
    j->expected = allocate(j->span);
    j->packed = allocate(j->total);
    write_out(j);
    pw_rng_fill(&rng, j->memory, (size_t)j->span);
    for (int64_t i = 0; i < j->total; i++)
        j->packed[i] = j->memory[j->where[i] - j->lo];
    pw_guarded_init(&j->at_memory, j->span);
    pw_guarded_init(&j->at_packed, j->total);
}

void pw_judge_free(pw_judge *j)
{
    pw_guarded_free(&j->at_memory);
    pw_guarded_free(&j->at_packed);
    free(j->where);
    free(j->memory);
    free(j->expected);
    free(j->packed);
}

/* ---- verdicts ------------------------------------------------------------------------------------ */

/* Puts both buffers in place, `memory` and packed bytes [first, last) in them where they are the source. */
static pw_judge_call prepare(pw_judge *j, pw_judge_place place, bool unpack, int64_t first, int64_t last)
{
    pw_judge_call call = {.unpack = unpack, .count = j->count, .first = first, .last = last};
    void *object;

    pw_guarded_place(&j->at_memory, j->span, place.memory);
    pw_guarded_place(&j->at_packed, last - first, place.packed);
    object = (void *)((uintptr_t)j->at_memory.data - (uintptr_t)j->lo);
    if (unpack)
        memcpy(j->at_packed.data, j->packed + first, (size_t)(last - first));
    else
        memcpy(j->at_memory.data, j->memory, (size_t)j->span);
    call.dst = unpack ? object : j->at_packed.data;
    call.src = unpack ? (const void *)j->at_packed.data : object;
    return call;
}

static int64_t verdict(const pw_judge *j, const unsigned char *memory, const unsigned char *packed, bool unpack)
{
    int64_t at_memory = pw_guarded_difference(&j->at_memory, memory);
    int64_t at_packed = pw_guarded_difference(&j->at_packed, packed);
    int64_t written = unpack ? at_memory : at_packed, read = unpack ? at_packed : at_memory;

    return written != PW_JUDGED_RIGHT ? written : read;
}

int64_t pw_judge_pack(pw_judge *j, pw_judge_place place, int64_t first, int64_t last, pw_judge_run *run, void *how)
{
    pw_judge_call call = prepare(j, place, false, first, last);

    run(how, &call);
    return verdict(j, j->memory, j->packed + first, false);
}

int64_t pw_judge_unpack(pw_judge *j, pw_judge_place place, int64_t first, int64_t last, pw_judge_run *run, void *how)
{
    pw_judge_call call = prepare(j, place, true, first, last);

    memset(j->expected, PATTERN, (size_t)j->span);
    for (int64_t i = first; i < last; i++)
        j->expected[j->where[i] - j->lo] = j->packed[i];
    run(how, &call);
    return verdict(j, j->expected, j->packed + first, true);
}
