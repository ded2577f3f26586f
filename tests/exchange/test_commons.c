/* Memory that children of one parent have in common, without a word between them. */
#include "runtime/exchange/commons.h"
#include "runtime/exchange/segment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 4 };

/* What the test itself shares with its children. */
typedef struct meeting {
    _Atomic int offered, counted, seen;
} meeting;

static void wait_for(_Atomic int *n)
{
    while (atomic_load(n) < RANKS)
        usleep(1000);
}

/* One rank. Returns whether it has found what the others have counted. `offers`: it has a segment. */
static bool take_part(meeting *m, bool offers)
{
    _Atomic int *common;

    if (offers)
        pw_segment_open();
    atomic_fetch_add(&m->offered, 1);
    wait_for(&m->offered);
    common = pw_commons_part_of(PW_COMMONS_WINDOWS);
    if (common)
        atomic_fetch_add(common, 1);
    atomic_fetch_add(&m->counted, 1);
    wait_for(&m->counted);
    if (common)
        atomic_store(&m->seen, atomic_load(common));
    return common;
}

/* Returns how many ranks have found memory; *seen is what was counted there. `offers[i]`: as above. */
static int run(const bool *offers, int *seen)
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
    const bool offers[RANKS] = {true, true, true, true};
    int seen;

    (void)state;
    assert_int_equal(run(offers, &seen), RANKS);
    assert_int_equal(seen, RANKS);
}

/* A rank without a segment takes no part. */
static void only_those_with_a_segment(void **state)
{
    const bool offers[RANKS] = {false, false, true, true};
    int seen;

    (void)state;
    assert_int_equal(run(offers, &seen), 2);
    assert_int_equal(seen, 2);
}

static void without_a_segment_there_is_none(void **state)
{
    (void)state;
    assert_null(pw_commons_part_of(PW_COMMONS_TRIALS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_find_one),
        cmocka_unit_test(only_those_with_a_segment),
        cmocka_unit_test(without_a_segment_there_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
