/* From places in programs to lines of their source, by addr2line. */
#ifndef PW_TOOLS_REPORT_SOURCE_H
#define PW_TOOLS_REPORT_SOURCE_H

#include "tools/report/data.h"

typedef struct pw_place pw_place;

/* The places that a report names, each once. */
typedef struct pw_places {
    pw_place *at; /* by module and offset */
    int64_t n;
} pw_places;

/* Finds the places of a report, and their lines. Without addr2line, without debug information, after some seconds, and
 * where the module is younger than the report, a place stays an address in a file. Without memory there are none. */
void pw_places_find(pw_data report, pw_places *out);
void pw_places_free(pw_places *places);

/* The text of an element of "made_at": "/home/me/halo.c:57", "app+0x1189"; "": not known. Calls of an MPI's Fortran
 * binding tell nothing of the program, and are not known either. */
const char *pw_places_line(const pw_places *places, pw_data made);
/* The first known place of a type, without folders, or "". */
const char *pw_places_first(const pw_places *places, pw_data type);

#endif
