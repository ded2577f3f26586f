/* Catches what the process writes to stderr, for tests of the log. One capture at a time. */
#ifndef PW_TESTS_BASE_CAPTURE_H
#define PW_TESTS_BASE_CAPTURE_H

#include <stddef.h>

typedef struct capture {
    int saved; /* the real stderr */
    int file;
} capture;

void capture_begin(capture *c);
/* Restores stderr, and copies the text to `out`, NUL-terminated. */
void capture_end(capture *c, char *out, size_t size);

#endif
