/* Soup: a struct of everything. */
#include "bench/hand.h"
#include "bench/suite.h"

static MPI_Datatype soup_type(void)
{
    MPI_Datatype v = bench_vector(3, 2, 4, MPI_FLOAT);
    MPI_Datatype grid = bench_subarray(2, (int[]){6, 8}, (int[]){3, 4}, (int[]){1, 2}, MPI_ORDER_C, MPI_INT);
    MPI_Datatype sparse = bench_contiguous(3, bench_resized(0, 4 * sizeof(int), MPI_INT));
    int lens[] = {3, 5, 4, 1, 1, 2, 1};
    MPI_Aint displs[] = {offsetof(soup, tag),  offsetof(soup, ids),  offsetof(soup, x),     offsetof(soup, v),
                         offsetof(soup, grid), offsetof(soup, best), offsetof(soup, sparse)};
    MPI_Datatype types[] = {MPI_CHAR, MPI_SHORT, MPI_DOUBLE, v, grid, MPI_DOUBLE_INT, sparse}, type;
    PMPI_Type_create_struct(7, lens, displs, types, &type);
    PMPI_Type_free(&v);
    PMPI_Type_free(&grid);
    PMPI_Type_free(&sparse);
    return bench_resized(0, sizeof(soup), type);
}

static void build(const bench_spec *spec, bench_row *row)
{
    int count = (int)spec->args[0];
    soup *array = bench_array(row, count * (int64_t)sizeof *array);
    bench_part_add(row, soup_type(), count, array);
    hand_objects *o = bench_hand(row, hand_pack_soup, hand_unpack_soup, sizeof *o);
    *o = (hand_objects){array, count};
}

void bench_add_soup(bench_suite *suite)
{
    for (int count = 1; count <= 100; count += 99) {
        bench_spec *spec = bench_add(suite, "Soup", build, count * (int64_t)sizeof(soup));
        spec->args[0] = count;
        bench_params(spec, "count=%d", count);
    }
}
