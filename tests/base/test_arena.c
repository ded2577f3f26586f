#include "base/arena.h"
#include "tests/support/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

static int is_filled(const unsigned char *p, size_t n, unsigned char value)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != value)
            return 0;
    return 1;
}

/* Sizes around every boundary: of alignment, of the first chunk, of the largest. */
static void zeroed_aligned_and_apart(void **state)
{
    static const size_t sizes[] = {1, 15, 16, 17, 100, 4095, 4096, 4097, 70000, 1 << 20, (1 << 20) + 1, 5 << 20, 1, 16};
    enum { N = sizeof sizes / sizeof *sizes };
    unsigned char *p[N];

    for (int i = 0; i < N; i++) {
        p[i] = pw_arena_alloc(*state, sizes[i]);
        assert_non_null(p[i]);
        assert_int_equal((uintptr_t)p[i] % 16, 0);
        assert_true(is_filled(p[i], sizes[i], 0));
        memset(p[i], i + 1, sizes[i]);
    }
    for (int i = 0; i < N; i++)
        assert_true(is_filled(p[i], sizes[i], (unsigned char)(i + 1)));
}

static void many_small_ones(void **state)
{
    enum { N = 100000 };
    int **p = malloc(N * sizeof *p);

    assert_non_null(p);
    for (int i = 0; i < N; i++) {
        p[i] = pw_arena_alloc(*state, sizeof **p);
        assert_non_null(p[i]);
        *p[i] = i;
    }
    for (int i = 0; i < N; i++)
        assert_int_equal(*p[i], i);
    assert_int_equal(pw_arena_used(*state), 16 * N);
    free(p);
}

static void nothing_is_something(void **state)
{
    assert_non_null(pw_arena_alloc(*state, 0));
    assert_non_null(pw_arena_array(*state, 0, 8));
    assert_non_null(pw_arena_array(*state, 8, 0));
    assert_non_null(pw_arena_copy(*state, NULL, 0));
    assert_int_equal(pw_arena_used(*state), 0);
}

static void copies(void **state)
{
    const char text[] = "what is copied";
    char *copy = pw_arena_copy(*state, text, sizeof text);

    assert_ptr_not_equal(copy, text);
    assert_string_equal(copy, text);
}

/* Sizes that are too large give NULL, and the arena can still be used. */
static void impossible_sizes(void **state)
{
    assert_null(pw_arena_alloc(*state, SIZE_MAX));
    assert_null(pw_arena_alloc(*state, SIZE_MAX - 14));
    assert_null(pw_arena_alloc(*state, SIZE_MAX / 2 + 1));
    assert_null(pw_arena_array(*state, SIZE_MAX / 8 + 1, 8));
    assert_null(pw_arena_array(*state, (size_t)1 << 32, (size_t)1 << 32));
    assert_int_equal(pw_arena_used(*state), 0);
    assert_non_null(pw_arena_alloc(*state, 100));
}

/* Memory from before the mark stays. After a rewind, new memory is zero, and lies where the old was. */
static void rewinding(void **state)
{
    static const size_t sizes[] = {24, 5000, 3 << 20, 100, 70000};
    enum { N = sizeof sizes / sizeof *sizes, ROUNDS = 50 };
    unsigned char *kept = pw_arena_alloc(*state, 1000), *last[ROUNDS];
    pw_arena_mark mark;

    memset(kept, 7, 1000);
    mark = pw_arena_here(*state);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < N; i++) {
            unsigned char *p = pw_arena_alloc(*state, sizes[i]);

            assert_non_null(p);
            assert_true(is_filled(p, sizes[i], 0));
            memset(p, 9, sizes[i]);
            last[round] = p;
        }
        pw_arena_rewind(*state, mark);
        assert_int_equal(pw_arena_used(*state), 1008);
    }
    /* Blocks of ordinary size are kept for later use; large ones may come anew from the system. */
    for (int round = 2; round < ROUNDS; round++)
        assert_ptr_equal(last[round], last[1]);
    assert_true(is_filled(kept, 1000, 7));
}

/* Marks within marks, and a mark before any allocation. */
static void rewinding_nests(void **state)
{
    pw_arena_mark outer = pw_arena_here(*state), inner;
    int *a = pw_arena_alloc(*state, sizeof *a);

    *a = 1;
    inner = pw_arena_here(*state);
    assert_non_null(pw_arena_alloc(*state, 100000));
    pw_arena_rewind(*state, inner);
    assert_int_equal(*a, 1);
    assert_int_equal(pw_arena_used(*state), 16);
    pw_arena_rewind(*state, outer);
    assert_int_equal(pw_arena_used(*state), 0);
}

/* Sweeping frees only large allocations that were not kept, and none from before the mark. */
static void sweeping(void **state)
{
    enum { LARGE = 3 << 20 };
    unsigned char *before = pw_arena_alloc(*state, LARGE), *small, *kept;
    pw_arena_mark mark = pw_arena_here(*state);

    small = pw_arena_alloc(*state, 100);
    assert_non_null(pw_arena_alloc(*state, LARGE));
    kept = pw_arena_alloc(*state, LARGE);
    assert_non_null(pw_arena_alloc(*state, LARGE));
    memset(before, 1, LARGE);
    memset(small, 2, 100);
    memset(kept, 3, LARGE);
    pw_arena_keep(*state, kept + LARGE / 2);
    pw_arena_sweep(*state, mark);
    assert_int_equal(pw_arena_used(*state), 2 * LARGE + 112);
    assert_true(is_filled(before, LARGE, 1) && is_filled(small, 100, 2) && is_filled(kept, LARGE, 3));
    pw_arena_sweep(*state, mark);
    assert_int_equal(pw_arena_used(*state), LARGE + 112);
    assert_non_null(pw_arena_alloc(*state, LARGE));
}

typedef struct allocation {
    unsigned char *at;
    size_t bytes;
    int filled;
    int keep;
} allocation;

/* Mostly small ones, as nodes are, and now and then a list around PW_ARENA_LARGE. */
static size_t odd_size(pw_rng *rng)
{
    switch (pw_rng_range(rng, 0, 9)) {
    case 0: return (size_t)pw_rng_range(rng, 1, PW_ARENA_LARGE);
    case 1: return (size_t)pw_rng_range(rng, PW_ARENA_LARGE - 40, PW_ARENA_LARGE + 40);
    case 2: return (size_t)pw_rng_range(rng, PW_ARENA_LARGE, 3 * PW_ARENA_LARGE);
    default: return (size_t)pw_rng_range(rng, 1, 400);
    }
}

static void sweep_odd_sizes(uint64_t seed)
{
    enum { N = 60 };
    pw_arena *arena = pw_arena_create();
    pw_arena_mark mark = pw_arena_here(arena);
    pw_rng rng = {seed};
    allocation a[N];
    size_t left = 0;

    for (int i = 0; i < N; i++) {
        size_t bytes = odd_size(&rng), taken = (bytes + 15) & ~(size_t)15;

        a[i] = (allocation){pw_arena_alloc(arena, bytes), bytes, i + 1, taken <= PW_ARENA_LARGE};
        assert_non_null(a[i].at);
        memset(a[i].at, a[i].filled, bytes);
        if (!a[i].keep && pw_rng_one_in(&rng, 2)) {
            a[i].keep = 1;
            pw_arena_keep(arena, a[i].at + bytes - 1);
        }
        left += a[i].keep ? taken : 0;
    }
    pw_arena_sweep(arena, mark);
    assert_int_equal(pw_arena_used(arena), left);
    for (int i = 0; i < N; i++)
        if (a[i].keep && !is_filled(a[i].at, a[i].bytes, (unsigned char)a[i].filled))
            fail_msg("seed %llu: allocation %d of %zu bytes is spoilt", (unsigned long long)seed, i, a[i].bytes);
    pw_arena_destroy(arena);
}

/* Chunks grow from what came before, so that their sizes are odd, too. */
static void sweeping_odd_sizes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        sweep_odd_sizes(seed);
}

static void destroy_takes_null(void **state)
{
    (void)state;
    pw_arena_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(zeroed_aligned_and_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(many_small_ones, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_something, setup, teardown),
        cmocka_unit_test_setup_teardown(copies, setup, teardown),
        cmocka_unit_test_setup_teardown(impossible_sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(rewinding, setup, teardown),
        cmocka_unit_test_setup_teardown(rewinding_nests, setup, teardown),
        cmocka_unit_test_setup_teardown(sweeping, setup, teardown),
        cmocka_unit_test(sweeping_odd_sizes),
        cmocka_unit_test(destroy_takes_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
