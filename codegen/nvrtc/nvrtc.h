/* NVRTC, found with dlopen on first need. The few prototypes used are declared here, so that no toolkit is needed to
 * build. Thread safe. */
#ifndef PW_CODEGEN_NVRTC_NVRTC_H
#define PW_CODEGEN_NVRTC_NVRTC_H

#include "codegen/backend.h"

typedef struct pw_nvrtc_version {
    int major, minor;
} pw_nvrtc_version;

/* Loads NVRTC. The result, good or bad, is remembered; the cause goes to `diag`. */
pw_status pw_nvrtc_load(pw_nvrtc_version *version, pw_diag *diag);

/* Finds the architectures that it compiles for (70, 75, ...), ascending. Returns how many there are, and writes at most
 * `max`. */
int pw_nvrtc_architectures(int *archs, int max);

/* Compiles CUDA C to PTX text (PW_EMIT_ASM, PW_EMIT_LINES) or to a cubin (PW_EMIT_SHARED, PW_EMIT_SHARED_LINES), for
 * "sm_<arch>". The compiler's messages go to the log at level info, the
 * first of them to `diag`. */
pw_status pw_nvrtc_compile(const char *source, int arch, pw_emit emit, pw_blob *out, pw_diag *diag);

#endif
