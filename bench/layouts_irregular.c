/* Lists that hide a pattern: a lower triangle, and every second element of every second row. */
#include "bench/hand.h"
#include "bench/suite.h"

#include <stdlib.h>

static void *list(size_t n, size_t bytes)
{
    void *memory = malloc(n * bytes);
    if (!memory)
        exit(1);
    return memory;
}

static void build_triangle(const bench_spec *spec, bench_row *row)
{
    int n = (int)spec->args[0];
    double *array = bench_array(row, (int64_t)n * n * (int64_t)sizeof *array);
    int *lens = list((size_t)n, sizeof *lens), *displs = list((size_t)n, sizeof *displs);
    for (int i = 0; i < n; i++) {
        lens[i] = i + 1;
        displs[i] = i * n;
    }
    MPI_Datatype type;
    PMPI_Type_indexed(n, lens, displs, MPI_DOUBLE, &type);
    bench_part_add(row, type, 1, array);
    free(lens);
    free(displs);
    hand_matrix *m = bench_hand(row, hand_pack_triangle, hand_unpack_triangle, sizeof *m);
    *m = (hand_matrix){array, n, n, n};
}

static void build_checker(const bench_spec *spec, bench_row *row)
{
    int n = (int)spec->args[0], half = n / 2;
    double *array = bench_array(row, (int64_t)n * n * (int64_t)sizeof *array);
    int *lens = list((size_t)half * (size_t)half, sizeof *lens), entries = 0;
    MPI_Aint *displs = list((size_t)half * (size_t)half, sizeof *displs);
    for (int i = 0; i < n; i += 2)
        for (int j = 0; j < n; j += 2) {
            lens[entries] = 1;
            displs[entries++] = ((MPI_Aint)i * n + j) * (MPI_Aint)sizeof *array;
        }
    MPI_Datatype type;
    PMPI_Type_create_hindexed(entries, lens, displs, MPI_DOUBLE, &type);
    bench_part_add(row, type, 1, array);
    free(lens);
    free(displs);
    hand_matrix *m = bench_hand(row, hand_pack_checker, hand_unpack_checker, sizeof *m);
    *m = (hand_matrix){array, n, n, n};
}

void bench_add_irregular(bench_suite *suite)
{
    static const int sizes[] = {64, 512};
    for (int i = 0; i < 2; i++) {
        bench_spec *spec = bench_add(suite, "Triangle", build_triangle, (int64_t)sizes[i] * sizes[i] * 8);
        spec->args[0] = sizes[i];
        bench_params(spec, "N=%d", sizes[i]);
    }
    bench_spec *spec = bench_add(suite, "Checker", build_checker, 512 * 512 * 8);
    spec->args[0] = 512;
    bench_params(spec, "512x512 hindexed list");
}
