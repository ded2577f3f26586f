/* Programs that turn bytes into other bytes, found on the PATH when they are needed. */
#ifndef PW_TOOLS_FILTER_H
#define PW_TOOLS_FILTER_H

#include "base/status.h"

#include <stddef.h>

/*
 * Runs argv[0] with `size` bytes of `data` as its standard input, which is a file that it may open as /dev/stdin, and
 * returns what it writes: malloc'ed and NUL-terminated. PW_ERR_NOT_FOUND: there is no such program; PW_ERR_IO: it
 * failed or wrote nothing.
 */
pw_status pw_filter_run(const char *const argv[], const void *data, size_t size, char **out, size_t *out_size,
                        pw_diag *diag);

#endif
