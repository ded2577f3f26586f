/*
 * write_types DIR SEED COUNT: random types, written three times: types.ddt for the compiler, types.map (what each
 * does, from the reference walk) and types.list (their names) for the driver.
 *
 * types.map, all numbers int64 in the machine's byte order: for each type, size, extent, lo, hi, count to try, whether
 * that many objects overlap, number of blocks; then offset and length of every block of one object, in packed order.
 */
#include "frontend/ddt/ddt.h"
#include "tests/support/random_ir.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct files {
    FILE *ddt, *map, *list;
} files;

static void die(const char *what)
{
    fprintf(stderr, "write_types: %s\n", what);
    exit(1);
}

static FILE *create(const char *dir, const char *name)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "wb");
    if (!f)
        die(path);
    return f;
}

static void put(FILE *f, int64_t v)
{
    fwrite(&v, sizeof v, 1, f);
}

static bool put_block(void *map, int64_t off, int64_t n)
{
    put(map, off);
    put(map, n);
    return true;
}

static bool count_block(void *n, int64_t off, int64_t bytes)
{
    (void)off, (void)bytes;
    ++*(int64_t *)n;
    return true;
}

static void write_type(const files *f, const pw_type *type, int number, int64_t count)
{
    char *text = pw_ddt_print(type);
    int64_t blocks = 0;

    if (!text)
        die("out of memory");
    fprintf(f->ddt, "t%d = %s\n", number, text);
    fprintf(f->list, "T(t%d)\n", number);
    free(text);
    put(f->map, type->root->size);
    put(f->map, type->extent);
    put(f->map, type->root->lo);
    put(f->map, type->root->hi);
    put(f->map, count);
    put(f->map, pw_random_overlaps(type, count));
    pw_walk(type->root, 0, count_block, &blocks);
    put(f->map, blocks);
    pw_walk(type->root, 0, put_block, f->map);
}

/* More different loops than a code generator takes: the compiler has to list the blocks. */
static pw_type irregular(pw_builder *b)
{
    enum { PARTS = 300 };
    const pw_node *parts[PARTS];
    int64_t offs[PARTS], at = 0;

    for (int i = 0; i < PARTS; i++) {
        int64_t count = 17 + i % 5, stride = 8 + i;

        parts[i] = pw_build_stream(b, count, stride, pw_build_bytes(b, 1 + i % 7, 1));
        offs[i] = at;
        at += count * stride + 3;
    }
    return (pw_type){.root = pw_build_seq(b, PARTS, offs, parts), .lb = 0, .extent = at};
}

int main(int argc, char **argv)
{
    uint64_t seed = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
    int n = argc == 4 ? atoi(argv[3]) : 0;
    files f;

    if (n < 1)
        die("usage: write_types DIR SEED COUNT");
    f = (files){create(argv[1], "types.ddt"), create(argv[1], "types.map"), create(argv[1], "types.list")};
    for (int i = 0; i < n; i++, seed++) {
        pw_builder b = {.arena = pw_arena_create()};
        pw_random_options options = {.max_size = i % 20 == 0 ? 40000 : i % 3 == 0 ? 300 : 2000};
        pw_type type = i == 0 ? irregular(&b) : pw_random_type(&b, seed, &options);

        if (b.status != PW_OK)
            die("cannot build a type");
        write_type(&f, &type, i, (int64_t)(seed % 5));
        pw_arena_destroy(b.arena);
    }
    return fclose(f.ddt) || fclose(f.map) || fclose(f.list);
}
