/*
 * How memory is laid out on the page: the bytes of a cell, of a row and of a plane, and the positions that each axis
 * shows. If a stride of the layout suits, it becomes the row, so that arrays look like arrays.
 */
#include "tools/draw/draw.h"

#include "base/gcd.h"
#include "base/grow.h"

#include <stdlib.h>

enum {
    WRAP_UNITS = 32, /* cells of a row when no stride suits */
    MIN_UNITS = 4,   /* a stride shorter than this many cells makes no row */
    MAX_STRIDES = 32,
    MAX_COLS = 72,
    MAX_ROWS = 26,
    MAX_PLANES = 6,
    EDGE = 3 /* positions kept on each side of the end of a block */
};

static int64_t gcd(int64_t a, int64_t b)
{
    return (int64_t)pw_gcd((uint64_t)(a < 0 ? -a : a), (uint64_t)b);
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* ---- units, rows, planes ----------------------------------------------------------------------- */

static int64_t list_gcd(int64_t n, const int64_t *list, int64_t unit)
{
    for (int64_t i = 0; i < n; i++)
        unit = gcd(list[i], unit);
    return unit;
}

/* Returns the common divisor of all numbers that place a block boundary. */
static int64_t node_gcd(const pw_node *node, int64_t unit)
{
    switch (node->kind) {
    case PW_BYTES: return gcd(node->bytes.n, unit);
    case PW_STREAM: return node_gcd(node->stream.child, gcd(node->stream.stride, unit));
    case PW_INDEX: return node_gcd(node->index.child, list_gcd(node->index.n, node->index.offs, unit));
    case PW_BLOCKS:
        unit = list_gcd(node->blocks_list.n, node->blocks_list.offs, unit);
        return list_gcd(node->blocks_list.n, node->blocks_list.lens, unit);
    case PW_SEQ:
        unit = list_gcd(node->seq.n, node->seq.offs, unit);
        for (int64_t i = 0; i < node->seq.n; i++)
            unit = node_gcd(node->seq.children[i], unit);
        return unit;
    }
    return unit;
}

/* The largest cell, up to 16 bytes, that no block boundary cuts: an element where that is one. Bytes are no elements:
 * programs use them for whatever they have. */
static int64_t unit_of(const pw_type *type, int64_t count, int64_t element)
{
    int64_t unit = node_gcd(type->root, count > 1 ? type->extent : 0);

    if (element > 1 && unit > 0 && unit % element == 0)
        return element;
    for (int64_t u = 16; u > 1; u /= 2)
        if (unit % u == 0 && unit > 0)
            return u;
    return unit > 0 && unit <= 16 ? unit : 1;
}

typedef struct strides {
    int n;
    int64_t at[MAX_STRIDES];
} strides;

static void add_stride(strides *s, int64_t stride)
{
    stride = stride < 0 ? -stride : stride;
    for (int i = 0; i < s->n; i++)
        if (s->at[i] == stride)
            return;
    if (stride > 0 && s->n < MAX_STRIDES)
        s->at[s->n++] = stride;
}

static void collect_strides(strides *s, const pw_node *node)
{
    switch (node->kind) {
    case PW_STREAM:
        add_stride(s, node->stream.stride);
        collect_strides(s, node->stream.child);
        break;
    case PW_INDEX: collect_strides(s, node->index.child); break;
    case PW_SEQ:
        for (int64_t i = 0; i < node->seq.n && i < MAX_STRIDES; i++)
            collect_strides(s, node->seq.children[i]);
        break;
    case PW_BYTES:
    case PW_BLOCKS: break;
    }
}

/* The smallest stride of at least `least` bytes that `of` divides; 0 when there is none. */
static int64_t smallest_stride(const strides *s, int64_t least, int64_t of)
{
    int64_t best = 0;

    for (int i = 0; i < s->n; i++)
        if (s->at[i] >= least && s->at[i] % of == 0 && (best == 0 || s->at[i] < best))
            best = s->at[i];
    return best;
}

/* Is one object a row? */
static bool fits_a_row(const pw_type *type, int64_t unit)
{
    return type->root->lo >= 0 && type->root->hi <= type->extent && type->extent % unit == 0 &&
           type->extent >= MIN_UNITS * unit && type->extent <= MAX_COLS / 2 * unit;
}

static void choose_shape(const pw_type *type, int64_t count, pw_draw_grid *g)
{
    strides s = {0};
    int64_t plane;

    if (count > 1)
        add_stride(&s, type->extent);
    collect_strides(&s, type->root);
    g->row_bytes = smallest_stride(&s, MIN_UNITS * g->unit, g->unit);
    if (g->row_bytes == 0) {
        g->row_bytes = fits_a_row(type, g->unit) ? type->extent : WRAP_UNITS * g->unit;
        return;
    }
    plane = smallest_stride(&s, g->row_bytes + 1, g->row_bytes);
    if (plane > 0 && plane / g->row_bytes > 1 && smallest_stride(&s, plane, plane) == plane)
        g->rows_per_plane = plane / g->row_bytes;
}

/* ---- axes -------------------------------------------------------------------------------------- */

typedef struct positions {
    int64_t n, room;
    int64_t *at;
    bool nomem;
} positions;

static void add_position(positions *p, int64_t at)
{
    int64_t *grown = p->nomem ? NULL : pw_grow(p->at, p->n, &p->room, sizeof *grown);

    p->nomem = !grown;
    if (!grown)
        return;
    p->at = grown;
    p->at[p->n++] = at;
}

/* Adds the positions near both ends of [first, last], or all of them if they are few. */
static void add_run(positions *p, int64_t first, int64_t last, int64_t low, int64_t high)
{
    for (int64_t i = first - 1; i <= last + 1; i++) {
        if (i == first + EDGE && last - EDGE > i + 1)
            i = last - EDGE;
        if (i >= low && i <= high)
            add_position(p, i);
    }
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Fills gaps of one position, since a break takes as much room. */
static int64_t close_gaps(positions *p, int64_t n)
{
    int64_t gaps = 0;

    for (int64_t i = 1; i < n; i++)
        gaps += p->at[i] == p->at[i - 1] + 2;
    p->n = n;
    for (int64_t i = 0; i < gaps; i++)
        add_position(p, p->at[n - 1]);
    if (p->nomem)
        return n;
    for (int64_t i = n - 1, to = n + gaps - 1; i > 0 && to > i; i--, to--) {
        bool gap = p->at[i] == p->at[i - 1] + 2;

        p->at[to] = p->at[i];
        if (gap)
            p->at[--to] = p->at[i] - 1;
    }
    return n + gaps;
}

/* Sorts the positions, drops doubles, fills gaps of one, and cuts out the middle if there are more than `max`. */
static bool make_axis(positions *p, int max, pw_draw_axis *axis)
{
    int64_t n = 0, keep;

    if (p->nomem || p->n == 0) {
        free(p->at);
        return false;
    }
    qsort(p->at, (size_t)p->n, sizeof *p->at, compare);
    for (int64_t i = 0; i < p->n; i++)
        if (i == 0 || p->at[i] != p->at[n - 1])
            p->at[n++] = p->at[i];
    n = close_gaps(p, n);
    axis->at = malloc((size_t)max * sizeof *axis->at);
    if (!axis->at) {
        free(p->at);
        return false;
    }
    keep = n <= max ? n : max - max / 4;
    axis->n = 0;
    for (int64_t i = 0; i < n; i++)
        if (i < keep || i >= n - (max - keep))
            axis->at[axis->n++] = p->at[i];
    free(p->at);
    return true;
}

static void add_block(const pw_draw_grid *g, const pw_draw_block *b, positions *cols, positions *rows,
                      positions *planes)
{
    int64_t first = floor_div(b->mem, g->row_bytes), last = floor_div(b->mem + b->bytes - 1, g->row_bytes);
    int64_t units = g->row_bytes / g->unit;

    for (int64_t r = first; r <= last; r++) {
        int64_t begin = r == first ? (b->mem - r * g->row_bytes) / g->unit : 0;
        int64_t end = r == last ? (b->mem + b->bytes - 1 - r * g->row_bytes) / g->unit : units - 1;

        if (r == first + EDGE && last - EDGE > r)
            r = last - EDGE;
        add_run(cols, begin, end, 0, units - 1);
        if (g->rows_per_plane > 0) {
            add_position(planes, floor_div(r, g->rows_per_plane));
            add_run(rows, r - floor_div(r, g->rows_per_plane) * g->rows_per_plane,
                    r - floor_div(r, g->rows_per_plane) * g->rows_per_plane, 0, g->rows_per_plane - 1);
        } else {
            add_position(rows, r);
        }
    }
}

pw_status pw_draw_grid_make(const pw_type *type, int64_t count, int64_t element, const pw_draw_sample *sample,
                            pw_draw_grid *out)
{
    pw_draw_grid g = {.unit = unit_of(type, count, element)};
    positions cols = {0}, rows = {0}, planes = {0};
    bool ok;

    choose_shape(type, count, &g);
    for (int64_t i = 0; i < sample->n; i++)
        add_block(&g, &sample->blocks[i], &cols, &rows, &planes);
    if (g.row_bytes / g.unit <= MAX_COLS) /* a row that fits is shown whole */
        for (int64_t i = 0; i < g.row_bytes / g.unit; i++)
            add_position(&cols, i);
    if (sample->n == 0) {
        add_position(&cols, 0);
        add_position(&rows, 0);
    }
    if (planes.n == 0)
        add_position(&planes, 0);
    ok = make_axis(&cols, MAX_COLS, &g.cols);
    ok = make_axis(&rows, MAX_ROWS, &g.rows) && ok;
    ok = make_axis(&planes, MAX_PLANES, &g.planes) && ok;
    if (!ok) {
        pw_draw_grid_free(&g);
        return PW_ERR_NOMEM;
    }
    *out = g;
    return PW_OK;
}

void pw_draw_grid_free(pw_draw_grid *grid)
{
    free(grid->cols.at);
    free(grid->rows.at);
    free(grid->planes.at);
    *grid = (pw_draw_grid){0};
}
