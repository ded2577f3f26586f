// LLVM's archives refer to the plugins that a distribution has built in, such as Debian's Polly, whose own archives are
// in another package. Only link-time optimisation asks for them, which Packwright does not use: here they do nothing.
#include <llvm/Config/llvm-config.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

#define HANDLE_EXTENSION(Ext)                                                                    \
    llvm::PassPluginLibraryInfo get##Ext##PluginInfo();                                          \
    llvm::PassPluginLibraryInfo get##Ext##PluginInfo()                                           \
    {                                                                                            \
        return {LLVM_PLUGIN_API_VERSION, #Ext, LLVM_VERSION_STRING, [](llvm::PassBuilder &) {}}; \
    }
#include <llvm/Support/Extension.def>
