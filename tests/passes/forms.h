/* What the tests of canonicalisation share: block lists, canonical forms, and failures that say seed and type. */
#ifndef PW_TESTS_PASSES_FORMS_H
#define PW_TESTS_PASSES_FORMS_H

#include "passes/passes.h"

/* The blocks of a layout in packed order, merged where they touch. On the heap. */
typedef struct forms_blocks {
    int64_t n, cap;
    int64_t *offs, *lens;
} forms_blocks;

forms_blocks forms_blocks_of(const pw_node *root);
void forms_blocks_free(forms_blocks *blocks);
bool forms_blocks_equal(const forms_blocks *a, const forms_blocks *b);

/* Canonicalises, verifying after every pass; fails the test when that does. */
pw_type forms_canonical(uint64_t seed, const pw_type *in, pw_arena *arena);

/* Fails the test. */
void forms_fail(uint64_t seed, const char *what, const pw_type *in, const pw_type *out);

#endif
