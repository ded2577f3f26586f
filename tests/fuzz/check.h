/* Checks what must hold of any type that a frontend accepts. Every fuzzer of types ends here. */
#ifndef PW_TESTS_FUZZ_CHECK_H
#define PW_TESTS_FUZZ_CHECK_H

#include "ir/ir.h"

/* Prints what failed and aborts, so that the fuzzer keeps the input. */
_Noreturn void fuzz_fail(const char *what, const char *detail);

/*
 * Checks that the type verifies; that its canonical form does, moves the same bytes in the same order and is a fixed
 * point; that the nest which it is lowered to verifies; and that the interpreter packs with it what the tree says.
 * Large types are only verified.
 */
void fuzz_check_type(const pw_type *type, pw_arena *arena);

#endif
