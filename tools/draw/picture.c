/* From a type of an input to its picture. */
#include "tools/draw/draw.h"

#include "frontend/ddt/ddt.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_SHOWN = 12 };

/* The type as the user wrote it, on one line; with the variant where a range made several. NULL: out of memory. */
static char *make_title(const pw_input_item *item, const pw_type *canonical)
{
    char *title = NULL;
    size_t size;
    bool blank = false;
    FILE *out;

    if (!item->text)
        return pw_ddt_print_short(canonical, LIST_SHOWN);
    out = open_memstream(&title, &size);
    if (!out)
        return NULL;
    for (size_t i = 0; i < item->size; i++) {
        bool comment = item->text[i] == '#' || !strncmp(item->text + i, "//", 2);

        while (comment && i < item->size && item->text[i] != '\n')
            i++;
        if (comment || strchr(" \t\r\n", item->text[i])) {
            blank = true;
            continue;
        }
        if (blank)
            fputc(' ', out);
        blank = false;
        fputc(item->text[i], out);
    }
    if (item->variants > 1)
        fprintf(out, ", variant %" PRId64, item->variant);
    if (fclose(out)) {
        free(title);
        return NULL;
    }
    return title;
}

pw_status pw_draw_picture(FILE *out, const pw_input *input, int64_t item, const pw_type *canonical, int64_t count)
{
    pw_input_item entry = pw_input_get(input, item);
    pw_draw_sample sample;
    pw_draw_grid grid;
    pw_status status;
    int64_t span;
    char *title;

    if (__builtin_mul_overflow(canonical->extent, count, &span))
        return PW_ERR_OVERFLOW;
    status = pw_draw_sample_make(canonical, count, &sample);
    if (status != PW_OK)
        return status;
    title = make_title(&entry, canonical);
    status = title ? pw_draw_grid_make(canonical, count, entry.element, &sample, &grid) : PW_ERR_NOMEM;
    if (status == PW_OK) {
        status = pw_draw_svg(out, entry.name, title, canonical, count, &grid);
        pw_draw_grid_free(&grid);
    }
    free(title);
    pw_draw_sample_free(&sample);
    return status;
}
