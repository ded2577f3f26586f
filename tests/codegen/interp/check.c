#include "tests/codegen/interp/check.h"

#include "codegen/interp/interp.h"
#include "passes/nest_passes.h"
#include "tests/support/judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

/* One type and count under test. */
typedef struct subject {
    pw_judge judge;
    pw_rng rng;
    const char *label, *stage;
    const pw_nest *nest;
} subject;

static void complain(const subject *s, const char *what, int64_t first, int64_t last)
{
    char *type = pw_print(s->judge.type, 0), *nest = pw_nest_print(s->nest, 0);

    print_error("%s: %s differs (%s, count %" PRId64 ", bytes [%" PRId64 ", %" PRId64 "))\n%s\n%s\n", s->label, what,
                s->stage, s->judge.count, first, last, type, nest);
    free(type);
    free(nest);
    fail();
}

static void run(void *how, const pw_judge_call *c)
{
    const subject *s = how;
    bool all = c->first == 0 && c->last == s->judge.total;

    if (all && c->unpack)
        pw_interp_unpack(s->nest, c->dst, c->count, c->src);
    else if (all)
        pw_interp_pack(s->nest, c->src, c->count, c->dst);
    else if (c->unpack)
        pw_interp_unpack_range(s->nest, c->dst, c->count, c->first, c->last, c->src);
    else
        pw_interp_pack_range(s->nest, c->src, c->count, c->first, c->last, c->dst);
}

/* Returns a random alignment, or PW_AT_END. */
static int64_t random_lead(pw_rng *rng)
{
    return pw_rng_one_in(rng, 2) ? PW_AT_END : pw_rng_range(rng, 0, 15);
}

static void check_range(subject *s, int64_t first, int64_t last)
{
    for (int unpack = 0; unpack <= !s->judge.overlaps; unpack++) {
        pw_judge_place place = {.memory = random_lead(&s->rng), .packed = random_lead(&s->rng)};

        if ((unpack ? pw_judge_unpack : pw_judge_pack)(&s->judge, place, first, last, run, s) != PW_JUDGED_RIGHT)
            complain(s, unpack ? "unpack" : "pack", first, last);
    }
}

static void check_nest(subject *s, const pw_nest *nest, const char *stage, int ranges)
{
    pw_diag diag;

    s->nest = nest;
    s->stage = stage;
    if (pw_nest_verify(nest, &diag) != PW_OK) {
        print_error("%s\n", diag.text);
        complain(s, "verification", 0, 0);
    }
    for (int i = 0; i <= ranges; i++) {
        int64_t total = s->judge.total, first = i ? pw_rng_range(&s->rng, 0, total) : 0;
        int64_t last = i ? pw_rng_range(&s->rng, first, total) : total;

        if (i > 1 && pw_rng_one_in(&s->rng, 2)) /* ranges are short, too */
            last = last - first > 40 ? first + last % 40 : last;
        check_range(s, first, last);
    }
    if (pw_nest_is_contiguous(nest))
        assert_true(s->judge.total == 0 || (s->judge.span == s->judge.total && s->judge.lo == 0));
}

static void check_stage(subject *s, const pw_type *tree, bool passes, const char *stage, int ranges)
{
    pw_nest *nest = NULL;
    pw_pass_options options = {.verify = true};
    pw_diag diag = {0};
    pw_status status = passes ? pw_lower(tree, &nest, &options, &diag) : pw_lower_tree(tree, &nest, &diag);

    if (status != PW_OK) {
        char *text = pw_print(tree, 0);

        print_error("%s: %s: %s\n%s\n", s->label, stage, diag.text, text);
        free(text);
        fail();
    }
    check_nest(s, nest, stage, ranges);
    pw_nest_destroy(nest);
}

void check_type(const pw_type *type, int64_t count, int ranges, uint64_t seed, const char *label)
{
    subject s = {.rng = {.state = seed}, .label = label};
    pw_arena *arena = pw_arena_create();
    pw_type canonical;
    pw_diag diag = {0};

    assert_non_null(arena);
    pw_judge_init(&s.judge, type, count, seed);
    check_stage(&s, type, false, "as lowered", ranges);
    check_stage(&s, type, true, "after the nest passes", ranges);
    if (pw_canonicalise(type, arena, &canonical, NULL, &diag) != PW_OK) {
        print_error("%s: %s\n", label, diag.text);
        fail();
    }
    check_stage(&s, &canonical, true, "canonical", ranges);
    pw_arena_destroy(arena);
    pw_judge_free(&s.judge);
}
