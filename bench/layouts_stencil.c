/* Halos of regular grids: COSMO, a two-dimensional Jacobi solver, small and large boxes, and TEMPI's 26 neighbours. */
#include "bench/hand.h"
#include "bench/suite.h"

static hand_boxes *box_loops(bench_row *row, bool doubles)
{
    return doubles ? bench_hand(row, hand_pack_boxes_double, hand_unpack_boxes_double, sizeof(hand_boxes))
                   : bench_hand(row, hand_pack_boxes_float, hand_unpack_boxes_float, sizeof(hand_boxes));
}

/* A box of dims <= 3 dimensions, x first, of elements that are `unit` array elements wide. */
static void fill_box(hand_box *box, void *array, int dims, const int *n, const int *lo, const int *len, int unit)
{
    *box = (hand_box){.array = array, .n = {1, 1, 1}, .hi = {1, 1, 1, 1}};
    for (int d = 0; d < dims; d++) {
        int scale = d == 0 ? unit : 1;
        box->n[d] = (long)n[d] * scale;
        box->lo[d] = (long)lo[d] * scale;
        box->hi[d] = (long)(lo[d] + len[d]) * scale;
    }
}

/* One side of the inner part of a grid with `halo` lines around x and y: what is sent there. args: side 0 to 3. */
static void side_of(int side, int halo, const int *n, int *lo, int *len)
{
    for (int d = 0; d < 2; d++) {
        lo[d] = halo;
        len[d] = n[d] - 2 * halo;
    }
    int d = side / 2;
    if (side % 2)
        lo[d] = n[d] - 2 * halo;
    len[d] = halo;
}

/* 100 x 100 x 60 inner points with three halo lines around the first two dimensions, floats. */
static void build_cosmo(const bench_spec *spec, bench_row *row)
{
    int n[3] = {106, 106, 60}, lo[3] = {0}, len[3] = {0, 0, 60};
    side_of((int)spec->args[0], 3, n, lo, len);
    float *array = bench_array(row, (int64_t)n[0] * n[1] * n[2] * (int64_t)sizeof *array);
    bench_part_add(row, bench_subarray(3, n, len, lo, MPI_ORDER_FORTRAN, MPI_FLOAT), 1, array);
    hand_boxes *boxes = box_loops(row, false);
    boxes->n = 1;
    fill_box(&boxes->box[0], array, 3, n, lo, len, 1);
}

/* args: side, N. */
static void build_jacobi(const bench_spec *spec, bench_row *row)
{
    int size = (int)spec->args[1] + 2, n[2] = {size, size}, lo[2], len[2];
    side_of((int)spec->args[0], 1, n, lo, len);
    double *array = bench_array(row, (int64_t)size * size * (int64_t)sizeof *array);
    bench_part_add(row, bench_subarray(2, n, (int[]){len[1], len[0]}, (int[]){lo[1], lo[0]}, MPI_ORDER_C, MPI_DOUBLE),
                   1, array);
    hand_boxes *boxes = box_loops(row, true);
    boxes->n = 1;
    fill_box(&boxes->box[0], array, 2, n, lo, len, 1);
}

/* A box of an array of doubles, one point behind its corner. args: three sizes of the array, three of the box. */
static void build_box(const bench_spec *spec, bench_row *row)
{
    int n[3], len[3], lo[3] = {1, 1, 1};
    for (int d = 0; d < 3; d++) {
        n[d] = (int)spec->args[d];
        len[d] = (int)spec->args[3 + d];
    }
    double *array = bench_array(row, (int64_t)n[0] * n[1] * n[2] * (int64_t)sizeof *array);
    bench_part_add(row, bench_subarray(3, n, len, lo, MPI_ORDER_FORTRAN, MPI_DOUBLE), 1, array);
    hand_boxes *boxes = box_loops(row, true);
    boxes->n = 1;
    fill_box(&boxes->box[0], array, 3, n, lo, len, 1);
}

static void add_boxes(bench_suite *suite)
{
    static const int boxes[][6] = {{32, 32, 32, 1, 30, 30},
                                   {32, 32, 32, 30, 1, 30},
                                   {32, 32, 32, 30, 30, 1},
                                   {32, 32, 32, 3, 3, 3},
                                   {4096, 20, 3, 2500, 16, 1}};
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
        const int *b = boxes[i];
        bench_spec *spec = bench_add(suite, "Box", build_box, (int64_t)b[0] * b[1] * b[2] * (int64_t)sizeof(double));
        for (int d = 0; d < 6; d++)
            spec->args[d] = b[d];
        bench_params(spec, "%dx%dx%d of %dx%dx%d", b[3], b[4], b[5], b[0], b[1], b[2]);
    }
}

enum { HALO_RADIUS = 3, HALO_POINT = 8 }; /* doubles a point */

static MPI_Datatype halo_region(int size, const int *lo, const int *len, bool subarray)
{
    MPI_Datatype point = bench_contiguous(HALO_POINT, MPI_DOUBLE);
    if (subarray)
        return bench_subarray(3, (int[]){size, size, size}, (int[]){len[2], len[1], len[0]},
                              (int[]){lo[2], lo[1], lo[0]}, MPI_ORDER_C, point);
    MPI_Aint plane = (MPI_Aint)sizeof(double) * HALO_POINT * size * size;
    return bench_hvector(len[2], 1, plane, bench_vector(len[1], len[0], size, point));
}

/* The inner points next to each of the 26 neighbours. args: N, 1 for subarrays. */
static void build_halo(const bench_spec *spec, bench_row *row)
{
    int size = (int)spec->args[0] + 2 * HALO_RADIUS, n[3] = {size, size, size};
    bool subarray = spec->args[1];
    double *array = bench_array(row, (int64_t)size * size * size * HALO_POINT * (int64_t)sizeof *array);
    hand_boxes *boxes = box_loops(row, true);
    for (int r = 0; r < 27; r++) {
        if (r == 13)
            continue;
        int direction[3] = {r % 3 - 1, r / 3 % 3 - 1, r / 9 - 1}, lo[3], len[3];
        for (int d = 0; d < 3; d++) {
            lo[d] = direction[d] > 0 ? size - 2 * HALO_RADIUS : HALO_RADIUS;
            len[d] = direction[d] ? HALO_RADIUS : size - 2 * HALO_RADIUS;
        }
        int64_t start = subarray ? 0 : ((int64_t)lo[2] * size + lo[1]) * size + lo[0];
        bench_part_add(row, halo_region(size, lo, len, subarray), 1, array + start * HALO_POINT);
        fill_box(&boxes->box[boxes->n++], array, 3, n, lo, len, HALO_POINT);
    }
}

void bench_add_stencils(bench_suite *suite)
{
    static const char *const sides[] = {"west", "east", "north", "south"};
    for (int i = 0; i < 4; i++) {
        bench_spec *spec = bench_add(suite, "COSMO", build_cosmo, 106 * 106 * 60 * (int64_t)sizeof(float));
        spec->args[0] = i;
        bench_params(spec, "100x100x60 %s", sides[i]);
    }
    for (int i = 0; i < 8; i++) {
        int64_t n = i < 4 ? 1024 : suite->quick ? 100 : 4096;
        bench_spec *spec = bench_add(suite, "Jacobi2D", build_jacobi, (n + 2) * (n + 2) * (int64_t)sizeof(double));
        spec->args[0] = i % 4;
        spec->args[1] = n;
        bench_params(spec, "N=%d %s", (int)n, sides[i % 4]);
    }
    add_boxes(suite);
    for (int subarray = 1; subarray >= 0; subarray--) {
        int64_t n = suite->quick ? 32 : 256, size = n + 2 * HALO_RADIUS;
        bench_spec *spec =
            bench_add(suite, "TEMPI_halo", build_halo, size * size * size * HALO_POINT * (int64_t)sizeof(double));
        spec->args[0] = n;
        spec->args[1] = subarray;
        bench_params(spec, "%d^3 %s", (int)n, subarray ? "subarrays" : "hvec of vec");
    }
}
