/* Lowering at its limits, the nest passes on trees no frontend makes, and the nest's own verifier and hash. */
#include "ir/nest_build.h"
#include "passes/nest_passes.h"
#include "tests/support/random_ir.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static pw_builder start(void)
{
    pw_builder b = {.arena = pw_arena_create()};

    assert_non_null(b.arena);
    return b;
}

static pw_nest *lower(const pw_node *root, int64_t extent)
{
    pw_type type = {.root = root, .extent = extent};
    pw_pass_options options = {.verify = true};
    pw_diag diag = {0};
    pw_nest *nest = NULL;

    assert_non_null(root);
    if (pw_lower(&type, &nest, &options, &diag) != PW_OK) {
        print_error("%s\n", diag.text);
        fail();
    }
    return nest;
}

static int64_t rewrites(const char *pass, const pw_node *root)
{
    pw_type type = {.root = root, .extent = 1000};
    pw_pass_options options = {.verify = true};
    pw_nest *nest;
    int n;

    assert_int_equal(pw_lower(&type, &nest, &options, NULL), PW_OK);
    pw_nest_destroy(nest);
    return options.fired[pw_pass_find(pass) - pw_pass_table(&n)];
}

/* ---- lowering -------------------------------------------------------------------------------------- */

/* A stream costs a loop, whatever its count. */
static void streams_are_small(void **state)
{
    pw_builder b = start();
    pw_nest *nest = lower(pw_build_stream(&b, (int64_t)1 << 40, 64, pw_build_bytes(&b, 8, 1)), 8);

    (void)state;
    assert_int_equal(nest->nregions, 1);
    assert_int_equal(nest->regions[0].ndims, 2);
    assert_true(pw_arena_used(nest->arena) < 2048);
    pw_nest_destroy(nest);
    pw_arena_destroy(b.arena);
}

/* 40 streams, none continuing another: loops are joined to tables. */
static void more_loops_than_a_nest_has(void **state)
{
    pw_builder b = start();
    const pw_node *node = pw_build_bytes(&b, 1, 1);
    int64_t stride = 1;
    pw_nest *nest;

    (void)state;
    for (int i = 0; i < 40; i++) {
        stride = 2 * stride + (i % 3);
        node = pw_build_stream(&b, 2, stride, node);
    }
    nest = lower(node, 8);
    assert_int_equal(nest->size, (int64_t)1 << 40);
    assert_true(nest->regions[0].ndims <= PW_NEST_MAX_DIMS);
    pw_nest_destroy(nest);
    pw_arena_destroy(b.arena);
}

/* Unit streams and streams that continue each other take no loop of a nest for good. */
static void superfluous_loops(void **state)
{
    pw_builder b = start();
    const pw_node *node = pw_build_bytes(&b, 2, 1);
    pw_nest *nest;

    (void)state;
    for (int i = 0; i < 100; i++)
        node = pw_build_stream(&b, 1, 7, node);
    for (int i = 0; i < 30; i++)
        node = pw_build_stream(&b, 2, (int64_t)6 << i, node);
    nest = lower(node, 8);
    assert_int_equal(nest->regions[0].ndims, 2);
    assert_int_equal(nest->regions[0].dims[1].count, (int64_t)1 << 30);
    assert_int_equal(nest->regions[0].dims[1].mem_stride, 6);
    pw_nest_destroy(nest);
    assert_int_equal(rewrites("drop-unit-loops", pw_build_stream(&b, 1, 7, pw_build_bytes(&b, 8, 1))), 1);
    assert_int_equal(
        rewrites("fuse-loops", pw_build_stream(&b, 3, 20, pw_build_stream(&b, 2, 10, pw_build_bytes(&b, 8, 1)))), 1);
    assert_int_equal(rewrites("widen-leaf", pw_build_stream(&b, 3, 8, pw_build_bytes(&b, 8, 1))), 1);
    pw_arena_destroy(b.arena);
}

/* n members of `blocks` blocks each, no two alike. */
static const pw_node *long_struct(pw_builder *b, int64_t n, int64_t blocks)
{
    const pw_node **children = malloc((size_t)n * sizeof *children);
    int64_t *offs = malloc((size_t)n * sizeof *offs);
    const pw_node *node;

    for (int64_t i = 0; i < n; i++) {
        children[i] = pw_build_stream(b, blocks, 8 + i, pw_build_bytes(b, 4, 1));
        offs[i] = i * 1000000;
    }
    node = pw_build_seq(b, n, offs, children);
    free(children);
    free(offs);
    return node;
}

static void structs(void **state)
{
    pw_builder b = start();
    pw_nest *nest = lower(long_struct(&b, 4, 4), 8);
    pw_type huge = {.extent = 8};
    pw_diag diag = {0};

    (void)state;
    /* 16 blocks: pieces of one leaf. */
    assert_int_equal(nest->nregions, 1);
    assert_int_equal(nest->regions[0].npieces, 16);
    assert_false(nest->object_outer);
    pw_nest_destroy(nest);
    /* Long members: a region each. */
    nest = lower(long_struct(&b, 40, 100), 8);
    assert_int_equal(nest->nregions, 40);
    assert_true(nest->object_outer);
    pw_nest_destroy(nest);
    /* More members than a nest has regions, but few blocks: a list. */
    nest = lower(long_struct(&b, 5000, 8), 8);
    assert_int_equal(nest->nregions, 1);
    assert_int_equal(nest->regions[0].ndims, 2);
    pw_nest_destroy(nest);
    /* ... and too many blocks to list. */
    huge.root = long_struct(&b, 5000, 100);
    assert_int_equal(pw_lower(&huge, &nest, NULL, &diag), PW_ERR_UNSUPPORTED);
    assert_non_null(strstr(diag.text, "regions"));
    pw_arena_destroy(b.arena);
}

/* A tree of 40 nodes that is a sequence of 2^40 members when written out. */
static void shared_nodes(void **state)
{
    pw_builder b = start();
    pw_type type = {.extent = 8};
    pw_nest *nest;

    (void)state;
    type.root = pw_build_stream(&b, 20, 12, pw_build_bytes(&b, 1, 1));
    for (int i = 0; i < 40; i++)
        type.root = pw_build_seq(&b, 2, (int64_t[]){0, 1000 + i}, (const pw_node *[]){type.root, type.root});
    assert_int_equal(b.status, PW_OK);
    assert_int_equal(pw_lower(&type, &nest, NULL, NULL), PW_ERR_UNSUPPORTED);
    pw_arena_destroy(b.arena);
}

/* Short lists of nearly equal blocks are cut to equal ones; long blocks stay whole. */
static void lists(void **state)
{
    pw_builder b = start();
    int64_t offs[50], lens[50];
    pw_nest *nest;

    (void)state;
    for (int i = 0; i < 50; i++) {
        offs[i] = i * 1000 + i * i;
        lens[i] = i % 7 ? 8 : 16;
    }
    nest = lower(pw_build_blocks(&b, 50, offs, lens), 60000);
    assert_null(nest->regions[0].blocks);
    assert_int_equal(nest->regions[0].leaf_size, 8);
    assert_int_equal(nest->regions[0].dims[1].count, 58);
    assert_int_equal(nest->regions[0].dims[1].table->width, 2);
    pw_nest_destroy(nest);
    for (int i = 0; i < 50; i++)
        lens[i] = 8 + 8 * i;
    lens[7] = 0;
    nest = lower(pw_build_blocks(&b, 50, offs, lens), 60000);
    assert_non_null(nest->regions[0].blocks);
    assert_int_equal(nest->regions[0].blocks->n, 49);
    assert_int_equal(nest->regions[0].word, 8);
    pw_nest_destroy(nest);
    pw_arena_destroy(b.arena);
}

/* ---- tables ---------------------------------------------------------------------------------------- */

static void check_narrow(const int64_t *values, int64_t n, int width, int64_t scale)
{
    pw_arena *arena = pw_arena_create();
    pw_table t;

    assert_int_equal(pw_table_narrow(n, values, arena, &t), PW_OK);
    assert_int_equal(t.width, width);
    assert_int_equal(t.scale, scale);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(pw_table_get(&t, i), values[i]);
    pw_arena_destroy(arena);
}

/* The table of sums is the one that the sums in a list would give. */
static void check_sums(const int64_t *lens, int64_t n, int width, int64_t scale)
{
    pw_arena *arena = pw_arena_create();
    int64_t sum = 0;
    pw_table t;

    assert_int_equal(pw_table_sums(n, lens, arena, &t), PW_OK);
    assert_int_equal(t.n, n + 1);
    assert_int_equal(t.width, width);
    assert_int_equal(t.scale, scale);
    for (int64_t i = 0; i <= n; i++) {
        assert_int_equal(pw_table_get(&t, i), sum);
        sum += i < n ? lens[i] : 0;
    }
    pw_arena_destroy(arena);
}

static void sums(void **state)
{
    (void)state;
    check_sums(NULL, 0, 2, 1);
    check_sums((int64_t[]){12, 8, 20}, 3, 2, 4);
    check_sums((int64_t[]){3, 0, 65533}, 3, 4, 1);
    check_sums((int64_t[]){8, (int64_t)UINT32_MAX * 8 - 8}, 2, 4, 8);
    check_sums((int64_t[]){1, (int64_t)UINT32_MAX}, 2, 8, 1);
}

static void tables(void **state)
{
    (void)state;
    check_narrow((int64_t[]){5}, 1, 2, 1);
    check_narrow((int64_t[]){-8, 0, 65535 * 4 - 8}, 3, 2, 4);
    check_narrow((int64_t[]){0, 65536}, 2, 2, 65536);
    check_narrow((int64_t[]){1, 0, 65536}, 3, 4, 1);
    check_narrow((int64_t[]){0, 8, (int64_t)UINT32_MAX * 8}, 3, 4, 8);
    check_narrow((int64_t[]){0, 1, (int64_t)UINT32_MAX + 1}, 3, 8, 1);
    check_narrow((int64_t[]){INT64_MIN, INT64_MAX, 0}, 3, 8, 1);
    check_narrow((int64_t[]){0}, 0, 2, 1);
}

/* ---- verifier, hash, predicates ---------------------------------------------------------------------- */

static pw_nest *sample(pw_builder *b)
{
    int64_t offs[20];

    for (int i = 0; i < 20; i++)
        offs[i] = 64 * i + i * i;
    return lower(pw_build_stream(b, 5, 4000, pw_build_index(b, 20, offs, pw_build_bytes(b, 8, 1))), 20000);
}

static void refused(pw_nest *nest, const char *reason)
{
    pw_diag diag = {0};

    assert_int_equal(pw_nest_verify(nest, &diag), PW_ERR_INVALID);
    if (!strstr(diag.text, reason))
        print_error("'%s' does not say '%s'\n", diag.text, reason);
    assert_non_null(strstr(diag.text, reason));
}

#define REFUSES(field, value, reason)  \
    do {                               \
        __typeof__(field) was = field; \
        field = value;                 \
        refused(nest, reason);         \
        field = was;                   \
    } while (0)

static void verifier(void **state)
{
    pw_builder b = start();
    pw_nest *nest = sample(&b);
    pw_region *r = &nest->regions[0];
    pw_diag diag;

    (void)state;
    assert_int_equal(pw_nest_verify(nest, &diag), PW_OK);
    REFUSES(nest->size, 808, "size");
    REFUSES(nest->lo, -1, "bounds");
    REFUSES(nest->object_outer, true, "objects");
    REFUSES(r->align, 4, "align does not hold");
    REFUSES(r->align, 3, "alignment");
    REFUSES(r->packed_align, 16, "packed_align");
    REFUSES(r->word, 16, "word");
    REFUSES(r->leaf_size, 7, "leaf size");
    REFUSES(r->npieces, 0, "leaf");
    REFUSES(r->ndims, 17, "loops");
    REFUSES(r->dims[1].count, 6, "bytes outside");
    REFUSES(r->dims[1].packed_stride, 152, "enclose");
    REFUSES(r->dims[2].count, 19, "length");
    REFUSES(r->tile_outer, 4, "tile");
    assert_int_equal(pw_nest_verify(nest, &diag), PW_OK);
    pw_nest_destroy(nest);
    pw_arena_destroy(b.arena);
}

static bool contiguous(const pw_node *root, int64_t extent)
{
    pw_nest *nest = lower(root, extent);
    bool yes = pw_nest_is_contiguous(nest);

    pw_nest_destroy(nest);
    return yes;
}

static void contiguity(void **state)
{
    pw_builder b = start();
    const pw_node *eight = pw_build_bytes(&b, 8, 1);

    (void)state;
    assert_true(contiguous(eight, 8));
    assert_true(contiguous(pw_build_stream(&b, 6, 8, eight), 48));
    assert_true(contiguous(pw_build_bytes(&b, 0, 1), 48));
    assert_false(contiguous(eight, 16));
    assert_false(contiguous(eight, 0));
    assert_false(contiguous(pw_build_shift(&b, 8, eight), 8));
    assert_false(contiguous(pw_build_stream(&b, 6, -8, eight), 48));
    assert_false(contiguous(pw_build_stream(&b, 2, 16, eight), 16));
    pw_arena_destroy(b.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_small),
        cmocka_unit_test(more_loops_than_a_nest_has),
        cmocka_unit_test(superfluous_loops),
        cmocka_unit_test(structs),
        cmocka_unit_test(shared_nodes),
        cmocka_unit_test(lists),
        cmocka_unit_test(tables),
        cmocka_unit_test(sums),
        cmocka_unit_test(verifier),
        cmocka_unit_test(contiguity),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
