/*
 * What a trace says of one type, and its text: a comment with the counts, and below it the type, named by its hash.
 *
 *     # commits=8 packs=0 unpacks=0 bytes=0 sends=120 receives=120 ranks=4
 *     t_5c1f0e9ab2d34476 = resized(0 4096)[hvec(8 1 512)[ctg(64)[byte]]]
 *
 * Equal types have equal names in all traces. Knows no MPI: `packwright trace merge` reads and writes the same text.
 */
#ifndef PW_DDT_TRACE_RECORD_H
#define PW_DDT_TRACE_RECORD_H

#include "base/hash.h"

#include <stddef.h>
#include <stdio.h>

/* X(name). commits, packs and unpacks count calls; bytes counts the bytes that packs and unpacks moved; ranks counts
 * the ranks that have the type. */
#define PW_TRACE_COUNTS(X) X(commits) X(packs) X(unpacks) X(bytes) X(sends) X(receives) X(ranks)

typedef struct pw_trace_record {
    pw_hash hash; /* the hash of the canonical type */
#define X(name) int64_t name;
    PW_TRACE_COUNTS(X)
#undef X
    int64_t owner; /* the record's place in a list */
} pw_trace_record;

enum { PW_TRACE_NAME = 20 };

/* Adds the counts; sums that do not fit stay at the largest number. */
void pw_trace_add(pw_trace_record *to, const pw_trace_record *from);

/* Merges records of equal hash, in place; a merged record has the least owner. Orders records by bytes moved, then by
 * transfers, commits and hash. Returns how many are left. */
int64_t pw_trace_merge(pw_trace_record *records, int64_t n);

void pw_trace_name(pw_hash hash, char out[PW_TRACE_NAME]);
/* Returns whether the name has the form of the names in traces. */
bool pw_trace_is_name(const char *name);

/* Prints a record; `type` is the text of pw_ddt_print. */
void pw_trace_print(FILE *out, const pw_trace_record *record, const char *name, const char *type);
/* Reads the counts of a comment line; counts that it does not have are 0. Returns false if the line is not one of a
 * trace. */
bool pw_trace_parse(const char *line, size_t n, pw_trace_record *out);

#endif
