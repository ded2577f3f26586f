/* The backend "llvm": from a job to IR, through LLVM, to whatever was asked for. */
#include "codegen/generator.h"
#include "codegen/llvm/gen.h"
#include "codegen/llvm/lines.h"
#include "codegen/llvm/link.h"
#include "codegen/llvm/shared.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The emitters write the loops they want, so little is left for the optimiser: cleaning up address
 * arithmetic and repeated argument loads, and moving what does not change out of the loops. LLVM's code generator would
 * reduce the address arithmetic of loops again, in up to half of the time of a compile: that is left out.
 */
#define PASSES "early-cse,simplifycfg,loop-mssa(licm),instcombine<no-verify-fixpoint>"

/* One compile. LLVM's objects are released in order by dispose(). */
typedef struct compile {
    const pw_compile_job *job;
    pw_gen gen;
    LLVMTargetMachineRef machine;
    LLVMMemoryBufferRef buffer;
    char *text;
    pw_status status;
    pw_diag *diag;
} compile;

static void init_llvm(void)
{
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser(); /* for the string instruction, see copy.c */
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    pw_guard_init();
}

static pw_status make_machine(compile *c)
{
    const pw_target *t = c->job->target;
    char triple[64], *error = NULL;
    LLVMTargetRef target;
    snprintf(triple, sizeof triple, "%s-unknown-linux-gnu", t->arch);
    if (LLVMGetTargetFromTriple(triple, &target, &error)) {
        pw_diag_set(c->diag, PW_ERR_UNSUPPORTED, "LLVM: %s", error);
        LLVMDisposeMessage(error);
        return PW_ERR_UNSUPPORTED;
    }
    c->machine = LLVMCreateTargetMachine(target, triple, t->cpu, "", LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                         LLVMCodeModelDefault);
    if (!c->machine)
        return pw_diag_set(c->diag, PW_ERR_UNSUPPORTED, "LLVM has no code generator for %s", triple);
    return PW_OK;
}

static void init_gen(compile *c)
{
    pw_gen *g = &c->gen;
    g->isa = pw_target_isa_of(c->job->target);
    g->ctx = LLVMContextCreate();
    pw_leave_out_strength_reduction(g->ctx);
    g->mod = LLVMModuleCreateWithNameInContext("packwright", g->ctx);
    g->b = LLVMCreateBuilderInContext(g->ctx);
    g->i1 = LLVMInt1TypeInContext(g->ctx);
    g->i8 = LLVMInt8TypeInContext(g->ctx);
    g->i16 = LLVMInt16TypeInContext(g->ctx);
    g->i32 = LLVMInt32TypeInContext(g->ctx);
    g->i64 = LLVMInt64TypeInContext(g->ctx);
    g->ptr = LLVMPointerTypeInContext(g->ctx, 0);

    char *triple = LLVMGetTargetMachineTriple(c->machine);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(c->machine);
    LLVMSetTarget(g->mod, triple);
    LLVMSetModuleDataLayout(g->mod, layout);
    LLVMDisposeTargetData(layout);
    LLVMDisposeMessage(triple);
}

/* What the code is for, in the object's .comment section. */
static void identify(compile *c)
{
    const pw_target *t = c->job->target;
    char text[sizeof PW_KERNEL_IDENT + sizeof t->arch + sizeof t->cpu];
    LLVMMetadataRef string, node;
    snprintf(text, sizeof text, PW_KERNEL_IDENT "%s %s", t->arch, t->cpu);
    string = LLVMMDStringInContext2(c->gen.ctx, text, strlen(text));
    node = LLVMMDNodeInContext2(c->gen.ctx, &string, 1);
    LLVMAddNamedMetadataOperand(c->gen.mod, "llvm.ident", LLVMMetadataAsValue(c->gen.ctx, node));
}

static pw_status verify(compile *c)
{
    char *error = NULL;
    bool bad = LLVMVerifyModule(c->gen.mod, LLVMReturnStatusAction, &error);
    if (bad)
        pw_diag_set(c->diag, PW_ERR_COMPILE, "generated IR is not valid: %.180s", error);
    LLVMDisposeMessage(error);
    return bad ? PW_ERR_COMPILE : PW_OK;
}

static pw_status optimise(compile *c)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(c->gen.mod, PASSES, c->machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (!error)
        return PW_OK;
    char *text = LLVMGetErrorMessage(error);
    pw_diag_set(c->diag, PW_ERR_COMPILE, "LLVM's passes: %.180s", text);
    LLVMDisposeErrorMessage(text);
    return PW_ERR_COMPILE;
}

static pw_status generate(compile *c, LLVMCodeGenFileType type)
{
    char *error = NULL;
    if (!LLVMTargetMachineEmitToMemoryBuffer(c->machine, c->gen.mod, type, &error, &c->buffer))
        return PW_OK;
    pw_diag_set(c->diag, PW_ERR_COMPILE, "LLVM's code generator: %.180s", error);
    LLVMDisposeMessage(error);
    return PW_ERR_COMPILE;
}

static void mark_lines(compile *c)
{
    char *text = LLVMPrintModuleToString(c->gen.mod);
    pw_lines_mark(c->gen.ctx, c->gen.mod, text);
    LLVMDisposeMessage(text);
}

static void emit_jobs(compile *c)
{
    pw_gen *g = &c->gen;
    for (const pw_compile_job *job = c->job; job; job = job->next, g->njob++) {
        g->job = job;
        g->shape = job->shape;
        pw_function_emit(g, job->pack_name, false);
        pw_function_emit(g, job->unpack_name, true);
    }
}

static void run_compile(void *arg)
{
    compile *c = arg;
    pw_emit emit = c->job->emit;
    c->status = make_machine(c);
    if (c->status != PW_OK)
        return;
    init_gen(c);
    identify(c);
    emit_jobs(c);
    c->status = verify(c);
    if (c->status == PW_OK && emit != PW_EMIT_IR_RAW)
        c->status = optimise(c);
    if (c->status != PW_OK)
        return;
    if (emit == PW_EMIT_IR || emit == PW_EMIT_IR_RAW) {
        c->text = LLVMPrintModuleToString(c->gen.mod);
        return;
    }
    if (emit == PW_EMIT_LINES)
        mark_lines(c);
    c->status = generate(c, emit == PW_EMIT_ASM || emit == PW_EMIT_LINES ? LLVMAssemblyFile : LLVMObjectFile);
}

static pw_status copy_out(const void *data, size_t size, pw_blob *out)
{
    char *copy = malloc(size + 1);
    if (!copy)
        return PW_ERR_NOMEM;
    memcpy(copy, data, size);
    copy[size] = '\0';
    *out = (pw_blob){.data = copy, .size = size};
    return PW_OK;
}

static pw_status deliver(compile *c, pw_blob *out)
{
    if (c->text)
        return copy_out(c->text, strlen(c->text), out);
    const char *data = LLVMGetBufferStart(c->buffer);
    size_t size = LLVMGetBufferSize(c->buffer);
    char derived[96];
    if (c->job->emit != PW_EMIT_SHARED)
        return copy_out(data, size, out);
    snprintf(derived, sizeof derived, "%.80s.so", c->job->pack_name);
    return pw_link_shared(data, size, c->job->soname ? c->job->soname : derived, out, c->diag);
}

static void dispose(compile *c)
{
    if (c->buffer)
        LLVMDisposeMemoryBuffer(c->buffer);
    LLVMDisposeMessage(c->text);
    if (c->gen.b)
        LLVMDisposeBuilder(c->gen.b);
    if (c->gen.mod)
        LLVMDisposeModule(c->gen.mod);
    if (c->machine)
        LLVMDisposeTargetMachine(c->machine);
    if (c->gen.ctx)
        LLVMContextDispose(c->gen.ctx);
}

static pw_status llvm_compile(const pw_compile_job *job, pw_blob *out, pw_diag *diag)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    compile c = {.job = job, .diag = diag};
    char fatal[160] = "";
    pthread_once(&once, init_llvm);
    for (const pw_compile_job *j = job; j; j = j->next) {
        if (!pw_backend_takes(j->shape))
            return pw_diag_set(diag, PW_ERR_UNSUPPORTED, "%d regions: too large to compile", j->shape->nregions);
        if (j->embed && !j->nest)
            return pw_diag_set(diag, PW_ERR_INVALID, "embedding needs the nest");
    }
    if (!pw_guard_run(run_compile, &c, fatal, sizeof fatal))
        return pw_diag_set(diag, PW_ERR_COMPILE, "LLVM gave up: %s", fatal); /* its objects are in an unknown state */
    if (c.status == PW_OK)
        c.status = deliver(&c, out);
    dispose(&c);
    return c.status;
}

static const pw_backend backend = {.name = "llvm", .version = PW_LLVM_GENERATOR_VERSION, .compile = llvm_compile};

__attribute__((visibility("default"))) const pw_backend *pw_backend_entry(void);
const pw_backend *pw_backend_entry(void)
{
    return &backend;
}
