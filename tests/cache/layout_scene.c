#include "tests/cache/layout_scene.h"

#include "tests/support/random_ir.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, FILL = 0xab };

pw_layout_engine *layout_engine(scene *s, pw_jit_mode mode, int64_t hot_bytes, bool real)
{
    pw_layout_config config = {.mode = mode,
                               .hot_bytes = hot_bytes,
                               .cache = {.dir = s->dir,
                                         .backend = real ? "llvm" : "fake",
                                         .target = pw_target_host(),
                                         .load_backend = real ? NULL : fake_load_backend}};
    pw_layout_engine *engine;

    if (pw_layout_engine_create(&config, &engine))
        exit(99);
    return engine;
}

pw_layout *layout_of_type(pw_layout_engine *engine, const pw_type *type)
{
    pw_layout *layout;
    pw_diag diag = {0};

    if (pw_layout_get(engine, type, &layout, &diag)) {
        fprintf(stderr, "no layout: %s\n", diag.text);
        exit(99);
    }
    return layout;
}

pw_layout *layout_of(pw_layout_engine *engine, const char *text)
{
    pw_arena *arena = pw_arena_create();
    pw_type type;
    pw_diag diag = {0};
    pw_layout *layout;

    if (!arena || pw_parse(text, arena, &type, NULL, &diag)) {
        fprintf(stderr, "%s: %s\n", text, diag.text);
        exit(99);
    }
    layout = layout_of_type(engine, &type);
    pw_arena_destroy(arena);
    return layout;
}

/* The expected packed bytes or memory, by the walk. */
typedef struct walk {
    unsigned char *mem, *packed;
    int64_t at, end;
    bool unpack;
} walk;

static bool step(void *arg, int64_t off, int64_t n)
{
    walk *w = arg;

    for (int64_t i = 0; i < n && w->at < w->end; i++, w->at++) {
        if (w->unpack)
            w->mem[off + i] = w->packed[w->at];
        else
            w->packed[w->at] = w->mem[off + i];
    }
    return true;
}

static void walk_all(walk w, const pw_type *type, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        pw_walk(type->root, i * type->extent, step, &w);
}

static bool same(const char *what, const unsigned char *got, const unsigned char *expected, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (got[i] != expected[i]) {
            fprintf(stderr, "%s: byte %lld of %lld is %02x, expected %02x\n", what, (long long)(i - GUARD),
                    (long long)(n - 2 * GUARD), got[i], expected[i]);
            return false;
        }
    return true;
}

static unsigned char *new_buffer(int64_t n, bool random)
{
    unsigned char *b = malloc((size_t)n);

    if (!b)
        exit(99);
    memset(b, FILL, (size_t)n);
    for (int64_t i = 0; random && i < n; i++)
        b[i] = (unsigned char)(i * 131 + (i >> 8) * 7);
    return b;
}

static bool check_pack(pw_layout *l, const pw_type *type, int64_t count, int64_t lo, int64_t span)
{
    int64_t bytes = count * type->root->size;
    unsigned char *mem = new_buffer(span, true);
    unsigned char *got = new_buffer(bytes + 2 * GUARD, false), *expected = new_buffer(bytes + 2 * GUARD, false);
    bool ok;

    walk_all((walk){mem - lo, expected + GUARD, 0, bytes, false}, type, count);
    pw_layout_pack(l, mem - lo, count, got + GUARD);
    ok = same("pack", got, expected, bytes + 2 * GUARD);
    free(mem);
    free(got);
    free(expected);
    return ok;
}

/* The first `prefix` bytes; all of them through pw_layout_unpack. */
static bool check_unpack(pw_layout *l, const pw_type *type, int64_t count, int64_t lo, int64_t span, int64_t prefix)
{
    int64_t bytes = count * type->root->size;
    unsigned char *packed = new_buffer(bytes + 1, true);
    unsigned char *got = new_buffer(span + 2 * GUARD, false), *expected = new_buffer(span + 2 * GUARD, false);
    bool ok;

    walk_all((walk){expected + GUARD - lo, packed, 0, prefix, true}, type, count);
    if (prefix == bytes)
        pw_layout_unpack(l, got + GUARD - lo, count, packed);
    else
        pw_layout_unpack_prefix(l, got + GUARD - lo, prefix, packed);
    ok = same(prefix == bytes ? "unpack" : "unpack of a prefix", got, expected, span + 2 * GUARD);
    free(packed);
    free(got);
    free(expected);
    return ok;
}

bool layout_moves(pw_layout *layout, const pw_type *type, int64_t count, int64_t prefix)
{
    int64_t lo, hi, span;

    pw_random_bounds(type, count, &lo, &hi);
    span = hi - lo + 1;
    if (!check_pack(layout, type, count, lo, span))
        return false;
    if (pw_random_overlaps(type, count))
        return true;
    return check_unpack(layout, type, count, lo, span, count * type->root->size) &&
           check_unpack(layout, type, count, lo, span, prefix);
}
