/* MILC: the su3 halo in the z direction, and the types of a recorded run (traces/milc.ddt). */
#include "bench/hand.h"
#include "bench/suite.h"

enum { SU3_FLOATS = 6, SU3_BYTES = SU3_FLOATS * sizeof(float) };

/* hvec(2,1,s)[vec(T, X*Y/2, X*Y*Z/2)[ctg(6)[F]]]: the even and the odd half of a lattice. */
static void build_su3_zd(const bench_spec *spec, bench_row *row)
{
    int64_t xy = spec->args[0] * spec->args[1], z = spec->args[2], t = spec->args[3];
    int64_t half = xy * z * t * SU3_BYTES / 2;
    char *array = bench_array(row, 2 * half);
    MPI_Datatype su3 = bench_contiguous(SU3_FLOATS, MPI_FLOAT);
    MPI_Datatype parity = bench_vector((int)t, (int)xy / 2, (int)(xy * z / 2), su3);
    bench_part_add(row, bench_hvector(2, 1, half, parity), 1, array);
    hand_lattice *l = bench_hand(row, hand_pack_lattice, hand_unpack_lattice, sizeof *l);
    *l = (hand_lattice){.base = array,
                        .outer_count = {1, 1, 2},
                        .outer_stride = {0, 0, half},
                        .count = t,
                        .block = xy / 2 * SU3_BYTES,
                        .stride = xy * z / 2 * SU3_BYTES};
}

void bench_add_milc(bench_suite *suite)
{
    static const int64_t sizes[3][4] = {{16, 16, 16, 16}, {8, 8, 16, 16}, {8, 8, 8, 8}};
    for (int i = 0; i < 3; i++) {
        const int64_t *s = sizes[i];
        bench_spec *spec = bench_add(suite, "MILC_su3_zd", build_su3_zd, s[0] * s[1] * s[2] * s[3] * SU3_BYTES);
        for (int d = 0; d < 4; d++)
            spec->args[d] = s[d];
        bench_params(spec, "%d,%d,%d,%d", (int)s[0], (int)s[1], (int)s[2], (int)s[3]);
    }
}

/*
 * The distinct lines of traces/milc.ddt. Each reads hvec(2 1 h)…[vec(count blocklen stride)[ctg(n)[float]]],
 * with up to three hvec outside (h 0: none), and ctg(count)[ctg(n)[float]] as count blocks that touch.
 */
typedef struct trace_line {
    int h[3];
    int count, blocklen, stride; /* in items; count 0: the item alone */
    int floats;                  /* of an item */
} trace_line;

static const trace_line trace[] = {
    {{0, 0, 0}, 0, 1, 1, 12},       {{0, 0, 0}, 0, 1, 1, 18},       {{0, 0, 0}, 32, 1, 1, 6},
    {{0, 0, 0}, 32, 1, 1, 12},      {{0, 0, 0}, 32, 1, 1, 18},      {{0, 0, 0}, 96, 1, 1, 6},
    {{0, 0, 0}, 96, 1, 1, 12},      {{0, 0, 0}, 96, 1, 1, 18},      {{0, 0, 0}, 32, 2, 8, 6},
    {{0, 0, 0}, 32, 2, 8, 12},      {{0, 0, 0}, 32, 2, 8, 18},      {{0, 0, 0}, 8, 8, 32, 6},
    {{0, 0, 0}, 8, 8, 32, 12},      {{0, 0, 0}, 8, 8, 32, 18},      {{0, 0, -6144}, 32, 1, 1, 6},
    {{0, 0, -6144}, 96, 1, 1, 6},   {{0, 0, -6144}, 32, 2, 8, 6},   {{0, 0, -6144}, 8, 8, 32, 6},
    {{0, 0, 6144}, 32, 1, 1, 6},    {{0, 0, 6144}, 32, 2, 8, 6},    {{0, 0, 6144}, 8, 8, 32, 6},
    {{0, 0, -12288}, 32, 1, 1, 12}, {{0, 0, -12288}, 96, 1, 1, 12}, {{0, 0, -12288}, 32, 2, 8, 12},
    {{0, 0, -12288}, 8, 8, 32, 12}, {{0, 0, 12288}, 32, 1, 1, 12},  {{0, 0, 12288}, 32, 2, 8, 12},
    {{0, 0, 12288}, 8, 8, 32, 12},  {{0, 0, -18432}, 32, 1, 1, 18}, {{0, 0, -18432}, 96, 1, 1, 18},
    {{0, 0, -18432}, 32, 2, 8, 18}, {{0, 0, -18432}, 8, 8, 32, 18}, {{0, 0, 18432}, 32, 1, 1, 18},
    {{0, 0, 18432}, 32, 2, 8, 18},  {{0, 0, 18432}, 8, 8, 32, 18},  {{18432, 12288, 6144}, 32, 6, 8, 18},
};

enum { TRACE_LINES = sizeof trace / sizeof trace[0] };

static MPI_Datatype trace_type(const trace_line *t)
{
    MPI_Datatype type = bench_contiguous(t->floats, MPI_FLOAT);
    if (t->blocklen == t->stride && t->count)
        type = bench_contiguous(t->count, type);
    else if (t->count)
        type = bench_vector(t->count, t->blocklen, t->stride, type);
    for (int i = 2; i >= 0; i--)
        if (t->h[i])
            type = bench_hvector(2, 1, t->h[i], type);
    return type;
}

static void build_trace(const bench_spec *spec, bench_row *row)
{
    const trace_line *t = &trace[spec->args[0]];
    MPI_Datatype type = trace_type(t);
    MPI_Aint lb, extent;
    PMPI_Type_get_true_extent(type, &lb, &extent);
    char *base = (char *)bench_array(row, extent) - lb;
    bench_part_add(row, type, 1, base);
    hand_lattice *l = bench_hand(row, hand_pack_lattice, hand_unpack_lattice, sizeof *l);
    long item = t->floats * (long)sizeof(float);
    l->base = base;
    for (int i = 0; i < 3; i++) {
        l->outer_count[i] = t->h[i] ? 2 : 1;
        l->outer_stride[i] = t->h[i];
    }
    bool touching = t->blocklen == t->stride;
    l->count = touching || !t->count ? 1 : t->count;
    l->block = item * (touching && t->count ? t->count : t->blocklen);
    l->stride = item * t->stride;
}

void bench_add_milc_trace(bench_suite *suite)
{
    for (int i = 0; i < TRACE_LINES; i++) {
        const trace_line *t = &trace[i];
        bench_spec *spec = bench_add(suite, "Milc_trace", build_trace, 1 << 16);
        spec->args[0] = i;
        if (t->h[0])
            bench_params(spec, "hvec %d,%d,%d vec(%d %d %d) ctg %d", t->h[0], t->h[1], t->h[2], t->count, t->blocklen,
                         t->stride, t->floats);
        else if (t->h[2])
            bench_params(spec, "hvec %d vec(%d %d %d) ctg %d", t->h[2], t->count, t->blocklen, t->stride, t->floats);
        else if (!t->count)
            bench_params(spec, "ctg %d", t->floats);
        else
            bench_params(spec, "vec(%d %d %d) ctg %d", t->count, t->blocklen, t->stride, t->floats);
    }
}
