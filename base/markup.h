/* Text within HTML and SVG. */
#ifndef PW_BASE_MARKUP_H
#define PW_BASE_MARKUP_H

#include <stddef.h>
#include <stdio.h>

/* Writes `size` bytes of text so that a browser shows them as they are, also within a quoted attribute. */
void pw_markup_put(FILE *out, const char *text, size_t size);

#endif
