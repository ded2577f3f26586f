/* Unit test of base/pending_table: against a plain list, and claims beside claims. */
#include "base/pending_table.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { NODES = 2000, KEYS = 700, THREADS = 4 };

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

/* Handles as MPIs make them: small steps from a tagged base, or addresses; few, so that many nodes have the same. */
static uint64_t key_of(uint64_t i)
{
    return i % 2 ? UINT64_C(0xac000000) + i : UINT64_C(0x55d0c0de0000) + i * 256;
}

static pw_pending_node *claim(uint64_t key)
{
    bool elsewhere = false;

    return pw_pending_node_claim(key, &elsewhere);
}

typedef enum state { OUT, IN, CLAIMED } state;

static void count_node(void *arg, pw_pending_node *node)
{
    (void)node;
    ++*(int *)arg;
}

static void agrees_with_a_list(void **unused)
{
    static pw_pending_node nodes[NODES];
    static state states[NODES];
    uint64_t x = 7;
    int inside = 0, n = 0;

    (void)unused;
    for (int step = 0; step < 300000; step++) {
        int i = (int)(next_random(&x) % NODES);
        uint64_t key = key_of(next_random(&x) % KEYS);

        if (states[i] == OUT) {
            pw_pending_node_insert(&nodes[i], key);
            states[i] = IN;
            inside++;
        } else if (states[i] == IN) {
            /* Some node of the same key, one that was free. */
            pw_pending_node *got = claim(nodes[i].key);

            assert_non_null(got);
            assert_int_equal(got->key, nodes[i].key);
            assert_int_equal(states[got - nodes], IN);
            states[got - nodes] = CLAIMED;
        } else if (next_random(&x) % 2) {
            pw_pending_node_release(&nodes[i]);
            states[i] = IN;
        } else {
            pw_pending_node_remove(&nodes[i]);
            states[i] = OUT;
            inside--;
        }
        assert_null(claim(key + 1000000));
    }
    pw_pending_node_each(count_node, &n);
    assert_int_equal(n, inside);
    while (pw_pending_node_take_any())
        inside--;
    assert_int_equal(inside, 0);
}

/* The youngest of a key comes first, and a claimed one is passed over. */
static void finds_the_youngest(void **unused)
{
    pw_pending_node a, b, c;

    (void)unused;
    pw_pending_node_insert(&a, 5);
    pw_pending_node_insert(&b, 5);
    assert_ptr_equal(claim(5), &b);
    pw_pending_node_insert(&c, 5);
    assert_ptr_equal(claim(5), &c);
    assert_ptr_equal(claim(5), &a);
    assert_null(claim(5));
    pw_pending_node_release(&b);
    assert_ptr_equal(claim(5), &b);
    pw_pending_node_remove(&a);
    pw_pending_node_remove(&b);
    pw_pending_node_remove(&c);
    assert_null(pw_pending_node_take_any());
}

static void tells_of_claims_elsewhere(void **unused)
{
    pw_pending_node a, b;
    bool elsewhere = false;

    (void)unused;
    pw_pending_node_insert(&a, 5);
    assert_ptr_equal(pw_pending_node_claim(5, &elsewhere), &a);
    assert_false(elsewhere);
    assert_null(pw_pending_node_claim(6, &elsewhere));
    assert_false(elsewhere);
    pw_pending_node_insert(&b, 5);
    assert_ptr_equal(pw_pending_node_claim(5, &elsewhere), &b);
    assert_false(elsewhere);
    assert_null(pw_pending_node_claim(5, &elsewhere));
    assert_true(elsewhere);
    pw_pending_node_remove(&a);
    pw_pending_node_remove(&b);
}

/* Each thread has nodes of its own and, besides, all work on the nodes of one key: no node is claimed twice. */
static pw_pending_node common[64];
static _Atomic int holders[64];
static _Atomic int clashes;

static void *work(void *arg)
{
    uint64_t x = 1000 + (uint64_t)(uintptr_t)arg;
    pw_pending_node own;

    for (int i = 0; i < 100000; i++) {
        uint64_t key = UINT64_C(0x77000000) + (uint64_t)(uintptr_t)arg;
        pw_pending_node *got = claim(42);

        if (got) {
            if (atomic_fetch_add(&holders[got - common], 1) != 0)
                clashes++;
            atomic_fetch_sub(&holders[got - common], 1);
            if (next_random(&x) % 2) {
                pw_pending_node_remove(got);
                pw_pending_node_insert(got, 42);
            } else {
                pw_pending_node_release(got);
            }
        }
        pw_pending_node_insert(&own, key);
        if (claim(key) != &own)
            clashes++;
        pw_pending_node_remove(&own);
    }
    return NULL;
}

static void keeps_threads_apart(void **unused)
{
    pthread_t threads[THREADS];
    int n = 0;

    (void)unused;
    for (int i = 0; i < 64; i++)
        pw_pending_node_insert(&common[i], 42);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(clashes, 0);
    while (pw_pending_node_take_any())
        n++;
    assert_int_equal(n, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_a_list), cmocka_unit_test(finds_the_youngest),
                                       cmocka_unit_test(tells_of_claims_elsewhere),
                                       cmocka_unit_test(keeps_threads_apart)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
