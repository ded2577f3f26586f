#include "bench/gpu/touched.h"

#include <stdlib.h>

enum { MAX_SPAN = 1 << 30 };

/* A bit for each byte, a word for each sector. */
typedef struct map {
    uint32_t *sectors;
    int64_t origin;
} map;

static bool mark(void *arg, int64_t off, int64_t n)
{
    map *m = arg;

    for (int64_t at = off - m->origin, end = at + n; at < end;) {
        int64_t in = at % GPU_SECTOR, take = GPU_SECTOR - in < end - at ? GPU_SECTOR - in : end - at;
        uint64_t bits = ((UINT64_C(1) << take) - 1) << in;

        m->sectors[at / GPU_SECTOR] |= (uint32_t)bits;
        at += take;
    }
    return true;
}

static bool is_part(uint32_t sector)
{
    return sector != 0 && sector != UINT32_MAX;
}

bool gpu_touched_count(const pw_type *type, gpu_touched *out)
{
    int64_t origin = type->root->lo & -GPU_GRANULE, span = type->root->hi - origin;
    int64_t granules = (span + GPU_GRANULE - 1) / GPU_GRANULE;
    map m = {.origin = origin};

    if (span > MAX_SPAN)
        return false;
    m.sectors = calloc((size_t)granules + 1, 2 * sizeof *m.sectors);
    if (!m.sectors || !pw_walk(type->root, 0, mark, &m))
        exit(1);
    *out = (gpu_touched){.size = (double)type->root->size};
    for (int64_t i = 0; i < granules; i++) {
        uint32_t a = m.sectors[2 * i], b = m.sectors[2 * i + 1];

        out->granules += a | b ? GPU_GRANULE : 0;
        out->filled += is_part(a) || is_part(b) ? GPU_GRANULE : 0;
    }
    free(m.sectors);
    return true;
}
