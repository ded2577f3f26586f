/* The peers that are measured: one table, one row for each. */
#ifndef PW_BENCH_PEERS_H
#define PW_BENCH_PEERS_H

#include "base/direction.h"
#include "bench/lines.h"
#include "bench/ours.h"

typedef enum bench_peer_id {
    BENCH_NATIVE,
    BENCH_TIER0,
    BENCH_TIER1,
    BENCH_PIECES_8K, /* tier1 in pieces of the packed bytes */
    BENCH_PIECES_64K,
    BENCH_HAND,
    BENCH_MEMCPY,
    BENCH_LIMIT,
    BENCH_PEERS
} bench_peer_id;

/* A row with the buffers that all peers share. `packed` and `flat` hold row->size bytes. */
typedef struct bench_run {
    bench_row *row;
    bench_ours_row ours;
    bench_blocks blocks;
    bench_lines lines;
    char *packed, *flat;
} bench_run;

typedef void bench_move_fn(bench_run *run);

typedef struct bench_peer {
    const char *name;
    bool moves_layout; /* its result is compared with the naive expansion */
    bool is_cold_too;  /* also measured on memory in no cache: what a program chooses from */
    bench_move_fn *move[PW_DIRECTIONS];
} bench_peer;

extern const bench_peer bench_peers[BENCH_PEERS];

bool bench_peer_available(const bench_run *run, bench_peer_id id);

#endif
