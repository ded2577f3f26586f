/* A code generator of another build. */
#include "codegen/backend.h"

static const pw_backend backend = {.name = "llvm", .version = "0-other"};

__attribute__((visibility("default"))) const pw_backend *pw_backend_entry(void);
const pw_backend *pw_backend_entry(void)
{
    return &backend;
}
