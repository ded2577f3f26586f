/*
 * The statuses of Packwright's parts: those of the public interface (packwright_status), and those that only parts
 * inside tell apart.
 *
 * Every function that can fail returns a pw_status; outputs are written only on PW_OK. The function that detects a
 * failure describes it (in a pw_diag, or in the log); callers only pass the status on. The mapping to MPI error classes
 * is in runtime/mpi/errors.c and nowhere else.
 */
#ifndef PW_BASE_STATUS_H
#define PW_BASE_STATUS_H

#include "include/packwright/packwright.h"

#include <stdarg.h>

typedef enum pw_status {
    /* As the interface says. PW_ERR_UNSUPPORTED inside: take the slower path. */
    PW_OK = PACKWRIGHT_OK,
    PW_ERR_NOMEM = PACKWRIGHT_ERR_NOMEM,
    PW_ERR_INVALID = PACKWRIGHT_ERR_INVALID,
    PW_ERR_OVERFLOW = PACKWRIGHT_ERR_OVERFLOW,
    PW_ERR_UNSUPPORTED = PACKWRIGHT_ERR_UNSUPPORTED,

    PW_ERR_NOT_FOUND = 100, /* no such entry, symbol, file or library */
    PW_ERR_IO,              /* the operating system refused a file operation */
    PW_ERR_DENIED,          /* refused for safety: owner or mode of a file */
    PW_ERR_CORRUPT,         /* checksum, magic or version do not match */
    PW_ERR_COMPILE,         /* a code generator failed */
    PW_ERR_MPI              /* the MPI below returned an error */
} pw_status;

/* English text of a status, for messages. Never NULL. */
const char *pw_status_text(pw_status status);

/* Returns what the public interface reports for a status of the parts inside. */
packwright_status pw_status_public(pw_status status);

/*
 * A described failure, filled by the function that detects it. `line` and `col` are 1-based positions
 * in a text input and 0 where there is none. Owned by the caller; no allocation.
 */
typedef struct pw_diag {
    pw_status status;
    int line, col;
    char text[256];
} pw_diag;

/* Writes status and message into `diag` (may be NULL) and returns `status`. */
pw_status pw_diag_set(pw_diag *diag, pw_status status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
pw_status pw_diag_setv(pw_diag *diag, pw_status status, const char *fmt, va_list ap);
/* The same with the text of the status as the message, for failures of which that says everything. */
pw_status pw_diag_status(pw_diag *diag, pw_status status);

#endif
