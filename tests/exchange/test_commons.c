/* Memory that children of one parent have in common, without a word between them. */
#include "runtime/exchange/commons.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 4, BYTES = 8192 };

/* What the test itself shares with its children. */
typedef struct meeting {
    _Atomic int offered, counted, seen;
} meeting;

static void wait_for(_Atomic int *n)
{
    while (atomic_load(n) < RANKS)
        usleep(1000);
}

/* One rank. Returns whether it has found what the others have counted. `offers`: of this size; 0: nothing. */
static bool take_part(meeting *m, size_t offers)
{
    _Atomic int *common;

    if (offers)
        pw_commons_offer(offers);
    atomic_fetch_add(&m->offered, 1);
    wait_for(&m->offered);
    common = pw_commons_map(BYTES);
    if (common)
        atomic_fetch_add(common, 1);
    atomic_fetch_add(&m->counted, 1);
    wait_for(&m->counted);
    if (common)
        atomic_store(&m->seen, atomic_load(common));
    return common;
}

/* Returns how many ranks have found memory; *seen is what was counted there. `offers[i]`: as above. */
static int run(const size_t *offers, int *seen)
{
    meeting *m = mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int found = 0;

    assert_ptr_not_equal(m, MAP_FAILED);
    for (int i = 0; i < RANKS; i++)
        if (fork() == 0)
            _exit(take_part(m, offers[i]));
    for (int i = 0; i < RANKS; i++) {
        int status;

        assert_true(wait(&status) > 0);
        assert_true(WIFEXITED(status));
        found += WEXITSTATUS(status);
    }
    *seen = m->seen;
    munmap(m, sizeof *m);
    return found;
}

static void all_find_one(void **state)
{
    const size_t offers[RANKS] = {BYTES, BYTES, BYTES, BYTES};
    int seen;

    (void)state;
    assert_int_equal(run(offers, &seen), RANKS);
    assert_int_equal(seen, RANKS);
}

/* A rank that offers nothing takes no part, and memory of another size is not mapped. */
static void only_those_that_agree(void **state)
{
    const size_t offers[RANKS] = {0, 2 * BYTES, BYTES, BYTES};
    int seen;

    (void)state;
    assert_int_equal(run(offers, &seen), 3);
    assert_int_equal(seen, 3);
}

static void without_an_offer_there_is_none(void **state)
{
    (void)state;
    assert_null(pw_commons_map(BYTES));
}

static void files_may_be_limited(void **state)
{
    int status;

    (void)state;
    if (fork() == 0) {
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){BYTES - 1, BYTES - 1});
        pw_commons_offer(BYTES);
        _exit(pw_commons_map(BYTES) != NULL);
    }
    assert_true(wait(&status) > 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_find_one),
        cmocka_unit_test(only_those_that_agree),
        cmocka_unit_test(without_an_offer_there_is_none),
        cmocka_unit_test(files_may_be_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
