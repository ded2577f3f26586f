/* The expansion of a row into blocks, found by packing index bytes. */
#include "bench/expand.h"

#include "base/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_native_pack(const bench_row *row, char *packed)
{
    int position = 0;
    for (int i = 0; i < row->nparts; i++) {
        const bench_part *p = &row->parts[i];
        PMPI_Pack(p->native_base, p->count, p->native_type, packed, (int)row->size, &position, MPI_COMM_SELF);
    }
}

void bench_native_unpack(const bench_row *row, char *packed)
{
    int position = 0;
    for (int i = 0; i < row->nparts; i++) {
        const bench_part *p = &row->parts[i];
        PMPI_Unpack(packed, (int)row->size, &position, p->native_base, p->count, p->native_type, MPI_COMM_SELF);
    }
}

/* Byte `shift / 8` of its index in each byte of a segment whose first byte has index `first`. */
static void fill_index(const bench_segment *s, uint64_t first, int shift)
{
    unsigned char *p = (unsigned char *)s->base;
    for (int64_t i = 0; i < s->bytes; i++)
        p[i] = (unsigned char)((first + (uint64_t)i) >> shift);
}

static char *address_of(const bench_row *row, uint64_t index)
{
    const bench_segment *s = row->segments;
    while (index >= (uint64_t)s->bytes)
        index -= (uint64_t)(s++)->bytes;
    return s->base + index;
}

static void append(bench_blocks *list, int64_t *room, bench_block block)
{
    list->blocks = pw_grow(list->blocks, list->n, room, sizeof *list->blocks);
    if (!list->blocks) {
        fprintf(stderr, "bench: no memory for an expansion\n");
        exit(1);
    }
    list->blocks[list->n++] = block;
}

/* planes[k] holds byte k of the index of every packed byte. Segments do not touch in index space, since the
 * guard bytes around arrays belong to no layout; so following indices are following addresses. */
static bench_blocks blocks_of(const bench_row *row, unsigned char *const *planes, int nplanes)
{
    bench_blocks list = {0};
    int64_t room = 0;
    uint64_t next = UINT64_MAX;
    for (int64_t i = 0; i < row->size; i++, next++) {
        uint64_t index = 0;
        for (int k = 0; k < nplanes; k++)
            index |= (uint64_t)planes[k][i] << 8 * k;
        if (index == next) {
            list.blocks[list.n - 1].bytes++;
            continue;
        }
        append(&list, &room, (bench_block){address_of(row, index), 1});
        next = index;
    }
    return list;
}

bench_blocks bench_expand(const bench_row *row)
{
    enum { MAX_PLANES = 6 };
    unsigned char *planes[MAX_PLANES];
    int64_t total = 0;
    for (int s = 0; s < row->nsegments; s++)
        total += row->segments[s].bytes;
    int n = 0;
    for (int64_t rest = total; rest > 0 && n < MAX_PLANES; rest >>= 8, n++) {
        uint64_t first = 0;
        for (int s = 0; s < row->nsegments; first += (uint64_t)row->segments[s++].bytes)
            fill_index(&row->segments[s], first, 8 * n);
        planes[n] = malloc((size_t)row->size);
        if (!planes[n]) {
            fprintf(stderr, "bench: no memory for an expansion\n");
            exit(1);
        }
        bench_native_pack(row, (char *)planes[n]);
    }
    bench_blocks list = blocks_of(row, planes, n);
    while (n)
        free(planes[--n]);
    return list;
}

void bench_blocks_free(bench_blocks *blocks)
{
    free(blocks->blocks);
    *blocks = (bench_blocks){0};
}
