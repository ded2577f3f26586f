#include "bench/gpu/published.h"

#include <math.h>
#include <string.h>

/*
 * yaksa 0.4 is the engine of MPICH 4; TEMPI is the interposer. Both were run on an H100 80GB HBM3 (driver 580,
 * CUDA 13.0, device copy 2986 GB/s) with probes of our own, packing once and waiting for it, device to device where
 * nothing else is said. A figure that was noted as a range stands here with its lower end, and one noted for both
 * directions, or without a direction, for both. Layouts that were noted loosely ("any vector") are those rows of the
 * bench that they describe. TEMPI crashed with indexed types, and leaves all other rows to MPI.
 */
#define KIB (INT64_C(1) << 10)
#define MIB (INT64_C(1) << 20)
#define FACE (INT64_C(3) * 256 * 256 * 64) /* of 256^3 points of 8 doubles, 3 points thick */

static const gpu_published figures[] = {
    {"yaksa", "half_4", 4 * KIB, WHERE_DEVICE, {10, 10}},
    {"yaksa", "half_16", 4 * KIB, WHERE_DEVICE, {10, 10}},
    {"yaksa", "half_64", 4 * KIB, WHERE_DEVICE, {10, 10}},
    {"yaksa", "half_256", 4 * KIB, WHERE_DEVICE, {10, 10}},
    {"yaksa", "half_4", MIB, WHERE_DEVICE, {12, 12}},
    {"yaksa", "half_16", MIB, WHERE_DEVICE, {12, 12}},
    {"yaksa", "half_64", MIB, WHERE_DEVICE, {12, 12}},
    {"yaksa", "half_256", MIB, WHERE_DEVICE, {12, 12}},
    {"yaksa", "half_4096", MIB, WHERE_DEVICE, {12, 12}},
    {"yaksa", "half_4", 64 * MIB, WHERE_DEVICE, {102, 126}},
    {"yaksa", "half_16", 64 * MIB, WHERE_DEVICE, {77, 120}},
    {"yaksa", "half_32", 64 * MIB, WHERE_DEVICE, {79, 64}},
    {"yaksa", "half_64", 64 * MIB, WHERE_DEVICE, {62, 62}},
    {"yaksa", "half_256", 64 * MIB, WHERE_DEVICE, {62, 62}},
    {"yaksa", "half_4096", 64 * MIB, WHERE_DEVICE, {62, 62}},
    {"yaksa", "TEMPI_face_0", FACE, WHERE_DEVICE, {17, 17}},
    {"yaksa", "TEMPI_face_1", FACE, WHERE_DEVICE, {2602, 2602}},
    {"yaksa", "TEMPI_face_2", FACE, WHERE_DEVICE, {787969, 787969}},
    {"yaksa", "MILC_su3_zd", 108 * KIB, WHERE_DEVICE, {90, 90}},
    {"yaksa", "LAMMPS_full", INT64_C(3062) * 64, WHERE_DEVICE, {33, 33}},
    {"yaksa", "NAS_MG_x", 512 * KIB, WHERE_DEVICE, {13, 13}},
    {"yaksa", "indexed_4", 256 * KIB, WHERE_DEVICE, {11, 11}},
    {"yaksa", "Transpose_8_1024", 8 * MIB, WHERE_DEVICE, {21, 29}},
    {"yaksa", "half_256", 64 * MIB, WHERE_MAPPED, {2200000, 2200000}},
    {"TEMPI", "half_4", 4 * KIB, WHERE_DEVICE, {11, 11}},
    {"TEMPI", "half_16", 4 * KIB, WHERE_DEVICE, {11, 11}},
    {"TEMPI", "half_64", 4 * KIB, WHERE_DEVICE, {11, 11}},
    {"TEMPI", "half_256", 4 * KIB, WHERE_DEVICE, {11, 11}},
    {"TEMPI", "half_16", MIB, WHERE_DEVICE, {237, 237}},
    {"TEMPI", "half_64", MIB, WHERE_DEVICE, {237, 237}},
    {"TEMPI", "half_256", MIB, WHERE_DEVICE, {237, 237}},
    {"TEMPI", "half_4096", MIB, WHERE_DEVICE, {237, 237}},
    {"TEMPI", "half_4096", 64 * MIB, WHERE_DEVICE, {14679, 14679}},
    {"TEMPI", "TEMPI_face_0", FACE, WHERE_DEVICE, {15, 15}},
    {"TEMPI", "TEMPI_face_1", FACE, WHERE_DEVICE, {2872, 2872}},
    {"TEMPI", "TEMPI_face_2", FACE, WHERE_DEVICE, {6331, 6331}},
    {"TEMPI", "NAS_MG_x", 512 * KIB, WHERE_DEVICE, {10.6, 10.6}},
};

const gpu_published *gpu_published_figures(int *n)
{
    *n = (int)(sizeof figures / sizeof *figures);
    return figures;
}

/* The result that a figure is to be compared with; NULL: there is none. */
static const gpu_result *find_result(const gpu_results *r, const gpu_published *f, bool unpack)
{
    for (int i = 0; i < r->n; i++) {
        const gpu_result *x = &r->all[i];

        if (strcmp(x->name, f->row) == 0 && x->payload == f->payload && x->where == f->where && x->unpack == unpack)
            return x;
    }
    return NULL;
}

typedef struct mean {
    double logs;
    int n, slower;
} mean;

static void compare_figure(const gpu_results *r, const gpu_published *f, bool unpack, mean *all)
{
    const gpu_result *x = find_result(r, f, unpack);
    double ratio;

    if (!x)
        return;
    ratio = f->us[unpack] / x->us[PEER_CALLED];
    printf("%-6s %-17s %8.0fK %-6s %s %10.1f %8.1f %9.2f\n", f->peer, f->row, (double)f->payload / KIB,
           unpack ? "unpack" : "pack", f->where == WHERE_DEVICE ? "device" : "mapped", f->us[unpack],
           x->us[PEER_CALLED], ratio);
    all->logs += log(ratio);
    all->n++;
    all->slower += ratio < 1;
}

static void compare_peer(const gpu_results *r, const char *peer, int64_t from)
{
    int n;
    const gpu_published *all = gpu_published_figures(&n);
    mean sum = {0};

    for (int i = 0; i < n; i++)
        for (int unpack = 0; unpack < 2; unpack++)
            if (strcmp(all[i].peer, peer) == 0 && all[i].payload >= from)
                compare_figure(r, &all[i], unpack, &sum);
    if (sum.n > 0)
        printf("over %s, from %.0f KiB up: %.1f times as fast (geometric mean of %d), slower in %d\n\n", peer,
               (double)from / KIB, exp(sum.logs / sum.n), sum.n, sum.slower);
}

void gpu_report_published(const gpu_results *r)
{
    printf("figures of others on an H100, us: theirs, ours as MPI calls start them, how many times faster\n");
    compare_peer(r, "yaksa", 0);
    compare_peer(r, "TEMPI", 0);
    compare_peer(r, "TEMPI", MIB);
}
