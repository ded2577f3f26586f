/*
 * The layout suite for GPUs: each row writes its layout, as .ddt text, for about so many packed bytes. Numbers that a
 * layout has by nature (block lengths, the ratio of rows to columns) stay; what grows is how often it repeats.
 */
#ifndef PW_BENCH_GPU_ROWS_H
#define PW_BENCH_GPU_ROWS_H

#include "ir/ir.h"

#include <stdio.h>

/* Writes a .ddt file whose last entry is the layout; false when there is none of this size. */
typedef bool gpu_row_fn(FILE *f, int64_t payload, const int64_t *args);

typedef struct gpu_row {
    const char *name;
    gpu_row_fn *write;
    int64_t args[3];
} gpu_row;

const gpu_row *gpu_rows(int *n);

/* The layout in `arena`; false when the row has none of this size. Ends the program when the text is not right. */
bool gpu_row_type(const gpu_row *row, int64_t payload, pw_arena *arena, pw_type *out);

#endif
