/*
 * Files that appear whole or not at all: written under a temporary name in the same directory, then renamed.
 * Readers see the old file or the new one; a program that ends in between leaves the old one. Thread safe.
 */
#ifndef PW_BASE_REPLACE_H
#define PW_BASE_REPLACE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* A file written but not yet in its place. */
typedef struct pw_replacement {
    char *path, *temp; /* temp is NULL when nothing is pending */
} pw_replacement;

/* Several files can be prepared before the first is committed, so that a full disk is noticed before anything changes.
 * A path that names something else than a regular file is refused; of a symbolic link the file that it leads to is
 * replaced. */
pw_status pw_replace_prepare(pw_replacement *r, const char *path, const void *data, size_t size, pw_diag *diag);
/* Ends the replacement, whether it succeeds or not. */
pw_status pw_replace_commit(pw_replacement *r, pw_diag *diag);
/* Drops what is pending, if anything is. */
void pw_replace_discard(pw_replacement *r);

/* Checks whether a file can be written there, for callers that have something to write only much later. Makes nothing.
 * A full disk, and what changes in the meantime, go unnoticed. */
pw_status pw_replace_check(const char *path, pw_diag *diag);

/* Prepares and commits. */
pw_status pw_replace_file(const char *path, const void *data, size_t size, pw_diag *diag);

/* Writes all of it, whatever interrupts. False with errno set; a file that RLIMIT_FSIZE does not admit is EFBIG,
 * without the SIGXFSZ that would end the program. */
bool pw_write_all(int fd, const void *data, size_t size);

#endif
