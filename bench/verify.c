/* Verification of one peer on one row. */
#include "bench/verify.h"

#include <stdio.h>
#include <string.h>

enum { MEMORY_FILL = 0x5a, GUARD_FILL = 0xa5 };

static void fill_random(char *p, int64_t n, uint64_t seed)
{
    uint64_t x = seed * 2 + 1;
    for (int64_t i = 0; i < n; i += 8) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        uint64_t word = x ^ x >> 29;
        memcpy(p + i, &word, (size_t)(n - i < 8 ? n - i : 8));
    }
}

static bool all_bytes(const char *p, int64_t n, int value)
{
    return n == 0 || ((unsigned char)p[0] == value && memcmp(p, p + 1, (size_t)n - 1) == 0);
}

static bool complain(const bench_run *run, bench_peer_id id, const char *what, int64_t at)
{
    fprintf(stderr, "bench: %s %s: %s: %s at byte %lld\n", run->row->spec->name, run->row->spec->params,
            bench_peers[id].name, what, (long long)at);
    return false;
}

static bool guards_hold(const bench_run *run, bench_peer_id id)
{
    if (!all_bytes(run->packed - BENCH_LINE, BENCH_LINE, GUARD_FILL))
        return complain(run, id, "wrote before the packed buffer", -1);
    if (!all_bytes(run->packed + run->row->size, BENCH_LINE, GUARD_FILL))
        return complain(run, id, "wrote behind the packed buffer", run->row->size);
    return true;
}

static void fill_memory(bench_run *run)
{
    for (int s = 0; s < run->row->nsegments; s++)
        fill_random(run->row->segments[s].base, run->row->segments[s].bytes, (uint64_t)s + 1);
}

static bool verify_pack(bench_run *run, bench_peer_id id)
{
    fill_memory(run);
    memset(run->packed - BENCH_LINE, GUARD_FILL, (size_t)run->row->size + 2 * (size_t)BENCH_LINE);
    bench_peers[id].move[PW_PACK](run);
    const char *p = run->packed;
    for (int64_t i = 0; i < run->blocks.n; p += run->blocks.blocks[i++].bytes)
        if (memcmp(p, run->blocks.blocks[i].addr, (size_t)run->blocks.blocks[i].bytes) != 0)
            return complain(run, id, "packed bytes differ in the block", p - run->packed);
    return guards_hold(run, id);
}

/* What the expansion packs from random memory, so that blocks that overlap agree on their bytes. */
static void naive_pack(bench_run *run)
{
    fill_memory(run);
    char *p = run->packed;
    for (int64_t i = 0; i < run->blocks.n; p += run->blocks.blocks[i++].bytes)
        memcpy(p, run->blocks.blocks[i].addr, (size_t)run->blocks.blocks[i].bytes);
}

/* The blocks are compared and set back to the fill, then all memory must hold the fill. */
static bool verify_unpack(bench_run *run, bench_peer_id id)
{
    const bench_row *row = run->row;
    memset(run->packed - BENCH_LINE, GUARD_FILL, (size_t)row->size + 2 * (size_t)BENCH_LINE);
    naive_pack(run);
    for (int s = 0; s < row->nsegments; s++)
        memset(row->segments[s].base, MEMORY_FILL, (size_t)row->segments[s].bytes);
    bench_peers[id].move[PW_UNPACK](run);
    const char *p = run->packed;
    for (int64_t i = 0; i < run->blocks.n; p += run->blocks.blocks[i++].bytes)
        if (memcmp(p, run->blocks.blocks[i].addr, (size_t)run->blocks.blocks[i].bytes) != 0)
            return complain(run, id, "unpacked bytes differ in the block", p - run->packed);
    for (int64_t i = 0; i < run->blocks.n; i++)
        memset(run->blocks.blocks[i].addr, MEMORY_FILL, (size_t)run->blocks.blocks[i].bytes);
    for (int s = 0; s < row->nsegments; s++)
        if (!all_bytes(row->segments[s].base, row->segments[s].bytes, MEMORY_FILL))
            return complain(run, id, "unpack wrote outside the layout, in array", s);
    return guards_hold(run, id);
}

bool bench_verify(bench_run *run, bench_peer_id id)
{
    return verify_pack(run, id) && verify_unpack(run, id);
}
