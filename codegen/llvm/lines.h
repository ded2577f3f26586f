/* Assembly that says which line of the IR text each instruction comes from. */
#ifndef PW_CODEGEN_LLVM_LINES_H
#define PW_CODEGEN_LLVM_LINES_H

#include <llvm-c/Core.h>

/* Gives every instruction of the module the number of its line in `text`, the module as LLVM prints it. */
void pw_lines_mark(LLVMContextRef ctx, LLVMModuleRef module, const char *text);

#endif
