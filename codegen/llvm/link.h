/* The C++ corner: LLD in this process, a guard against LLVM's fatal errors, and a pass that is left out. Internal to
 * codegen/llvm. */
#ifndef PW_CODEGEN_LLVM_LINK_H
#define PW_CODEGEN_LLVM_LINK_H

#include <llvm-c/Types.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Once, before the others. */
void pw_guard_init(void);
/* Code is generated for this context without LLVM's reduction of address arithmetic in loops. */
void pw_leave_out_strength_reduction(LLVMContextRef context);
/*
 * Runs fn(arg). False when LLVM or LLD gave up in it, where they would otherwise have ended the process; then `message`
 * (of `size`) says why, and what fn had allocated is lost.
 */
bool pw_guard_run(void (*fn)(void *arg), void *arg, char *message, size_t size);

/* One command line of ld.lld; not thread safe. False: failed, `message` has the first lines it said. */
bool pw_lld_run(const char *const *argv, size_t argc, char *message, size_t size);

#ifdef __cplusplus
}
#endif
#endif
