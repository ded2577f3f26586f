/*
 * Checks tier 0 against pw_walk, for one type and count and all forms of lowering. A difference ends the test program
 * with the type's text, the nest's text and `label`.
 */
#ifndef PW_TESTS_CODEGEN_INTERP_CHECK_H
#define PW_TESTS_CODEGEN_INTERP_CHECK_H

#include "passes/passes.h"
#include "tests/support/rng.h"

/*
 * Pack, unpack, and `ranges` random ranges [first, last) each way, for the nests of the tree as it is (before
 * and after the nest passes) and of the canonical tree. Buffers stand at random alignments, or end, at pages that
 * cannot be touched (tests/support/judge.h). Types that overlap themselves are only packed.
 */
void check_type(const pw_type *type, int64_t count, int ranges, uint64_t seed, const char *label);

#endif
