#include "base/status.h"

#include <stdio.h>

const char *pw_status_text(pw_status status)
{
    switch (status) {
    case PW_OK: return "success";
    case PW_ERR_NOMEM: return "out of memory";
    case PW_ERR_INVALID: return "invalid input";
    case PW_ERR_OVERFLOW: return "a number does not fit 64 bits";
    case PW_ERR_UNSUPPORTED: return "not supported";
    case PW_ERR_NOT_FOUND: return "not found";
    case PW_ERR_IO: return "input/output error";
    case PW_ERR_DENIED: return "refused: unsafe owner or mode";
    case PW_ERR_CORRUPT: return "corrupt data";
    case PW_ERR_COMPILE: return "compilation failed";
    case PW_ERR_MPI: return "MPI error";
    }
    return "unknown status";
}

packwright_status pw_status_public(pw_status status)
{
    switch (status) {
    case PW_OK:
    case PW_ERR_NOMEM:
    case PW_ERR_INVALID:
    case PW_ERR_OVERFLOW: return (packwright_status)status;
    case PW_ERR_MPI: return PACKWRIGHT_ERR_INVALID; /* the MPI has refused the handle */
    default: return PACKWRIGHT_ERR_UNSUPPORTED;
    }
}

pw_status pw_diag_setv(pw_diag *diag, pw_status status, const char *fmt, va_list ap)
{
    if (diag) {
        diag->status = status;
        vsnprintf(diag->text, sizeof diag->text, fmt, ap);
    }
    return status;
}

pw_status pw_diag_set(pw_diag *diag, pw_status status, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    pw_diag_setv(diag, status, fmt, ap);
    va_end(ap);
    return status;
}

pw_status pw_diag_status(pw_diag *diag, pw_status status)
{
    return pw_diag_set(diag, status, "%s", pw_status_text(status));
}
