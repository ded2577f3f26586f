/*
 * Names of statuses, and the last failure of each thread. Data: its text, of the thread alone. Invariant: each function
 * of the library that returns a failure has described it here; success leaves the text as it is.
 */
#include "runtime/engine/library/internal.h"

#include <stdio.h>

static _Thread_local char last_error[384];

const char *packwright_status_text(packwright_status status)
{
    switch (status) {
    case PACKWRIGHT_ERR_TRUNCATED: return "out of range";
    case PACKWRIGHT_ERR_DEVICE: return "the GPU's driver reported an error";
    default: return pw_status_text((pw_status)status);
    }
}

const char *packwright_last_error(void)
{
    return last_error;
}

packwright_status packwright_fail(packwright_status status, const char *text)
{
    return pw_library_fail(status, "%s", text ? text : "");
}

const char *packwright_version(void)
{
    return PW_PROJECT_VERSION;
}

packwright_status pw_library_fail(packwright_status status, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(last_error, sizeof last_error, fmt, ap);
    va_end(ap);
    return status;
}

packwright_status pw_library_no_memory(void)
{
    return pw_library_fail(PACKWRIGHT_ERR_NOMEM, "out of memory");
}

packwright_status pw_library_fail_below(pw_status status, const char *subject, const pw_diag *diag)
{
    const char *why = diag && diag->text[0] ? diag->text : pw_status_text(status);
    const char *colon = subject ? ": " : "";

    subject = subject ? subject : "";
    if (diag && diag->line > 0)
        return pw_library_fail(pw_status_public(status), "%.80s%sline %d, column %d: %s", subject, colon, diag->line,
                               diag->col, why);
    return pw_library_fail(pw_status_public(status), "%.80s%s%s", subject, colon, why);
}
