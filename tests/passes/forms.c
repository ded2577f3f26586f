#include "tests/passes/forms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool collect(void *arg, int64_t off, int64_t n)
{
    forms_blocks *l = arg;

    if (l->n > 0 && l->offs[l->n - 1] + l->lens[l->n - 1] == off) {
        l->lens[l->n - 1] += n;
        return true;
    }
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->offs = realloc(l->offs, (size_t)l->cap * sizeof *l->offs);
        l->lens = realloc(l->lens, (size_t)l->cap * sizeof *l->lens);
        assert_true(l->offs && l->lens);
    }
    l->offs[l->n] = off;
    l->lens[l->n++] = n;
    return true;
}

forms_blocks forms_blocks_of(const pw_node *root)
{
    forms_blocks l = {0};

    assert_true(pw_walk(root, 0, collect, &l));
    return l;
}

void forms_blocks_free(forms_blocks *blocks)
{
    free(blocks->offs);
    free(blocks->lens);
}

bool forms_blocks_equal(const forms_blocks *a, const forms_blocks *b)
{
    size_t bytes = (size_t)a->n * sizeof *a->offs;

    return a->n == b->n && (a->n == 0 || (!memcmp(a->offs, b->offs, bytes) && !memcmp(a->lens, b->lens, bytes)));
}

void forms_fail(uint64_t seed, const char *what, const pw_type *in, const pw_type *out)
{
    char *before = pw_print(in, 64), *after = pw_print(out, 64);

    fail_msg("seed %llu: %s\n%s=>\n%s", (unsigned long long)seed, what, before ? before : "?", after ? after : "?");
}

pw_type forms_canonical(uint64_t seed, const pw_type *in, pw_arena *arena)
{
    pw_pass_options options = {.verify = true};
    pw_type out;
    pw_diag diag;

    if (pw_canonicalise(in, arena, &out, &options, &diag) != PW_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, diag.text);
    return out;
}
