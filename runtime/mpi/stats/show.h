/* Reports for people: the packwright command beside this library prints them (tools/report). */
#ifndef PW_RUNTIME_STATS_SHOW_H
#define PW_RUNTIME_STATS_SHOW_H

#include <stdbool.h>
#include <stddef.h>

/* Has the command print the table of a report, in full if `all`, on this process's stderr. Returns false if it has not:
 * there is no such command, or it fails, or takes too long. */
bool pw_show(const char *data, size_t size, bool all);

#endif
