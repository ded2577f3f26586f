#include "base/markup.h"

void pw_markup_put(FILE *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        switch (text[i]) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '\'': fputs("&#39;", out); break;
        case '"': fputs("&quot;", out); break;
        default: fputc(text[i], out);
        }
    }
}
