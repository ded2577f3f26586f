#include "tests/cache/layout_scene.h"

#include "tests/support/judge.h"

#include <stdlib.h>

pw_layout_engine *layout_engine(scene *s, pw_jit_mode mode, int64_t hot_bytes, bool real)
{
    pw_layout_config config = {.mode = mode,
                               .hot_bytes = hot_bytes,
                               .counted = true,
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

static void run(void *how, const pw_judge_call *c)
{
    pw_layout *l = how;

    if (!c->unpack)
        pw_layout_pack(l, c->src, c->count, c->dst);
    else if (c->last == c->count * l->size)
        pw_layout_unpack(l, c->dst, c->count, c->src);
    else
        pw_layout_unpack_part(l, c->dst, 0, c->last, c->src);
}

static bool right(const char *what, int64_t at)
{
    if (at != PW_JUDGED_RIGHT)
        fprintf(stderr, "%s: byte %lld is wrong\n", what, (long long)at);
    return at == PW_JUDGED_RIGHT;
}

bool layout_moves(pw_layout *layout, const pw_type *type, int64_t count, int64_t prefix)
{
    static const pw_judge_place place = {.memory = 64, .packed = 64};
    pw_judge j;
    bool ok;

    pw_judge_init(&j, type, count, 1);
    ok = right("pack", pw_judge_pack(&j, place, 0, j.total, run, layout));
    if (ok && !j.overlaps)
        ok = right("unpack", pw_judge_unpack(&j, place, 0, j.total, run, layout)) &&
             right("unpack of a prefix", pw_judge_unpack(&j, place, 0, prefix, run, layout));
    pw_judge_free(&j);
    return ok;
}
