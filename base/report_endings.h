/* The endings of names of reports: ranks write data (PACKWRIGHT_REPORT), of which commands make pages. */
#ifndef PW_BASE_REPORT_ENDINGS_H
#define PW_BASE_REPORT_ENDINGS_H

#include <string.h>

typedef enum pw_report_ending { PW_REPORT_HTML, PW_REPORT_JSON, PW_REPORT_UNKNOWN } pw_report_ending;

#define PW_REPORT_ENDINGS ".html or .json" /* as messages say them */

static inline pw_report_ending pw_report_ending_of(const char *path)
{
    static const char *const endings[] = {[PW_REPORT_HTML] = ".html", [PW_REPORT_JSON] = ".json"};
    size_t n = strlen(path);

    for (int i = 0; i < PW_REPORT_UNKNOWN; i++)
        if (n > strlen(endings[i]) && !strcmp(path + n - strlen(endings[i]), endings[i]))
            return (pw_report_ending)i;
    return PW_REPORT_UNKNOWN;
}

#endif
