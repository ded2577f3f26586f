/* The innermost loops of a kernel, found in its assembly text (GNU syntax; AT&T on x86-64). */
#ifndef PW_TOOLS_INSPECT_LOOP_H
#define PW_TOOLS_INSPECT_LOOP_H

#include <stdbool.h>

typedef struct pw_loop {
    const char *begin, *end; /* its lines, the label and the jump back included */
    char label[32];
    int stores; /* bytes that one iteration moves on by; where that is not evident, the widths of its stores */
} pw_loop;

/*
 * Of the blocks in the function `symbol` that jump back to themselves, the one that stores most; those that bypass the
 * caches are for large calls and do not count. False: there is none.
 */
typedef enum pw_loop_arch { PW_LOOP_X86, PW_LOOP_AARCH64 } pw_loop_arch;
bool pw_loop_find(const char *assembly, const char *symbol, pw_loop_arch arch, pw_loop *out);

#endif
