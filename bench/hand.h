/*
 * The loops a programmer would write, compiled with -O3 -march=native in object files of their own, so that
 * sizes stay run-time values as they are in an application. Element types and small fixed block lengths are
 * known to the compiler, as they are to the programmer.
 *
 * Every struct here is what the loops take as `args`; the arrays are the row's. Packed order is the
 * datatype's order.
 */
#ifndef PW_BENCH_HAND_H
#define PW_BENCH_HAND_H

#include "bench/row.h"

/* Boxes of an array of up to four dimensions, x fastest: elements lo <= index < hi. (hand_box.c) */
typedef struct hand_box {
    void *array;
    long n[3]; /* sizes of the array but for the slowest dimension */
    long lo[4], hi[4];
} hand_box;

typedef struct hand_boxes {
    int n;
    hand_box box[BENCH_MAX_PARTS];
} hand_boxes;

bench_hand_fn hand_pack_boxes_float, hand_unpack_boxes_float;
bench_hand_fn hand_pack_boxes_double, hand_unpack_boxes_double;

/* `outer` nested repetitions of `count` blocks of `block` bytes, `stride` bytes apart. (hand_strided.c) */
typedef struct hand_lattice {
    char *base;
    long outer_count[3], outer_stride[3];
    long count, block, stride;
} hand_lattice;

bench_hand_fn hand_pack_lattice, hand_unpack_lattice;

/* n items, `stride` elements apart; the element count of an item is in the name. (hand_strided.c) */
typedef struct hand_items {
    void *array;
    long n, stride;
} hand_items;

bench_hand_fn hand_pack_double5, hand_unpack_double5;
bench_hand_fn hand_pack_float3, hand_unpack_float3;

/* Objects of n rows of b bytes out of `stride` bytes each; b a power of two up to 512. (hand_rows.c) */
typedef struct hand_rows {
    char *array;
    long count, extent; /* of objects */
    long n, b, stride;
} hand_rows;

bench_hand_fn hand_pack_rows, hand_unpack_rows;

/* `rows` x `columns` at the corner of a matrix whose rows have n elements. (hand_matrix.c) */
typedef struct hand_matrix {
    void *array;
    long n, rows, columns;
} hand_matrix;

bench_hand_fn hand_pack_transpose_double, hand_unpack_transpose_double;
bench_hand_fn hand_pack_transpose_complex, hand_unpack_transpose_complex;
bench_hand_fn hand_pack_block_complex, hand_unpack_block_complex;
bench_hand_fn hand_pack_triangle, hand_unpack_triangle;
bench_hand_fn hand_pack_checker, hand_unpack_checker;

/* Gathers by index lists. (hand_index.c) */
typedef struct hand_gather {
    int narrays;
    void *array[BENCH_MAX_SEGMENTS];
    int n[BENCH_MAX_SEGMENTS];
    const int *list[BENCH_MAX_SEGMENTS]; /* in memory of the row */
} hand_gather;

bench_hand_fn hand_pack_atoms, hand_unpack_atoms;     /* all arrays of doubles, the last of three an entry */
bench_hand_fn hand_pack_gather1, hand_unpack_gather1; /* floats */
bench_hand_fn hand_pack_gather3, hand_unpack_gather3; /* three floats an entry */

/* Particles and the mixed struct. (hand_struct.c) */
typedef struct simple_particle {
    double field[10];
    int id;
} simple_particle;

typedef struct complex_particle {
    double position[3], force_xyz[3], velocity[3], charge;
    float property[20];
    int id;
} complex_particle;

typedef struct soup_pair {
    double value;
    int where;
} soup_pair;

typedef struct soup {
    char tag[3];
    short ids[5];
    double x[4];
    float v[12];    /* sent: 3 blocks of 2, 4 apart */
    int grid[6][8]; /* sent: rows 1 to 3, columns 2 to 5 */
    soup_pair best[2];
    int sparse[12]; /* sent: every fourth */
} soup;

typedef struct hand_objects {
    void *array;
    long n;
} hand_objects;

bench_hand_fn hand_pack_simple, hand_unpack_simple;
bench_hand_fn hand_pack_forces, hand_unpack_forces;
bench_hand_fn hand_pack_soup, hand_unpack_soup;

#endif
