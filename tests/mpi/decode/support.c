#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static bool add_run(void *arg, int64_t off, int64_t n)
{
    pw_naive_add(arg, off, n, 0);
    return true;
}

void decode_and_compare(MPI_Datatype type, const pw_naive_map *map, const char *file, int line)
{
    pw_arena *arena = pw_arena_create();
    pw_naive_map got = {0};
    pw_type decoded = {0};
    pw_diag diag = {0};
    MPI_Count lb, extent;
    MPI_Type_get_extent_x(type, &lb, &extent);
    if (pw_mpi_decode(type, arena, &decoded, &diag) != PW_OK) {
        print_error("%s\n", diag.text);
        _fail(file, line);
    }
    pw_walk(decoded.root, 0, add_run, &got);
    _assert_int_equal(got.size, map->size, file, line);
    _assert_int_equal(got.n, map->n, file, line);
    for (int64_t i = 0; i < map->n; i++)
        if (got.entries[i].off != map->entries[i].off || got.entries[i].bytes != map->entries[i].bytes) {
            print_error("run %lld: %lld bytes at %lld, not %lld at %lld\n", (long long)i,
                        (long long)got.entries[i].bytes, (long long)got.entries[i].off,
                        (long long)map->entries[i].bytes, (long long)map->entries[i].off);
            _fail(file, line);
        }
    _assert_int_equal(decoded.lb, lb, file, line);
    _assert_int_equal(decoded.extent, extent, file, line);
    pw_naive_free(&got);
    pw_arena_destroy(arena);
}

void expect_runs(MPI_Datatype *type, const run *runs, size_t n, const char *file, int line)
{
    pw_naive_map map = {0};
    for (size_t i = 0; i < n; i++)
        pw_naive_add(&map, runs[i].off, runs[i].n, 0);
    decode_and_compare(*type, &map, file, line);
    pw_naive_free(&map);
    MPI_Type_free(type);
}
