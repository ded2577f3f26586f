#include "tests/base/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

void capture_begin(capture *c)
{
    char name[] = "/tmp/pw-capture-XXXXXX";

    fflush(stderr);
    c->file = mkstemp(name);
    assert_true(c->file >= 0);
    unlink(name);
    c->saved = dup(STDERR_FILENO);
    assert_true(c->saved >= 0 && dup2(c->file, STDERR_FILENO) >= 0);
}

void capture_end(capture *c, char *out, size_t size)
{
    ssize_t n;

    fflush(stderr);
    dup2(c->saved, STDERR_FILENO);
    close(c->saved);
    n = pread(c->file, out, size - 1, 0);
    close(c->file);
    assert_true(n >= 0);
    out[n] = '\0';
}
