/* What the data of a run hold, by name (runtime/mpi/stats/report.c). What they lack, as those of another version may,
 * counts as 0 or as an empty text. Times are nanoseconds here, and seconds in the data. */
#ifndef PW_TOOLS_REPORT_DATA_H
#define PW_TOOLS_REPORT_DATA_H

#include "base/hash.h"
#include "base/json_read.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef const pw_json_value *pw_data;

double pw_data_number(pw_data of, const char *name);
int64_t pw_data_whole(pw_data of, const char *name);
double pw_data_ns(pw_data of, const char *name);
bool pw_data_has(pw_data of, const char *name); /* a number */
const char *pw_data_text(pw_data of, const char *name);
pw_hash pw_data_hash(pw_data of, const char *name);
pw_data pw_data_object(pw_data of, const char *name);
pw_data pw_data_first(pw_data of, const char *name); /* the first element of an array; NULL: there is none */

/* What transfers belong to, and their directions, in the order of pw_transfer_kind and pw_role; and their words. */
enum { PW_STATS_MESSAGES, PW_STATS_WINDOWS, PW_STATS_FILES, PW_STATS_BELONGINGS, PW_STATS_BOTH = 2 };
extern const char *const pw_data_transfers[PW_STATS_BELONGINGS][PW_STATS_BOTH];

/* Returns whether any call used a type. */
bool pw_data_was_used(pw_data type);
/* The type as people read it: as the program built it if that is known. */
const char *pw_data_type(pw_data type);

/* Puts " with 8 native uses" into `text`, and nothing if there were none. Few may all have met cold caches, so whoever
 * says what was saved says how many there were. */
void pw_data_native_uses(pw_data of, char text[64]);

/* Prints what trials know of what was saved: "about 12 ms in 400 uses, by trials with 8 native uses; not known of 440
 * (no trial)". */
void pw_data_put_saved(FILE *out, pw_data of);

/* Prints what was done with a type, in one sentence: its bytes, packing, kernels and transfers. */
void pw_data_put_done(FILE *out, pw_data type);

#endif
