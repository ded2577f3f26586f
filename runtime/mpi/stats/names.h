/*
 * The names that the program has given its types with MPI_Type_set_name, by layout, for reports. A name is noted while
 * its type lives, so that reports have it after the type is freed. Nothing is noted unless a report is asked for.
 */
#ifndef PW_RUNTIME_STATS_NAMES_H
#define PW_RUNTIME_STATS_NAMES_H

#include "base/hash.h"

#include <stddef.h>

/* Copies the names of the types with this layout: the first ones that fit, with commas. Empty: there is none. */
void pw_stats_names(pw_hash layout, char *out, size_t size);

/* Forgets all names. */
void pw_stats_names_close(void);

#endif
