#include "bench/node/rows.h"

#include <stdio.h>

static const char *const names[NODE_EXCHANGES] = {"alltoallw", "neighbours", "halo", "persistent", "cube", "transpose"};

const char *node_exchange_name(int exchange)
{
    return names[exchange];
}

static void format_bytes(char *out, size_t size, int64_t bytes)
{
    if (bytes % 1024 == 0)
        snprintf(out, size, "%dK", (int)(bytes / 1024));
    else
        snprintf(out, size, "%d", (int)bytes);
}

static int add_blocks(node_row *rows, node_exchange exchange, bool quick)
{
    static const int64_t sizes[] = {64, 512, 4096, 65536}, blocks[] = {8, 64, 512, 4096};
    int n = 0;

    for (int s = 0; s < (quick ? 2 : 4); s++)
        for (int b = 0; b < 4 && 2 * blocks[b] <= sizes[s]; b++) {
            node_row *row = &rows[n++];
            char bytes[16], block[16];

            *row = (node_row){.exchange = exchange, .bytes = sizes[s], .block = blocks[b]};
            format_bytes(bytes, sizeof bytes, row->bytes);
            format_bytes(block, sizeof block, row->block);
            snprintf(row->name, sizeof row->name, "%s %s by %s", names[exchange], bytes, block);
        }
    return n;
}

static int add_squares(node_row *rows, node_exchange exchange, const int *sides, int n)
{
    for (int i = 0; i < n; i++) {
        rows[i] =
            (node_row){.exchange = exchange, .bytes = (int64_t)sides[i] * sides[i] * 8, .block = 8, .side = sides[i]};
        snprintf(rows[i].name, sizeof rows[i].name, "%s of %d", names[exchange], sides[i]);
    }
    return n;
}

int node_rows_fill(node_row rows[NODE_MOST_ROWS], bool quick)
{
    static const int cubes[] = {8, 16, 32, 64, 90}, transposes[] = {3, 8, 24, 90};
    int n = 0;

    n += add_blocks(rows + n, NODE_ALLTOALLW, quick);
    n += add_blocks(rows + n, NODE_NEIGHBOURS, quick);
    n += add_blocks(rows + n, NODE_HALO, quick);
    n += add_blocks(rows + n, NODE_PERSISTENT, quick);
    n += add_squares(rows + n, NODE_CUBE, cubes, quick ? 2 : 5);
    n += add_squares(rows + n, NODE_TRANSPOSE, transposes, quick ? 2 : 4);
    return n;
}
