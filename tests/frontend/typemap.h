/* What the algebra's tests share: a builder with its arena, and comparison of a type with a typemap written by
 * hand. All failures are cmocka failures at the place of the macro. */
#ifndef PW_TESTS_FRONTEND_TYPEMAP_H
#define PW_TESTS_FRONTEND_TYPEMAP_H

#include "frontend/combiner.h"

/* n bytes at off. */
typedef struct run {
    int64_t off, n;
} run;

typedef struct fixture {
    pw_arena *arena;
    pw_builder b;
} fixture;

int fixture_setup(void **state);
int fixture_teardown(void **state);

/* Compares the bytes in order, however they are cut into runs. */
void check_typemap(const pw_dt *t, const run *runs, size_t n, const char *file, int line);
void check_bounds(const pw_dt *t, int64_t lb, int64_t extent, const char *file, int line);

#define EXPECT_BOUNDS(t, lb, extent) check_bounds(&(t), lb, extent, __FILE__, __LINE__)
#define EXPECT_TYPEMAP(t, ...)                                                          \
    do {                                                                                \
        const run runs_[] = {__VA_ARGS__};                                              \
        check_typemap(&(t), runs_, sizeof runs_ / sizeof runs_[0], __FILE__, __LINE__); \
    } while (0)
#define EXPECT_EMPTY(t) check_typemap(&(t), NULL, 0, __FILE__, __LINE__)

#endif
