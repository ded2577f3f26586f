/*
 * Line numbers for assembly: every instruction gets the number of its line in the module's text, so that the code
 * generator's `.loc` directives lead from assembly back to that text.
 */
#include "codegen/llvm/lines.h"

#include <llvm-c/DebugInfo.h>

#include <stdbool.h>
#include <string.h>

/* LLVM emits the directives and no sections with this kind, which its C interface has no name for. */
enum { DIRECTIVES_ONLY = 3 };

typedef struct cursor {
    const char *at; /* the beginning of line `line` */
    unsigned line;
} cursor;

static bool next_line(cursor *c)
{
    const char *end = strchr(c->at, '\n');

    if (!end)
        return false;
    c->at = end + 1;
    c->line++;
    return true;
}

/* Is this line the first of an instruction? It is indented by two blanks; a switch goes on with four, and ends with
 * "]". */
static bool begins_instruction(const cursor *c)
{
    return !strncmp(c->at, "  ", 2) && c->at[2] != ' ' && c->at[2] != ']';
}

static bool find_function(cursor *c)
{
    while (strncmp(c->at, "define ", 7) != 0)
        if (!next_line(c))
            return false;
    return true;
}

static void mark_function(LLVMContextRef ctx, LLVMValueRef function, LLVMMetadataRef program, cursor *c)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            do {
                if (!next_line(c))
                    return;
            } while (!begins_instruction(c));
            LLVMInstructionSetDebugLoc(i, LLVMDIBuilderCreateDebugLocation(ctx, c->line, 0, program, NULL));
        }
    }
}

static void add_flag(LLVMContextRef ctx, LLVMModuleRef module, const char *name, unsigned value)
{
    LLVMValueRef v = LLVMConstInt(LLVMInt32TypeInContext(ctx), value, false);

    LLVMAddModuleFlag(module, LLVMModuleFlagBehaviorWarning, name, strlen(name), LLVMValueAsMetadata(v));
}

void pw_lines_mark(LLVMContextRef ctx, LLVMModuleRef module, const char *text)
{
    static const char name[] = "packwright.ll";
    LLVMDIBuilderRef b = LLVMCreateDIBuilder(module);
    LLVMMetadataRef file = LLVMDIBuilderCreateFile(b, name, sizeof name - 1, ".", 1), type;
    cursor c = {text, 1};

    LLVMDIBuilderCreateCompileUnit(b, LLVMDWARFSourceLanguageC99, file, "packwright", 10, true, "", 0, 0, "", 0,
                                   (LLVMDWARFEmissionKind)DIRECTIVES_ONLY, 0, false, false, "", 0, "", 0);
    type = LLVMDIBuilderCreateSubroutineType(b, file, NULL, 0, LLVMDIFlagZero);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        LLVMMetadataRef program;
        size_t n;
        const char *symbol = LLVMGetValueName2(f, &n);

        if (LLVMIsDeclaration(f) || !find_function(&c))
            continue;
        program = LLVMDIBuilderCreateFunction(b, file, symbol, n, symbol, n, file, c.line, type, false, true, c.line,
                                              LLVMDIFlagZero, true);
        LLVMSetSubprogram(f, program);
        mark_function(ctx, f, program, &c);
    }
    add_flag(ctx, module, "Debug Info Version", LLVMDebugMetadataVersion());
    LLVMDIBuilderFinalize(b);
    LLVMDisposeDIBuilder(b);
}
