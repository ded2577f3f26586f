// LLD, LLVM's crash recovery and its choice of passes have no C interface.
#include "codegen/llvm/link.h"

#include <lld/Common/CommonLinkerContext.h>
#include <lld/Common/Driver.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <system_error>

LLD_HAS_DRIVER(elf)

namespace
{

thread_local char *fatal_text;
thread_local size_t fatal_size;

void on_fatal(void *, const char *reason, bool)
{
    if (fatal_text)
        std::snprintf(fatal_text, fatal_size, "%s", reason);
    // Leaves RunSafely; on a thread that is not ours it does nothing and LLVM goes on as usual.
    if (auto *context = llvm::CrashRecoveryContext::GetCurrent())
        context->HandleExit(1);
}

class without_strength_reduction : public llvm::OptPassGate
{
  public:
    bool shouldRunPass(const llvm::StringRef pass, llvm::StringRef) override
    {
        return pass != "Loop Strength Reduction";
    }

    bool isEnabled() const override
    {
        return true;
    }
};

} // namespace

/*
 * Stands in for lld::tryCreateFile, by which LLD finds out beforehand whether it can write its output (--wrap in
 * CMakeLists.txt). LLVM's part of that registers handlers for 15 signals of the process, to remove a temporary file,
 * and leaves them there. Without it LLD says later that it cannot write.
 */
std::error_code not_tried(llvm::StringRef path) __asm__("__wrap__ZN3lld13tryCreateFileEN4llvm9StringRefE");

std::error_code not_tried(llvm::StringRef)
{
    return {};
}

void pw_guard_init(void)
{
    // Recovery also takes over signals, which belong to the application: give them back at once.
    static const int taken[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    constexpr size_t n = sizeof taken / sizeof *taken;
    struct sigaction before[n];
    for (size_t i = 0; i < n; i++)
        sigaction(taken[i], nullptr, &before[i]);
    llvm::CrashRecoveryContext::Enable();
    for (size_t i = 0; i < n; i++)
        sigaction(taken[i], &before[i], nullptr);
    llvm::install_fatal_error_handler(on_fatal);
}

void pw_leave_out_strength_reduction(LLVMContextRef context)
{
    static without_strength_reduction gate;
    llvm::unwrap(context)->setOptPassGate(gate);
}

bool pw_guard_run(void (*fn)(void *arg), void *arg, char *message, size_t size)
{
    llvm::CrashRecoveryContext context;
    fatal_text = message;
    fatal_size = size;
    bool ok = context.RunSafely([=] { fn(arg); });
    fatal_text = nullptr;
    return ok;
}

bool pw_lld_run(const char *const *argv, size_t argc, char *message, size_t size)
{
    std::string said;
    llvm::raw_string_ostream out(said);
    bool ok = lld::elf::link(llvm::ArrayRef<const char *>(argv, argc), out, out, false, false);
    lld::CommonLinkerContext::destroy();
    if (!ok)
        std::snprintf(message, size, "%s", out.str().c_str());
    return ok;
}
