/* What is baked into a shape, what is an argument, and that both together say what the nest says. */
#include "codegen/shape.h"
#include "codegen/target.h"
#include "passes/passes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

/* The nest and shape of a type given as text. */
typedef struct made {
    pw_nest *nest;
    pw_shape *shape;
    pw_arena *arena;
    pw_kernel_args args;
} made;

static made make_with(const char *text, pw_status (*create)(const pw_nest *, pw_shape **))
{
    made m = {.arena = pw_arena_create()};
    pw_type type, canonical;
    pw_diag diag = {0};
    pw_status status = pw_parse(text, m.arena, &type, NULL, &diag);
    if (status == PW_OK)
        status = pw_canonicalise(&type, m.arena, &canonical, NULL, &diag);
    if (status == PW_OK)
        status = pw_lower(&canonical, &m.nest, NULL, &diag);
    if (status != PW_OK) {
        print_error("%s: %s\n", text, diag.text);
        fail();
    }
    assert_int_equal(create(m.nest, &m.shape), PW_OK);
    assert_int_equal(pw_shape_bind(m.shape, m.nest, m.arena, &m.args), PW_OK);
    return m;
}

static made make(const char *text)
{
    return make_with(text, pw_shape_create);
}

static void drop(made *m)
{
    pw_shape_unref(m->shape);
    pw_nest_destroy(m->nest);
    pw_arena_destroy(m->arena);
}

static void check_same(const char *a, const char *b, bool same)
{
    made x = make(a), y = make(b);
    char *s = pw_shape_print(x.shape), *t = pw_shape_print(y.shape);
    bool equal = strcmp(s, t) == 0;
    if (equal != same) {
        print_error("%s\n%s\n%s\n%s\n", a, s, b, t);
        fail();
    }
    free(s);
    free(t);
    assert_int_equal(pw_hash_equal(x.shape->hash, y.shape->hash), same);
    drop(&x);
    drop(&y);
}

static void text(void **state)
{
    static const char expected[] = "shape(size $0, extent $1, stream $2) {\n"
                                   "  region(mem $3, packed 0, leaf 8, word 8, align 8/8) {\n"
                                   "    loop object mem $5 packed $4\n"
                                   "    loop $6 mem $7 packed 8\n"
                                   "    piece mem 0 packed 0 bytes 8\n"
                                   "  }\n"
                                   "}\n";
    made m = make("type(lb 0, extent 100000) { stream 100 stride 1000 { bytes 8 align 8 } }");
    (void)state;
    char *printed = pw_shape_print(m.shape);
    assert_string_equal(printed, expected);
    free(printed);
    assert_int_equal(m.args.params[0], 800);
    assert_int_equal(m.args.params[1], 100000);
    assert_int_equal(m.args.params[2], pw_target_stream_bytes());
    assert_int_equal(m.args.params[6], 100);
    assert_int_equal(m.args.params[7], 1000);
    drop(&m);
}

static void sharing(void **state)
{
    (void)state;
    /* Large counts, strides, extents and offsets are arguments. */
    check_same("type(lb 0, extent 100000) { stream 100 stride 1000 { bytes 8 align 8 } }",
               "type(lb 0, extent 800000) { stream 77 stride 4096 { bytes 8 align 8 } }", true);
    check_same("type(lb 0, extent 100000) { stream 100 stride 16 { bytes 8 align 8 } }",
               "type(lb 0, extent 800000) { seq { @160 stream 77 stride 16 { bytes 8 align 8 } } }", true);
    check_same("type(lb 0, extent 80000) { stream 100 stride 8000 { bytes 4000 align 8 } }",
               "type(lb 0, extent 80000) { stream 99 stride 8000 { bytes 4016 align 8 } }", true);
    /* Small strides, counts and lengths are not. */
    check_same("type(lb 0, extent 100000) { stream 100 stride 16 { bytes 8 align 8 } }",
               "type(lb 0, extent 100000) { stream 100 stride 24 { bytes 8 align 8 } }", false);
    check_same("type(lb 0, extent 100000) { stream 3 stride 1000 { bytes 8 align 8 } }",
               "type(lb 0, extent 100000) { stream 4 stride 1000 { bytes 8 align 8 } }", false);
    check_same("type(lb 0, extent 100000) { stream 100 stride 1000 { bytes 8 align 8 } }",
               "type(lb 0, extent 100000) { stream 100 stride 1000 { bytes 16 align 8 } }", false);
}

/* A list without a pattern: squares. */
static void write_list(char *out, size_t size, int n, int first)
{
    size_t at = (size_t)snprintf(out, size, "type(lb 0, extent 8000000) { index [");
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%d", i ? ", " : "", 8 * (first + i) * (first + i));
    snprintf(out + at, size - at, "] { bytes 8 align 8 } }");
}

static void lists_share(void **state)
{
    char a[4096], b[4096];
    (void)state;
    write_list(a, sizeof a, 100, 2);
    write_list(b, sizeof b, 150, 3);
    check_same(a, b, true);
}

/* Returns the number that a field of the shape stands for. */
static int64_t value(const made *m, pw_num n)
{
    return n.slot < 0 ? n.value : m->args.params[n.slot];
}

static void check_table(const made *m, const pw_shape_table *s, const pw_table *t)
{
    assert_int_equal(s->width, t->width);
    assert_int_equal(value(m, s->base), t->base);
    assert_int_equal(value(m, s->scale), t->scale);
    assert_ptr_equal(m->args.tables[s->slot], t->data);
}

static void check_region(const made *m, const pw_shape_region *s, const pw_region *r)
{
    assert_int_equal(value(m, s->mem_off), r->mem_off);
    assert_int_equal(value(m, s->packed_off), r->packed_off);
    assert_int_equal(value(m, s->leaf_size), r->leaf_size);
    assert_int_equal(s->ndims, r->ndims);
    for (int i = 0; i < r->ndims; i++) {
        assert_int_equal(s->dims[i].is_object, r->dims[i].is_object);
        assert_true(r->dims[i].is_object || value(m, s->dims[i].count) == r->dims[i].count);
        assert_int_equal(value(m, s->dims[i].mem_stride), r->dims[i].mem_stride);
        assert_int_equal(value(m, s->dims[i].packed_stride), r->dims[i].packed_stride);
        assert_int_equal(s->dims[i].table.slot >= 0, r->dims[i].table != NULL);
        if (r->dims[i].table)
            check_table(m, &s->dims[i].table, r->dims[i].table);
    }
    assert_int_equal(s->npieces, r->npieces);
    for (int i = 0; i < r->npieces; i++) {
        assert_int_equal(value(m, s->pieces[i].mem_off), r->pieces[i].mem_off);
        assert_int_equal(value(m, s->pieces[i].packed_off), r->pieces[i].packed_off);
        assert_int_equal(value(m, s->pieces[i].bytes), r->pieces[i].bytes);
    }
    if (r->blocks) {
        assert_int_equal(value(m, s->nblocks), r->blocks->n);
        check_table(m, &s->block_offs, &r->blocks->offs);
        check_table(m, &s->block_starts, &r->blocks->starts);
    }
}

static void check_means_nest(const made *m)
{
    assert_int_equal(value(m, m->shape->size), m->nest->size);
    assert_int_equal(value(m, m->shape->extent), m->nest->extent);
    assert_int_equal(m->shape->nregions, m->nest->nregions);
    for (int i = 0; i < m->nest->nregions; i++)
        check_region(m, &m->shape->regions[i], &m->nest->regions[i]);
}

static const char *const layouts[] = {
    "type(lb 0, extent 0) { bytes 0 align 1 }",
    "type(lb 0, extent 88) { bytes 84 align 4 }",
    "type(lb 0, extent 8) { stream 100 stride 8 { stream 100 stride 800 { bytes 8 align 8 } } }",
    "type(lb 0, extent 80000) { index [0, 72, 24, 880, 640, 152] { bytes 8 align 8 } }",
    "type(lb 0, extent 80000) { blocks [0:8, 72:31, 24:1, 880:600] }",
    "type(lb 0, extent 90000) { seq { @0 bytes 3 align 1 @100 stream 20 stride 50 { bytes 7 align 1 } "
    "@70000 bytes 5000 align 1 } }",
    "type(lb 0, extent 99) { seq { @140737488355328 bytes 8 align 1 @-140737488355328 bytes 300 align 1 } }",
};

static void binding(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        made m = make(layouts[i]);
        check_means_nest(&m);
        assert_true(m.shape->nparams > 0);
        drop(&m);
        m = make_with(layouts[i], pw_shape_create_baked);
        check_means_nest(&m);
        assert_int_equal(m.shape->nparams, 0);
        drop(&m);
    }
}

static void absolute_addresses_are_arguments(void **state)
{
    made m = make(layouts[6]);
    (void)state;
    char *printed = pw_shape_print(m.shape);
    assert_null(strstr(printed, "140737488355328"));
    free(printed);
    drop(&m);
}

static void binding_another_nest(void **state)
{
    made a = make(layouts[3]), b = make(layouts[4]);
    pw_kernel_args args;
    (void)state;
    assert_int_equal(pw_shape_bind(a.shape, b.nest, a.arena, &args), PW_ERR_INVALID);
    drop(&a);
    drop(&b);
}

static void references(void **state)
{
    made m = make(layouts[1]);
    (void)state;
    assert_ptr_equal(pw_shape_ref(m.shape), m.shape);
    pw_shape_unref(m.shape);
    assert_int_equal(m.shape->nregions, 1);
    pw_shape_unref(NULL);
    drop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text),
        cmocka_unit_test(sharing),
        cmocka_unit_test(lists_share),
        cmocka_unit_test(binding),
        cmocka_unit_test(absolute_addresses_are_arguments),
        cmocka_unit_test(binding_another_nest),
        cmocka_unit_test(references),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
