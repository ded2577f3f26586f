#include "runtime/model/cost.h"

/* fixed + per_block * blocks + per_byte * bytes, nanoseconds. */
typedef struct linear {
    double fixed, per_block, per_byte;
} linear;

typedef struct range {
    int64_t up_to; /* bytes */
    linear native, packed;
} range;

enum { MPICH, OPEN_MPI, MPIS, RANGES = 6 };

/*
 * A short message is copied through shared memory whatever its layout: packed saves the set-up of the MPI's walk over
 * the blocks, and has a second copy and its own walk to pay. A longer one is fetched by the receiver in one go when it
 * is contiguous, but travels in pieces, each packed and unpacked on the way, when it is not: a pipeline that wins as
 * soon as its blocks are not tiny, until messages fall out of the caches and the pieces with them.
 *
 * Per block and byte the lines are those of bench/messages, between two ranks of one node; Open MPI's beyond 8 KiB are
 * twice that, as on a busy machine, since packing is corrected by what is observed and native is not. The lengths of
 * block at which native and packed cross, all that decides, were then set from the ratios: beyond 8 KiB they are about
 *
 *                      to 96 KiB   400 KiB   1.5 MiB   beyond
 *     MPICH blocking         95        95   95, 360       360     ( 768 KiB)
 *           else             90       209       376      6000
 *     Open MPI blocking      90        90       200      2000
 *           nonblocking      60  60 to 110       150      2000     (200, 800 KiB)
 *           collective       80  80 to 150       300      2000     (200, 800 KiB)
 *
 * Up to 8 KiB MPICH's own walk over blocks of 8 or 16 bytes is faster than ours with a second copy, beyond some 130 to
 * 350 blocks, and a request costs what packing saves.
 */
#define KB(n) ((int64_t)(n) << 10)
#define REST INT64_MAX

static const range measured[MPIS][PW_CALL_COLLECTIVE + 1][RANGES] = {
    [MPICH] = {[PW_CALL_BLOCKING] = {{KB(8), {420, 0.9, 0.1}, {230, 1.5, 0.09}},
                                     {KB(768), {300, 12.5, 0.085}, {1000, 1.6, 0.2}},
                                     {REST, {300, 12.5, 0.17}, {1000, 1.6, 0.2}}},
               [PW_CALL_NONBLOCKING] = {{KB(8), {400, 0.9, 0.115}, {360, 1.5, 0.1}},
                                        {KB(96), {300, 22, 0.15}, {1400, 3.2, 0.36}},
                                        {KB(400), {300, 22, 0.27}, {1400, 3.2, 0.36}},
                                        {KB(1536), {300, 22, 0.31}, {1400, 3.2, 0.36}},
                                        {REST, {300, 22, 0.357}, {1400, 3.2, 0.36}}},
               [PW_CALL_COLLECTIVE] = {{KB(4), {900, 0.9, 0.1}, {700, 1.2, 0.1}},
                                       {KB(8), {900, 0.9, 0.1}, {940, 0.9, 0.1}},
                                       {KB(96), {300, 22, 0.15}, {1400, 3.2, 0.36}},
                                       {KB(400), {300, 22, 0.27}, {1400, 3.2, 0.36}},
                                       {KB(1536), {300, 22, 0.31}, {1400, 3.2, 0.36}},
                                       {REST, {300, 22, 0.357}, {1400, 3.2, 0.36}}}},
    [OPEN_MPI] = {[PW_CALL_BLOCKING] = {{KB(8), {300, 4.5, 0.1}, {290, 1.5, 0.13}},
                                        {KB(400), {1800, 12, 0.302}, {2000, 3.2, 0.4}},
                                        {KB(1536), {1800, 12, 0.356}, {2000, 3.2, 0.4}},
                                        {REST, {1800, 12, 0.3956}, {2000, 3.2, 0.4}}},
                  [PW_CALL_NONBLOCKING] = {{KB(8), {300, 4.5, 0.1}, {340, 1.5, 0.15}},
                                           {KB(200), {3600, 24, 0.506}, {4000, 6.4, 0.8}},
                                           {KB(800), {3600, 24, 0.64}, {4000, 6.4, 0.8}},
                                           {KB(1536), {3600, 24, 0.682}, {4000, 6.4, 0.8}},
                                           {REST, {3600, 24, 0.7912}, {4000, 6.4, 0.8}}},
                  [PW_CALL_COLLECTIVE] = {{KB(8), {700, 4.5, 0.1}, {680, 1.5, 0.133}},
                                          {KB(200), {3600, 24, 0.58}, {4000, 6.4, 0.8}},
                                          {KB(800), {3600, 24, 0.682}, {4000, 6.4, 0.8}},
                                          {KB(1536), {3600, 24, 0.7414}, {4000, 6.4, 0.8}},
                                          {REST, {3600, 24, 0.7912}, {4000, 6.4, 0.8}}}}};

/* One-sided and I/O calls come here only when rules of their own (rma_cost.h, io_cost.h) have found them worth packing:
 * no correction by what is observed may turn that. */
static const range others[] = {{REST, {1000, 20, 1.0}, {100, 1, 0.1}}};

static int below = MPICH;

void pw_cost_start(bool open_mpi)
{
    below = open_mpi ? OPEN_MPI : MPICH;
}

static const range *range_of(pw_call_sort sort, int64_t bytes)
{
    const range *r = sort <= PW_CALL_COLLECTIVE ? measured[below][sort] : others;

    while (bytes > r->up_to)
        r++;
    return r;
}

static double at(const linear *f, int64_t bytes, int64_t blocks)
{
    return f->fixed + f->per_block * (double)blocks + f->per_byte * (double)bytes;
}

double pw_cost_native(pw_call_sort sort, int64_t bytes, int64_t blocks)
{
    return at(&range_of(sort, bytes)->native, bytes, blocks);
}

double pw_cost_packed(pw_call_sort sort, int64_t bytes, int64_t blocks)
{
    return at(&range_of(sort, bytes)->packed, bytes, blocks);
}
