/*
 * Random pairs of layouts of equal size, and the judge of copies between them: the typemaps of both sides written out
 * by the walk that defines the IR, byte by byte.
 */
#ifndef PW_TESTS_CODEGEN_JOINED_PAIRS_H
#define PW_TESTS_CODEGEN_JOINED_PAIRS_H

#include "ir/nest.h"
#include "tests/support/judge.h"
#include "tests/support/rng.h"

/* `count` objects of the one are as many bytes as those of the other. */
typedef struct pair {
    pw_arena *arena;
    pw_type type[2]; /* canonical */
    int64_t count[2], bytes;
} pair;

/* `most`: packed bytes. */
void pair_init(pair *p, uint64_t seed, int64_t most);
/* Two layouts of equal size as IR text, canonical already. */
void pair_parse(pair *p, const char *one, const char *other);
void pair_free(pair *p);

/* A copy of `objects` joined objects from side 0 to side 1, or with `back` from side 1 to side 0. */
typedef void pair_copy(void *how, bool back, void *dst, const void *src, int64_t objects);

/* Runs both ways, with the buffers at both ends of what may be touched, and compares every byte of the destination and
 * around it. A way whose destination overlaps itself is left out. False: wrong, and said so. */
bool pair_check(const pair *p, const pw_nest *joined, uint64_t seed, pair_copy *copy, void *how);

#endif
