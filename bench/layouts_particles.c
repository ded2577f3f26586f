/* NBody: arrays of particle structs, whole or some members of each. */
#include "bench/hand.h"
#include "bench/suite.h"

#include <stdlib.h>

enum { PARTICLES = 131072 };

static hand_objects *particles(bench_row *row, bench_hand_fn *pack, bench_hand_fn *unpack, int64_t size)
{
    hand_objects *o = bench_hand(row, pack, unpack, sizeof *o);
    *o = (hand_objects){bench_array(row, PARTICLES * size), PARTICLES};
    return o;
}

static void build_simple(const bench_spec *spec, bench_row *row)
{
    (void)spec;
    hand_objects *o = particles(row, hand_pack_simple, hand_unpack_simple, sizeof(simple_particle));
    int lens[] = {10, 1};
    MPI_Aint displs[] = {offsetof(simple_particle, field), offsetof(simple_particle, id)};
    MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT}, type;
    PMPI_Type_create_struct(2, lens, displs, types, &type);
    bench_part_add(row, bench_resized(0, sizeof(simple_particle), type), PARTICLES, o->array);
}

/* Displacements of the force and the charge in doubles, of one particle. */
static const int force_lens[] = {3, 1};
static const int force_displs[] = {offsetof(complex_particle, force_xyz) / sizeof(double),
                                   offsetof(complex_particle, charge) / sizeof(double)};

static void build_force_count(const bench_spec *spec, bench_row *row)
{
    (void)spec;
    hand_objects *o = particles(row, hand_pack_forces, hand_unpack_forces, sizeof(complex_particle));
    MPI_Datatype type;
    PMPI_Type_indexed(2, force_lens, force_displs, MPI_DOUBLE, &type);
    bench_part_add(row, bench_resized(0, sizeof(complex_particle), type), PARTICLES, o->array);
}

/* One indexed type over all particles. */
static void build_force_list(const bench_spec *spec, bench_row *row)
{
    (void)spec;
    hand_objects *o = particles(row, hand_pack_forces, hand_unpack_forces, sizeof(complex_particle));
    int *lens = malloc(sizeof *lens * 2 * PARTICLES), *displs = malloc(sizeof *displs * 2 * PARTICLES);
    if (!lens || !displs)
        exit(1);
    for (int i = 0; i < 2 * PARTICLES; i++) {
        lens[i] = force_lens[i % 2];
        displs[i] = i / 2 * (int)(sizeof(complex_particle) / sizeof(double)) + force_displs[i % 2];
    }
    MPI_Datatype type;
    PMPI_Type_indexed(2 * PARTICLES, lens, displs, MPI_DOUBLE, &type);
    bench_part_add(row, type, 1, o->array);
    free(lens);
    free(displs);
}

void bench_add_particles(bench_suite *suite)
{
    bench_params(bench_add(suite, "NBody_simple", build_simple, PARTICLES * (int64_t)sizeof(simple_particle)),
                 "struct, %d particles", PARTICLES);
    int64_t memory = PARTICLES * (int64_t)sizeof(complex_particle);
    bench_params(bench_add(suite, "NBody_force", build_force_count, memory), "indexed, count %d", PARTICLES);
    bench_params(bench_add(suite, "NBody_force", build_force_list, memory), "indexed over %d, count 1", PARTICLES);
}
