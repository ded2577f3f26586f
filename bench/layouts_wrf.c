/* WRF's halo exchange: 4 two-, 3 three- and 2 four-dimensional float arrays, each allocated by itself. */
#include "bench/hand.h"
#include "bench/suite.h"

enum { WRF_2D = 4, WRF_3D = 3, WRF_4D = 2, WRF_ARRAYS = WRF_2D + WRF_3D + WRF_4D, WRF_LIMIT = 2 };

/* Sizes of the memory dimensions and the tile in them, from 0; order i, k, j, slice as stored. */
typedef struct wrf_tile {
    int n[4], lo[4], len[4];
} wrf_tile;

/* args: ims ime kms kme jms jme is ie ks ke js je, bounds included, as WRF writes them. */
static wrf_tile tile_of(const bench_spec *spec)
{
    wrf_tile t;
    for (int d = 0; d < 3; d++) {
        const int64_t *m = spec->args + (ptrdiff_t)2 * d, *s = spec->args + 6 + (ptrdiff_t)2 * d;
        t.n[d] = (int)(m[1] - m[0] + 1);
        t.lo[d] = (int)(s[0] - m[0]);
        t.len[d] = (int)(s[1] - s[0] + 1);
    }
    t.n[3] = t.len[3] = WRF_LIMIT;
    t.lo[3] = 0;
    return t;
}

/* The tile without k and slices: what a two-dimensional array has. */
static wrf_tile flat(wrf_tile t)
{
    t.n[1] = t.len[1] = 1;
    t.lo[1] = 0;
    return t;
}

static MPI_Datatype as_vectors(const wrf_tile *t, int dims)
{
    MPI_Aint row = t->n[0] * (MPI_Aint)sizeof(float), plane = row * t->n[1];
    if (dims == 2)
        return bench_vector(t->len[2], t->len[0], t->n[0], MPI_FLOAT);
    MPI_Datatype type = bench_hvector(t->len[2], 1, plane, bench_vector(t->len[1], t->len[0], t->n[0], MPI_FLOAT));
    return dims == 3 ? type : bench_hvector(t->len[3], 1, plane * t->n[2], type);
}

static MPI_Datatype as_subarray(const wrf_tile *t, int dims)
{
    if (dims == 2)
        return bench_subarray(2, (int[]){t->n[0], t->n[2]}, (int[]){t->len[0], t->len[2]}, (int[]){t->lo[0], t->lo[2]},
                              MPI_ORDER_FORTRAN, MPI_FLOAT);
    return bench_subarray(dims, t->n, t->len, t->lo, MPI_ORDER_FORTRAN, MPI_FLOAT);
}

static void box_of(hand_box *box, const wrf_tile *t, int dims, void *array)
{
    box->array = array;
    for (int d = 0; d < 4; d++) {
        box->lo[d] = t->lo[d];
        box->hi[d] = t->lo[d] + t->len[d];
        if (d < 3)
            box->n[d] = t->n[d];
    }
    if (dims < 4)
        box->hi[3] = 1;
}

static void build(const bench_spec *spec, bench_row *row, bool subarrays)
{
    wrf_tile full = tile_of(spec), plane = flat(full);
    hand_boxes *boxes = bench_hand(row, hand_pack_boxes_float, hand_unpack_boxes_float, sizeof *boxes);
    boxes->n = WRF_ARRAYS;
    void *addrs[WRF_ARRAYS];
    MPI_Datatype types[WRF_ARRAYS];
    for (int a = 0; a < WRF_ARRAYS; a++) {
        int dims = a < WRF_2D ? 2 : a < WRF_2D + WRF_3D ? 3 : 4;
        const wrf_tile *t = dims == 2 ? &plane : &full;
        int64_t slice = (int64_t)t->n[0] * t->n[1] * t->n[2];
        float *array = bench_array(row, slice * (dims == 4 ? WRF_LIMIT : 1) * (int64_t)sizeof *array);
        box_of(&boxes->box[a], t, dims, array);
        types[a] = subarrays ? as_subarray(t, dims) : as_vectors(t, dims);
        addrs[a] = subarrays ? array : array + ((int64_t)t->lo[2] * t->n[1] + t->lo[1]) * t->n[0] + t->lo[0];
    }
    bench_part_add_absolute(row, WRF_ARRAYS, addrs, types);
    for (int a = 0; a < WRF_ARRAYS; a++)
        PMPI_Type_free(&types[a]);
}

static void build_vec(const bench_spec *spec, bench_row *row)
{
    build(spec, row, false);
}

static void build_sa(const bench_spec *spec, bench_row *row)
{
    build(spec, row, true);
}

static void add(bench_suite *suite, const char *name, bench_build_fn *fn, const int64_t args[12])
{
    bench_spec *spec = bench_add(suite, name, fn, 4 << 20);
    for (int i = 0; i < 12; i++)
        spec->args[i] = args[i];
    bench_params(spec, "(%d:%d,1:%d,%d:%d)/(%d:%d,1:%d,%d:%d)", (int)args[0], (int)args[1], (int)args[3], (int)args[4],
                 (int)args[5], (int)args[6], (int)args[7], (int)args[9], (int)args[10], (int)args[11]);
}

void bench_add_wrf(bench_suite *suite)
{
    static const int64_t y[2][12] = {{-4, 27, 1, 65, 34, 85, 1, 23, 1, 65, 41, 43},
                                     {8, 34, 1, 65, 21, 61, 12, 30, 1, 65, 28, 30}};
    static const int64_t x[2][12] = {{-4, 27, 1, 65, 34, 85, 18, 20, 1, 65, 38, 81},
                                     {4, 22, 1, 65, 4, 27, 13, 15, 1, 65, 8, 23}};
    for (int i = 0; i < 2; i++) {
        add(suite, "WRF_y_vec", build_vec, y[i]);
        add(suite, "WRF_y_sa", build_sa, y[i]);
    }
    for (int i = 0; i < 2; i++) {
        add(suite, "WRF_x_vec", build_vec, x[i]);
        add(suite, "WRF_x_sa", build_sa, x[i]);
    }
}
