/*
 * What a trace tells of one type, and its text: a comment with the counts, and below it the type, named by its hash.
 *
 *     # commits=8 packs=0 unpacks=0 bytes=0 sends=120 receives=120 ranks=4
 *     t_5c1f0e9ab2d34476 = resized(0 4096)[hvec(8 1 512)[ctg(64)[byte]]]
 *
 * Equal types have equal names in all traces. Knows no MPI: `packwright trace merge` reads and writes the same text.
 */
#ifndef PW_RUNTIME_TRACE_RECORD_H
#define PW_RUNTIME_TRACE_RECORD_H

#include "base/hash.h"

#include <stddef.h>
#include <stdio.h>

/* X(name): commits, packs and unpacks are calls; bytes are what those moved; ranks are those that had the type. */
#define PW_TRACE_COUNTS(X) X(commits) X(packs) X(unpacks) X(bytes) X(sends) X(receives) X(ranks)

typedef struct pw_trace_record {
    pw_hash hash; /* of the canonical type */
#define X(name) int64_t name;
    PW_TRACE_COUNTS(X)
#undef X
    int64_t owner; /* who has the text: a rank, or the place in a list */
} pw_trace_record;

enum { PW_TRACE_NAME = 20 };

/* Adds the counts; sums that do not fit stay at the largest number. */
void pw_trace_add(pw_trace_record *to, const pw_trace_record *from);

/* Merges records of equal hash, in place; the owner is the least of theirs. Ordered by bytes moved, then by transfers,
 * commits and hash. Returns how many are left. */
int64_t pw_trace_merge(pw_trace_record *records, int64_t n);

void pw_trace_name(pw_hash hash, char out[PW_TRACE_NAME]);
/* Does this look like a name of the above? */
bool pw_trace_is_name(const char *name);

/* `type` is what pw_ddt_print makes. */
void pw_trace_print(FILE *out, const pw_trace_record *record, const char *name, const char *type);
/* The counts of a comment line; false when it is none of a trace. Counts not mentioned are 0. */
bool pw_trace_parse(const char *line, size_t n, pw_trace_record *out);

#endif
