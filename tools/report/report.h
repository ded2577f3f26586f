/* Reports of runs, which ranks write as data (runtime/mpi/stats/report.c), for people. */
#ifndef PW_TOOLS_REPORT_H
#define PW_TOOLS_REPORT_H

#include "tools/report/data.h"
#include "tools/report/source.h"

/* The forms of a report, which has been parsed. */
void pw_report_page(FILE *out, pw_data report, const pw_places *places);
void pw_report_table(FILE *out, pw_data report, const pw_places *places, bool all); /* a screen at most, unless all */
void pw_report_details(FILE *out, pw_data report, const pw_places *places);

/* Makes the page of a file of data. Returns false, after a message that names the command, if the data are none of a
 * run, or the page cannot be written. */
bool pw_report_make(const char *command, const char *data, const char *page);

/* Makes the pages of a run whose ranks were told to write PAGE.json: that of the run, and those of processes that
 * reported for themselves. Removes the data of pages that were made. Returns how many there are. */
int pw_report_make_all(const char *command, const char *page);

#endif
