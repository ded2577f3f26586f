/* LAMMPS and SPECFEM3D: gathers by random, increasing index lists. */
#include "bench/hand.h"
#include "bench/suite.h"

#include <stdlib.h>
#include <string.h>

enum { INDEX_SEED = 2014 };

/* hand_gather with room behind it for `n` list entries. */
static hand_gather *gather(bench_row *row, bench_hand_fn *pack, bench_hand_fn *unpack, int narrays, int n)
{
    hand_gather *g = bench_hand(row, pack, unpack, sizeof *g + sizeof(int) * (size_t)n);
    g->narrays = narrays;
    return g;
}

/* Draws n out of `length` into `room`, a place behind the gather; returns the list. */
static const int *draw(int *room, int n, int length)
{
    int *list = bench_random_indices(n, length, INDEX_SEED);
    memcpy(room, list, sizeof *list * (size_t)n);
    free(list);
    return room;
}

/* An indexed_block type over `width` values an index, whose displacements are in values. */
static MPI_Datatype block_type(const int *list, int n, int width, MPI_Datatype value)
{
    int *displs = malloc(sizeof *displs * (size_t)n);
    if (!displs)
        exit(1);
    for (int i = 0; i < n; i++)
        displs[i] = width * list[i];
    MPI_Datatype type = bench_indexed_block(n, width, displs, value);
    free(displs);
    return type;
}

/* args: arrays, n, length. All arrays but the last have a double an atom, the last has three. */
static void build_lammps(const bench_spec *spec, bench_row *row)
{
    int arrays = (int)spec->args[0], n = (int)spec->args[1], length = (int)spec->args[2];
    hand_gather *g = gather(row, hand_pack_atoms, hand_unpack_atoms, arrays, n);
    const int *list = draw((int *)(g + 1), n, length);
    MPI_Datatype one = block_type(list, n, 1, MPI_DOUBLE), three = block_type(list, n, 3, MPI_DOUBLE);
    MPI_Datatype types[BENCH_MAX_SEGMENTS];
    for (int i = 0; i < arrays; i++) {
        bool last = i == arrays - 1;
        g->array[i] = bench_array(row, (int64_t)length * (last ? 3 : 1) * (int64_t)sizeof(double));
        g->n[i] = n;
        g->list[i] = list;
        types[i] = last ? three : one;
    }
    bench_part_add_absolute(row, arrays, g->array, types);
    PMPI_Type_free(&one);
    PMPI_Type_free(&three);
}

/* args: n, length. */
static void build_oc(const bench_spec *spec, bench_row *row)
{
    int n = (int)spec->args[0], length = (int)spec->args[1];
    hand_gather *g = gather(row, hand_pack_gather1, hand_unpack_gather1, 1, n);
    g->array[0] = bench_array(row, (int64_t)length * (int64_t)sizeof(float));
    g->n[0] = n;
    g->list[0] = draw((int *)(g + 1), n, length);
    bench_part_add(row, block_type(g->list[0], n, 1, MPI_FLOAT), 1, g->array[0]);
}

/* args: n, length of the crust and mantle, n, length of the inner core. */
static void build_cm(const bench_spec *spec, bench_row *row)
{
    hand_gather *g = gather(row, hand_pack_gather3, hand_unpack_gather3, 2, (int)(spec->args[0] + spec->args[2]));
    int *room = (int *)(g + 1);
    MPI_Datatype types[2];
    for (int i = 0; i < 2; i++) {
        int n = (int)spec->args[2 * i], length = (int)spec->args[2 * i + 1];
        g->array[i] = bench_array(row, (int64_t)length * 3 * (int64_t)sizeof(float));
        g->n[i] = n;
        g->list[i] = draw(room, n, length);
        room += n;
        types[i] = block_type(g->list[i], n, 3, MPI_FLOAT);
    }
    bench_part_add_absolute(row, 2, g->array, types);
    for (int i = 0; i < 2; i++)
        PMPI_Type_free(&types[i]);
}

/* args: n, 1 for the contiguous type that receives. */
static void build_mt(const bench_spec *spec, bench_row *row)
{
    int n = (int)spec->args[0];
    bool receives = spec->args[1];
    float *array = bench_array(row, (int64_t)n * 6 * (int64_t)sizeof *array);
    bench_part_add(
        row, receives ? bench_contiguous(3 * n, MPI_FLOAT) : bench_vector(n, 1, 2, bench_contiguous(3, MPI_FLOAT)), 1,
        array);
    hand_items *t = bench_hand(row, hand_pack_float3, hand_unpack_float3, sizeof *t);
    *t = (hand_items){array, n, receives ? 3 : 6};
}

static void add(bench_suite *suite, const char *name, bench_build_fn *build, const int64_t args[4], const char *params)
{
    bench_spec *spec = bench_add(suite, name, build, 16 << 20);
    for (int i = 0; i < 4; i++)
        spec->args[i] = args[i];
    bench_params(spec, "%s", params);
}

void bench_add_indexed(bench_suite *suite)
{
    add(suite, "LAMMPS_full", build_lammps, (int64_t[4]){6, 3062, 3534}, "n=3062 of 3534");
    add(suite, "LAMMPS_full", build_lammps, (int64_t[4]){6, 1662, 1907}, "n=1662 of 1907");
    add(suite, "LAMMPS_atomic", build_lammps, (int64_t[4]){4, 243, 4084}, "n=243 of 4084");
    add(suite, "LAMMPS_atomic", build_lammps, (int64_t[4]){4, 114, 1217}, "n=114 of 1217");
    add(suite, "SPECFEM3D_oc", build_oc, (int64_t[4]){3225, 88881}, "n=3225 of 88881");
    add(suite, "SPECFEM3D_oc", build_oc, (int64_t[4]){493, 3697}, "n=493 of 3697");
    add(suite, "SPECFEM3D_cm", build_cm, (int64_t[4]){11797, 834917, 3009, 51153}, "n=11797 of 834917, 3009 of 51153");
    add(suite, "SPECFEM3D_cm", build_cm, (int64_t[4]){1957, 39929, 245, 1225}, "n=1957 of 39929, 245 of 1225");
    for (int receives = 0; receives < 2; receives++) {
        const char *name = receives ? "SPECFEM3D_mt_recv" : "SPECFEM3D_mt_send";
        add(suite, name, build_mt, (int64_t[4]){7600, receives}, "n=7600");
        add(suite, name, build_mt, (int64_t[4]){5600, receives}, "n=5600");
    }
}
