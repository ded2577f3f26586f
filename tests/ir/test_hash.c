/* Equality and hash: they cover every field that gives a tree its meaning, and nothing else. */
#include "ir/ir.h"
#include "tests/support/random_ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int setup(void **state)
{
    *state = pw_arena_create();
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    pw_arena_destroy(*state);
    return 0;
}

static void expect_equal(pw_type a, pw_type b)
{
    assert_true(pw_type_equal(&a, &b));
    assert_true(pw_type_equal(&b, &a));
    assert_true(pw_hash_equal(pw_type_hash(&a), pw_type_hash(&b)));
}

static void expect_different(pw_type a, pw_type b)
{
    assert_false(pw_type_equal(&a, &b));
    assert_false(pw_type_equal(&b, &a));
    assert_false(pw_hash_equal(pw_type_hash(&a), pw_type_hash(&b)));
}

/* Every field of every node in turn; `which` says which one differs. */
static pw_type variant(pw_builder *b, int which)
{
    const pw_node *leaf = pw_build_bytes(b, which == 1 ? 4 : 8, which == 2 ? 2 : 1);
    const pw_node *stream = pw_build_stream(b, which == 3 ? 5 : 4, which == 4 ? -32 : 32, leaf);
    const int64_t index_offs[] = {0, which == 5 ? 512 : 256, 1024};
    const pw_node *index = pw_build_index(b, which == 6 ? 2 : 3, index_offs, stream);
    const int64_t offs[] = {0, which == 7 ? 17 : 16, 64}, lens[] = {8, which == 8 ? 3 : 4, 2};
    const pw_node *blocks = pw_build_blocks(b, which == 9 ? 2 : 3, offs, lens);
    const pw_node *first = which == 10 ? blocks : index, *second = which == 10 ? index : blocks;
    const int64_t seq_offs[] = {0, which == 11 ? 5000 : 4096, 9000};
    const pw_node *seq = pw_build_seq(b, which == 12 ? 2 : 3, seq_offs, (const pw_node *[]){first, second, leaf});

    return (pw_type){.root = seq, .extent = which == 13 ? 10000 : 16384};
}

enum { VARIANTS = 14 };

static void every_field_counts(void **state)
{
    pw_builder b = {.arena = *state};

    for (int i = 0; i < VARIANTS; i++) {
        for (int j = 0; j < VARIANTS; j++) {
            if (i == j)
                expect_equal(variant(&b, i), variant(&b, j));
            else
                expect_different(variant(&b, i), variant(&b, j));
        }
    }
    assert_int_equal(b.status, PW_OK);
}

static void lb_does_not_count(void **state)
{
    pw_builder b = {.arena = *state};
    pw_type a = variant(&b, 0), c = variant(&b, 0);

    a.lb = 0;
    c.lb = -64;
    expect_equal(a, c);
}

/* Trees of different kinds with the same numbers inside. */
static void kinds_count(void **state)
{
    pw_builder b = {.arena = *state};
    const int64_t one[] = {8}, eight[] = {8};
    const pw_node *leaf = pw_build_bytes(&b, 8, 1);
    const pw_node *nodes[] = {
        leaf,
        pw_build_stream(&b, 1, 8, leaf),
        pw_build_index(&b, 1, one, leaf),
        pw_build_blocks(&b, 1, one, eight),
        pw_build_seq(&b, 1, one, &leaf),
    };

    for (int i = 0; i < 5; i++)
        for (int j = 0; j < i; j++)
            expect_different((pw_type){nodes[i], 0, 8}, (pw_type){nodes[j], 0, 8});
}

/* `length` inner nodes of mixed kinds, with lists short and long, over a leaf. */
static pw_type chain(pw_builder *b, int length, int64_t leaf)
{
    const int64_t offs[20] = {0, 1, 2, 3};
    const pw_node *node = pw_build_bytes(b, leaf, 1);

    for (int i = 0; i < length; i++) {
        switch ((i + length) % 7) {
        case 0: node = pw_build_index(b, 0, offs, node); break;
        case 1: node = pw_build_shift(b, 1, node); break;
        case 2: node = pw_build_index(b, i % 5 ? 1 : 0, offs, node); break;
        case 3: node = pw_build_index(b, i % 5 ? 1 : 20, offs, i % 5 ? node : pw_build_bytes(b, leaf, 1)); break;
        default: node = pw_build_stream(b, 1, i, node); break;
        }
    }
    assert_int_equal(b->status, PW_OK);
    return (pw_type){.root = node, .extent = 8};
}

/* The bottom counts however far down it is. */
static void long_chains(void **state)
{
    pw_builder b = {.arena = *state};

    for (int length = 0; length < 256; length++) {
        pw_type streams = {.root = pw_build_bytes(&b, 1, 1)}, other = {.root = pw_build_bytes(&b, 1, 2)};
        const int64_t zero[] = {0};

        for (int i = 0; i < length; i++) {
            streams.root = pw_build_index(&b, 1, zero, streams.root);
            other.root = pw_build_index(&b, 1, zero, other.root);
        }
        expect_different(streams, other);
        expect_equal(chain(&b, length, 3), chain(&b, length, 3));
        expect_different(chain(&b, length, 3), chain(&b, length, 4));
        if (length > 0)
            expect_different(chain(&b, length, 3), chain(&b, length - 1, 3));
    }
}

/* Where one list ends and the next begins is part of the tree. */
static void grouping_counts(void **state)
{
    pw_builder b = {.arena = *state};
    const int64_t offs[] = {0, 8, 16};
    const pw_node *leaf = pw_build_bytes(&b, 8, 1);
    const pw_node *pair = pw_build_seq(&b, 2, offs, (const pw_node *[]){leaf, leaf});
    const pw_node *left = pw_build_seq(&b, 2, offs, (const pw_node *[]){pair, leaf});
    const pw_node *right = pw_build_seq(&b, 2, offs, (const pw_node *[]){leaf, pair});
    const pw_node *flat = pw_build_seq(&b, 3, offs, (const pw_node *[]){leaf, leaf, leaf});

    expect_different((pw_type){left, 0, 24}, (pw_type){right, 0, 24});
    expect_different((pw_type){left, 0, 24}, (pw_type){flat, 0, 24});
}

/* The same tree, every node of it made anew. */
static const pw_node *unshared(pw_builder *b, const pw_node *node)
{
    const pw_node *children[16];

    switch (node->kind) {
    case PW_BYTES: return pw_build_bytes(b, node->bytes.n, node->bytes.align);
    case PW_STREAM: return pw_build_stream(b, node->stream.count, node->stream.stride, unshared(b, node->stream.child));
    case PW_INDEX: return pw_build_index(b, node->index.n, node->index.offs, unshared(b, node->index.child));
    case PW_BLOCKS: return pw_build_blocks(b, node->blocks_list.n, node->blocks_list.offs, node->blocks_list.lens);
    case PW_SEQ: break;
    }
    assert_true(node->seq.n <= 16);
    for (int64_t i = 0; i < node->seq.n; i++)
        children[i] = unshared(b, node->seq.children[i]);
    return pw_build_seq(b, node->seq.n, node->seq.offs, children);
}

static const pw_node *doubled(pw_builder *b, int levels, const pw_node *node)
{
    const int64_t offs[] = {0, 1, 2};

    for (int i = 0; i < levels; i++)
        node = pw_build_seq(b, 3, offs, (const pw_node *[]){node, pw_build_bytes(b, 1, 1), node});
    return node;
}

static void sharing_does_not_count(void **state)
{
    pw_builder b = {.arena = *state};
    /* 2^10 paths: enough that the shared one is remembered and the unshared one is large. */
    const pw_node *shared = doubled(&b, 10, pw_build_stream(&b, 2, 8, pw_build_bytes(&b, 1, 1)));

    expect_equal((pw_type){shared, 0, 1}, (pw_type){unshared(&b, shared), 0, 1});
    for (uint64_t seed = 0; seed < 500; seed++) {
        pw_type type = pw_random_type(&b, seed, &(pw_random_options){.style = PW_RANDOM_TREE});
        pw_type again = {unshared(&b, type.root), type.lb, type.extent};

        if (!pw_type_equal(&type, &again) || !pw_hash_equal(pw_type_hash(&type), pw_type_hash(&again)))
            fail_msg("seed %llu: sharing changes equality or hash", (unsigned long long)seed);
    }
    assert_int_equal(b.status, PW_OK);
}

/* 2^55 paths each: must end. */
static void shared_trees_are_linear(void **state)
{
    pw_builder b = {.arena = *state};
    const pw_node *leaf = pw_build_bytes(&b, 1, 1), *last = pw_build_bytes(&b, 1, 2);
    const pw_node *a = doubled(&b, 55, pw_build_stream(&b, 2, 8, leaf));
    const pw_node *same = doubled(&b, 55, pw_build_stream(&b, 2, 8, leaf));
    const pw_node *other = doubled(&b, 55, pw_build_stream(&b, 2, 8, last));

    assert_int_equal(b.status, PW_OK);
    expect_equal((pw_type){a, 0, 1}, (pw_type){same, 0, 1});
    expect_different((pw_type){a, 0, 1}, (pw_type){other, 0, 1});
}

/* Random types are mostly different; those that are equal hash the same, the others do not. */
static void hash_follows_equality(void **state)
{
    enum { TYPES = 400 };
    pw_builder b = {.arena = *state};
    pw_type types[TYPES];
    pw_hash hashes[TYPES];

    for (int i = 0; i < TYPES; i++) {
        types[i] = pw_random_type(&b, 1000 + (uint64_t)i, &(pw_random_options){.max_size = 24, .max_depth = 3});
        hashes[i] = pw_type_hash(&types[i]);
    }
    for (int i = 0; i < TYPES; i++)
        for (int j = 0; j < i; j++)
            if (pw_type_equal(&types[i], &types[j]) != pw_hash_equal(hashes[i], hashes[j]))
                fail_msg("seeds %d and %d: hash and equality disagree", 1000 + i, 1000 + j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_field_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(lb_does_not_count, setup, teardown),
        cmocka_unit_test_setup_teardown(kinds_count, setup, teardown),
        cmocka_unit_test_setup_teardown(long_chains, setup, teardown),
        cmocka_unit_test_setup_teardown(grouping_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(sharing_does_not_count, setup, teardown),
        cmocka_unit_test_setup_teardown(shared_trees_are_linear, setup, teardown),
        cmocka_unit_test_setup_teardown(hash_follows_equality, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
