/* Text input of a command, and errors at a place in it: "file:line:col: error: text", the line, and a caret. */
#ifndef PW_TOOLS_SOURCE_H
#define PW_TOOLS_SOURCE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct pw_source {
    const char *name; /* for messages; "<stdin>" for "-" */
    char *text;       /* NUL-terminated, without other NULs; freed by pw_source_free */
    size_t size;
} pw_source;

/* Reads the file, or standard input for "-", of at most `limit` bytes. Returns false after reporting a failure on
 * stderr; nothing of a longer file is read. */
bool pw_source_read(const char *path, size_t limit, pw_source *out);
/* Makes a source from a copy of `text`. Returns false after reporting that memory is short. */
bool pw_source_from_text(const char *name, const char *text, pw_source *out);
void pw_source_free(pw_source *source);

/* Reports `diag` on stderr; its line and column are relative to `from`, a place in the text. */
void pw_source_error(const pw_source *source, const char *from, const pw_diag *diag);

#endif
