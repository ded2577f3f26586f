/* The frame of a page: style, script, title. Nothing is loaded from elsewhere; light or dark as the browser is. */
#include "tools/inspect/html.h"

#include "base/markup.h"
#include "tools/inspect/page_text.h" /* generated: page.css and page.js, as `style` and `script` */

#include <string.h>

void pw_html_begin(FILE *out, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
          "<meta name='viewport' content='width=device-width'><title>",
          out);
    pw_markup_put(out, title, strlen(title));
    fprintf(out, "</title>\n<style>\n%s</style></head><body>\n<h1>", style);
    pw_markup_put(out, title, strlen(title));
    fputs("</h1>\n", out);
}

void pw_html_end(FILE *out)
{
    fprintf(out, "<script>\n%s</script>\n</body></html>\n", script);
}
