/* The drawing of a sampled layout on its grid, as SVG. */
#include "tools/draw/draw.h"

#include "base/markup.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MARGIN = 24,
    HEADER = 76, /* height of title, facts and legend */
    LABEL = 78,  /* width of row labels */
    COL_LABEL = 16,
    BREAK = 26,  /* room for a break, where positions are left out */
    PAGE = 1120, /* panels wrap beyond this width */
    PANEL_GAP = 30,
    MIN_WIDTH = 1000, /* least width, for the title */
    CELL_H = 20,
    NUMBER_W = 6,    /* width of a digit */
    FACTS_W = 7,     /* width of a character of the facts, rounded up */
    TITLE_MAX = 108, /* most characters of the title, with the name */
    NAME_MAX_SHOWN = 40,
    FIND_BUDGET = 200000000 /* most steps for looking cells up, about a second */
};

typedef struct picture {
    FILE *out;
    const pw_type *type;
    int64_t count, packed; /* the number of objects, and the packed bytes of all of them */
    const pw_draw_grid *g;
    int64_t budget; /* steps left for looking cells up */
    int cell_w, panel_w, panel_h, per_line;
    char facts[320]; /* the line below the title */
    int *x, *y;      /* pixel positions of each shown column and row within a panel */
} picture;

/* ---- helpers ------------------------------------------------------------------------------------ */

void pw_draw_text(FILE *out, const char *text, int max)
{
    size_t n = 0;

    /* The bytes behind the first one of a character in UTF-8 belong to it. */
    for (int shown = 0; text[n]; n++)
        if (((unsigned char)text[n] & 0xC0) != 0x80 && shown++ == max)
            break;
    pw_markup_put(out, text, n);
    if (text[n])
        fputs("…", out);
}

/* Returns a colour of the viridis map, for the position `part` in [0, 1]. */
static void colour_of(double part, int rgb[3])
{
    static const int stops[5][3] = {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
    int i = part >= 1 ? 3 : (int)(part * 4);
    double f = part * 4 - i;

    for (int c = 0; c < 3; c++)
        rgb[c] = (int)(stops[i][c] + f * (stops[i + 1][c] - stops[i][c]) + 0.5);
}

static bool breaks_before(const pw_draw_axis *axis, int i)
{
    return i > 0 && i < axis->n && axis->at[i] != axis->at[i - 1] + 1;
}

/* Sets the pixel positions of an axis's entries. Returns the length of the axis. */
static int lay_out(const pw_draw_axis *axis, int step, int *at)
{
    int pos = 0;

    for (int i = 0; i < axis->n; i++) {
        if (breaks_before(axis, i))
            pos += BREAK;
        at[i] = pos;
        pos += step;
    }
    return pos;
}

/* ---- header ------------------------------------------------------------------------------------ */

static void draw_legend(const picture *p)
{
    fprintf(p->out, "<defs><linearGradient id='order'>");
    for (int i = 0; i <= 8; i++) {
        int c[3];

        colour_of(i / 8.0, c);
        fprintf(p->out, "<stop offset='%d%%' stop-color='rgb(%d,%d,%d)'/>", i * 100 / 8, c[0], c[1], c[2]);
    }
    fprintf(p->out, "</linearGradient></defs>\n");
    fprintf(p->out,
            "<text x='%d' y='68' class='s'>packed first</text>"
            "<rect x='%d' y='59' width='150' height='11' rx='2' fill='url(#order)'/>"
            "<text x='%d' y='68' class='s'>packed last</text>",
            MARGIN, MARGIN + 72, MARGIN + 228);
    fprintf(p->out,
            "<rect x='%d' y='59' width='16' height='11' class='gap'/>"
            "<text x='%d' y='68' class='s'>memory that is not moved</text>\n",
            MARGIN + 320, MARGIN + 342);
}

static void describe(picture *p)
{
    const pw_node *root = p->type->root;
    char average[48] = "", objects[48] = "";

    if (root->blocks > 1)
        snprintf(average, sizeof average, " of %.6g on average", (double)root->size / (double)root->blocks);
    if (p->count > 1)
        snprintf(objects, sizeof objects, " · %" PRId64 " objects", p->count);
    snprintf(p->facts, sizeof p->facts,
             "%" PRId64 " bytes in %" PRId64 " block%s%s · lb %" PRId64 " · extent %" PRId64 " · touches [%" PRId64
             ", %" PRId64 ")%s · a row is %" PRId64 " bytes, a cell %" PRId64,
             root->size, root->blocks, root->blocks == 1 ? "" : "s", average, p->type->lb, p->type->extent, root->lo,
             root->hi, objects, p->g->row_bytes, p->g->unit);
}

/* How many characters of the title fit behind the name. */
static int title_room(const char *name)
{
    int n = (int)strnlen(name, NAME_MAX_SHOWN);

    return TITLE_MAX - (n ? n + 3 : 0);
}

static void draw_header(const picture *p, const char *name, const char *title)
{
    fprintf(p->out, "<text x='%d' y='30' class='t'>", MARGIN);
    if (*name) {
        pw_draw_text(p->out, name, NAME_MAX_SHOWN);
        fputs(" = ", p->out);
    }
    pw_draw_text(p->out, title, title_room(name));
    fprintf(p->out, "</text>\n<text x='%d' y='49' class='f'>%s</text>\n", MARGIN, p->facts);
    draw_legend(p);
}

/* ---- one panel --------------------------------------------------------------------------------- */

static int64_t row_start(const picture *p, int64_t plane, int row)
{
    return (plane * p->g->rows_per_plane + p->g->rows.at[row]) * p->g->row_bytes;
}

static void draw_column_labels(const picture *p, int px, int py)
{
    const pw_draw_axis *cols = &p->g->cols;

    for (int c = 0; c < cols->n; c++) {
        if (c == 0 || breaks_before(cols, c))
            fprintf(p->out, "<text x='%d' y='%d' class='l'>%" PRId64 "</text>", px + p->x[c], py + COL_LABEL - 5,
                    cols->at[c] * p->g->unit);
        if (breaks_before(cols, c))
            fprintf(p->out, "<text x='%d' y='%d' class='b'>⋯</text>", px + p->x[c] - BREAK / 2,
                    py + COL_LABEL + p->panel_h / 2);
    }
    if (cols->at[0] > 0)
        fprintf(p->out, "<text x='%d' y='%d' class='b'>from 0 ⋯</text>", px - 3, py + COL_LABEL + p->panel_h + 10);
    if (cols->at[cols->n - 1] < p->g->row_bytes / p->g->unit - 1)
        fprintf(p->out, "<text x='%d' y='%d' class='b'>⋯ to %" PRId64 "</text>", px + p->panel_w + 4,
                py + COL_LABEL + p->panel_h + 10, p->g->row_bytes - 1);
    fputc('\n', p->out);
}

static void draw_empty_rows(const picture *p, int64_t plane, int px, int py)
{
    const pw_draw_axis *cols = &p->g->cols, *rows = &p->g->rows;

    for (int r = 0; r < rows->n; r++) {
        int y = py + COL_LABEL + p->y[r];

        if (breaks_before(rows, r))
            fprintf(p->out, "<text x='%d' y='%d' class='b'>⋮ %" PRId64 " rows</text>", px + p->x[cols->n - 1] / 2,
                    y - BREAK / 2 + 5, rows->at[r] - rows->at[r - 1] - 1);
        fprintf(p->out, "<text x='%d' y='%d' class='r'>%" PRId64 "</text>", px - 6, y + CELL_H - 6,
                row_start(p, plane, r));
        for (int c = 0, first = 0; c < cols->n; c++) {
            if (c + 1 < cols->n && !breaks_before(cols, c + 1))
                continue;
            fprintf(p->out, "<rect x='%d' y='%d' width='%d' height='%d' class='gap'/>", px + p->x[first], y,
                    p->x[c] + p->cell_w - p->x[first], CELL_H);
            first = c + 1;
        }
        fputc('\n', p->out);
    }
}

/* Draws cells [first, last] of a row, which are next to each other on the page and have consecutive packed positions
 * from `packed`. */
static void draw_run(const picture *p, int64_t mem, int64_t packed, int first, int last, int px, int y)
{
    int64_t units = last - first + 1, end = units * p->g->unit - 1;
    int width = p->x[last] + p->cell_w - p->x[first], rgb[3], digits;
    double part = p->packed > 1 ? (double)packed / (double)(p->packed - 1) : 0;
    char number[48];

    colour_of(part, rgb);
    fprintf(p->out,
            "<rect x='%d' y='%d' width='%d' height='%d' rx='2' fill='rgb(%d,%d,%d)' stroke='#fff' "
            "stroke-width='1'><title>memory %" PRId64 "…%" PRId64 ", packed %" PRId64 "…%" PRId64 "</title></rect>",
            px + p->x[first], y, width, CELL_H, rgb[0], rgb[1], rgb[2], mem, mem + end, packed, packed + end);
    digits = snprintf(number, sizeof number, "%" PRId64, packed / p->g->unit);
    if (units > 1) /* the dash is three bytes long and one character wide */
        digits = snprintf(number, sizeof number, "%" PRId64 "–%" PRId64, packed / p->g->unit,
                          packed / p->g->unit + units - 1) -
                 2;
    if (digits * NUMBER_W + 2 > width)
        digits = snprintf(number, sizeof number, "%" PRId64, packed / p->g->unit);
    if (digits * NUMBER_W + 2 <= width)
        fprintf(p->out, "<text x='%d' y='%d' class='n' fill='%s'>%s</text>", px + p->x[first] + width / 2,
                y + CELL_H - 6, part < 0.62 ? "#fff" : "#222", number);
    fputc('\n', p->out);
}

static void draw_row(picture *p, int64_t start, int px, int y)
{
    const pw_draw_axis *cols = &p->g->cols;
    int64_t from = -1; /* packed position of the run's first cell */
    int first = 0;

    for (int c = 0; c <= cols->n; c++) {
        int64_t at = -1;

        if (c < cols->n)
            at = pw_draw_find(p->type, p->count, start + cols->at[c] * p->g->unit, &p->budget);
        if (from >= 0 && (at != from + (c - first) * p->g->unit || breaks_before(cols, c))) {
            draw_run(p, start + cols->at[first] * p->g->unit, from, first, c - 1, px, y);
            from = -1;
        }
        if (from < 0 && at >= 0) {
            from = at;
            first = c;
        }
    }
}

static void draw_rows(picture *p, int64_t plane, int px, int py)
{
    for (int r = 0; r < p->g->rows.n; r++)
        draw_row(p, row_start(p, plane, r), px, py + COL_LABEL + p->y[r]);
    fputc('\n', p->out);
}

static void draw_panel(picture *p, int i, int px, int py)
{
    int64_t plane = p->g->planes.at[i];

    if (p->g->rows_per_plane > 0)
        fprintf(p->out, "<text x='%d' y='%d' class='f'>plane %" PRId64 "%s</text>\n", px, py - 4, plane,
                breaks_before(&p->g->planes, i) ? " (planes between are left out)" : "");
    draw_column_labels(p, px, py);
    draw_empty_rows(p, plane, px, py);
    draw_rows(p, plane, px, py);
}

/* ---- the page ---------------------------------------------------------------------------------- */

static void draw_page(picture *p, const char *name, const char *title)
{
    int lines = (p->g->planes.n + p->per_line - 1) / p->per_line;
    int pitch_x = LABEL + p->panel_w + PANEL_GAP, pitch_y = COL_LABEL + p->panel_h + PANEL_GAP;
    int width = 2 * MARGIN + p->per_line * pitch_x, height = HEADER + MARGIN + PANEL_GAP + lines * pitch_y;

    if (width < MIN_WIDTH)
        width = MIN_WIDTH;
    if (width < 2 * MARGIN + FACTS_W * (int)strlen(p->facts))
        width = 2 * MARGIN + FACTS_W * (int)strlen(p->facts);
    fprintf(
        p->out,
        "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 0 %d %d'>\n"
        "<style>text{font-family:'DejaVu Sans','Helvetica',sans-serif}.t{font:bold 14px 'DejaVu Sans Mono',monospace}"
        ".f{font-size:12px;fill:#444}.s{font-size:11px;fill:#444}.l{font-size:9px;fill:#888}"
        ".r{font:10px 'DejaVu Sans Mono',monospace;fill:#666;text-anchor:end}"
        ".n{font-size:9px;text-anchor:middle}.b{font-size:11px;fill:#999;text-anchor:middle}"
        ".gap{fill:#ececec;stroke:#fff;stroke-width:1}</style>\n"
        "<rect width='%d' height='%d' fill='#fff'/>\n",
        width, height, width, height, width, height);
    draw_header(p, name, title);
    for (int i = 0; i < p->g->planes.n; i++)
        draw_panel(p, i, MARGIN + LABEL + i % p->per_line * pitch_x, HEADER + 20 + i / p->per_line * pitch_y);
    if (p->budget <= 0)
        fprintf(p->out, "<text x='%d' y='%d' class='s'>The layout is too entangled to show every cell.</text>\n",
                MARGIN, height - 10);
    fputs("</svg>\n", p->out);
}

/* Returns the width of a cell: narrow in wide rows, wide where the numbers need it. */
static int cell_width(const pw_draw_grid *g)
{
    int w = (PAGE - LABEL) / (g->cols.n + 2);

    return w < 11 ? 11 : w > 34 ? 34 : w;
}

pw_status pw_draw_svg(FILE *out, const char *name, const char *title, const pw_type *type, int64_t count,
                      const pw_draw_grid *grid)
{
    picture p = {.out = out, .type = type, .count = count, .packed = count * type->root->size, .g = grid};

    p.x = malloc((size_t)grid->cols.n * sizeof *p.x);
    p.y = malloc((size_t)grid->rows.n * sizeof *p.y);
    if (!p.x || !p.y) {
        free(p.x);
        free(p.y);
        return PW_ERR_NOMEM;
    }
    p.budget = FIND_BUDGET;
    describe(&p);
    p.cell_w = cell_width(grid);
    p.panel_w = lay_out(&grid->cols, p.cell_w, p.x);
    p.panel_h = lay_out(&grid->rows, CELL_H, p.y);
    p.per_line = PAGE / (LABEL + p.panel_w + PANEL_GAP);
    if (p.per_line < 1)
        p.per_line = 1;
    if (p.per_line > grid->planes.n)
        p.per_line = grid->planes.n;
    draw_page(&p, name, title);
    free(p.x);
    free(p.y);
    return PW_OK;
}
