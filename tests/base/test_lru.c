#include "base/lru.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { PLACES = 3 };

typedef struct place {
    pw_lru lru;
    int value;
} place;

static void free_places_come_first(void **state)
{
    place all[PLACES] = {0};
    uint64_t clock = 0;

    (void)state;
    pw_lru_take(&all[0].lru, &clock);
    all[0].lru.users--;
    assert_ptr_equal(pw_lru_find(all, PLACES, sizeof *all, false), &all[1]);
    assert_ptr_equal(pw_lru_find(all, PLACES, sizeof *all, true), &all[0]);
    assert_null(pw_lru_find(all + 1, PLACES - 1, sizeof *all, true));
}

static void places_in_use_stay(void **state)
{
    place all[PLACES] = {0};
    uint64_t clock = 0;

    (void)state;
    for (int i = 0; i < PLACES; i++)
        pw_lru_take(&all[i].lru, &clock);
    assert_null(pw_lru_find(all, PLACES, sizeof *all, false));
    all[2].lru.users--;
    all[1].lru.users--;
    assert_ptr_equal(pw_lru_find(all, PLACES, sizeof *all, false), &all[1]);
    pw_lru_take(&all[1].lru, &clock); /* the latest use now */
    all[1].lru.users--;
    assert_ptr_equal(pw_lru_find(all, PLACES, sizeof *all, false), &all[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(free_places_come_first), cmocka_unit_test(places_in_use_stay)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
