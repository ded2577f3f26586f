/* Where a picture goes: to standard output, or to a file as SVG or PNG. */
#include "tools/draw/draw.h"

#include "base/replace.h"
#include "tools/command.h"
#include "tools/input/filter.h"

#include <stdlib.h>
#include <string.h>

static bool ends_with(const char *file, const char *ending)
{
    size_t n = strlen(file), k = strlen(ending);

    return n > k && !strcmp(file + n - k, ending);
}

bool pw_draw_is_picture(const char *file)
{
    return ends_with(file, ".svg") || ends_with(file, ".png");
}

/* Turns SVG into PNG by the program that is there. */
static pw_status make_png(const char *svg, size_t size, char **out, size_t *out_size, pw_diag *diag)
{
    static const char *const rsvg[] = {"rsvg-convert", "--format=png", "--zoom=2", NULL};
    pw_status status = pw_filter_run(rsvg, svg, size, out, out_size, diag);

    if (status == PW_ERR_NOT_FOUND)
        return pw_diag_set(diag, status,
                           "PNG is made by rsvg-convert, which is not on the PATH (Debian and Ubuntu: librsvg2-bin); "
                           "a name that ends in .svg needs nothing");
    return status;
}

static pw_status write_file(const char *file, const char *svg, size_t size, pw_diag *diag)
{
    char *png = NULL;
    size_t png_size;
    pw_status status;

    if (!ends_with(file, ".png"))
        return pw_replace_file(file, svg, size, diag);
    status = make_png(svg, size, &png, &png_size, diag);
    if (status == PW_OK)
        status = pw_replace_file(file, png, png_size, diag);
    free(png);
    return status;
}

bool pw_draw_write(const char *command, const char *file, const char *svg, size_t size)
{
    pw_diag diag = {0};

    if (!file)
        return fwrite(svg, 1, size, stdout) == size;
    if (write_file(file, svg, size, &diag) == PW_OK)
        return true;
    return pw_command_error(command, "%s", diag.text);
}
