/* The page of a type (`packwright inspect --html`), shared by the files that write its parts. */
#ifndef PW_TOOLS_INSPECT_HTML_H
#define PW_TOOLS_INSPECT_HTML_H

#include "tools/inspect/inspect.h"

/* Writes the second text with what was taken from the first one and what was added. False: out of memory. */
bool pw_html_diff(FILE *out, const char *before, const char *after);

/* Writes IR beside the assembly that was made from it; `.loc` directives of the assembly, which are not shown, say from
 * which line. */
void pw_html_code(FILE *out, const char *ir, const char *assembly);

/*
 * Writes the CUDA source of a kernel, whose first line has the number `first`, beside PTX with `.loc` and SASS with the
 * comments of nvdisasm about lines; NULL: there is none. Instructions that functions of earlier lines brought belong to
 * the line of the kernel that calls these.
 */
void pw_html_gpu_code(FILE *out, const char *cuda, unsigned first, const char *ptx, const char *sass);

/* The frame of a page, around its sections. `title` is escaped here. */
void pw_html_begin(FILE *out, const char *title);
void pw_html_end(FILE *out);

#endif
