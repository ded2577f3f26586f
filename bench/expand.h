/*
 * The naive expansion of a row: the list of contiguous blocks in packed order. It knows nothing of how we
 * decode types. MPI itself is asked: memory is filled with the index of each byte, one byte of the index at
 * a time, and what MPI_Pack delivers then says which memory byte every packed byte came from.
 */
#ifndef PW_BENCH_EXPAND_H
#define PW_BENCH_EXPAND_H

#include "bench/row.h"

typedef struct bench_block {
    char *addr;
    int64_t bytes;
} bench_block;

typedef struct bench_blocks {
    bench_block *blocks;
    int64_t n;
} bench_blocks;

/* Overwrites the row's memory. */
bench_blocks bench_expand(const bench_row *row);
void bench_blocks_free(bench_blocks *blocks);

/* The row through MPI_Pack and MPI_Unpack of the MPI below. */
void bench_native_pack(const bench_row *row, char *packed);
void bench_native_unpack(const bench_row *row, char *packed);

#endif
