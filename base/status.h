/*
 * The one error enum of Packwright.
 *
 * Every function that can fail returns a pw_status; outputs are written only on PW_OK. Whoever detects
 * a failure describes it (in a pw_diag, or in the log); callers only pass the status on. The mapping to
 * MPI error classes lives in runtime/ and nowhere else.
 */
#ifndef PW_BASE_STATUS_H
#define PW_BASE_STATUS_H

#include <stdarg.h>

typedef enum pw_status {
    PW_OK = 0,
    PW_ERR_NOMEM,       /* an allocation failed */
    PW_ERR_INVALID,     /* the caller's input is malformed */
    PW_ERR_OVERFLOW,    /* a size, offset or count does not fit 64 bits */
    PW_ERR_UNSUPPORTED, /* legal, but not handled here: take the slower path */
    PW_ERR_NOT_FOUND,   /* no such entry, symbol, file or library */
    PW_ERR_IO,          /* the operating system refused a file operation */
    PW_ERR_DENIED,      /* refused for safety: owner or mode of a file */
    PW_ERR_CORRUPT,     /* checksum, magic or version do not match */
    PW_ERR_COMPILE,     /* a code generator failed */
    PW_ERR_MPI          /* the MPI below returned an error */
} pw_status;

/* English text of a status, for messages. Never NULL. */
const char *pw_status_text(pw_status status);

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

#endif
