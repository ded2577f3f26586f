/* Object file to shared object. Internal to codegen/llvm. */
#ifndef PW_CODEGEN_LLVM_SHARED_H
#define PW_CODEGEN_LLVM_SHARED_H

#include "codegen/backend.h"

/* Links one relocatable object into a shared object named `soname`. Thread safe. */
pw_status pw_link_shared(const void *object, size_t size, const char *soname, pw_blob *out, pw_diag *diag);

#endif
