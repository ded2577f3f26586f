/* NAS LU and MG: faces of grids of doubles, one point or five values a point. */
#include "bench/hand.h"
#include "bench/suite.h"

enum { LU_VALUES = 5 };

static void build_lu_y(const bench_spec *spec, bench_row *row)
{
    int n = (int)spec->args[0];
    double *array = bench_array(row, (int64_t)n * (n + 2) * LU_VALUES * (int64_t)sizeof *array);
    bench_part_add(row, bench_vector(n, 1, n + 2, bench_contiguous(LU_VALUES, MPI_DOUBLE)), 1, array);
    hand_items *t = bench_hand(row, hand_pack_double5, hand_unpack_double5, sizeof *t);
    *t = (hand_items){array, n, (long)(n + 2) * LU_VALUES};
}

static void build_lu_x(const bench_spec *spec, bench_row *row)
{
    int n = (int)spec->args[0];
    double *array = bench_array(row, (int64_t)n * LU_VALUES * (int64_t)sizeof *array);
    bench_part_add(row, bench_contiguous(n * LU_VALUES, MPI_DOUBLE), 1, array);
    hand_items *t = bench_hand(row, hand_pack_double5, hand_unpack_double5, sizeof *t);
    *t = (hand_items){array, n, LU_VALUES};
}

/* The faces start at the first inner point of the directions that they span. */
static void mg_face(const bench_spec *spec, bench_row *row, MPI_Datatype type, int face)
{
    const int64_t *n = spec->args;
    double *array = bench_array(row, n[0] * n[1] * n[2] * (int64_t)sizeof *array);
    hand_boxes *boxes = bench_hand(row, hand_pack_boxes_double, hand_unpack_boxes_double, sizeof *boxes);
    boxes->n = 1;
    hand_box *box = &boxes->box[0];
    box->array = array;
    box->hi[3] = 1;
    for (int d = 0; d < 3; d++) {
        box->n[d] = n[d];
        box->lo[d] = 1;
        box->hi[d] = d == face ? 2 : n[d] - 1;
    }
    bench_part_add(row, type, 1, array + n[0] * n[1] + n[0] + 1);
}

static void build_mg_x(const bench_spec *spec, bench_row *row)
{
    int x = (int)spec->args[0], y = (int)spec->args[1], z = (int)spec->args[2];
    MPI_Aint plane = (MPI_Aint)sizeof(double) * x * y;
    mg_face(spec, row, bench_hvector(z - 2, 1, plane, bench_vector(y - 2, 1, x, MPI_DOUBLE)), 0);
}

static void build_mg_y(const bench_spec *spec, bench_row *row)
{
    int x = (int)spec->args[0], y = (int)spec->args[1], z = (int)spec->args[2];
    mg_face(spec, row, bench_vector(z - 2, x - 2, x * y, MPI_DOUBLE), 1);
}

static void build_mg_z(const bench_spec *spec, bench_row *row)
{
    int x = (int)spec->args[0], y = (int)spec->args[1];
    mg_face(spec, row, bench_vector(y - 2, x - 2, x, MPI_DOUBLE), 2);
}

static void add_lu(bench_suite *suite, const char *name, bench_build_fn *build)
{
    static const int sizes[] = {12, 64, 162, 408, 1020};
    for (int i = 0; i < 5; i++) {
        int64_t n = sizes[i];
        bench_spec *spec = bench_add(suite, name, build, n * (n + 2) * LU_VALUES * (int64_t)sizeof(double));
        spec->args[0] = n;
        bench_params(spec, "N=%d", sizes[i]);
    }
}

static void add_mg(bench_suite *suite, const char *name, bench_build_fn *build)
{
    static const int sizes[4][3] = {{34, 18, 18}, {130, 66, 66}, {258, 130, 130}, {514, 258, 258}};
    for (int i = 0; i < (suite->quick ? 3 : 4); i++) {
        const int *s = sizes[i];
        bench_spec *spec = bench_add(suite, name, build, (int64_t)s[0] * s[1] * s[2] * (int64_t)sizeof(double));
        for (int d = 0; d < 3; d++)
            spec->args[d] = s[d];
        bench_params(spec, "%d,%d,%d", s[0], s[1], s[2]);
    }
}

void bench_add_nas(bench_suite *suite)
{
    add_lu(suite, "NAS_LU_y", build_lu_y);
    add_lu(suite, "NAS_LU_x", build_lu_x);
    add_mg(suite, "NAS_MG_x", build_mg_x);
    add_mg(suite, "NAS_MG_y", build_mg_y);
    add_mg(suite, "NAS_MG_z", build_mg_z);
}
