#include "tests/fuzz/check.h"

#include "codegen/interp/interp.h"
#include "passes/passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BLOCKS = 1 << 14, MAX_BYTES = 1 << 14, MAX_SPAN = 1 << 18 };

void fuzz_fail(const char *what, const char *detail)
{
    fprintf(stderr, "%s: %s\n", what, detail);
    abort();
}

static void verify(const pw_type *type, const char *what)
{
    pw_diag diag;

    if (pw_verify(type, &diag) != PW_OK)
        fuzz_fail(what, diag.text);
}

/* ---- what a type moves -------------------------------------------------------------------------- */

typedef struct bytes {
    int64_t n;
    int64_t at[MAX_BYTES]; /* memory offset of each packed byte */
} bytes;

static bool add_block(void *arg, int64_t off, int64_t n)
{
    bytes *b = arg;

    for (int64_t i = 0; i < n; i++)
        b->at[b->n++] = off + i;
    return true;
}

static bytes *expand(const pw_node *root)
{
    bytes *b = malloc(sizeof *b);

    if (!b)
        fuzz_fail("expand", "out of memory");
    b->n = 0;
    pw_walk(root, 0, add_block, b);
    return b;
}

static void compare_bytes(const bytes *a, const bytes *b, const char *what)
{
    if (a->n != b->n || memcmp(a->at, b->at, (size_t)a->n * sizeof *a->at) != 0)
        fuzz_fail(what, "other bytes, or another order");
}

/* ---- the nest ----------------------------------------------------------------------------------- */

static unsigned char value_at(int64_t off)
{
    return (unsigned char)((uint64_t)off * 167 >> 3);
}

/* Packs two objects from memory in which each place has a value of its own. */
static void compare_packed(const pw_nest *nest, const bytes *want)
{
    int64_t lo = nest->lo, hi = nest->hi, size = nest->size;
    int64_t shift = nest->extent < 0 ? nest->extent : 0, span = hi - lo + llabs(nest->extent);
    unsigned char *mem = malloc((size_t)span), *packed = malloc((size_t)(2 * size));

    if (!mem || !packed)
        fuzz_fail("compare_packed", "out of memory");
    for (int64_t i = 0; i < span; i++)
        mem[i] = value_at(i);
    /* The origin of the first object may lie outside of what is touched. */
    pw_interp_pack(nest, (const void *)((uintptr_t)mem - (uintptr_t)(lo + shift)), 2, packed);
    for (int64_t i = 0; i < 2 * size; i++) {
        int64_t off = want->at[i % size] + (i < size ? 0 : nest->extent);

        if (packed[i] != value_at(off - lo - shift))
            fuzz_fail("interpreter", "a packed byte comes from another place");
    }
    free(mem);
    free(packed);
}

static void check_nest(const pw_type *canonical, const bytes *want)
{
    pw_nest *nest;
    pw_diag diag;
    pw_status status = pw_lower(canonical, &nest, NULL, &diag);

    if (status == PW_ERR_UNSUPPORTED)
        return;
    if (status != PW_OK)
        fuzz_fail("lower", diag.text);
    if (pw_nest_verify(nest, &diag) != PW_OK)
        fuzz_fail("nest", diag.text);
    if (want->n > 0 && nest->hi - nest->lo <= MAX_SPAN && nest->extent >= -MAX_SPAN && nest->extent <= MAX_SPAN)
        compare_packed(nest, want);
    pw_nest_destroy(nest);
}

/* ---- the whole type ----------------------------------------------------------------------------- */

void fuzz_check_type(const pw_type *type, pw_arena *arena)
{
    pw_type canonical, again;
    pw_diag diag;
    pw_status status;
    bytes *raw, *now;

    verify(type, "type");
    if (type->root->blocks > MAX_BLOCKS || type->root->size > MAX_BYTES)
        return;
    status = pw_canonicalise(type, arena, &canonical, NULL, &diag);
    if (status == PW_ERR_UNSUPPORTED)
        return;
    if (status != PW_OK)
        fuzz_fail("canonicalise", diag.text);
    verify(&canonical, "canonical type");
    raw = expand(type->root);
    now = expand(canonical.root);
    compare_bytes(raw, now, "canonical type");
    if (pw_canonicalise(&canonical, arena, &again, NULL, &diag) != PW_OK || !pw_type_equal(&canonical, &again))
        fuzz_fail("canonicalise", "no fixed point");
    check_nest(&canonical, now);
    free(raw);
    free(now);
}
