/*
 * The judge of kernels: the typemap of `count` objects written out by the walk that defines the IR, and pack and unpack
 * run between pages that cannot be touched. Interpreter, compiled kernels and emulated GPU kernels all come here; each
 * says how it is run and what it prints when it is wrong. Out of memory ends the process.
 */
#ifndef PW_TESTS_SUPPORT_JUDGE_H
#define PW_TESTS_SUPPORT_JUDGE_H

#include "ir/ir.h"

#include <stddef.h>

/* ---- buffers ------------------------------------------------------------------------------------- */

enum {
    PW_GUARDED_LEAD = 128, /* bytes that a place may lie behind the first page */
    PW_AT_END = -1         /* the place that ends at the last page */
};

/* Data among bytes of a pattern, between two pages that cannot be touched. */
typedef struct pw_guarded {
    unsigned char *map, *data;
    size_t room, page; /* what can be touched is [map + page, map + page + room) */
    int64_t n;
} pw_guarded;

/* Room for any place of `most` bytes. */
void pw_guarded_init(pw_guarded *b, int64_t most);
void pw_guarded_free(pw_guarded *b);

/* Fills everything with the pattern and puts n bytes of data `lead` bytes behind the first page, or at the end. */
void pw_guarded_place(pw_guarded *b, int64_t n, int64_t lead);

/* Returns where the data, or the pattern around them, first differ from what is expected, relative to the data.
 * PW_JUDGED_RIGHT: nowhere. */
int64_t pw_guarded_difference(const pw_guarded *b, const unsigned char *expected);

#define PW_JUDGED_RIGHT INT64_MIN

/* ---- the judge ----------------------------------------------------------------------------------- */

typedef struct pw_judge {
    const pw_type *type;
    int64_t count, total;           /* objects; packed bytes */
    int64_t lo, span;               /* touched memory, relative to the first object */
    int64_t *where;                 /* memory offset of every packed byte */
    unsigned char *memory, *packed; /* random contents, and the right answer */
    unsigned char *expected;        /* memory after an unpack */
    bool overlaps; /* some byte is unpacked twice, so unpacking has no single right answer and is not checked */
    pw_guarded at_memory, at_packed;
} pw_judge;

void pw_judge_init(pw_judge *j, const pw_type *type, int64_t count, uint64_t seed);
void pw_judge_free(pw_judge *j);

/* One pack or unpack of packed bytes [first, last). On the memory side dst or src is the address of the first object,
 * on the other that of packed byte `first`. */
typedef struct pw_judge_call {
    bool unpack;
    int64_t count, first, last;
    void *dst;
    const void *src;
} pw_judge_call;

typedef void pw_judge_run(void *how, const pw_judge_call *call);

/* Leads of both sides' buffers. */
typedef struct pw_judge_place {
    int64_t memory, packed;
} pw_judge_place;

/* Runs pack or unpack, and compares every byte of both buffers: the data written, what lies around them, and that the
 * source is as it was. Returns the first wrong byte relative to the data, or PW_JUDGED_RIGHT. */
int64_t pw_judge_pack(pw_judge *j, pw_judge_place place, int64_t first, int64_t last, pw_judge_run *run, void *how);
int64_t pw_judge_unpack(pw_judge *j, pw_judge_place place, int64_t first, int64_t last, pw_judge_run *run, void *how);

#endif
