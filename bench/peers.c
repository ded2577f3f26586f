/* The peers. */
#include "bench/peers.h"

#include <string.h>

static void native_pack(bench_run *run)
{
    bench_native_pack(run->row, run->packed);
}

static void native_unpack(bench_run *run)
{
    bench_native_unpack(run->row, run->packed);
}

typedef void part_fn(const bench_run *run, int part, char *packed);

static __attribute__((noinline)) void several_parts(const bench_run *run, part_fn *move)
{
    const bench_row *row = run->row;
    char *packed = run->packed;

    for (int i = 0; i < row->nparts; packed += row->parts[i++].size)
        move(run, i, packed);
}

/* A part alone is moved by a jump: no loop or saved registers add to its time, as none add to that of the loop by hand.
 */
static inline __attribute__((always_inline)) void each_part(const bench_run *run, part_fn *move)
{
    if (run->row->nparts == 1)
        move(run, 0, run->packed);
    else
        several_parts(run, move);
}

static void tier0_pack_part(const bench_run *run, int part, char *packed)
{
    const bench_part *p = &run->row->parts[part];
    pw_layout_pack(run->ours.tier0[part], p->base, p->count, packed);
}

static void tier0_unpack_part(const bench_run *run, int part, char *packed)
{
    const bench_part *p = &run->row->parts[part];
    pw_layout_unpack(run->ours.tier0[part], p->base, p->count, packed);
}

static void tier1_pack_part(const bench_run *run, int part, char *packed)
{
    const bench_part *p = &run->row->parts[part];
    packwright_pack(run->ours.tier1[part], p->base, p->count, packed);
}

static void tier1_unpack_part(const bench_run *run, int part, char *packed)
{
    const bench_part *p = &run->row->parts[part];
    packwright_unpack(run->ours.tier1[part], p->base, p->count, packed);
}

static void tier0_pack(bench_run *run)
{
    each_part(run, tier0_pack_part);
}

static void tier0_unpack(bench_run *run)
{
    each_part(run, tier0_unpack_part);
}

static void tier1_pack(bench_run *run)
{
    each_part(run, tier1_pack_part);
}

static void tier1_unpack(bench_run *run)
{
    each_part(run, tier1_unpack_part);
}

/* Moves pieces in order, as an MPI's pipeline asks for a message. Pieces end within blocks. */
static void in_pieces(const bench_run *run, pw_direction direction, int64_t bytes)
{
    char *packed = run->packed;

    for (int i = 0; i < run->row->nparts; i++) {
        const bench_part *p = &run->row->parts[i];

        for (int64_t first = 0; first < p->size; first += bytes) {
            int64_t last = first + bytes < p->size ? first + bytes : p->size;

            if (direction == PW_PACK)
                packwright_pack_range(run->ours.tier1[i], p->base, p->count, first, last, packed + first);
            else
                packwright_unpack_range(run->ours.tier1[i], p->base, p->count, first, last, packed + first);
        }
        packed += p->size;
    }
}

enum { SHORT_PIECE = 8 * 1024 - 13, LONG_PIECE = 64 * 1024 - 13 };

static void short_pieces_pack(bench_run *run)
{
    in_pieces(run, PW_PACK, SHORT_PIECE);
}

static void short_pieces_unpack(bench_run *run)
{
    in_pieces(run, PW_UNPACK, SHORT_PIECE);
}

static void long_pieces_pack(bench_run *run)
{
    in_pieces(run, PW_PACK, LONG_PIECE);
}

static void long_pieces_unpack(bench_run *run)
{
    in_pieces(run, PW_UNPACK, LONG_PIECE);
}

static void hand_pack(bench_run *run)
{
    run->row->hand_pack(run->row->hand_args, run->packed);
}

static void hand_unpack(bench_run *run)
{
    run->row->hand_unpack(run->row->hand_args, run->packed);
}

static void memcpy_pack(bench_run *run)
{
    memcpy(run->packed, run->flat, (size_t)run->row->size);
}

static void memcpy_unpack(bench_run *run)
{
    memcpy(run->flat, run->packed, (size_t)run->row->size);
}

static void limit_pack(bench_run *run)
{
    bench_limit_pack(&run->lines, run->packed, run->row->size);
}

static void limit_unpack(bench_run *run)
{
    bench_limit_unpack(&run->lines, run->packed, run->row->size);
}

const bench_peer bench_peers[BENCH_PEERS] = {
    [BENCH_NATIVE] = {"native", true, true, {native_pack, native_unpack}},
    [BENCH_TIER0] = {"tier0", true, false, {tier0_pack, tier0_unpack}},
    [BENCH_TIER1] = {"tier1", true, true, {tier1_pack, tier1_unpack}},
    [BENCH_PIECES_8K] = {"8K", true, false, {short_pieces_pack, short_pieces_unpack}},
    [BENCH_PIECES_64K] = {"64K", true, false, {long_pieces_pack, long_pieces_unpack}},
    [BENCH_HAND] = {"hand", true, true, {hand_pack, hand_unpack}},
    [BENCH_MEMCPY] = {"memcpy", false, false, {memcpy_pack, memcpy_unpack}},
    [BENCH_LIMIT] = {"limit", false, false, {limit_pack, limit_unpack}},
};

bool bench_peer_available(const bench_run *run, bench_peer_id id)
{
    switch (id) {
    case BENCH_TIER0: return run->ours.usable;
    case BENCH_PIECES_8K:
    case BENCH_PIECES_64K:
    case BENCH_TIER1: return run->ours.compiled;
    default: return true;
    }
}
