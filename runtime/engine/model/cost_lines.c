#include "runtime/engine/model/internal.h"

#define KB(n) ((int64_t)(n) << 10)
#define REST INT64_MAX
#define RANGES static const pw_cost_range
#define PARTS static const pw_cost_part
#define TO(bytes, cross) {bytes, cross, 0}
#define TO_FROM(bytes, cross, least) {bytes, cross, least}

/* Open MPI copies messages of less than 4 KiB through shared memory, header included. */
enum { EAGER = 4000, TINY = PW_COST_TINY, KINDS = PW_CALL_NEIGHBOUR + 1 };

/*
 * MPI copies a short message through shared memory whatever its layout: packing saves the set-up of the MPI's walk over
 * the blocks, and pays for a second copy and its own walk. The receiver fetches a longer message in one go if it is
 * contiguous. Otherwise the message travels in pieces, each packed and unpacked on the way: a pipeline in which both
 * ranks work at the same time, and in their caches. It wins as soon as the MPI's walk over the blocks does not take
 * much more than their copy: from short blocks on for Open MPI, which walks well; from longer ones for MPICH.
 *
 * The lengths at which native and packed cross are those at which bench/messages on two cores, with nothing else to do,
 * found packing slower by more than the noise. `packwright measure` finds those of a machine.
 */

/* ---- where MPI copies packed messages ---------------------------------------------------------------------------- */

/* The crossings of which packing is not slower on either machine: where the two differ, the shorter one counts. */
RANGES mpich_blocking_copied[] = {TO(KB(400), 95), TO(REST, 80)};
RANGES mpich_nonblocking_copied[] = {TO(KB(96), 90), TO(KB(400), 209), TO(KB(1536), 376), TO(REST, 6000)};
RANGES mpich_collective_copied[] = {TO(KB(96), 90), TO(KB(400), 209), TO(KB(1536), 250), TO(REST, 400)};
RANGES openmpi_blocking_copied[] = {TO(KB(6), 12), TO(KB(12), 40), TO(KB(96), 90), TO(REST, TINY)};
RANGES openmpi_nonblocking_copied[] = {TO(KB(6), 10), TO(KB(12), 40), TO(KB(24), 24), TO(KB(192), 20), TO(REST, TINY)};
RANGES openmpi_collective_copied[] = {TO(KB(12), 12), TO(KB(24), 40), TO(KB(48), 60), TO(KB(400), 80), TO(REST, TINY)};

/* ---- where receivers unpack from the sender's memory ------------------------------------------------------------- */

/*
 * Where receivers unpack from the sender's memory, packing saves the MPI's copy as well, so it wins up to longer
 * blocks. It wins most where that copy would go from cache to cache. It does not win over Open MPI's pipeline of long
 * messages between cores that share a cache, since both ranks then wait for memory at the same time, while packing and
 * unpacking wait one after the other.
 */

/* A Zen 4, between cores that share a cache. Few cores share one; they wait for it less than Xeons do. */
RANGES zen_mpich_blocking[] = {TO(KB(15), 95), TO(KB(384), 300), TO(KB(768), 200), TO(REST, 100)};
RANGES zen_mpich_nonblocking[] = {TO(KB(15), 90), TO(KB(48), 350), TO(KB(768), 2000), TO(REST, 200)};
RANGES zen_mpich_collective[] = {TO(KB(7), 90), TO(KB(96), 400), TO(KB(768), 450), TO(REST, 400)};
RANGES zen_openmpi_blocking[] = {TO(EAGER, 12), TO(KB(12), 300), TO(KB(192), 450), TO(KB(768), 4096),
                                 TO_FROM(REST, 4096, 12)};
RANGES zen_openmpi_nonblocking[] = {TO(EAGER, 10), TO(KB(12), 100), TO(KB(96), 200), TO(KB(384), 4096), TO(REST, TINY)};
RANGES zen_openmpi_collective[] = {
    TO(KB(6), 12), TO(KB(384), 100), TO(KB(768), 1500), TO_FROM(KB(1536), 1500, 12), TO_FROM(KB(3072), 100, 24),
    TO(REST, TINY)};

/* The same Zen 4, between cores that share no cache. */
RANGES apart_mpich_blocking[] = {TO(KB(15), 95), TO(KB(24), 1500), TO(REST, 6000)};
RANGES apart_mpich_nonblocking[] = {TO(KB(15), 90), TO(KB(24), 1500), TO(REST, 6000)};
RANGES apart_mpich_collective[] = {TO(KB(7), 90), TO(KB(12), 400), TO(KB(24), 1500), TO(REST, 6000)};
RANGES apart_openmpi_blocking[] = {TO(EAGER, 12), TO(KB(12), 300), TO(KB(24), 1500), TO(REST, 6000)};
RANGES apart_openmpi_nonblocking[] = {TO(EAGER, 10), TO(KB(12), 100), TO(KB(24), 1500), TO(REST, 6000)};
RANGES apart_openmpi_collective[] = {TO(KB(6), 12), TO(KB(24), 300), TO(KB(48), 1500), TO(REST, 6000)};

/* Xeons, whose cores share one large cache behind a mesh: native and packed both wait for that cache beyond the second
 * level. The crossings are those of which packing is slower neither on an Emerald Rapids nor on an Ice Lake; Open MPI
 * moves blocks of 32 bytes and more as fast as packing on the latter. No two of their cores share no cache; the table
 * for such cores has the shorter crossings of an Emerald Rapids and a Zen 4. */
RANGES mesh_mpich_blocking[] = {TO(KB(15), 95),   TO(KB(96), 200),   TO(KB(384), 4096),
                                TO(KB(768), 220), TO(KB(3072), 140), TO(REST, 110)};
RANGES mesh_mpich_nonblocking[] = {TO(KB(15), 90), TO(KB(6144), 6000), TO(REST, 110)};
RANGES mesh_mpich_collective[] = {TO_FROM(KB(15), 95, 40), TO(KB(96), 512),   TO(KB(384), 900),
                                  TO(KB(768), 600),        TO(KB(6144), 250), TO(REST, 180)};
RANGES mesh_mpich_neighbour[] = {TO(KB(15), 90),    TO(KB(24), 300),   TO(KB(48), 400),   TO(KB(384), 6000),
                                 TO(KB(768), 1000), TO(KB(3072), 600), TO(KB(6144), 128), TO(REST, 180)};
RANGES mesh_openmpi_blocking[] = {TO(EAGER, 12),  TO(KB(12), 40),           TO(KB(24), 90), TO(KB(48), 200),
                                  TO(KB(96), 90), TO_FROM(KB(192), 48, 12), TO(REST, TINY)};
RANGES mesh_openmpi_nonblocking[] = {TO(EAGER, 10),  TO(KB(12), 40),   TO(KB(24), 28),   TO(KB(48), 48),
                                     TO(KB(96), 90), TO(KB(192), 300), TO(KB(1536), 24), TO(REST, TINY)};
RANGES mesh_openmpi_collective[] = {TO(KB(6), 12),  TO(KB(12), 28),  TO(KB(48), 40),
                                    TO(KB(96), 24), TO(KB(400), 12), TO(REST, TINY)};
RANGES mesh_openmpi_neighbour[] = {TO(EAGER, 12),   TO(KB(12), 28),   TO(KB(96), 48),
                                   TO(KB(384), 24), TO(KB(1536), 12), TO(REST, TINY)};
RANGES mesh_apart_mpich[] = {TO(KB(15), 95), TO(REST, 6000)};
RANGES mesh_apart_openmpi[] = {TO(EAGER, 12), TO(REST, 6000)};

/* ---- kernels in the MPI's pipeline ------------------------------------------------------------------------------- */

/*
 * Both ranks work at the same time, and nothing is staged. But the message goes in pieces of 8 KiB, each through memory
 * that the MPI shares or through a system call of its own, where a packed message is read in one go. NO_GAIN stands
 * where the pipeline lost, as over TCP, and where it was not measured
 * (docs/results/2026-11-23-pipeline-measured.md). A part above 1 gains only where the walk waits for memory.
 */
#define NO_GAIN 4.0
PARTS no_gain[] = {{REST, REST, NO_GAIN}};
PARTS mpich_shared_parts[] = {{KB(384), REST, NO_GAIN}, {KB(768), 64, 1.1}, {REST, 64, 0.8}, {REST, REST, NO_GAIN}};
PARTS mpich_near_parts[] = {
    {KB(24), REST, NO_GAIN}, {KB(384), 512, 0.75}, {KB(1536), 512, 0.95}, {REST, 128, 0.7}, {REST, REST, NO_GAIN}};

/* ---- all together ------------------------------------------------------------------------------------------------ */

static const pw_cost_walk mpich[KINDS] = {{{420, 0.9, 0.1}, {300, 12.5, 0.085}, 11, mpich_blocking_copied},
                                          {{400, 0.9, 0.115}, {300, 22, 0.15}, 19, mpich_nonblocking_copied},
                                          {{900, 0.9, 0.1}, {300, 22, 0.15}, 19, mpich_collective_copied},
                                          {{900, 0.9, 0.1}, {300, 22, 0.15}, 19, mpich_collective_copied}};
static const pw_cost_walk openmpi[KINDS] = {{{270, 4.5, 0.1}, {1000, 3, 0.12}, 1.5, openmpi_blocking_copied},
                                            {{300, 4.5, 0.1}, {1000, 4, 0.2}, 1.5, openmpi_nonblocking_copied},
                                            {{400, 4.5, 0.1}, {1000, 4, 0.2}, 1.5, openmpi_collective_copied},
                                            {{400, 4.5, 0.1}, {1000, 4, 0.2}, 1.5, openmpi_collective_copied}};

static const pw_cost_lines zen_mpich[KINDS] = {
    {&mpich[0], KB(8), {230, 1.5, 0.09}, zen_mpich_blocking, apart_mpich_blocking},
    {&mpich[1], KB(8), {385, 1.5, 0.1}, zen_mpich_nonblocking, apart_mpich_nonblocking},
    {&mpich[2], KB(8), {860, 1.6, 0.1}, zen_mpich_collective, apart_mpich_collective},
    {&mpich[3], KB(8), {800, 1.9, 0.8}, zen_mpich_collective, apart_mpich_collective}};
static const pw_cost_lines zen_openmpi[KINDS] = {
    {&openmpi[0], KB(2), {350, 1, 0.2}, zen_openmpi_blocking, apart_openmpi_blocking},
    {&openmpi[1], KB(2), {500, 0.5, 0.25}, zen_openmpi_nonblocking, apart_openmpi_nonblocking},
    {&openmpi[2], KB(4), {680, 1.5, 0.133}, zen_openmpi_collective, apart_openmpi_collective},
    {&openmpi[3], KB(4), {680, 1.5, 0.133}, zen_openmpi_collective, apart_openmpi_collective}};

static const pw_cost_lines mesh_mpich[KINDS] = {
    {&mpich[0], KB(8), {305, 1.6, 0.13}, mesh_mpich_blocking, mesh_apart_mpich},
    {&mpich[1], KB(8), {350, 1.4, 0.315}, mesh_mpich_nonblocking, mesh_apart_mpich},
    {&mpich[2], KB(8), {450, 2.6, 0.1}, mesh_mpich_collective, mesh_apart_mpich},
    {&mpich[3], KB(8), {800, 1.9, 0.8}, mesh_mpich_neighbour, mesh_apart_mpich}};
static const pw_cost_lines mesh_openmpi[KINDS] = {
    {&openmpi[0], KB(2), {460, 1, 0.1}, mesh_openmpi_blocking, mesh_apart_openmpi},
    {&openmpi[1], KB(2), {920, 1.2, 0.1}, mesh_openmpi_nonblocking, mesh_apart_openmpi},
    {&openmpi[2], KB(4), {1300, 1.5, 0.1}, mesh_openmpi_collective, mesh_apart_openmpi},
    {&openmpi[3], KB(2), {1040, 1.5, 0.1}, mesh_openmpi_neighbour, mesh_apart_openmpi}};

const pw_cost_lines *pw_cost_lines_of(bool open_mpi, pw_cost_cores cores, pw_call_kind kind)
{
    if (cores == PW_COST_ZEN)
        return open_mpi ? &zen_openmpi[kind] : &zen_mpich[kind];
    return open_mpi ? &mesh_openmpi[kind] : &mesh_mpich[kind];
}

const pw_cost_part *pw_cost_parts_of(bool open_mpi, pw_call_kind kind, pw_cost_way way, bool near)
{
    if (open_mpi || kind != PW_CALL_BLOCKING || way == PW_COST_COPIED)
        return no_gain;
    return near ? mpich_near_parts : mpich_shared_parts;
}
