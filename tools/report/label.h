/* Texts of types cut to columns, so that no two look alike. */
#ifndef PW_TOOLS_REPORT_LABEL_H
#define PW_TOOLS_REPORT_LABEL_H

#include <stdint.h>

/*
 * Writes a text in at most `columns` columns, at least 24; `out` has room for one byte more. Dots stand for what is cut
 * away. A text that would look like one of `others` shows its beginning and the part where it first differs from all of
 * them. `others` may have the text itself.
 */
void pw_label_cut(char *out, int columns, const char *text, const char *const *others, int64_t n);

#endif
