/* The chart of a plan: a bar for each way, with the phases of the median rank side by side and a mark at the slowest.
 */
#include "tools/plan/plan.h"

#include "tools/draw/draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MARGIN = 24,
    LABEL = 92, /* width of the ways' names */
    BARS = 640, /* width of the longest bar */
    TIMES = 150,
    BAR = 34,
    STEP = 54, /* from bar to bar */
    LEGEND = 56,
    AXIS = 44,
    LINE = 16,      /* height of a line of the header */
    TICKS = 6,      /* about so many of them */
    MOST_TEXT = 138 /* characters of a line that fit on the page */
};

static const struct phase {
    const char *name, *colour;
} phases[] = {{"pack", "#3b528b"}, {"wire", "#b8c4cc"}, {"unpack", "#5ec962"}};

/* Returns a round step, 1, 2 or 5 times a power of ten, of which about TICKS are in `most`. */
static double round_step(double most)
{
    double power = pow(10, floor(log10(most / TICKS))), times = most / TICKS / power;

    return power * (times > 5 ? 10 : times > 2 ? 5 : times > 1 ? 2 : 1);
}

static void put_axis(FILE *out, double most, double per_us, int top, int bottom)
{
    double step = round_step(most);

    for (int i = 0; i * step <= most * 1.0001; i++) {
        double x = MARGIN + LABEL + i * step * per_us;

        fprintf(out,
                "<line x1='%.1f' y1='%d' x2='%.1f' y2='%d' stroke='#dddddd'/>\n"
                "<text x='%.1f' y='%d' class='n'>%.6g</text>\n",
                x, top, x, bottom, x, bottom + 15, i * step);
    }
    fprintf(out, "<text x='%d' y='%d' class='s'>microseconds</text>\n", MARGIN, bottom + 15);
}

static void put_bar(FILE *out, const pw_plan_summary *s, int way, double native, double per_us, int y)
{
    const double parts[] = {s->median.pack, s->median.end - s->median.pack - s->median.unpack, s->median.unpack};
    double x = MARGIN + LABEL, mark = x + s->slowest * 1e-3 * per_us;

    fprintf(out, "<text x='%d' y='%d' class='f'>%s</text>\n", MARGIN, y + BAR / 2 + 5, pw_plan_way_names[way]);
    for (int i = 0; i < 3; i++) {
        double width = parts[i] * 1e-3 * per_us;

        fprintf(out, "<rect x='%.1f' y='%d' width='%.1f' height='%d' fill='%s'><title>%s %s: %.1f us</title></rect>\n",
                x, y, width, BAR, phases[i].colour, pw_plan_way_names[way], phases[i].name, parts[i] * 1e-3);
        x += width;
    }
    fprintf(out, "<line x1='%.1f' y1='%d' x2='%.1f' y2='%d' stroke='#000000' stroke-width='2'/>\n", mark, y - 4, mark,
            y + BAR + 4);
    fprintf(out, "<text x='%.1f' y='%d' class='s'>%.1f, native/%s %.2f</text>\n", mark + 8, y + BAR / 2 + 4,
            s->slowest * 1e-3, pw_plan_way_names[way], native / s->slowest);
}

static void put_legend(FILE *out, int y)
{
    int x = MARGIN + LABEL;

    for (int i = 0; i < 3; i++, x += 84)
        fprintf(out, "<rect x='%d' y='%d' width='12' height='12' fill='%s'/><text x='%d' y='%d' class='s'>%s</text>\n",
                x, y, phases[i].colour, x + 17, y + 11, phases[i].name);
    fprintf(out,
            "<line x1='%d' y1='%d' x2='%d' y2='%d' stroke='#000000' stroke-width='2'/>"
            "<text x='%d' y='%d' class='s'>slowest rank; bars: the rank with the median time</text>\n",
            x, y - 2, x, y + 14, x + 8, y + 11);
}

/* Writes the header of the reports, one line below the other. */
static void put_header(FILE *out, const pw_plan_result *r)
{
    char *text = NULL, *rest = NULL;
    size_t size;
    FILE *lines = open_memstream(&text, &size);
    int y = MARGIN;

    if (!lines)
        return;
    pw_plan_print_header(lines, r, "", "\n");
    if (fclose(lines) == 0)
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), y += LINE) {
            fprintf(out, "<text x='%d' y='%d' class='s'>", MARGIN, y);
            pw_draw_text(out, line, MOST_TEXT);
            fputs("</text>\n", out);
        }
    free(text);
}

void pw_plan_chart(FILE *out, const pw_plan_result *r, const pw_plan_summary summaries[PW_PLAN_WAYS])
{
    int lines = r->o->nodes > 1 ? 4 : 3, top = MARGIN + lines * LINE + LEGEND, bottom = top + PW_PLAN_WAYS * STEP;
    int width = MARGIN + LABEL + BARS + TIMES + MARGIN;
    double most = 0, per_us;

    for (int way = 0; way < PW_PLAN_WAYS; way++)
        most = fmax(most, summaries[way].slowest * 1e-3);
    per_us = BARS / most;
    fprintf(out,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' font-family='sans-serif'>\n"
            "<style>text{font-size:11px}.f{font-size:13px}.n{text-anchor:middle}</style>\n<rect width='100%%' "
            "height='100%%' fill='#ffffff'/>\n",
            width, bottom + AXIS);
    put_header(out, r);
    put_legend(out, top - LEGEND / 2);
    put_axis(out, most, per_us, top, bottom);
    for (int way = 0; way < PW_PLAN_WAYS; way++)
        put_bar(out, &summaries[way], way, summaries[PW_PLAN_NATIVE].slowest, per_us, top + way * STEP + 10);
    fputs("</svg>\n", out);
}
